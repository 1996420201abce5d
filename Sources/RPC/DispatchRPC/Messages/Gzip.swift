import CZlib

/// The facade of zlib: gzip (RFC 1952), one whole message at a time. Nothing else owns a zlib object. One event loop's,
/// made when it is first needed and used again for every message, because zlib's state takes some 40 KiB.
///
/// Confined to the event loop; a handler that runs while a message is handed over may well use it for another.
package final class Gzip {
  package enum Fault: Error, Equatable {
    /// Not one gzip member and nothing else: cut short, damaged, or with something after it, as C-core sees it.
    case malformed
    /// It has more than the limit; no more than that was inflated.
    case tooLarge
  }

  /// The most that zlib counts in one go, and a message's prefix too.
  private static let largestBytes = Int(UInt32.max) - 1

  private var inflater: Inflater?

  package init() {}

  /// An empty message inflates to nothing, as C-core has it.
  package func inflate(_ message: [UInt8], limit: Int) throws(Fault) -> [UInt8] {
    if message.isEmpty { return [] }
    if inflater == nil { inflater = Inflater() }
    return try inflater!.inflate(message, limit: min(limit, Self.largestBytes))
  }
}

private struct Inflater: ~Copyable {
  /// The output's first size, as a multiple of the input's: compressed text usually has a fourth of its size.
  private static let expectedRatio = 4
  private static let firstBytes = 1 << 10

  /// The largest window, with gzip's header and trailer around it.
  private static let windowBits = MAX_WBITS + 16

  /// zlib keeps the address of its stream, so that it stays where it was made.
  private let stream: UnsafeMutablePointer<z_stream>

  init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let size = Int32(MemoryLayout<z_stream>.size)
    guard inflateInit2_(stream, Self.windowBits, ZLIB_VERSION, size) == Z_OK else { fatalError("out of memory") }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  private var unreadBytes: Int { Int(stream.pointee.avail_in) }

  /// The output doubles as it fills, and so costs what was inflated, whatever the message says of its size.
  func inflate(_ message: [UInt8], limit: Int) throws(Gzip.Fault) -> [UInt8] {
    inflateReset(stream)
    // With one byte more than may be, that it is too much shows.
    var capacity = min(limit + 1, max(Self.firstBytes, message.count * Self.expectedRatio))
    var output: [UInt8] = []
    while true {
      let code = step(message, into: &output, capacity: capacity)
      guard output.count <= limit else { throw .tooLarge }
      switch code {
      case Z_STREAM_END where unreadBytes == 0: return output
      case Z_OK where output.count == capacity, Z_BUF_ERROR where output.count == capacity: break
      default: throw .malformed
      }
      capacity = min(limit + 1, capacity * 2)
    }
  }

  private func step(_ message: [UInt8], into output: inout [UInt8], capacity: Int) -> Int32 {
    var code = Z_OK
    let before = output
    let consumed = before.isEmpty ? 0 : message.count - unreadBytes
    output = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      count = before.count
      before.withUnsafeBytes { UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
      code = message.withUnsafeBufferPointer { message in
        stream.pointee.next_in = UnsafeMutablePointer(mutating: message.baseAddress! + consumed)
        stream.pointee.avail_in = UInt32(message.count - consumed)
        stream.pointee.next_out = buffer.baseAddress! + count
        stream.pointee.avail_out = UInt32(capacity - count)
        return CZlib.inflate(stream, Z_NO_FLUSH)
      }
      count = capacity - Int(stream.pointee.avail_out)
    }
    return code
  }
}
