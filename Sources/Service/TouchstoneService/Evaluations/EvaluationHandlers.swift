// EvaluationService: may this policy be evaluated, open an evaluation, end one. An attempt has a file of its own.

internal import Encodings
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  func registerEvaluation(_ methods: inout MethodTable) {
    typealias Service = V1.EvaluationService
    register(Service.canEvaluatePolicy, in: &methods, start: canEvaluatePolicy)
    register(Service.beginEvaluation, in: &methods, start: beginEvaluation)
    register(Service.submitAttempt, in: &methods, start: submitAttempt)
    register(Service.invalidateEvaluation, in: &methods, handler: invalidateEvaluation)
  }

  /// As it is for this application; `nil`: it is not configured.
  func policy(named name: String, for applicationID: String) -> PolicyBook.Entry? {
    guard let entry = policies[name], entry.serves(applicationID) else { return nil }
    guard let withoutPasskeys = entry.withoutPasskeys, keyProofs.passkeys(of: applicationID) == nil else {
      return entry
    }
    return withoutPasskeys
  }

  /// `nil`, and a violation, where it is not configured.
  func policy(
    named name: String, for applicationID: String, with validator: inout RequestValidator
  ) -> PolicyBook.Entry? {
    let entry = policy(named: name, for: applicationID)
    if entry == nil { validator.refuse("policy", name.isEmpty ? "is required" : "is not configured") }
    return entry
  }

  // MARK: CanEvaluatePolicy

  @Sendable private func canEvaluatePolicy(
    _ request: V1.CanEvaluatePolicyRequest, _ exchange: Exchange<V1.CanEvaluatePolicyResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    let entry = policy(named: request.policy, for: request.applicationID, with: &validator)
    validator.subject(bindingID: request.bindingID, profileID: request.profileID)
    let posture = validator.posture(request.posture, isOptional: entry?.acceptsPasskeys == true)
    try validator.finish()
    guard let entry else { preconditionFailure("a request without a policy was refused above") }

    let query = SubjectQuery(
      named: EvaluationSubject(bindingID: request.bindingID, profileID: request.profileID),
      applicationID: request.applicationID)
    guard query.named != .bearer else {
      // No binding exists yet, so any credential could still be made.
      let preflight = entry.policy.preflight(
        posture: posture, binding: nil, device: BiometryStanding(), profile: .none, now: clock())
      return exchange.answer(V1.CanEvaluatePolicyResponse(preflight, on: posture, in: exchange.language))
    }
    if let subject = try subjectAtHand(query, for: exchange) {
      return answer(exchange, of: subject, under: entry, posture)
    }
    read(query, for: exchange) { [self] subject in answer(exchange, of: subject, under: entry, posture) }
  }

  private func answer(
    _ exchange: Exchange<V1.CanEvaluatePolicyResponse>, of subject: Subject, under entry: PolicyBook.Entry,
    _ posture: DevicePosture
  ) {
    let preflight = entry.policy.preflight(
      posture: posture, binding: subject.bindingStanding, device: subject.device.biometry,
      profile: subject.profileStanding, now: clock())
    exchange.answer(V1.CanEvaluatePolicyResponse(preflight, on: posture, in: exchange.language))
  }

  // MARK: BeginEvaluation

  /// Long enough for a sentence in any script (evaluation.proto).
  private static let maximumReasonBytes = 512
  private static let titleBytes = 0...128
  static let challengeBytes = 32

  @Sendable private func beginEvaluation(
    _ request: V1.BeginEvaluationRequest, _ exchange: Exchange<V1.BeginEvaluationResponse>
  ) throws(RequestError) {
    let terms = try openingTerms(request)
    if let subject = try subjectAtHand(terms.query, for: exchange) { return open(terms, for: subject, exchange) }
    read(terms.query, for: exchange) { [self] subject in open(terms, for: subject, exchange) }
  }

  struct OpeningTerms: Sendable {
    var applicationID: String
    var subject: EvaluationSubject
    var entry: PolicyBook.Entry
    var transaction: Transaction?
    var prompt: Prompt
    var posture: DevicePosture
    var deviceModel: String

    var policy: EvaluationPolicy {
      _read { yield entry.policy }
    }

    fileprivate var query: SubjectQuery { SubjectQuery(named: subject, applicationID: applicationID) }
  }

  /// - Parameters:
  ///   - prefix: of the fields' paths.
  ///   - violations: of fields beside the request.
  ///   - isPostureKnown: the caller of this function has one where the request has none.
  ///   - showsPrompt: a person reads the reason and approves the payment, so there must be one.
  func openingTerms(
    _ request: V1.BeginEvaluationRequest, prefix: String = "", after violations: [FieldViolation] = [],
    isPostureKnown: Bool = false, showsPrompt: Bool = true
  ) throws(RequestError) -> OpeningTerms {
    var validator = RequestValidator(prefix: prefix, after: violations)
    validator.application(request.applicationID)
    let entry = policy(named: request.policy, for: request.applicationID, with: &validator)
    validator.subject(bindingID: request.bindingID, profileID: request.profileID)
    validator.visibleText(
      request.localizedReason, "localized_reason", bytes: (showsPrompt ? 1 : 0)...Self.maximumReasonBytes,
      hasLines: true)
    validator.visibleText(request.fallbackTitle?.text ?? "", "fallback_title.text", bytes: Self.titleBytes)
    validator.visibleText(request.cancelTitle?.text ?? "", "cancel_title.text", bytes: Self.titleBytes)
    let transaction = validator.transaction(
      request.transaction, for: showsPrompt || request.transaction != nil ? entry?.policy : nil)
    let posture =
      isPostureKnown
      ? .empty : validator.posture(request.posture, isOptional: entry?.acceptsPasskeys == true)
    try validator.finish()
    guard let entry else { preconditionFailure("a request without a policy was refused above") }

    return OpeningTerms(
      applicationID: request.applicationID,
      subject: EvaluationSubject(bindingID: request.bindingID, profileID: request.profileID), entry: entry,
      transaction: transaction,
      prompt: Prompt(
        localizedReason: request.localizedReason,
        titles: EvaluationPolicy.Titles(fallback: request.fallbackTitle?.text, cancel: request.cancelTitle?.text)),
      posture: posture, deviceModel: request.posture?.deviceModel ?? "")
  }

  private func open(
    _ terms: OpeningTerms, for subject: Subject, _ exchange: Exchange<V1.BeginEvaluationResponse>
  ) {
    let now = clock()
    let part = exchange.begin(.decide)
    let preflight = terms.policy.preflight(subject.facts(posture: terms.posture, now: now))
    part?.end()
    guard preflight.denial == nil else {
      return exchange.run { [self] () async throws(RequestError) in
        exchange.answer(try await deny(terms, subject, exchange))
      }
    }
    count(preflight, under: terms.entry)
    exchange.answer(open(terms, preflight, for: exchange, at: now))
  }

  /// Opens the evaluation if a record changed so that it is denied no more.
  private func deny(
    _ terms: OpeningTerms, _ subject: Subject, _ exchange: Exchange<V1.BeginEvaluationResponse>
  ) async throws(RequestError) -> V1.BeginEvaluationResponse {
    var subject = subject
    for _ in DecisionRound.all {
      let now = clock()
      let preflight = terms.policy.preflight(subject.facts(posture: terms.posture, now: now))
      guard let denial = preflight.denial else {
        count(preflight, under: terms.entry)
        return open(terms, preflight, for: exchange, at: now)
      }
      let refusal = refusal(denial, preflight, of: terms, subject, by: exchange.caller, at: now)
      if try await record(refusal, for: exchange) {
        count(preflight, under: terms.entry)
        return V1.BeginEvaluationResponse(preflight, of: terms, in: exchange.language)
      }
      subject = try await self.subject(terms.query, for: exchange)
    }
    throw .tooManyRounds
  }

  private func refusal(
    _ denial: Denial, _ preflight: Preflight, of terms: OpeningTerms, _ subject: Subject, by caller: Caller,
    at now: UnixTime
  ) -> ThrottledEvent {
    let event = EventDraft.evaluation(
      .denied, policy: terms.policy.name, applicationID: terms.applicationID, subject: subject,
      reason: denial.reason.rawValue, code: denial.code, transaction: terms.transaction, caller: caller, time: now)
    let seen = SeenPosture(
      terms.posture, deviceModel: terms.deviceModel, seenAt: now, isProven: false, domainState: preflight.domainState)
    return ThrottledEvent(
      event, about: terms.subject.name, on: subject.nameRequirements(as: terms.subject), beside: subject.note(of: seen))
  }

  private func count(_ preflight: Preflight, under entry: PolicyBook.Entry) {
    entry.meters.count(preflight.denial == nil ? .opened : .denied)
    if let denial = preflight.denial { meters.denials.count(denial.reason) }
    if let verdict = preflight.domainState { meters.verdictsOfBegin.count(verdict) }
  }

  /// Makes the challenge, which the signing input holds. Nothing is written (R34).
  private func open(
    _ terms: OpeningTerms, _ preflight: Preflight, for exchange: Exchange<V1.BeginEvaluationResponse>, at now: UnixTime
  ) -> V1.BeginEvaluationResponse {
    let policy = terms.policy
    let key = newKey(expiresAt: now + policy.evaluationLifetime)
    let evaluation = SealedEvaluation(
      key: key, challenge: randomness.bytes(Self.challengeBytes), policyName: policy.name,
      policyRevision: terms.entry.revision, subject: terms.subject, transaction: terms.transaction, prompt: terms.prompt
    )
    var response = V1.BeginEvaluationResponse(preflight, of: terms, in: exchange.language)
    response.evaluation = keys.sealer.seal(
      evaluation, for: exchange.caller, applicationID: terms.applicationID, at: now)
    response.signingInput = evaluation.signingInput(applicationID: terms.applicationID, policy: policy)
    response.expiresAt = V1.Timestamp(key.expiresAt)
    if preflight.factors.contains(.passkey), let passkeys = keyProofs.passkeys(of: terms.applicationID) {
      response.passkeyOptions = PasskeyOptions.request(signingInput: response.signingInput, passkeys, for: policy)
    }
    return response
  }

  // MARK: InvalidateEvaluation

  /// Idempotent: what is unknown or finished is as invalid as it can be. An expired one is not: the clock may be set
  /// back.
  @Sendable private func invalidateEvaluation(
    _ request: V1.InvalidateEvaluationRequest, _ exchange: Exchange<V1.InvalidateEvaluationResponse>
  ) async throws(RequestError) -> V1.InvalidateEvaluationResponse {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.opaque(request.evaluation, "evaluation", count: Self.sealedEvaluationBytes)
    try validator.finish()
    let part = exchange.begin(.open)
    let opened = keys.sealer.openEvaluation(
      request.evaluation, for: exchange.caller, applicationID: request.applicationID)
    part?.end()
    guard let evaluation = opened else {
      // Unknown, or of another application: the caller learns nothing of it.
      let event = EventDraft.evaluation(
        .refused, policy: "", applicationID: request.applicationID, subject: nil,
        reason: RequestError.Reason.evaluationUnknown, caller: exchange.caller, time: clock())
      guard try await record(ThrottledEvent(event), for: exchange) else { throw .tooManyRounds }
      return V1.InvalidateEvaluationResponse()
    }
    for _ in DecisionRound.all where try await invalidate(evaluation, in: request.applicationID, exchange) {
      return V1.InvalidateEvaluationResponse()
    }
    throw .tooManyRounds
  }

  /// False: a record changed since it was read.
  private func invalidate(
    _ evaluation: SealedEvaluation, in applicationID: String, _ exchange: Exchange<V1.InvalidateEvaluationResponse>
  ) async throws(RequestError) -> Bool {
    let query = SubjectQuery(
      named: evaluation.subject, applicationID: applicationID, evaluation: evaluation.key)
    let subject = try await subject(query, for: exchange)
    var finished = subject.evaluation ?? EvaluationRecord(key: evaluation.key)
    guard !finished.standing.isFinished else {
      try await confirm(for: exchange)
      return true
    }
    finished.standing.isFinished = true
    let event = EventDraft.evaluation(
      .invalidated, policy: evaluation.policyName, applicationID: applicationID, subject: subject,
      transaction: evaluation.transaction, caller: exchange.caller, time: clock())
    let requirements = subject.nameRequirements(as: evaluation.subject)
    let refusal = ThrottledEvent(
      event, about: evaluation.countedName, on: [.putEvaluation(finished)] + requirements)
    guard try await record(refusal, for: exchange) else { return false }
    // A policy that was removed meanwhile counts nothing any more.
    policies[evaluation.policyName]?.meters.count(.invalidated)
    return true
  }
}

