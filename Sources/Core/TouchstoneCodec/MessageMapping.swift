// One description of each message for both directions.
//
// Each message of the API pairs its Swift properties with the members of its C struct, in `map` (Generated/Mapping). A
// `FieldReader` walks the pairs from C to Swift and a `FieldWriter` from Swift to C, so that no field can be read and
// not written. Both are specialised for each message: nothing is looked up at run time.

internal import CProtobufC

/// A message of this module.
protocol MappedMessage: WireMessage {
  /// Its generated struct, which begins with a `ProtobufCMessage`.
  associatedtype CMessage

  /// All fields absent.
  static var empty: Self { get }

  /// Calls the generated `…__init`.
  static func initialize(_ c: UnsafeMutablePointer<CMessage>)

  /// Passes all fields to `mapper`.
  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper)
}

/// One direction. Each function moves one field, from its source to its destination.
protocol FieldMapper {
  mutating func field(_ value: inout String, _ c: inout UnsafeMutablePointer<CChar>?)
  mutating func field(_ value: inout [UInt8], _ c: inout ProtobufCBinaryData)
  mutating func field(_ value: inout Bool, _ c: inout protobuf_c_boolean)
  mutating func field<Number: FixedWidthInteger>(_ value: inout Number, _ c: inout Number)
  // Clang gives an enum a signed raw value only if it has a negative constant.
  mutating func field<Value: OpenEnum, C: RawRepresentable<UInt32>>(_ value: inout Value, _ c: inout C)
  mutating func field<Value: OpenEnum, C: RawRepresentable<Int32>>(_ value: inout Value, _ c: inout C)
  mutating func field<Value: MappedMessage>(_ value: inout Value?, _ c: inout UnsafeMutablePointer<Value.CMessage>?)

  mutating func repeated(
    _ values: inout [String], _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ count: inout Int)
  mutating func repeated(
    _ values: inout [[UInt8]], _ c: inout UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: inout Int)
  mutating func repeated<Number: FixedWidthInteger>(
    _ values: inout [Number], _ c: inout UnsafeMutablePointer<Number>?, _ count: inout Int)
  mutating func repeated<Value: OpenEnum, C: RawRepresentable<UInt32>>(
    _ values: inout [Value], _ c: inout UnsafeMutablePointer<C>?, _ count: inout Int)
  mutating func repeated<Value: MappedMessage>(
    _ values: inout [Value], _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<Value.CMessage>?>?,
    _ count: inout Int)
  mutating func repeated<Entry: MapEntry>(
    _ values: inout [String: String], as entry: Entry.Type,
    _ c: inout UnsafeMutablePointer<UnsafeMutablePointer<Entry.CMessage>?>?, _ count: inout Int)

  mutating func oneOf<Value: OneOf>(_ value: inout Value?, _ c: inout Value.CMessage)
}

/// The message that stands for one entry of a `map<string, string>` on the wire.
protocol MapEntry: MappedMessage {
  var key: String { get set }
  var value: String { get set }
}

/// The alternatives of a oneof. They share a C union, so each direction names its member.
protocol OneOf {
  associatedtype CMessage

  /// `nil` if none is set.
  init?(_ c: CMessage)

  func write(to c: inout CMessage, _ writer: inout FieldWriter)
}

/// protobuf-c's description of a message type.
public struct MessageLayout {
  let descriptor: UnsafePointer<ProtobufCMessageDescriptor>
}

extension MappedMessage {
  public static var layout: MessageLayout {
    withUnsafeTemporaryAllocation(of: CMessage.self, capacity: 1) { c in
      // The generated initialiser knows the descriptor's address; Swift might copy the C constant.
      initialize(c.baseAddress!)
      let base = UnsafeRawPointer(c.baseAddress!).assumingMemoryBound(to: ProtobufCMessage.self)
      return MessageLayout(descriptor: base.pointee.descriptor)
    }
  }

  public static var fullName: String {
    String(cString: layout.descriptor.pointee.name)
  }
}
