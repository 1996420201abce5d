// Protobuf's wire format (protobuf.dev/programming-guides/encoding): fields read from bytes, and written.

/// Bytes that are no protobuf message.
package struct WireError: Error, Hashable {}

enum WireType: UInt64 {
  case varint = 0
  case fixed64 = 1
  case bytes = 2
  case fixed32 = 5
}

/// One field of a message, as the wire has it.
struct WireField {
  enum Value {
    case varint(UInt64)
    case fixed64(UInt64)
    case bytes(ArraySlice<UInt8>)
    case fixed32(UInt32)
  }

  let number: UInt64
  let value: Value

  var integer: Int { if case .varint(let value) = value { Int(truncatingIfNeeded: value) } else { 0 } }

  var bytes: ArraySlice<UInt8> { if case .bytes(let value) = value { value } else { [] } }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  var isTrue: Bool { integer != 0 }

  /// All fields of a message, in order.
  static func all(_ message: ArraySlice<UInt8>) throws(WireError) -> [WireField] {
    var rest = message
    var fields: [WireField] = []
    while !rest.isEmpty {
      let tag = try rest.takeVarint()
      guard let type = WireType(rawValue: tag & 7) else { throw WireError() }
      let value: Value =
        switch type {
        case .varint: .varint(try rest.takeVarint())
        case .fixed64: .fixed64(try rest.takeLittleEndian())
        case .fixed32: .fixed32(try rest.takeLittleEndian())
        case .bytes: .bytes(try rest.take(Int(clamping: try rest.takeVarint())))
        }
      fields.append(WireField(number: tag >> 3, value: value))
    }
    return fields
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func take(_ count: Int) throws(WireError) -> ArraySlice<UInt8> {
    guard count <= self.count else { throw WireError() }
    defer { self = dropFirst(count) }
    return prefix(count)
  }

  fileprivate mutating func takeVarint() throws(WireError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = popFirst() else { break }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    throw WireError()
  }

  fileprivate mutating func takeLittleEndian<Value: FixedWidthInteger>() throws(WireError) -> Value {
    try take(Value.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Value($1) }
  }
}

/// A message that is being written.
struct WireWriter {
  private(set) var bytes: [UInt8] = []

  mutating func tag(_ number: Int, _ type: WireType) {
    varint(UInt64(number) << 3 | type.rawValue)
  }

  mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func littleEndian(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func lengthDelimited(_ content: some Collection<UInt8>) {
    varint(UInt64(content.count))
    bytes.append(contentsOf: content)
  }

  mutating func field(_ number: Int, _ content: some Collection<UInt8>) {
    tag(number, .bytes)
    lengthDelimited(content)
  }

  mutating func raw(_ content: [UInt8]) {
    bytes += content
  }
}
