/// Collects the single message of a unary request or response, or one of a stream's after the other, out of DATA
/// frames, however they cut it (PROTOCOL-HTTP2.md, "Length-Prefixed-Message"). Pure.
struct MessageDeframer {
  static let prefixBytes = 5
  /// Storage kept for the next message; larger ones are given back.
  private static let keptBytes = 4 << 10

  enum Fault: Error, Equatable {
    /// More than the limit; the length is what the prefix says.
    case tooLarge(Int)
    /// A second message, although only one is allowed.
    case extraMessage
    /// The first byte is neither 0 nor 1.
    case malformedFlag
  }

  enum Completeness: Equatable {
    case missing
    case truncated
    case complete
  }

  private var prefix: UInt64 = 0
  private var prefixCount = 0
  private(set) var isCompressed = false
  private(set) var declaredBytes = 0
  private(set) var message: [UInt8] = []

  var completeness: Completeness {
    if prefixCount == 0 { return .missing }
    return prefixCount == Self.prefixBytes && message.count == declaredBytes ? .complete : .truncated
  }

  /// All of the bytes belong to the one message.
  mutating func append(_ bytes: UnsafeRawBufferPointer, limit: Int) throws(Fault) {
    guard try take(bytes, limit: limit) == bytes.count else { throw .extraMessage }
  }

  /// Takes the bytes up to the end of the message, and says how many these were.
  mutating func take(_ bytes: UnsafeRawBufferPointer, limit: Int) throws(Fault) -> Int {
    var rest = bytes[...]
    while prefixCount < Self.prefixBytes {
      guard let byte = rest.popFirst() else { return bytes.count }
      prefix = prefix << 8 | UInt64(byte)
      prefixCount += 1
      if prefixCount == Self.prefixBytes { try readPrefix(limit: limit) }
    }
    let part = rest.prefix(declaredBytes - message.count)
    message.append(contentsOf: UnsafeRawBufferPointer(rebasing: part))
    return bytes.count - rest.count + part.count
  }

  /// Replaces the compressed message by the inflated one.
  mutating func inflate(with gzip: Gzip, limit: Int) throws(Gzip.Fault) {
    message = try gzip.inflate(message, limit: limit)
    declaredBytes = message.count
  }

  mutating func reset() {
    prefix = 0
    prefixCount = 0
    isCompressed = false
    declaredBytes = 0
    message.removeAll(keepingCapacity: message.capacity <= Self.keptBytes)
  }

  private mutating func readPrefix(limit: Int) throws(Fault) {
    let flag = prefix >> 32
    guard flag <= 1 else { throw .malformedFlag }
    isCompressed = flag == 1
    declaredBytes = Int(prefix & 0xFFFF_FFFF)
    guard declaredBytes <= limit else { throw .tooLarge(declaredBytes) }
  }

  /// The prefix of a message that is not compressed.
  static func writePrefix(messageBytes: Int, to output: UnsafeMutablePointer<UInt8>) {
    output[0] = 0
    output[1] = UInt8(truncatingIfNeeded: messageBytes >> 24)
    output[2] = UInt8(truncatingIfNeeded: messageBytes >> 16)
    output[3] = UInt8(truncatingIfNeeded: messageBytes >> 8)
    output[4] = UInt8(truncatingIfNeeded: messageBytes)
  }
}
