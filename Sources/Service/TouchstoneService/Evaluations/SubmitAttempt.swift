// SubmitAttempt: validates the request, opens the evaluation, starts the flow of the factor, and answers its end.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// Everything that one attempt is about and that stays the same on its way. It is a class because each step passes it
/// on.
final class AttemptTerms: Sendable {
  let applicationID: String
  let caller: Caller
  let entry: PolicyBook.Entry
  let evaluation: SealedEvaluation
  let proof: AttemptProof
  let posture: DevicePosture
  let deviceModel: String
  /// `nil`: the app does not vouch for the attempt.
  let appAssertion: OfferedAppAssertion?
  let issuing: TokenIssuing

  init(
    applicationID: String, caller: Caller, entry: PolicyBook.Entry, evaluation: SealedEvaluation, proof: AttemptProof,
    posture: DevicePosture, deviceModel: String, appAssertion: OfferedAppAssertion?, issuing: TokenIssuing
  ) {
    self.applicationID = applicationID
    self.caller = caller
    self.entry = entry
    self.evaluation = evaluation
    self.proof = proof
    self.posture = posture
    self.deviceModel = deviceModel
    self.appAssertion = appAssertion
    self.issuing = issuing
  }

  var policy: EvaluationPolicy {
    _read { yield entry.policy }
  }

  var query: SubjectQuery {
    SubjectQuery(
      named: evaluation.subject, digest: proof.profileTouchIDDigest ?? [], applicationID: applicationID,
      evaluation: evaluation.key)
  }

  /// The bytes that the device signed.
  var signingInput: [UInt8] { evaluation.signingInput(applicationID: applicationID, policy: policy) }

  /// True if the evaluation expired, or if its policy was changed or removed after it began (R36). Checked before each
  /// decision, because queues, verification and conflicts take time.
  func isOutdated(at moment: Moment) -> Bool {
    !evaluation.key.isInTime(at: moment.now, lifetime: policy.evaluationLifetime)
      || !evaluation.isInForce(at: moment)
  }
}

extension SealedEvaluation {
  /// True if the evaluation's policy has not changed since the evaluation began (R36).
  func isInForce(at moment: Moment) -> Bool {
    moment.policies[policyName]?.revision == policyRevision
  }
}

extension TouchstoneService {
  /// A sealed evaluation holds at most a prompt, three identifiers and a transaction: under 2 KiB.
  static let sealedEvaluationBytes = 1...4_096

  var moment: Moment { Moment(now: clock(), policies: policies) }

  @Sendable func submitAttempt(
    _ request: V1.SubmitAttemptRequest, _ exchange: Exchange<V1.SubmitAttemptResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.opaque(request.evaluation, "evaluation", count: Self.sealedEvaluationBytes)
    let posture = validator.posture(request.posture, isOptional: request.attempt?.isByPasskey == true)
    let proof = validator.proof(of: request, by: self)
    validator.appAssertion(of: request, on: posture.platform)
    try validator.finish()
    let appAssertion = try OfferedAppAssertion(request, of: self)
    guard let proof else { preconditionFailure("a request without a proof was refused above") }

    let part = exchange.begin(.open)
    let opened = keys.sealer.openEvaluation(
      request.evaluation, for: exchange.caller, applicationID: request.applicationID)
    part?.end()
    guard let evaluation = opened, let entry = policy(named: evaluation.policyName, for: request.applicationID),
      entry.revision == evaluation.policyRevision,
      evaluation.key.isInTime(at: clock(), lifetime: entry.policy.evaluationLifetime)
    else {
      let ending = AttemptEnding(
        contextOf: opened, applicationID: request.applicationID, caller: exchange.caller, at: moment)
      return CallRunner.run(RefusedAttempt(ending: ending), for: exchange, by: self)
    }
    let terms = AttemptTerms(
      applicationID: request.applicationID, caller: exchange.caller, entry: entry, evaluation: evaluation, proof: proof,
      posture: posture, deviceModel: request.posture?.deviceModel ?? "", appAssertion: appAssertion,
      issuing: tokenIssuing)
    switch proof {
    case .secret(let secret):
      CallRunner.run(SecretFlow(SecretAttempt(terms: terms, secret: secret)), for: exchange, by: self)
    case .passkey(let assertion):
      let requirements = keyProofs.requirements(of: request.applicationID)
      CallRunner.run(PasskeyAttempt(assertion, of: terms, requirements), for: exchange, by: self)
    case .key, .profileTouchID, .primary, .report:
      CallRunner.run(KeyAttempt(of: terms, configuration.enrolment), for: exchange, by: self)
    }
  }
}

