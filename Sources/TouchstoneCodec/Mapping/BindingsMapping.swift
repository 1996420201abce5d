// How the messages of Bindings.swift and the generated structs correspond.

internal import CTouchstoneProto

extension V1.PrimaryAuthentication: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__PrimaryAuthentication>) {
    touchstone__v1__primary_authentication__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.method, &c.method)
    mapper.field(&value.authenticatedAt, &c.authenticated_at)
  }
}

extension V1.HardwareKey: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__HardwareKey>) {
    touchstone__v1__hardware_key__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.publicKey, &c.public_key)
    mapper.field(&value.protection, &c.protection)
    mapper.field(&value.signature, &c.signature)
  }
}

extension V1.ProfileTouchID: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ProfileTouchId>) {
    touchstone__v1__profile_touch_id__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.value, &c.value)
  }
}

extension V1.Binding: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__Binding>) { touchstone__v1__binding__init(c) }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.bindingID, &c.binding_id)
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.deviceID, &c.device_id)
    mapper.field(&value.deviceName, &c.device_name)
    mapper.field(&value.credential, &c.credential)
    mapper.repeated(&value.protections, &c.protections, &c.n_protections)
    mapper.field(&value.state, &c.state)
    mapper.field(&value.domainStateRecorded, &c.domain_state_recorded)
    mapper.field(&value.createdAt, &c.created_at)
    mapper.field(&value.lastUsedAt, &c.last_used_at)
    mapper.field(&value.biometryType, &c.biometry_type)
  }
}

extension V1.BeginBindingRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__BeginBindingRequest>) {
    touchstone__v1__begin_binding_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.deviceID, &c.device_id)
    mapper.field(&value.primary, &c.primary)
    mapper.field(&value.posture, &c.posture)
  }
}

extension V1.BeginBindingResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__BeginBindingResponse>) {
    touchstone__v1__begin_binding_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.ticket, &c.ticket)
    mapper.field(&value.challenge, &c.challenge)
    mapper.field(&value.signingInput, &c.signing_input)
    mapper.field(&value.expiresAt, &c.expires_at)
    mapper.field(&value.denial, &c.denial)
  }
}

extension V1.CompleteBindingRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__CompleteBindingRequest>) {
    touchstone__v1__complete_binding_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.ticket, &c.ticket)
    mapper.field(&value.deviceName, &c.device_name)
    mapper.repeated(&value.keys, &c.keys, &c.n_keys)
    mapper.field(&value.profileTouchID, &c.profile_touch_id)
    mapper.field(&value.posture, &c.posture)
    mapper.field(&value.replaceExisting, &c.replace_existing)
  }
}

extension V1.CompleteBindingResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__CompleteBindingResponse>) {
    touchstone__v1__complete_binding_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.binding, &c.binding)
    mapper.repeated(&value.advisories, &c.advisories, &c.n_advisories)
  }
}

extension V1.GetBindingRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GetBindingRequest>) {
    touchstone__v1__get_binding_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.bindingID, &c.binding_id)
  }
}

extension V1.GetBindingResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GetBindingResponse>) {
    touchstone__v1__get_binding_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.binding, &c.binding)
  }
}

extension V1.ListBindingsRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ListBindingsRequest>) {
    touchstone__v1__list_bindings_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.includeRevoked, &c.include_revoked)
    mapper.field(&value.pageSize, &c.page_size)
    mapper.field(&value.pageToken, &c.page_token)
  }
}

extension V1.ListBindingsResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ListBindingsResponse>) {
    touchstone__v1__list_bindings_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.bindings, &c.bindings, &c.n_bindings)
    mapper.field(&value.nextPageToken, &c.next_page_token)
  }
}

extension V1.RevokeBindingRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__RevokeBindingRequest>) {
    touchstone__v1__revoke_binding_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.bindingID, &c.binding_id)
    mapper.field(&value.reason, &c.reason)
  }
}

extension V1.RevokeBindingResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__RevokeBindingResponse>) {
    touchstone__v1__revoke_binding_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {}
}

extension V1.AcceptDomainStateRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__AcceptDomainStateRequest>) {
    touchstone__v1__accept_domain_state_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.bindingID, &c.binding_id)
    mapper.field(&value.domainState, &c.domain_state)
    mapper.oneOf(&value.evidence, &c)
    mapper.field(&value.osVersion, &c.os_version)
  }
}

extension V1.AcceptDomainStateRequest.Evidence: OneOf {
  init?(_ c: Touchstone__V1__AcceptDomainStateRequest) {
    switch c.evidence_case {
    case TOUCHSTONE__V1__ACCEPT_DOMAIN_STATE_REQUEST__EVIDENCE_TOKEN: self = .token(FieldReader.text(c.token))
    case TOUCHSTONE__V1__ACCEPT_DOMAIN_STATE_REQUEST__EVIDENCE_PRIMARY:
      self = .primary(V1.PrimaryAuthentication(c.primary))
    default: return nil
    }
  }

  func write(to c: inout Touchstone__V1__AcceptDomainStateRequest, _ writer: inout FieldWriter) {
    switch self {
    case .token(let token):
      c.evidence_case = TOUCHSTONE__V1__ACCEPT_DOMAIN_STATE_REQUEST__EVIDENCE_TOKEN
      c.token = writer.cString(token)
    case .primary(let primary):
      c.evidence_case = TOUCHSTONE__V1__ACCEPT_DOMAIN_STATE_REQUEST__EVIDENCE_PRIMARY
      c.primary = writer.cMessage(primary)
    }
  }
}

extension V1.AcceptDomainStateResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__AcceptDomainStateResponse>) {
    touchstone__v1__accept_domain_state_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.binding, &c.binding)
  }
}
