// How the messages of Attempts.swift and the generated structs correspond.

internal import CTouchstoneProto

extension V1.KeyProof: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__KeyProof>) { touchstone__v1__key_proof__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.signature, &c.signature)
    mapper.field(&value.factor, &c.factor)
  }
}

extension V1.ProfileTouchIDProof: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ProfileTouchIdProof>) {
    touchstone__v1__profile_touch_id_proof__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.profileTouchID, &c.profile_touch_id)
  }
}

extension V1.PasscodeProof: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__PasscodeProof>) {
    touchstone__v1__passcode_proof__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.passcode, &c.passcode)
  }
}

extension V1.GestureProof: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GestureProof>) {
    touchstone__v1__gesture_proof__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.points, &c.points, &c.n_points)
  }
}

extension V1.PasskeyProof: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__PasskeyProof>) {
    touchstone__v1__passkey_proof__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.credentialID, &c.credential_id)
    mapper.field(&value.authenticatorData, &c.authenticator_data)
    mapper.field(&value.clientDataJSON, &c.client_data_json)
    mapper.field(&value.signature, &c.signature)
    mapper.field(&value.userHandle, &c.user_handle)
  }
}

extension V1.DeviceReport: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__DeviceReport>) {
    touchstone__v1__device_report__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.laError, &c.la_error)
  }
}

extension V1.SubmitAttemptRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__SubmitAttemptRequest>) {
    touchstone__v1__submit_attempt_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.evaluation, &c.evaluation)
    mapper.oneOf(&value.attempt, &c)
    mapper.field(&value.posture, &c.posture)
  }
}

extension V1.SubmitAttemptRequest.Attempt: OneOf {
  init?(_ c: Touchstone__V1__SubmitAttemptRequest) {
    switch c.attempt_case {
    case TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_KEY: self = .key(V1.KeyProof(c.key))
    case TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_PROFILE_TOUCH_ID:
      self = .profileTouchID(V1.ProfileTouchIDProof(c.profile_touch_id))
    case TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_PASSCODE: self = .passcode(V1.PasscodeProof(c.passcode))
    case TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_GESTURE: self = .gesture(V1.GestureProof(c.gesture))
    case TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_PASSKEY: self = .passkey(V1.PasskeyProof(c.passkey))
    case TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_REPORT: self = .report(V1.DeviceReport(c.report))
    case TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_PRIMARY:
      self = .primary(V1.PrimaryAuthentication(c.primary))
    default: return nil
    }
  }

  func write(to c: inout Touchstone__V1__SubmitAttemptRequest, _ writer: inout FieldWriter) {
    switch self {
    case .key(let key):
      c.attempt_case = TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_KEY
      c.key = writer.cMessage(key)
    case .profileTouchID(let profileTouchID):
      c.attempt_case = TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_PROFILE_TOUCH_ID
      c.profile_touch_id = writer.cMessage(profileTouchID)
    case .passcode(let passcode):
      c.attempt_case = TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_PASSCODE
      c.passcode = writer.cMessage(passcode)
    case .gesture(let gesture):
      c.attempt_case = TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_GESTURE
      c.gesture = writer.cMessage(gesture)
    case .passkey(let passkey):
      c.attempt_case = TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_PASSKEY
      c.passkey = writer.cMessage(passkey)
    case .report(let report):
      c.attempt_case = TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_REPORT
      c.report = writer.cMessage(report)
    case .primary(let primary):
      c.attempt_case = TOUCHSTONE__V1__SUBMIT_ATTEMPT_REQUEST__ATTEMPT_PRIMARY
      c.primary = writer.cMessage(primary)
    }
  }
}

extension V1.SubmitAttemptResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__SubmitAttemptResponse>) {
    touchstone__v1__submit_attempt_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.outcome, &c.outcome)
    mapper.field(&value.laError, &c.la_error)
    mapper.field(&value.result, &c.result)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.token, &c.token)
    mapper.field(&value.tokenExpiresAt, &c.token_expires_at)
    mapper.repeated(&value.nextFactors, &c.next_factors, &c.n_next_factors)
    mapper.field(&value.attemptsLeft, &c.attempts_left)
    mapper.field(&value.retryAfter, &c.retry_after)
    mapper.field(&value.domainState, &c.domain_state)
    mapper.field(&value.presentation, &c.presentation)
    mapper.field(&value.message, &c.message)
  }
}