extension SealedEvaluation {
  /// The name by which the evaluation's refusals are counted. A ProfileTouchID's bearer has no name yet, so the
  /// evaluation's id is taken: one bearer's refusals leave room for another's.
  var countedName: String {
    subject == .bearer ? Base64URL.encode(key.id.bytes) : subject.name
  }
}

extension RequestValidator {
  /// At most one of them; neither if the person is not identified yet.
  fileprivate mutating func subject(bindingID: String, profileID: String) {
    optionalIdentifier(bindingID, "binding_id")
    optionalIdentifier(profileID, "profile_id")
    if !bindingID.isEmpty, !profileID.isEmpty {
      refuse("profile_id", "is taken instead of binding_id, not beside it")
    }
  }
}

extension EvaluationPolicy {
  fileprivate func preflight(_ facts: AdmissionFacts) -> Preflight {
    preflight(
      posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile, now: facts.now)
  }
}

extension V1.CanEvaluatePolicyResponse {
  fileprivate init(_ preflight: Preflight, on posture: DevicePosture, in language: @autoclosure () -> Language) {
    self.init(
      canEvaluate: preflight.denial == nil,
      denial: preflight.denial.map { V1.Denial($0, biometry: posture.biometryType, in: language()) },
      domainState: V1.DomainStateVerdict(preflight.domainState), factors: preflight.factors.map(V1.Factor.init),
      biometryAttemptsLeft: preflight.biometryAttemptsLeft, advisories: posture.advisories.map(\.rawValue))
  }
}

