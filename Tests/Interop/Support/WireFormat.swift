// Protocol Buffers' wire format, as much of it as the test service's messages need.
//
// By hand rather than generated: ten small messages take less code this way than protobuf-c's structures would take to
// be read and written, and its pointers keep to TouchstoneCodec. Every case of every foreign peer checks it.

/// A message of the test service.
public protocol WireMessage: Sendable {
  init()
  static var fields: [WireField<Self>] { get }
}

/// A field's number, and how its property is read and written.
public struct WireField<Message> {
  let number: Int
  let take: (inout Message, WireValue) throws(MalformedMessage) -> Void
  let write: (Message, inout WireWriter) -> Void

  static func int32(_ number: Int, _ path: WritableKeyPath<Message, Int32>) -> WireField {
    WireField(number: number) { message, value throws(MalformedMessage) in
      message[keyPath: path] = try value.int32()
    } write: {
      $1.int32(number, $0[keyPath: path])
    }
  }

  static func bool(_ number: Int, _ path: WritableKeyPath<Message, Bool>) -> WireField {
    WireField(number: number) { message, value throws(MalformedMessage) in
      message[keyPath: path] = try value.int32() != 0
    } write: {
      $1.int32(number, $0[keyPath: path] ? 1 : 0)
    }
  }

  static func bytes(_ number: Int, _ path: WritableKeyPath<Message, [UInt8]>) -> WireField {
    WireField(number: number) { message, value throws(MalformedMessage) in
      message[keyPath: path] = Array(try value.bytes())
    } write: {
      $1.bytes(number, $0[keyPath: path])
    }
  }

  static func string(_ number: Int, _ path: WritableKeyPath<Message, String>) -> WireField {
    WireField(number: number) { message, value throws(MalformedMessage) in
      message[keyPath: path] = try value.string()
    } write: {
      $1.bytes(number, $0[keyPath: path].utf8)
    }
  }

  /// If a message comes twice, the last one counts; merging them is for richer messages than these.
  static func message<Part: WireMessage>(_ number: Int, _ path: WritableKeyPath<Message, Part?>) -> WireField {
    WireField(number: number) { message, value throws(MalformedMessage) in
      message[keyPath: path] = try Part(decoding: value.bytes())
    } write: {
      $1.message(number, $0[keyPath: path])
    }
  }

  static func messages<Part: WireMessage>(_ number: Int, _ path: WritableKeyPath<Message, [Part]>) -> WireField {
    WireField(number: number) { message, value throws(MalformedMessage) in
      message[keyPath: path].append(try Part(decoding: value.bytes()))
    } write: {
      for part in $0[keyPath: path] { $1.message(number, part) }
    }
  }
}

/// The peer's bytes are not what they should be.
public struct MalformedMessage: Error, Hashable, Sendable {}

extension WireMessage {
  public init(decoding bytes: some Collection<UInt8>) throws(MalformedMessage) {
    self.init()
    var reader = WireReader(bytes: ArraySlice(bytes))
    while let (number, value) = try reader.next() {
      // Unknown ones are passed over.
      for field in Self.fields where field.number == number { try field.take(&self, value) }
    }
  }

  public func encoded() -> [UInt8] {
    var writer = WireWriter()
    for field in Self.fields { field.write(self, &writer) }
    return writer.bytes
  }
}

/// The value of a field.
public enum WireValue: Sendable {
  case varint(UInt64)
  case bytes(ArraySlice<UInt8>)
  /// Fixed-size numbers, which no defined field has.
  case other
}

extension WireValue {
  func int32() throws(MalformedMessage) -> Int32 {
    guard case .varint(let value) = self else { throw MalformedMessage() }
    return Int32(truncatingIfNeeded: value)
  }

  func bytes() throws(MalformedMessage) -> ArraySlice<UInt8> {
    guard case .bytes(let bytes) = self else { throw MalformedMessage() }
    return bytes
  }

  func string() throws(MalformedMessage) -> String {
    guard let string = String(validating: try bytes(), as: UTF8.self) else { throw MalformedMessage() }
    return string
  }
}

struct WireReader {
  private var rest: ArraySlice<UInt8>

  init(bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  mutating func next() throws(MalformedMessage) -> (field: Int, value: WireValue)? {
    guard !rest.isEmpty else { return nil }
    let tag = try varint()
    guard tag >> 3 > 0, let field = Int(exactly: tag >> 3) else { throw MalformedMessage() }
    switch tag & 7 {
    case 0: return (field, .varint(try varint()))
    case 1: return (field, try skip(8))
    case 2: return (field, .bytes(try take(try varint())))
    case 5: return (field, try skip(4))
    default: throw MalformedMessage()
    }
  }

  private mutating func varint() throws(MalformedMessage) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { throw MalformedMessage() }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    throw MalformedMessage()
  }

  private mutating func take(_ count: UInt64) throws(MalformedMessage) -> ArraySlice<UInt8> {
    guard count <= UInt64(rest.count) else { throw MalformedMessage() }
    defer { rest = rest.dropFirst(Int(count)) }
    return rest.prefix(Int(count))
  }

  private mutating func skip(_ count: UInt64) throws(MalformedMessage) -> WireValue {
    _ = try take(count)
    return .other
  }
}

/// Fields with their default value are left out, as proto3 has it.
public struct WireWriter: Sendable {
  private(set) var bytes: [UInt8] = []

  mutating func int32(_ field: Int, _ value: Int32) {
    guard value != 0 else { return }
    tag(field, type: 0)
    // Negative numbers take ten bytes: sign-extended to 64 bits.
    varint(UInt64(bitPattern: Int64(value)))
  }

  mutating func bytes(_ field: Int, _ value: some Collection<UInt8>) {
    guard !value.isEmpty else { return }
    tag(field, type: 2)
    varint(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  /// An empty message is still present.
  mutating func message(_ field: Int, _ value: (some WireMessage)?) {
    guard let value else { return }
    let encoded = value.encoded()
    tag(field, type: 2)
    varint(UInt64(encoded.count))
    bytes.append(contentsOf: encoded)
  }

  private mutating func tag(_ field: Int, type: UInt64) {
    varint(UInt64(field) << 3 | type)
  }

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
