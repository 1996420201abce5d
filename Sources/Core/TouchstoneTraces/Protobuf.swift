/// Writes Protobuf's wire format, as far as the export needs it. Pure.
struct ProtobufWriter {
  private(set) var bytes: [UInt8] = []

  private enum WireType {
    static let varint = 0
    static let eightBytes = 1
    static let counted = 2
    static let fourBytes = 5
  }

  mutating func number(_ field: Int, _ value: UInt64) {
    tag(field, WireType.varint)
    varint(value)
  }

  mutating func fixed(_ field: Int, _ value: UInt64) {
    tag(field, WireType.eightBytes)
    withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
  }

  mutating func fixed(_ field: Int, _ value: UInt32) {
    tag(field, WireType.fourBytes)
    withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
  }

  mutating func text(_ field: Int, _ text: String) {
    tag(field, WireType.counted)
    varint(UInt64(text.utf8.count))
    bytes += text.utf8
  }

  mutating func bytes(_ field: Int, _ value: [UInt8]) {
    tag(field, WireType.counted)
    varint(UInt64(value.count))
    bytes += value
  }

  mutating func message(_ field: Int, _ write: (inout ProtobufWriter) -> Void) {
    var inner = ProtobufWriter()
    write(&inner)
    bytes(field, inner.bytes)
  }

  private mutating func tag(_ field: Int, _ type: Int) {
    varint(UInt64(field << 3 | type))
  }

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}

enum ProtobufReader {
  enum Value: Equatable {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
  }

  /// The first value of a field; `nil`: there is none, or the bytes before it are malformed.
  static func field(_ wanted: Int, in bytes: ArraySlice<UInt8>) -> Value? {
    var rest = bytes
    while let tag = varint(&rest) {
      let value: Value
      switch tag & 7 {
      case 0:
        guard let number = varint(&rest) else { return nil }
        value = .number(number)
      case 1, 5:
        let count = tag & 7 == 1 ? 8 : 4
        guard rest.count >= count else { return nil }
        value = .bytes(rest.prefix(count))
        rest = rest.dropFirst(count)
      case 2:
        guard let count = varint(&rest), count <= UInt64(rest.count) else { return nil }
        value = .bytes(rest.prefix(Int(count)))
        rest = rest.dropFirst(Int(count))
      default:
        return nil
      }
      if tag >> 3 == UInt64(wanted) { return value }
    }
    return nil
  }

  private static func varint(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = bytes.popFirst() else { return nil }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    return nil
  }
}
