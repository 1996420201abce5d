internal import Encodings

/// A body whose length is not known before it ends (RFC 9112 §7.1). Pure.
///
/// Strict: a size has one to eight hexadecimal digits, lines end with CR LF, and there are neither extensions nor
/// trailer fields, in which readers see different ends of a request.
struct ChunkedBody {
  enum Step: Equatable {
    /// More bytes are needed.
    case more
    case done
    case malformed
    case tooLarge
  }

  /// A size with its CR LF.
  private static let maximumLineBytes = 10

  private(set) var bytes: [UInt8] = []
  private let maximumBytes: Int

  init(maximumBytes: Int) {
    self.maximumBytes = maximumBytes
  }

  /// Takes what is whole from the front of the buffer.
  mutating func take(from buffer: inout [UInt8]) -> Step {
    var position = 0
    defer { buffer.removeFirst(position) }
    while true {
      let line = buffer[position...].prefix(Self.maximumLineBytes)
      guard let lineFeed = line.firstIndex(of: 0x0A) else {
        return line.count < Self.maximumLineBytes ? .more : .malformed
      }
      guard let size = Self.size(line[..<lineFeed]) else { return .malformed }
      let start = lineFeed + 1
      guard bytes.count + size <= maximumBytes else { return .tooLarge }
      guard buffer.count >= start + size + 2 else { return .more }
      guard buffer[start + size] == 0x0D, buffer[start + size + 1] == 0x0A else { return .malformed }
      bytes += buffer[start..<start + size]
      position = start + size + 2
      if size == 0 { return .done }
    }
  }

  /// - Parameter line: without its LF.
  private static func size(_ line: ArraySlice<UInt8>) -> Int? {
    guard line.last == 0x0D, !line.dropLast().isEmpty else { return nil }
    var size = 0
    for byte in line.dropLast() {
      guard let digit = byte.hexadecimalValue else { return nil }
      size = size << 4 | Int(digit)
    }
    return size
  }
}
