// How the messages of Administration.swift and the generated structs correspond.

internal import CTouchstoneProto

extension V1.SecretStanding: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__SecretStanding>) {
    touchstone__v1__secret_standing__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.kind, &c.kind)
    mapper.field(&value.failures, &c.failures)
    mapper.field(&value.lockedUntil, &c.locked_until)
    mapper.field(&value.disabled, &c.disabled)
  }
}

extension V1.DeviceStanding: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__DeviceStanding>) {
    touchstone__v1__device_standing__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.deviceID, &c.device_id)
    mapper.field(&value.biometryFailures, &c.biometry_failures)
    mapper.field(&value.biometryLockedOut, &c.biometry_locked_out)
  }
}

extension V1.SeenPosture: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__SeenPosture>) {
    touchstone__v1__seen_posture__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.bindingID, &c.binding_id)
    mapper.field(&value.posture, &c.posture)
    mapper.field(&value.seenAt, &c.seen_at)
    mapper.field(&value.proven, &c.proven)
  }
}

extension V1.GetProfileRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GetProfileRequest>) {
    touchstone__v1__get_profile_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
  }
}

extension V1.GetProfileResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GetProfileResponse>) {
    touchstone__v1__get_profile_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.bindings, &c.bindings, &c.n_bindings)
    mapper.repeated(&value.devices, &c.devices, &c.n_devices)
    mapper.repeated(&value.secrets, &c.secrets, &c.n_secrets)
    mapper.field(&value.settings, &c.settings)
    mapper.repeated(&value.postures, &c.postures, &c.n_postures)
    mapper.repeated(&value.advisories, &c.advisories, &c.n_advisories)
  }
}

extension V1.UnlockDeviceRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__UnlockDeviceRequest>) {
    touchstone__v1__unlock_device_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.deviceID, &c.device_id)
    mapper.field(&value.reason, &c.reason)
  }
}

extension V1.UnlockDeviceResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__UnlockDeviceResponse>) {
    touchstone__v1__unlock_device_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {}
}

extension V1.UnlockSecretRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__UnlockSecretRequest>) {
    touchstone__v1__unlock_secret_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.kind, &c.kind)
    mapper.field(&value.reason, &c.reason)
  }
}

extension V1.UnlockSecretResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__UnlockSecretResponse>) {
    touchstone__v1__unlock_secret_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {}
}

extension V1.EraseProfileRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__EraseProfileRequest>) {
    touchstone__v1__erase_profile_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.reason, &c.reason)
  }
}

extension V1.EraseProfileResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__EraseProfileResponse>) {
    touchstone__v1__erase_profile_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.archivedThrough, &c.archived_through)
  }
}

extension V1.EventFilter: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__EventFilter>) {
    touchstone__v1__event_filter__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.repeated(&value.kinds, &c.kinds, &c.n_kinds)
  }
}

extension V1.ListEventsRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ListEventsRequest>) {
    touchstone__v1__list_events_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.filter, &c.filter)
    mapper.field(&value.afterSequence, &c.after_sequence)
    mapper.field(&value.pageSize, &c.page_size)
    mapper.field(&value.pageToken, &c.page_token)
  }
}

extension V1.ListEventsResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ListEventsResponse>) {
    touchstone__v1__list_events_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.events, &c.events, &c.n_events)
    mapper.field(&value.nextPageToken, &c.next_page_token)
  }
}

extension V1.WatchEventsRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__WatchEventsRequest>) {
    touchstone__v1__watch_events_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.filter, &c.filter)
    mapper.field(&value.afterSequence, &c.after_sequence)
  }
}

extension V1.WatchEventsResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__WatchEventsResponse>) {
    touchstone__v1__watch_events_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.event, &c.event)
  }
}

extension V1.ExplainEvaluationRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ExplainEvaluationRequest>) {
    touchstone__v1__explain_evaluation_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.begin, &c.begin)
    mapper.field(&value.at, &c.at)
  }
}

extension V1.ExplainEvaluationResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ExplainEvaluationResponse>) {
    touchstone__v1__explain_evaluation_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.answer, &c.answer)
    mapper.repeated(&value.trace, &c.trace, &c.n_trace)
    mapper.field(&value.posture, &c.posture)
  }
}

extension V1.RuleTrace: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__RuleTrace>) { touchstone__v1__rule_trace__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.rule, &c.rule)
    mapper.field(&value.passed, &c.passed)
    mapper.field(&value.detail, &c.detail)
  }
}
