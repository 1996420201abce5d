// How the messages of Secrets.swift and the generated structs correspond.

internal import CTouchstoneProto

extension V1.Secret: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__Secret>) { touchstone__v1__secret__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.oneOf(&value.kind, &c)
  }
}

extension V1.Secret.Kind: OneOf {
  init?(_ c: Touchstone__V1__Secret) {
    switch c.kind_case {
    case TOUCHSTONE__V1__SECRET__KIND_PASSCODE: self = .passcode(V1.PasscodeProof(c.passcode))
    case TOUCHSTONE__V1__SECRET__KIND_GESTURE: self = .gesture(V1.GestureProof(c.gesture))
    default: return nil
    }
  }

  func write(to c: inout Touchstone__V1__Secret, _ writer: inout FieldWriter) {
    switch self {
    case .passcode(let passcode):
      c.kind_case = TOUCHSTONE__V1__SECRET__KIND_PASSCODE
      c.passcode = writer.cMessage(passcode)
    case .gesture(let gesture):
      c.kind_case = TOUCHSTONE__V1__SECRET__KIND_GESTURE
      c.gesture = writer.cMessage(gesture)
    }
  }
}

extension V1.SetSecretRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__SetSecretRequest>) {
    touchstone__v1__set_secret_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.secret, &c.secret)
    mapper.field(&value.confirmation, &c.confirmation)
    mapper.oneOf(&value.authority, &c)
  }
}

extension V1.SetSecretRequest.Authority: OneOf {
  init?(_ c: Touchstone__V1__SetSecretRequest) {
    switch c.authority_case {
    case TOUCHSTONE__V1__SET_SECRET_REQUEST__AUTHORITY_OLD_SECRET: self = .oldSecret(V1.Secret(c.old_secret))
    case TOUCHSTONE__V1__SET_SECRET_REQUEST__AUTHORITY_PRIMARY: self = .primary(V1.PrimaryAuthentication(c.primary))
    default: return nil
    }
  }

  func write(to c: inout Touchstone__V1__SetSecretRequest, _ writer: inout FieldWriter) {
    switch self {
    case .oldSecret(let oldSecret):
      c.authority_case = TOUCHSTONE__V1__SET_SECRET_REQUEST__AUTHORITY_OLD_SECRET
      c.old_secret = writer.cMessage(oldSecret)
    case .primary(let primary):
      c.authority_case = TOUCHSTONE__V1__SET_SECRET_REQUEST__AUTHORITY_PRIMARY
      c.primary = writer.cMessage(primary)
    }
  }
}

extension V1.SetSecretResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__SetSecretResponse>) {
    touchstone__v1__set_secret_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.accepted, &c.accepted)
    mapper.field(&value.denial, &c.denial)
    mapper.field(&value.attemptsLeft, &c.attempts_left)
  }
}

extension V1.RemoveSecretRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__RemoveSecretRequest>) {
    touchstone__v1__remove_secret_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.kind, &c.kind)
    mapper.oneOf(&value.authority, &c)
  }
}

extension V1.RemoveSecretRequest.Authority: OneOf {
  init?(_ c: Touchstone__V1__RemoveSecretRequest) {
    switch c.authority_case {
    case TOUCHSTONE__V1__REMOVE_SECRET_REQUEST__AUTHORITY_OLD_SECRET: self = .oldSecret(V1.Secret(c.old_secret))
    case TOUCHSTONE__V1__REMOVE_SECRET_REQUEST__AUTHORITY_PRIMARY: self = .primary(V1.PrimaryAuthentication(c.primary))
    default: return nil
    }
  }

  func write(to c: inout Touchstone__V1__RemoveSecretRequest, _ writer: inout FieldWriter) {
    switch self {
    case .oldSecret(let oldSecret):
      c.authority_case = TOUCHSTONE__V1__REMOVE_SECRET_REQUEST__AUTHORITY_OLD_SECRET
      c.old_secret = writer.cMessage(oldSecret)
    case .primary(let primary):
      c.authority_case = TOUCHSTONE__V1__REMOVE_SECRET_REQUEST__AUTHORITY_PRIMARY
      c.primary = writer.cMessage(primary)
    }
  }
}

extension V1.RemoveSecretResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__RemoveSecretResponse>) {
    touchstone__v1__remove_secret_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.accepted, &c.accepted)
    mapper.field(&value.denial, &c.denial)
    mapper.field(&value.attemptsLeft, &c.attempts_left)
  }
}

extension V1.UnlockSettings: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__UnlockSettings>) {
    touchstone__v1__unlock_settings__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.biometryEnabled, &c.biometry_enabled)
    mapper.field(&value.gestureEnabled, &c.gesture_enabled)
    mapper.field(&value.passcodeEnabled, &c.passcode_enabled)
    mapper.field(&value.preferred, &c.preferred)
    mapper.field(&value.gestureSet, &c.gesture_set)
    mapper.field(&value.passcodeSet, &c.passcode_set)
    mapper.field(&value.updatedAt, &c.updated_at)
  }
}

extension V1.GetUnlockSettingsRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GetUnlockSettingsRequest>) {
    touchstone__v1__get_unlock_settings_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
  }
}

extension V1.GetUnlockSettingsResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GetUnlockSettingsResponse>) {
    touchstone__v1__get_unlock_settings_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.settings, &c.settings)
  }
}

extension V1.SetUnlockSettingsRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__SetUnlockSettingsRequest>) {
    touchstone__v1__set_unlock_settings_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.settings, &c.settings)
  }
}

extension V1.SetUnlockSettingsResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__SetUnlockSettingsResponse>) {
    touchstone__v1__set_unlock_settings_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.settings, &c.settings)
  }
}
