internal import CProtobufC

/// The struct that protobuf-c made of the bytes; it lives in the coder's arena.
public struct UnpackedMessage {
  let base: UnsafeMutablePointer<ProtobufCMessage>
}

extension MappedMessage {
  public static func read(_ message: UnpackedMessage) -> Self {
    Self(UnsafeMutableRawPointer(message.base).assumingMemoryBound(to: CMessage.self))
  }

  init(_ c: UnsafeMutablePointer<CMessage>) {
    self = Self.empty
    var reader = FieldReader()
    Self.map(&self, &c.pointee, &reader)
  }
}

/// Reads a struct that protobuf-c unpacked. The pre-scan came first, so text is valid UTF-8 without NUL.
struct FieldReader: FieldMapper {
  func field(_ value: inout String, _ c: inout UnsafeMutablePointer<CChar>?) {
    if let c, c.pointee != 0 { value = String(cString: c) }
  }

  func field(_ value: inout [UInt8], _ c: inout ProtobufCBinaryData) {
    if c.len > 0 { value = Array(UnsafeBufferPointer(start: c.data, count: c.len)) }
  }

  func field(_ value: inout Bool, _ c: inout protobuf_c_boolean) {
    value = c != 0
  }

  func field<Number: FixedWidthInteger>(_ value: inout Number, _ c: inout Number) {
    value = c
  }

  func field<Value: OpenEnum, C: RawRepresentable<UInt32>>(_ value: inout Value, _ c: inout C) {
    value = Value(rawValue: Int32(bitPattern: c.rawValue))
  }

  func field<Value: OpenEnum, C: RawRepresentable<Int32>>(_ value: inout Value, _ c: inout C) {
    value = Value(rawValue: c.rawValue)
  }

  func field<Value: MappedMessage>(_ value: inout Value?, _ c: inout UnsafeMutablePointer<Value.CMessage>?) {
    value = c.map { Value($0) }
  }

  func repeated(
    _ values: inout [String], _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ count: inout Int
  ) {
    values = UnsafeBufferPointer(start: c, count: count).map { Self.text($0) }
  }

  func repeated(
    _ values: inout [[UInt8]], _ c: inout UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: inout Int
  ) {
    values = UnsafeBufferPointer(start: c, count: count).map {
      Array(UnsafeBufferPointer(start: $0.data, count: $0.len))
    }
  }

  func repeated<Number: FixedWidthInteger>(
    _ values: inout [Number], _ c: inout UnsafeMutablePointer<Number>?, _ count: inout Int
  ) {
    values = Array(UnsafeBufferPointer(start: c, count: count))
  }

  func repeated<Value: OpenEnum, C: RawRepresentable<UInt32>>(
    _ values: inout [Value], _ c: inout UnsafeMutablePointer<C>?, _ count: inout Int
  ) {
    values = UnsafeBufferPointer(start: c, count: count).map { Value(rawValue: Int32(bitPattern: $0.rawValue)) }
  }

  func repeated<Value: MappedMessage>(
    _ values: inout [Value], _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<Value.CMessage>?>?,
    _ count: inout Int
  ) {
    values = UnsafeBufferPointer(start: c, count: count).compactMap { $0.map { Value($0) } }
  }

  /// If entries have the same key, the last one wins, as in every implementation; protobuf-c keeps them all.
  func repeated<Entry: MapEntry>(
    _ values: inout [String: String], as entry: Entry.Type,
    _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<Entry.CMessage>?>?, _ count: inout Int
  ) {
    for case let pointer? in UnsafeBufferPointer(start: c, count: count) {
      let entry = Entry(pointer)
      values[entry.key] = entry.value
    }
  }

  func oneOf<Value: OneOf>(_ value: inout Value?, _ c: inout Value.CMessage) {
    value = Value(c)
  }

  static func text(_ c: UnsafeMutablePointer<CChar>?) -> String {
    guard let c, c.pointee != 0 else { return "" }
    return String(cString: c)
  }
}
