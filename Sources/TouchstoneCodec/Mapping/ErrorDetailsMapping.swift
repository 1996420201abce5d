// How the messages of ErrorDetails.swift and the generated structs correspond.

internal import CTouchstoneProto

extension RPCDetail.ErrorInfo: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__ErrorInfo>) { google__rpc__error_info__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.reason, &c.reason)
    mapper.field(&value.domain, &c.domain)
    mapper.repeated(&value.metadata, as: ErrorInfoMetadataEntry.self, &c.metadata, &c.n_metadata)
  }
}

struct ErrorInfoMetadataEntry: MapEntry {
  var key = ""
  var value = ""

  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__ErrorInfo__MetadataEntry>) {
    google__rpc__error_info__metadata_entry__init(c)
  }

  static func map<Mapper: FieldMapper>(_ entry: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&entry.key, &c.key)
    mapper.field(&entry.value, &c.value)
  }
}

extension RPCDetail.RetryInfo: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__RetryInfo>) { google__rpc__retry_info__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.retryDelay, &c.retry_delay)
  }
}

extension RPCDetail.QuotaFailure.Violation: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__QuotaFailure__Violation>) {
    google__rpc__quota_failure__violation__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.subject, &c.subject)
    mapper.field(&value.description, &c.description)
  }
}

extension RPCDetail.QuotaFailure: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__QuotaFailure>) { google__rpc__quota_failure__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.violations, &c.violations, &c.n_violations)
  }
}

extension RPCDetail.PreconditionFailure.Violation: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__PreconditionFailure__Violation>) {
    google__rpc__precondition_failure__violation__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.type, &c.type)
    mapper.field(&value.subject, &c.subject)
    mapper.field(&value.description, &c.description)
  }
}

extension RPCDetail.PreconditionFailure: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__PreconditionFailure>) {
    google__rpc__precondition_failure__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.violations, &c.violations, &c.n_violations)
  }
}

extension RPCDetail.BadRequest.FieldViolation: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__BadRequest__FieldViolation>) {
    google__rpc__bad_request__field_violation__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.field, &c.field)
    mapper.field(&value.description, &c.description)
  }
}

extension RPCDetail.BadRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__BadRequest>) { google__rpc__bad_request__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.fieldViolations, &c.field_violations, &c.n_field_violations)
  }
}

extension RPCDetail.LocalizedMessage: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Google__Rpc__LocalizedMessage>) {
    google__rpc__localized_message__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.locale, &c.locale)
    mapper.field(&value.message, &c.message)
  }
}
