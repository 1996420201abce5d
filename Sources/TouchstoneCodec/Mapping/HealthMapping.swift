// How the messages of Health.swift and the generated structs correspond.

internal import CTouchstoneProto

extension GRPCHealth.CheckRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Health__V1__HealthCheckRequest>) {
    grpc__health__v1__health_check_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.service, &c.service)
  }
}

extension GRPCHealth.CheckResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Health__V1__HealthCheckResponse>) {
    grpc__health__v1__health_check_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.status, &c.status)
  }
}

extension GRPCHealth.ListRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Health__V1__HealthListRequest>) {
    grpc__health__v1__health_list_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {}
}

extension GRPCHealth.ListResponse.Entry: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Health__V1__HealthListResponse__StatusesEntry>) {
    grpc__health__v1__health_list_response__statuses_entry__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.key, &c.key)
    mapper.field(&value.value, &c.value)
  }
}

extension GRPCHealth.ListResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Health__V1__HealthListResponse>) {
    grpc__health__v1__health_list_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.statuses, &c.statuses, &c.n_statuses)
  }
}
