// How the messages of SharedTypes.swift and the generated structs correspond.

internal import CTouchstoneProto

extension V1.DevicePosture: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__DevicePosture>) {
    touchstone__v1__device_posture__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.platform, &c.platform)
    mapper.field(&value.osVersion, &c.os_version)
    mapper.field(&value.deviceModel, &c.device_model)
    mapper.field(&value.biometryType, &c.biometry_type)
    mapper.field(&value.biometryAvailable, &c.biometry_available)
    mapper.field(&value.biometryEnrolled, &c.biometry_enrolled)
    mapper.field(&value.biometryLockedOut, &c.biometry_locked_out)
    mapper.field(&value.passcodeSet, &c.passcode_set)
    mapper.field(&value.domainState, &c.domain_state)
  }
}

extension V1.Transaction: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__Transaction>) {
    touchstone__v1__transaction__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.amount, &c.amount)
    mapper.field(&value.currency, &c.currency)
    mapper.field(&value.payee, &c.payee)
    mapper.field(&value.reference, &c.reference)
  }
}

extension V1.Title: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__Title>) { touchstone__v1__title__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.text, &c.text)
  }
}

extension V1.LocalizedText: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__LocalizedText>) {
    touchstone__v1__localized_text__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.locale, &c.locale)
    mapper.field(&value.text, &c.text)
  }
}

extension V1.Denial: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__Denial>) { touchstone__v1__denial__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.laError, &c.la_error)
    mapper.field(&value.reason, &c.reason)
    mapper.field(&value.message, &c.message)
    mapper.field(&value.retryAfter, &c.retry_after)
    mapper.field(&value.detail, &c.detail)
  }
}

extension V1.Presentation: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__Presentation>) {
    touchstone__v1__presentation__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.fallbackTitle, &c.fallback_title)
    mapper.field(&value.fallbackVisible, &c.fallback_visible)
    mapper.field(&value.cancelTitle, &c.cancel_title)
    mapper.field(&value.localizedReason, &c.localized_reason)
  }
}

extension V1.Event: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__Event>) { touchstone__v1__event__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.sequence, &c.sequence)
    mapper.field(&value.time, &c.time)
    mapper.field(&value.kind, &c.kind)
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.deviceID, &c.device_id)
    mapper.field(&value.bindingID, &c.binding_id)
    mapper.field(&value.caller, &c.caller)
    mapper.repeated(&value.details, as: EventDetailsEntry.self, &c.details, &c.n_details)
    mapper.field(&value.hash, &c.hash)
  }
}

struct EventDetailsEntry: MapEntry {
  var key = ""
  var value = ""

  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__Event__DetailsEntry>) {
    touchstone__v1__event__details_entry__init(c)
  }

  static func map<Mapper: FieldMapper>(_ entry: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&entry.key, &c.key)
    mapper.field(&entry.value, &c.value)
  }
}
