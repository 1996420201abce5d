internal import CProtobufC
internal import Glibc

/// Builds in the arena the C structs that protobuf-c packs. If the arena is exhausted it writes nothing more; the
/// caller checks the arena afterwards, and `textWithNUL`.
public struct FieldWriter: FieldMapper {
  /// The outermost message, once written.
  private(set) var message: UnsafeMutablePointer<ProtobufCMessage>?
  /// A string that protobuf-c would cut short.
  private(set) var textWithNUL: UnsafeMutablePointer<CChar>?

  private let arena: Arena

  init(arena: Arena) {
    self.arena = arena
  }
}

extension MappedMessage {
  public consuming func write(_ writer: inout FieldWriter) {
    writer.begin(&self)
  }
}

extension FieldWriter {
  fileprivate mutating func begin<Value: MappedMessage>(_ value: inout Value) {
    message = UnsafeMutableRawPointer(cMessage(&value))?.assumingMemoryBound(to: ProtobufCMessage.self)
  }

  /// `value` is not changed: it is `inout` because `map` goes both ways.
  private mutating func cMessage<Value: MappedMessage>(_ value: inout Value) -> UnsafeMutablePointer<Value.CMessage>? {
    guard let c = arena.allocate(Value.CMessage.self, count: 1) else { return nil }
    Value.initialize(c)
    Value.map(&value, &c.pointee, &self)
    return c
  }

  /// For a oneof's message.
  mutating func cMessage<Value: MappedMessage>(_ value: Value) -> UnsafeMutablePointer<Value.CMessage>? {
    var value = value
    return cMessage(&value)
  }

  /// A separate C string, also for empty text: in a oneof, empty differs from absent.
  mutating func cString(_ text: String) -> UnsafeMutablePointer<CChar>? {
    var text = text
    return cString(&text)
  }

  private mutating func cString(_ text: inout String) -> UnsafeMutablePointer<CChar>? {
    let (c, hasNUL) = text.withUTF8 { utf8 -> (UnsafeMutablePointer<CChar>?, Bool) in
      guard let c = arena.allocate(CChar.self, count: utf8.count + 1) else { return (nil, false) }
      c[utf8.count] = 0
      guard let start = utf8.baseAddress else { return (c, false) }
      memcpy(c, start, utf8.count)
      return (c, memchr(start, 0, utf8.count) != nil)
    }
    if hasNUL { textWithNUL = c }
    return c
  }
}

// MARK: Fields

// The generated initialisers left every field absent, so empty values stay absent.
extension FieldWriter {
  mutating func field(_ value: inout String, _ c: inout UnsafeMutablePointer<CChar>?) {
    if !value.isEmpty { c = cString(&value) }
  }

  mutating func field(_ value: inout [UInt8], _ c: inout ProtobufCBinaryData) {
    if let copy = cBytes(value) { c = copy }
  }

  /// `nil` if there are none.
  private func cBytes(_ value: [UInt8]) -> ProtobufCBinaryData? {
    guard !value.isEmpty, let data = arena.allocate(UInt8.self, count: value.count) else { return nil }
    value.withUnsafeBufferPointer { data.initialize(from: $0.baseAddress!, count: $0.count) }
    return ProtobufCBinaryData(len: value.count, data: data)
  }

  mutating func field(_ value: inout Bool, _ c: inout protobuf_c_boolean) {
    c = value ? 1 : 0
  }

  mutating func field<Number: FixedWidthInteger>(_ value: inout Number, _ c: inout Number) {
    c = value
  }

  mutating func field<Value: OpenEnum, C: RawRepresentable<UInt32>>(_ value: inout Value, _ c: inout C) {
    c = Self.cEnum(value)
  }

  mutating func field<Value: OpenEnum, C: RawRepresentable<Int32>>(_ value: inout Value, _ c: inout C) {
    // An imported C enum takes every value.
    c = C(rawValue: value.rawValue)!
  }

  mutating func field<Value: MappedMessage>(_ value: inout Value?, _ c: inout UnsafeMutablePointer<Value.CMessage>?) {
    if value != nil { c = cMessage(&value!) }
  }

  mutating func oneOf<Value: OneOf>(_ value: inout Value?, _ c: inout Value.CMessage) {
    value?.write(to: &c, &self)
  }

  private static func cEnum<C: RawRepresentable<UInt32>>(_ value: some OpenEnum) -> C {
    C(rawValue: UInt32(bitPattern: value.rawValue))!
  }
}

// MARK: Repeated fields

extension FieldWriter {
  mutating func repeated(
    _ values: inout [String], _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ count: inout Int
  ) {
    fill(&c, &count, from: values) { writer, text in writer.cString(text) }
  }

  mutating func repeated(
    _ values: inout [[UInt8]], _ c: inout UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: inout Int
  ) {
    fill(&c, &count, from: values) { writer, bytes in writer.cBytes(bytes) ?? ProtobufCBinaryData() }
  }

  mutating func repeated<Number: FixedWidthInteger>(
    _ values: inout [Number], _ c: inout UnsafeMutablePointer<Number>?, _ count: inout Int
  ) {
    fill(&c, &count, from: values) { _, number in number }
  }

  mutating func repeated<Value: OpenEnum, C: RawRepresentable<UInt32>>(
    _ values: inout [Value], _ c: inout UnsafeMutablePointer<C>?, _ count: inout Int
  ) {
    fill(&c, &count, from: values) { _, value in Self.cEnum(value) }
  }

  mutating func repeated<Value: MappedMessage>(
    _ values: inout [Value], _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<Value.CMessage>?>?,
    _ count: inout Int
  ) {
    fill(&c, &count, from: values) { writer, value in writer.cMessage(value) }
  }

  /// In the order of the keys' bytes, because a dictionary has no order.
  mutating func repeated<Entry: MapEntry>(
    _ values: inout [String: String], as entry: Entry.Type,
    _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<Entry.CMessage>?>?, _ count: inout Int
  ) {
    if values.isEmpty { return }
    let sorted = values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    fill(&c, &count, from: sorted) { writer, pair in
      var entry = Entry.empty
      (entry.key, entry.value) = pair
      return writer.cMessage(entry)
    }
  }

  /// Writes an array of its elements' C values, unless it is empty.
  private mutating func fill<Value, C>(
    _ c: inout UnsafeMutablePointer<C>?, _ count: inout Int, from values: [Value],
    by convert: (inout FieldWriter, Value) -> C
  ) {
    guard !values.isEmpty, let array = arena.allocate(C.self, count: values.count) else { return }
    for (index, value) in values.enumerated() {
      (array + index).initialize(to: convert(&self, value))
    }
    (c, count) = (array, values.count)
  }
}
