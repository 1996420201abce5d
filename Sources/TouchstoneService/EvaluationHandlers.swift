// EvaluationService: may this policy be evaluated, open an evaluation, end one. An attempt has a file of its own.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  private static let evaluationService = "/touchstone.v1.EvaluationService"

  func registerEvaluation(_ methods: inout MethodTable) {
    let service = Self.evaluationService
    register("\(service)/CanEvaluatePolicy", in: &methods, handler: canEvaluatePolicy)
    register("\(service)/BeginEvaluation", in: &methods, handler: beginEvaluation)
    register("\(service)/SubmitAttempt", in: &methods) { [self] request, exchange throws(RequestError) in
      try AttemptFlow.start(request, exchange, service: self)
    }
    register("\(service)/InvalidateEvaluation", in: &methods, handler: invalidateEvaluation)
  }

  func policy(named name: String) throws(RequestError) -> EvaluationPolicy {
    guard let policy = policies[name] else {
      throw .invalidArgument(field: "policy", name.isEmpty ? "is required" : "is not configured")
    }
    return policy
  }

  // MARK: CanEvaluatePolicy

  @Sendable private func canEvaluatePolicy(
    _ request: V1.CanEvaluatePolicyRequest, _ exchange: Exchange<V1.CanEvaluatePolicyResponse>
  ) throws(RequestError) {
    let policy = try policy(named: request.policy)
    var validator = RequestValidator()
    validator.identifier(request.applicationID, "application_id")
    validator.optionalIdentifier(request.bindingID, "binding_id")
    let posture = validator.posture(request.posture)
    try validator.finish()

    guard !request.bindingID.isEmpty else {
      let preflight = policy.preflight(
        posture: posture, binding: nil, device: BiometryStanding(), profile: .none, now: clock())
      return exchange.answer(V1.CanEvaluatePolicyResponse(preflight))
    }
    subject(bindingID: request.bindingID, applicationID: request.applicationID, evaluation: nil, for: exchange) {
      [standIns, clock] subject in
      let preflight = policy.preflight(
        posture: posture, binding: subject.standing(standIns: standIns, bindingID: request.bindingID),
        device: subject.device.biometry, profile: .none, now: clock())
      exchange.answer(V1.CanEvaluatePolicyResponse(preflight))
    }
  }

  // MARK: BeginEvaluation

  /// Long enough for a sentence in any script (evaluation.proto).
  private static let reasonBytes = 1...512
  private static let titleBytes = 0...128
  static let challengeBytes = 32

  @Sendable private func beginEvaluation(
    _ request: V1.BeginEvaluationRequest, _ exchange: Exchange<V1.BeginEvaluationResponse>
  ) throws(RequestError) {
    let policy = try policy(named: request.policy)
    var validator = RequestValidator()
    validator.identifier(request.applicationID, "application_id")
    if request.bindingID.isEmpty, !request.profileID.isEmpty {
      throw RequestError(code: .unimplemented, message: "profile_id: is not served without binding_id by this version")
    }
    validator.identifier(request.bindingID, "binding_id")
    if !request.profileID.isEmpty { validator.refuse("profile_id", "is taken instead of binding_id, not beside it") }
    validator.text(request.localizedReason, "localized_reason", bytes: Self.reasonBytes)
    validator.text(request.fallbackTitle?.text ?? "", "fallback_title.text", bytes: Self.titleBytes)
    validator.text(request.cancelTitle?.text ?? "", "cancel_title.text", bytes: Self.titleBytes)
    let transaction = validator.transaction(request.transaction, for: policy)
    let posture = validator.posture(request.posture)
    try validator.finish()

    let prompt = Prompt(
      localizedReason: request.localizedReason, fallbackTitle: request.fallbackTitle?.text,
      cancelTitle: request.cancelTitle?.text)
    subject(bindingID: request.bindingID, applicationID: request.applicationID, evaluation: nil, for: exchange) {
      [self] subject throws(RequestError) in
      let preflight = policy.preflight(
        posture: posture, binding: subject.standing(standIns: standIns, bindingID: request.bindingID),
        device: subject.device.biometry, profile: .none, now: clock())
      if preflight.denial != nil {
        let event = EventDraft.evaluation(
          .denied, policy: policy.name, applicationID: request.applicationID, subject: subject,
          reason: preflight.denial?.reason.rawValue, caller: exchange.caller, time: clock())
        record(event, for: exchange) { exchange.answer(V1.BeginEvaluationResponse(denied: preflight)) }
      } else {
        let terms = OpeningTerms(
          applicationID: request.applicationID, bindingID: request.bindingID, policy: policy,
          transaction: transaction, prompt: prompt, posture: posture)
        exchange.answer(open(terms, preflight, caller: exchange.caller))
      }
    }
  }

  private struct OpeningTerms {
    var applicationID: String
    var bindingID: String
    var policy: EvaluationPolicy
    var transaction: Transaction?
    var prompt: Prompt
    var posture: DevicePosture
  }

  /// Makes the challenge. Nothing is written (R34).
  private func open(_ terms: OpeningTerms, _ preflight: Preflight, caller: Caller) -> V1.BeginEvaluationResponse {
    let policy = terms.policy
    let key = ExpiringKey(expiresAt: clock() + policy.evaluationLifetime, id: randomness.uniqueID())
    let evaluation = SealedEvaluation(
      key: key, challenge: randomness.bytes(Self.challengeBytes), policyName: policy.name,
      policyRevision: policy.revision,
      bindingID: terms.bindingID, transaction: terms.transaction, prompt: terms.prompt)
    return V1.BeginEvaluationResponse(
      evaluation: sealer.seal(evaluation, for: caller, applicationID: terms.applicationID),
      challenge: evaluation.challenge,
      signingInput: evaluation.signingInput(applicationID: terms.applicationID, policy: policy),
      expiresAt: V1.Timestamp(key.expiresAt), factors: preflight.factors.map(V1.Factor.init),
      presentation: V1.Presentation(terms.prompt, on: terms.posture, isFallbackVisible: false),
      domainState: V1.DomainStateVerdict(preflight.domainState))
  }

  // MARK: InvalidateEvaluation

  /// Idempotent: what is unknown, expired or finished is as invalid as it can be.
  @Sendable private func invalidateEvaluation(
    _ request: V1.InvalidateEvaluationRequest, _ exchange: Exchange<V1.InvalidateEvaluationResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.identifier(request.applicationID, "application_id")
    validator.opaque(request.evaluation, "evaluation", count: AttemptFlow.sealedBytes)
    try validator.finish()
    guard
      let evaluation = sealer.openEvaluation(
        request.evaluation, for: exchange.caller, applicationID: request.applicationID),
      clock() < evaluation.key.expiresAt
    else { return exchange.answer(V1.InvalidateEvaluationResponse()) }
    invalidate(evaluation, applicationID: request.applicationID, round: 0, for: exchange)
  }

  private func invalidate(
    _ evaluation: SealedEvaluation, applicationID: String, round: Int,
    for exchange: Exchange<V1.InvalidateEvaluationResponse>
  ) {
    subject(
      bindingID: evaluation.bindingID, applicationID: applicationID, evaluation: evaluation.key, for: exchange
    ) { [self] subject in
      var record = subject.evaluation ?? EvaluationRecord(key: evaluation.key)
      guard !record.standing.isFinished else { return exchange.answer(V1.InvalidateEvaluationResponse()) }
      record.standing.isFinished = true
      let event = EventDraft.evaluation(
        .invalidated, policy: evaluation.policyName, applicationID: applicationID, subject: subject,
        caller: exchange.caller, time: clock())
      commit(
        ChangeSet(changes: [.putEvaluation(record)], events: [event]), round: round, for: exchange,
        conflicted: { [self] in
          invalidate(evaluation, applicationID: applicationID, round: round + 1, for: exchange)
        },
        committed: { exchange.answer(V1.InvalidateEvaluationResponse()) })
    }
  }
}

