// Single values of JSON as protobuf's scalars.

internal import FoundationEssentials

/// A value as the wire has it, without its tag.
enum ScalarContent {
  case varint(UInt64)
  /// A varint with a sign, to sort by.
  case signed(Int64)
  case fixed32(UInt32)
  case fixed64(UInt64)
  case bytes([UInt8])

  var isZero: Bool {
    switch self {
    case .varint(let value): value == 0
    case .signed(let value): value == 0
    case .fixed32(let value): value == 0
    case .fixed64(let value): value == 0
    case .bytes(let value): value.isEmpty
    }
  }

  /// The order of keys of a map.
  func precedes(_ other: ScalarContent) -> Bool {
    switch (self, other) {
    case (.varint(let one), .varint(let two)): one < two
    case (.signed(let one), .signed(let two)): one < two
    case (.fixed32(let one), .fixed32(let two)): one < two
    case (.fixed64(let one), .fixed64(let two)): one < two
    case (.bytes(let one), .bytes(let two)): one.lexicographicallyPrecedes(two)
    default: false
    }
  }
}

extension WireWriter {
  mutating func add(_ content: ScalarContent, _ number: Int) {
    tag(number, content.wireType)
    add(content)
  }

  mutating func add(_ content: ScalarContent) {
    switch content {
    case .varint(let value): varint(value)
    case .signed(let value): varint(UInt64(bitPattern: value))
    case .fixed32(let value): littleEndian(value)
    case .fixed64(let value): littleEndian(value)
    case .bytes(let value): lengthDelimited(value)
    }
  }
}

extension ScalarContent {
  fileprivate var wireType: WireType {
    switch self {
    case .varint, .signed: .varint
    case .fixed32: .fixed32
    case .fixed64: .fixed64
    case .bytes: .bytes
    }
  }
}

extension MessageEncoder {
  func scalar(
    _ value: JSONValue, _ kind: FieldDescriptor.Kind, _ path: JSONPath
  ) throws(MessageError) -> ScalarContent {
    func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws(MessageError) -> Value {
      guard let number = value.integer(type) else {
        throw path.error("is no integer from \(Value.min) to \(Value.max)")
      }
      return number
    }
    switch kind {
    case .int32: return .signed(Int64(try integer(Int32.self)))
    case .int64: return .signed(try integer(Int64.self))
    case .uint32: return .varint(UInt64(try integer(UInt32.self)))
    case .uint64: return .varint(try integer(UInt64.self))
    case .sint32: return .varint(Self.zigZag(Int64(try integer(Int32.self))))
    case .sint64: return .varint(Self.zigZag(try integer(Int64.self)))
    case .fixed32: return .fixed32(try integer(UInt32.self))
    case .sfixed32: return .fixed32(UInt32(bitPattern: try integer(Int32.self)))
    case .fixed64: return .fixed64(try integer(UInt64.self))
    case .sfixed64: return .fixed64(UInt64(bitPattern: try integer(Int64.self)))
    case .float:
      guard let number = value.double, Float(number).isFinite || !number.isFinite else {
        throw path.error("is no number of 32 bits")
      }
      return .fixed32(Float(number).bitPattern)
    case .double:
      guard let number = value.double else { throw path.error("is no number") }
      return .fixed64(number.bitPattern)
    case .bool:
      guard case .bool(let flag) = value else { throw path.error("is neither true nor false") }
      return .varint(flag ? 1 : 0)
    case .string:
      guard case .string(let text) = value else { throw path.error("is no string") }
      return .bytes(Array(text.utf8))
    case .bytes:
      guard case .string(let text) = value, let bytes = Base64Text(text)?.bytes else {
        throw path.error("is no base64")
      }
      return .bytes(bytes)
    case .message, .enum, .group: throw path.error("has a kind of field that JSON cannot name")
    }
  }

  /// JSON writes all keys as strings.
  func mapKey(_ key: String, _ field: FieldDescriptor, _ path: JSONPath) throws(MessageError) -> ScalarContent {
    switch (field.kind, key) {
    case (.bool, "true"): .varint(1)
    case (.bool, "false"): .varint(0)
    default: try scalar(.string(key), field.kind, path)
    }
  }

  private static func zigZag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: (value << 1) ^ (value >> 63))
  }
}

extension JSONValue {
  /// A number without a fraction, or a string of one.
  func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    switch self {
    case .integer(let number): Value(exactly: number)
    case .unsigned(let number): Value(exactly: number)
    case .number(let number): Value(exactly: number)
    case .string(let text): Value(text) ?? Double(text).flatMap { Value(exactly: $0) }
    default: nil
    }
  }

  /// A number, a string of one, or "NaN", "Infinity" and "-Infinity".
  var double: Double? {
    switch self {
    case .integer(let number): return Double(number)
    case .unsigned(let number): return Double(number)
    case .number(let number): return number
    case .string("NaN"): return .nan
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    case .string(let text):
      guard let number = Double(text), number.isFinite, text.utf8.allSatisfy({ "+-.0123456789eE".utf8.contains($0) })
      else { return nil }
      return number
    default: return nil
    }
  }
}

/// Base64 in either alphabet, with or without padding.
package struct Base64Text: Sendable {
  package let bytes: [UInt8]

  package init?(_ text: String) {
    var standard = text.replacing("-", with: "+").replacing("_", with: "/")
    if standard.utf8.count % 4 != 0, !standard.hasSuffix("=") {
      standard += String(repeating: "=", count: 4 - standard.utf8.count % 4)
    }
    guard let data = Data(base64Encoded: standard) else { return nil }
    bytes = [UInt8](data)
  }
}
