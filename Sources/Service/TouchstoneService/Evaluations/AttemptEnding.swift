// The end of an attempt: what is committed, and what is answered then.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The flow of an attempt. It reads the subject anew after each conflict, and ends with an answer or an error.
protocol AttemptMachine: CallMachine where Answer == AttemptAnswer {
  var terms: AttemptTerms { get }
  /// `nil`: the attempt is not decided.
  var ending: AttemptEnding? { get set }
}

extension AttemptMachine {
  mutating func began() -> CallStep<AttemptAnswer> { .read(terms.query) }

  mutating func conflicted() -> CallStep<AttemptAnswer> { began() }

  mutating func committed() -> CallStep<AttemptAnswer> {
    guard let ending else { preconditionFailure("a commit follows a decision") }
    return ending.step
  }

  mutating func end(_ ending: AttemptEnding) -> CallStep<AttemptAnswer> {
    self.ending = ending
    return .commit(ending.commitment)
  }

  mutating func conclude(
    _ attempt: Attempt, on subject: SharedRecord<Subject>, at moment: Moment
  ) -> CallStep<AttemptAnswer> {
    guard !terms.isOutdated(at: moment) else { return end(AttemptEnding(contextOf: terms, at: moment)) }
    return end(AttemptEnding(DecidedAttempt(attempt, of: subject, by: terms, at: moment.now)))
  }
}

/// An attempt whose end is known when it comes in.
struct RefusedAttempt: CallMachine {
  let ending: AttemptEnding
  var nameCount: NameCount? { nil }

  mutating func began() -> CallStep<AttemptAnswer> { .commit(ending.commitment) }
  mutating func conflicted() -> CallStep<AttemptAnswer> { began() }
  mutating func committed() -> CallStep<AttemptAnswer> { ending.step }
}

typealias AttemptEnding = CallEnding<AttemptAnswer>

extension CallEnding where Answer == AttemptAnswer {
  init(_ attempt: DecidedAttempt) {
    self.init(commitment: attempt.commitment, result: .success(.decided(attempt)))
  }

  /// The refusal of an attempt that counts nothing and may be sent again.
  ///
  /// - Parameter reason: for the event alone; `nil`: the error's.
  init(
    _ error: RequestError, because reason: String? = nil, _ subject: SharedRecord<Subject>, of terms: AttemptTerms,
    at moment: Moment
  ) {
    let event = EventDraft.evaluation(
      .refused, policy: terms.policy.name, applicationID: terms.applicationID, subject: subject.value,
      reason: reason ?? error.reason,
      factor: terms.proof.factor, transaction: terms.evaluation.transaction, caller: terms.caller, time: moment.now)
    let refusal = ThrottledEvent(
      event, answering: error.reason ?? "", about: terms.evaluation.countedName,
      on: terms.nameRequirements(of: subject.value))
    self.init(commitment: .refusal(refusal), result: .failure(error))
  }

  /// The same answer for an evaluation that is unknown, tampered with, expired, another caller's or of an older policy.
  ///
  /// - Parameter evaluation: `nil` if it could not be opened.
  init(contextOf evaluation: SealedEvaluation?, applicationID: String, caller: Caller, at moment: Moment) {
    typealias Reason = RequestError.Reason
    let (reason, counted): (String, ServiceMeters.ContextRefusal) =
      switch evaluation {
      case nil: (Reason.evaluationUnknown, .unknown)
      case let evaluation? where moment.now < evaluation.key.expiresAt && !evaluation.isInForce(at: moment):
        (Reason.policyChanged, .policyChanged)
      default: (Reason.evaluationExpired, .expired)
      }
    let event = EventDraft.evaluation(
      .refused, policy: evaluation?.policyName ?? "", applicationID: applicationID, subject: nil, reason: reason,
      transaction: evaluation?.transaction, caller: caller, time: moment.now)
    let refusal = ThrottledEvent(
      event, answering: AttemptDecision.invalidContext.told, about: evaluation?.countedName ?? "")
    self.init(commitment: .refusal(refusal), result: .success(.invalidContext(counted)))
  }

  init(contextOf terms: AttemptTerms, at moment: Moment) {
    self.init(
      contextOf: terms.evaluation, applicationID: terms.applicationID, caller: terms.caller, at: moment)
  }
}

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

extension AttemptDecision {
  fileprivate static let invalidContext = AttemptDecision(outcome: .invalidContext, laError: .invalidContext)
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
