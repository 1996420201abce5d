// How the messages of Tokens.swift and the generated structs correspond.

internal import CTouchstoneProto

extension V1.TokenClaims: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__TokenClaims>) {
    touchstone__v1__token_claims__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.tokenID, &c.token_id)
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.profileID, &c.profile_id)
    mapper.field(&value.bindingID, &c.binding_id)
    mapper.field(&value.policy, &c.policy)
    mapper.repeated(&value.methods, &c.methods, &c.n_methods)
    mapper.field(&value.issuedAt, &c.issued_at)
    mapper.field(&value.expiresAt, &c.expires_at)
    mapper.field(&value.transaction, &c.transaction)
    mapper.field(&value.singleUse, &c.single_use)
  }
}

extension V1.IntrospectTokenRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__IntrospectTokenRequest>) {
    touchstone__v1__introspect_token_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.token, &c.token)
  }
}

extension V1.IntrospectTokenResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__IntrospectTokenResponse>) {
    touchstone__v1__introspect_token_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.active, &c.active)
    mapper.field(&value.claims, &c.claims)
  }
}

extension V1.ConsumeTokenRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ConsumeTokenRequest>) {
    touchstone__v1__consume_token_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.token, &c.token)
    mapper.field(&value.transaction, &c.transaction)
  }
}

extension V1.ConsumeTokenResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__ConsumeTokenResponse>) {
    touchstone__v1__consume_token_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.consumed, &c.consumed)
    mapper.field(&value.claims, &c.claims)
    mapper.field(&value.reason, &c.reason)
  }
}

extension V1.RevokeTokenRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__RevokeTokenRequest>) {
    touchstone__v1__revoke_token_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.token, &c.token)
  }
}

extension V1.RevokeTokenResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__RevokeTokenResponse>) {
    touchstone__v1__revoke_token_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {}
}

extension V1.GetSigningKeysRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GetSigningKeysRequest>) {
    touchstone__v1__get_signing_keys_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {}
}

extension V1.GetSigningKeysResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__GetSigningKeysResponse>) {
    touchstone__v1__get_signing_keys_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.jwkSet, &c.jwk_set)
  }
}
