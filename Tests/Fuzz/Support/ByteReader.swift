// Decisions out of bytes: what an input does not say is zero.

struct ByteReader {
  private var rest: UnsafeRawBufferPointer.SubSequence

  init(_ bytes: UnsafeRawBufferPointer) {
    rest = bytes[...]
  }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 {
    rest.popFirst() ?? 0
  }

  mutating func number(below limit: Int) -> Int {
    Int(byte()) % limit
  }

  mutating func word() -> UInt32 {
    (0..<4).reduce(0) { word, _ in word << 8 | UInt32(byte()) }
  }

  /// Fewer where there are no more.
  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func remainder() -> [UInt8] {
    defer { rest = rest.suffix(0) }
    return Array(rest)
  }
}
