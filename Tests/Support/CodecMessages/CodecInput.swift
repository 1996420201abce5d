// Bytes of a fuzzer as a message of some type.

/// The first two bytes choose the type, so that new types leave old inputs theirs, but for few.
public struct CodecInput: Sendable {
  public let type: AnyMessageType
  public let message: [UInt8]

  public init(_ bytes: [UInt8]) {
    let wanted = bytes.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
    type = (Self.ring.first { $0.place >= wanted } ?? Self.ring[0]).type
    message = Array(bytes.dropFirst(2))
  }

  private static let ring = AnyMessageType.all.map { (place: place(of: $0), type: $0) }.sorted { $0.place < $1.place }

  /// FNV-1a, folded.
  private static func place(of type: AnyMessageType) -> UInt16 {
    let hash = type.name.utf8.reduce(UInt32(0x811C_9DC5)) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
    return UInt16(truncatingIfNeeded: hash >> 16 ^ hash)
  }
}
