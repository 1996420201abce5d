// How the messages of google.protobuf and the generated structs correspond.

internal import CTouchstoneProto

extension V1.Timestamp: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Protobuf__Timestamp>) {
    google__protobuf__timestamp__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.seconds, &c.seconds)
    mapper.field(&value.nanoseconds, &c.nanos)
  }
}

extension V1.Duration: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Protobuf__Duration>) { google__protobuf__duration__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.seconds, &c.seconds)
    mapper.field(&value.nanoseconds, &c.nanos)
  }
}

extension RPCDetail.AnyMessage: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Protobuf__Any>) { google__protobuf__any__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.typeURL, &c.type_url)
    mapper.field(&value.value, &c.value)
  }
}