extension V1.SubmitAttemptRequest.Attempt {
  fileprivate var isByPasskey: Bool {
    if case .passkey = self { true } else { false }
  }
}

// MARK: The answer

enum AttemptAnswer: CallAnswer {
  case decided(DecidedAttempt)
  case invalidContext(ServiceMeters.ContextRefusal)

  func send(by service: TouchstoneService, to exchange: Exchange<V1.SubmitAttemptResponse>) {
    switch self {
    case .decided(let attempt):
      service.count(attempt, for: exchange)
      exchange.answer(service.response(to: attempt, in: exchange))
    case .invalidContext(let refusal):
      service.meters.contextRefusals.count(refusal)
      exchange.answer(
        V1.SubmitAttemptResponse(.invalidContext, by: nil, on: .unspecified, in: exchange.language))
    }
  }
}

extension TouchstoneService {
  /// Once for each answer, because what was not committed is decided again.
  fileprivate func count(_ attempt: DecidedAttempt, for exchange: Exchange<V1.SubmitAttemptResponse>) {
    let terms = attempt.terms
    if attempt.grant != nil { noteSuccess(for: exchange) }
    terms.entry.meters.count(attemptBy: terms.proof.factor, attempt.decision.outcome)
    if let verdict = attempt.decision.domainState { meters.verdictsOfAttempts.count(verdict) }
    if let lock = attempt.newLock { lockBegan(lock, in: terms.applicationID, for: exchange) }
  }

  fileprivate func response(
    to attempt: DecidedAttempt, in exchange: Exchange<V1.SubmitAttemptResponse>
  ) -> V1.SubmitAttemptResponse {
    let terms = attempt.terms
    var response = V1.SubmitAttemptResponse(
      attempt.decision, by: terms.proof.factor, on: terms.posture.biometryType, in: exchange.language)
    if attempt.decision.outcome != .invalidContext {
      let presentation = terms.policy.present(
        terms.evaluation.prompt.titles, on: terms.posture, isFallbackVisible: attempt.decision.isFallbackVisible)
      response.presentation = V1.Presentation(
        presentation, localizedReason: terms.evaluation.prompt.localizedReason, in: exchange.language)
    }
    guard let grant = attempt.grant else { return response }
    response.profileID = grant.profileID
    if let claims = grant.claims {
      response.token = keys.tokenSigner.sign(claims)
      response.tokenExpiresAt = V1.Timestamp(UnixTime(seconds: claims.expiresAt))
    }
    return response
  }
}

extension V1.SubmitAttemptResponse {
  /// The decision, and the message to the person (R20).
  ///
  /// - Parameter factor: the factor that was tried; `nil` for the device's report, or if no factor was checked.
  fileprivate init(
    _ decision: AttemptDecision, by factor: Factor?, on biometry: BiometryType, in language: @autoclosure () -> Language
  ) {
    self.init(
      outcome: V1.Outcome(decision.outcome), laError: V1.LAError(decision.laError),
      result: V1.Result(outcome: decision.outcome, code: decision.laError),
      nextFactors: decision.nextFactors.map(V1.Factor.init), attemptsLeft: decision.attemptsLeft,
      retryAfter: decision.retryAfter.map(V1.Duration.init),
      domainState: V1.DomainStateVerdict(decision.domainState),
      denial: decision.bindingDenial.map { V1.Denial($0, biometry: biometry, in: language()) })
    if decision.outcome != .succeeded {
      message = Message(decision, by: factor, biometry: biometry, in: language()).map(V1.LocalizedText.init)
    }
  }
}
