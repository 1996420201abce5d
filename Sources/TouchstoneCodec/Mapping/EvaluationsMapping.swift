// How the messages of Evaluations.swift and the generated structs correspond.

internal import CTouchstoneProto

extension V1.CanEvaluatePolicyRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__CanEvaluatePolicyRequest>) {
    touchstone__v1__can_evaluate_policy_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.policy, &c.policy)
    mapper.field(&value.bindingID, &c.binding_id)
    mapper.field(&value.posture, &c.posture)
    mapper.field(&value.profileID, &c.profile_id)
  }
}

extension V1.CanEvaluatePolicyResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__CanEvaluatePolicyResponse>) {
    touchstone__v1__can_evaluate_policy_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.canEvaluate, &c.can_evaluate)
    mapper.field(&value.denial, &c.denial)
    mapper.field(&value.domainState, &c.domain_state)
    mapper.repeated(&value.factors, &c.factors, &c.n_factors)
    mapper.field(&value.biometryAttemptsLeft, &c.biometry_attempts_left)
    mapper.repeated(&value.advisories, &c.advisories, &c.n_advisories)
  }
}

extension V1.BeginEvaluationRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__BeginEvaluationRequest>) {
    touchstone__v1__begin_evaluation_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.policy, &c.policy)
    mapper.field(&value.bindingID, &c.binding_id)
    mapper.field(&value.localizedReason, &c.localized_reason)
    mapper.field(&value.fallbackTitle, &c.fallback_title)
    mapper.field(&value.cancelTitle, &c.cancel_title)
    mapper.field(&value.transaction, &c.transaction)
    mapper.field(&value.posture, &c.posture)
    mapper.field(&value.profileID, &c.profile_id)
  }
}

extension V1.BeginEvaluationResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__BeginEvaluationResponse>) {
    touchstone__v1__begin_evaluation_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.evaluation, &c.evaluation)
    mapper.field(&value.signingInput, &c.signing_input)
    mapper.field(&value.expiresAt, &c.expires_at)
    mapper.repeated(&value.factors, &c.factors, &c.n_factors)
    mapper.field(&value.presentation, &c.presentation)
    mapper.field(&value.domainState, &c.domain_state)
    mapper.field(&value.denial, &c.denial)
    mapper.repeated(&value.advisories, &c.advisories, &c.n_advisories)
  }
}

extension V1.InvalidateEvaluationRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__InvalidateEvaluationRequest>) {
    touchstone__v1__invalidate_evaluation_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.applicationID, &c.application_id)
    mapper.field(&value.evaluation, &c.evaluation)
  }
}

extension V1.InvalidateEvaluationResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Touchstone__V1__InvalidateEvaluationResponse>) {
    touchstone__v1__invalidate_evaluation_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {}
}
