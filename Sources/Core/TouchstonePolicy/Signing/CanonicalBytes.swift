/// The one encoding of everything that is signed or digested, with only one way to read it: fields in a fixed order,
/// each after its length: 4 bytes big-endian, then the bytes. The first field is a tag with the kind and its version,
/// so a signature for one kind is never valid for another.
struct CanonicalBytes {
  private(set) var bytes: [UInt8]

  /// - Parameter capacity: an estimate, in bytes, of everything that will be appended.
  init(tag: StaticString, capacity: Int) {
    bytes = []
    bytes.reserveCapacity(capacity)
    tag.withUTF8Buffer { append($0) }
  }

  mutating func append(_ text: String) {
    append(text.utf8)
  }

  /// Traps beyond 4 GiB; every field was bounded before.
  mutating func append(_ field: some Collection<UInt8>) {
    withUnsafeBytes(of: UInt32(field.count).bigEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: field)
  }
}

/// Reads the fields back, in order. `nil` if the bytes are not of this encoding.
struct CanonicalBytesReader {
  private var rest: ArraySlice<UInt8>

  var isAtEnd: Bool { rest.isEmpty }

  init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  mutating func readBytes() -> ArraySlice<UInt8>? {
    guard rest.count >= 4 else { return nil }
    let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard rest.count - 4 >= count else { return nil }
    defer { rest = rest.dropFirst(4 + count) }
    return rest.dropFirst(4).prefix(count)
  }

  mutating func readText() -> String? {
    readBytes().flatMap { String(validating: $0, as: UTF8.self) }
  }
}