extension V1.CanEvaluatePolicyResponse {
  fileprivate init(_ preflight: Preflight) {
    self.init(
      canEvaluate: preflight.denial == nil, denial: preflight.denial.map(V1.Denial.init),
      domainState: V1.DomainStateVerdict(preflight.domainState), factors: preflight.factors.map(V1.Factor.init),
      biometryAttemptsLeft: preflight.biometryAttemptsLeft)
  }
}

extension V1.BeginEvaluationResponse {
  fileprivate init(denied preflight: Preflight) {
    self.init(
      factors: preflight.factors.map(V1.Factor.init), domainState: V1.DomainStateVerdict(preflight.domainState),
      denial: preflight.denial.map(V1.Denial.init))
  }
}

extension V1.Presentation {
  init(_ prompt: Prompt, on posture: DevicePosture, isFallbackVisible: Bool) {
    let fallbackTitle = prompt.fallbackTitle ?? Self.defaultFallbackTitle
    self.init(
      fallbackTitle: fallbackTitle, fallbackVisible: isFallbackVisible && !fallbackTitle.isEmpty,
      cancelTitle: posture.supports(.customCancelTitle) ? prompt.cancelTitle ?? "" : "",
      localizedReason: prompt.localizedReason)
  }

  /// R18: absent means the system's own title; empty means no button.
  private static let defaultFallbackTitle = "Enter Password"
}
