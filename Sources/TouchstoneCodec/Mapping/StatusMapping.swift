// How the messages of Status.swift and the generated structs correspond.

internal import CTouchstoneProto

extension RPCDetail.PackedStatus: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__Status>) { google__rpc__status__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.code, &c.code)
    mapper.field(&value.message, &c.message)
    mapper.repeated(&value.details, &c.details, &c.n_details)
  }
}