extension V1.BeginEvaluationResponse {
  /// All but what opens the evaluation.
  init(
    _ preflight: Preflight, of terms: TouchstoneService.OpeningTerms, in language: @autoclosure () -> Language
  ) {
    let posture = terms.posture
    self.init(
      factors: preflight.factors.map(V1.Factor.init), domainState: V1.DomainStateVerdict(preflight.domainState),
      denial: preflight.denial.map { V1.Denial($0, biometry: posture.biometryType, in: language()) },
      advisories: posture.advisories.map(\.rawValue))
    guard denial == nil else { return }
    presentation = V1.Presentation(
      terms.policy.present(terms.prompt.titles, on: posture, isFallbackVisible: false),
      localizedReason: terms.prompt.localizedReason, in: language())
  }
}

extension V1.Presentation {
  /// - Parameter language: only asked for where the title is the standard one.
  init(_ presentation: Presentation, localizedReason: String, in language: @autoclosure () -> Language) {
    let fallbackTitle =
      switch presentation.fallbackTitle {
      case .hidden: ""
      case .standard: language().defaultFallbackTitle
      case .text(let title): title
      }
    self.init(
      fallbackTitle: fallbackTitle, fallbackVisible: presentation.isFallbackVisible,
      cancelTitle: presentation.cancelTitle ?? "", localizedReason: localizedReason)
  }
}
