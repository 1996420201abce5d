// The facade of zlib: gzip (RFC 1952), one whole message at a time. Nothing else owns a zlib object.

import CZlib

/// One event loop's, made when it is first needed and used again for every message: zlib's state is 300 KiB.
///
/// Confined to the event loop; a handler that runs while a message is handed over may well use it for another.
final class Gzip {
  enum Fault: Error, Equatable {
    /// Not one gzip member and nothing else: cut short, damaged, or with something after it, as C-core sees it.
    case malformed
    /// It has more than the limit; no more than that was inflated.
    case tooLarge
  }

  /// The most that zlib counts in one go, and a message's prefix too.
  private static let largestBytes = Int(UInt32.max) - 1

  private var inflater: Inflater?
  private var deflater: Deflater?

  /// An empty message inflates to nothing, as C-core has it.
  func inflate(_ message: [UInt8], limit: Int) throws(Fault) -> [UInt8] {
    if message.isEmpty { return [] }
    if inflater == nil { inflater = Inflater() }
    return try inflater!.inflate(message, limit: min(limit, Self.largestBytes))
  }

  /// `nil` if it would not be shorter.
  func deflate(_ message: [UInt8]) -> [UInt8]? {
    guard (2...Self.largestBytes).contains(message.count) else { return nil }
    if deflater == nil { deflater = Deflater() }
    return deflater!.deflate(message)
  }
}

/// The largest window, with gzip's header and trailer around it.
private let windowBits = MAX_WBITS + 16

/// The part that both directions have. zlib keeps the address of its stream, so that it stays where it was made.
private struct ZlibStream {
  let pointer: UnsafeMutablePointer<z_stream>

  init(_ initialize: (UnsafeMutablePointer<z_stream>, Int32) -> Int32) {
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: z_stream())
    guard initialize(pointer, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { fatalError("out of memory") }
  }

  var unreadBytes: Int { Int(pointer.pointee.avail_in) }
  var freeBytes: Int { Int(pointer.pointee.avail_out) }

  func set(input: UnsafeBufferPointer<UInt8>, output: UnsafeMutableBufferPointer<UInt8>) {
    pointer.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    pointer.pointee.avail_in = UInt32(input.count)
    pointer.pointee.next_out = output.baseAddress
    pointer.pointee.avail_out = UInt32(output.count)
  }
}

private struct Inflater: ~Copyable {
  /// The output's first size, as a multiple of the input's: compressed text usually has a fourth of its size.
  private static let expectedRatio = 4
  private static let firstBytes = 1 << 10

  private let stream: ZlibStream

  init() {
    stream = ZlibStream { inflateInit2_($0, windowBits, ZLIB_VERSION, $1) }
  }

  deinit {
    inflateEnd(stream.pointer)
    stream.pointer.deallocate()
  }

  /// The output doubles as it fills, and so costs what was inflated, whatever the message says of its size.
  func inflate(_ message: [UInt8], limit: Int) throws(Gzip.Fault) -> [UInt8] {
    inflateReset(stream.pointer)
    // With one byte more than may be, that it is too much shows.
    var capacity = min(limit + 1, max(Self.firstBytes, message.count * Self.expectedRatio))
    var output: [UInt8] = []
    while true {
      let code = step(message, into: &output, capacity: capacity)
      guard output.count <= limit else { throw .tooLarge }
      switch code {
      case Z_STREAM_END where stream.unreadBytes == 0: return output
      case Z_OK where output.count == capacity, Z_BUF_ERROR where output.count == capacity: break
      default: throw .malformed
      }
      capacity = min(limit + 1, capacity * 2)
    }
  }

  private func step(_ message: [UInt8], into output: inout [UInt8], capacity: Int) -> Int32 {
    var code = Z_OK
    let before = output
    let consumed = before.isEmpty ? 0 : message.count - stream.unreadBytes
    output = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      count = before.count
      before.withUnsafeBytes { UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
      code = message.withUnsafeBufferPointer { message in
        stream.set(
          input: UnsafeBufferPointer(rebasing: message[consumed...]),
          output: UnsafeMutableBufferPointer(rebasing: buffer[count..<capacity]))
        return CZlib.inflate(stream.pointer, Z_NO_FLUSH)
      }
      count = capacity - stream.freeBytes
    }
    return code
  }
}

private struct Deflater: ~Copyable {
  private static let memoryLevel: Int32 = 8

  private let stream: ZlibStream

  /// The fastest level: the event loop's other calls wait meanwhile.
  init() {
    stream = ZlibStream {
      deflateInit2_($0, Z_BEST_SPEED, Z_DEFLATED, windowBits, Self.memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION, $1)
    }
  }

  deinit {
    deflateEnd(stream.pointer)
    stream.pointer.deallocate()
  }

  func deflate(_ message: [UInt8]) -> [UInt8]? {
    deflateReset(stream.pointer)
    var code = Z_OK
    let output = [UInt8](unsafeUninitializedCapacity: message.count - 1) { buffer, count in
      code = message.withUnsafeBufferPointer { message in
        stream.set(input: message, output: UnsafeMutableBufferPointer(rebasing: buffer[..<(message.count - 1)]))
        return CZlib.deflate(stream.pointer, Z_FINISH)
      }
      count = message.count - 1 - stream.freeBytes
    }
    guard code == Z_STREAM_END else { return nil }
    // It may wait for long: without the room that it did not take.
    return output.count < message.count / 2 ? output.withUnsafeBufferPointer { Array($0) } : output
  }
}
