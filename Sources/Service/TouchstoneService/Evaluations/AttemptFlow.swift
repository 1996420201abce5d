// SubmitAttempt, step by step: open the evaluation, read its records, verify, decide, commit, answer.
//
// Passcode and gesture are counted before they are verified: see SecretAttempt.swift. For the result of a success, see
// Grant.swift.

internal import DispatchRPC
internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// One attempt in progress. Every step runs on the call's event loop. It is a class because each step passes it to the
/// next.
final class AttemptFlow: Sendable {
  let service: TouchstoneService
  let exchange: Exchange<V1.SubmitAttemptResponse>
  let applicationID: String
  private let entry: PolicyBook.Entry
  let evaluation: SealedEvaluation
  let proof: AttemptProof
  let posture: DevicePosture
  private let deviceModel: String
  /// `nil`: the app does not vouch for the attempt.
  let appAssertion: OfferedAppAssertion?

  private init(
    service: TouchstoneService, exchange: Exchange<V1.SubmitAttemptResponse>, applicationID: String,
    entry: PolicyBook.Entry, evaluation: SealedEvaluation, proof: AttemptProof, posture: DevicePosture,
    deviceModel: String, appAssertion: OfferedAppAssertion?
  ) {
    self.service = service
    self.exchange = exchange
    self.applicationID = applicationID
    self.entry = entry
    self.evaluation = evaluation
    self.proof = proof
    self.posture = posture
    self.deviceModel = deviceModel
    self.appAssertion = appAssertion
  }

  var policy: EvaluationPolicy {
    _read { yield entry.policy }
  }

  /// A sealed evaluation holds at most a prompt, three identifiers and a transaction: under 2 KiB.
  static let sealedBytes = 1...4_096

  // MARK: Open

  static func start(
    _ request: V1.SubmitAttemptRequest, _ exchange: Exchange<V1.SubmitAttemptResponse>, service: TouchstoneService
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.opaque(request.evaluation, "evaluation", count: sealedBytes)
    let posture = validator.posture(request.posture, isOptional: request.attempt?.isByPasskey == true)
    let proof = validator.proof(request.attempt, of: service)
    validator.appAssertion(of: request, on: posture.platform)
    try validator.finish()
    let appAssertion = try OfferedAppAssertion(request, of: service)
    guard let proof else { preconditionFailure("a request without a proof was refused above") }

    let part = exchange.begin(.open)
    let opened = service.keys.sealer.openEvaluation(
      request.evaluation, for: exchange.caller, applicationID: request.applicationID)
    part?.end()
    guard let evaluation = opened else { return refuseContext(nil, request.applicationID, exchange, service: service) }
    guard let entry = service.policy(named: evaluation.policyName, for: request.applicationID),
      entry.revision == evaluation.policyRevision,
      evaluation.key.isInTime(at: service.clock(), lifetime: entry.policy.evaluationLifetime)
    else { return refuseContext(evaluation, request.applicationID, exchange, service: service) }

    let flow = AttemptFlow(
      service: service, exchange: exchange, applicationID: request.applicationID, entry: entry,
      evaluation: evaluation, proof: proof, posture: posture, deviceModel: request.posture?.deviceModel ?? "",
      appAssertion: appAssertion)
    switch proof {
    case .secret(let secret): SecretAttempt(flow: flow, secret: secret).start()
    case .passkey(let assertion): PasskeyAttempt(assertion, in: flow).start()
    case .key, .profileTouchID, .primary, .report:
      exchange.deciding { round in flow.decide(isValid: nil, in: round) }
    }
  }

  /// Gives the same answer for an evaluation that is unknown, tampered with, expired, another caller's or of an older
  /// policy.
  ///
  /// - Parameter evaluation: `nil` if it could not be opened.
  private static func refuseContext(
    _ evaluation: SealedEvaluation?, _ applicationID: String, _ exchange: Exchange<V1.SubmitAttemptResponse>,
    service: TouchstoneService
  ) {
    typealias Reason = RequestError.Reason
    let now = service.clock()
    let (reason, counted): (String, ServiceMeters.ContextRefusal) =
      switch evaluation {
      case nil: (Reason.evaluationUnknown, .unknown)
      case let evaluation? where now < evaluation.key.expiresAt && !service.isInForce(evaluation):
        (Reason.policyChanged, .policyChanged)
      default: (Reason.evaluationExpired, .expired)
      }
    let event = EventDraft.evaluation(
      .refused, policy: evaluation?.policyName ?? "", applicationID: applicationID, subject: nil, reason: reason,
      transaction: evaluation?.transaction, caller: exchange.caller, time: now)
    let decision = AttemptDecision(outcome: .invalidContext, laError: .invalidContext)
    let refusal = ThrottledEvent(event, answering: decision.told, about: evaluation?.countedName ?? "")
    service.record(refusal, for: exchange) {
      service.meters.contextRefusals.count(counted)
      exchange.answer(V1.SubmitAttemptResponse(decision, by: nil, on: .unspecified, in: exchange.language))
    }
  }

  func refuseContext() {
    Self.refuseContext(evaluation, applicationID, exchange, service: service)
  }

  /// True if the evaluation expired, or if its policy was changed or removed after it began (R36). Checked again before
  /// each decision, because queues, verification and conflicts take time.
  var isOutdated: Bool {
    !evaluation.key.isInTime(at: service.clock(), lifetime: policy.evaluationLifetime) || !service.isInForce(evaluation)
  }

  // MARK: Read and verify

  func read(then body: @escaping @Sendable (Subject) throws(RequestError) -> Void) {
    service.subject(
      evaluation.subject, digest: proof.profileTouchIDDigest, of: applicationID, evaluation: evaluation.key,
      for: exchange, then: body)
  }

  /// - Parameter isValid: a signature's verdict from an earlier round. A binding's keys never change, so the verdict stays
  ///   true.
  private func decide(isValid: Bool?, in round: DecisionRound) {
    read { [self] subject throws(RequestError) in
      switch proof {
      case .key(let factor, let signature):
        guard isValid == nil, !subject.isInactiveBinding, subject.evaluation?.standing.isFinished != true else {
          return conclude(subject, .key(factor: factor, isValid: isValid ?? false), in: round)
        }
        guard let appAssertion else {
          if lacksAppAssertion { return refuseForLackOfAppAssertion(subject, in: round) }
          return try verify(signature, by: factor, subject, in: round)
        }
        try verify(appAssertion, beside: signature, subject, in: round) { [self] () throws(RequestError) in
          try verify(signature, by: factor, subject, in: round)
        }
      case .profileTouchID(let digest):
        conclude(subject, .profileTouchID(isValid: subject.holds(profileTouchIDDigest: digest)), in: round)
      case .primary(let login):
        decide(subject, login, in: round)
      case .report(let code):
        conclude(subject, .report(code), in: round)
      case .secret, .passkey:
        preconditionFailure("a secret and a passkey have flows of their own")
      }
    }
  }

  private func verify(
    _ signature: KeySignature, by factor: Factor, _ subject: Subject, in round: DecisionRound
  ) throws(RequestError) {
    guard let key = subject.sharedBinding?.value.key(for: factor) else {
      return conclude(subject, .key(factor: factor, isValid: false), in: round)
    }
    var check = SignatureCheck(
      publicKey: try imported(key.publicKey, P256PublicKey.init), signature: signature.p256,
      message: evaluation.signingInput(applicationID: applicationID, policy: policy))
    let isWhole = signature.mlDSA65.isEmpty == (key.mlDSA65PublicKey == nil)
    if isWhole, let otherHalf = key.mlDSA65PublicKey {
      check.otherHalf = SignatureCheck.OtherHalf(
        publicKey: try imported(otherHalf, MLDSA65PublicKey.init), signature: signature.mlDSA65)
    }
    exchange.verify(check) { [self] isValid in
      conclude(subject, .key(factor: factor, isValid: isValid && isWhole), in: round)
    }
  }

  /// A stored key does not import if the store was damaged.
  func imported<Key>(
    _ bytes: [UInt8], _ read: ([UInt8]) throws(CryptoError) -> Key
  ) throws(RequestError) -> Key {
    do throws(CryptoError) {
      return try read(bytes)
    } catch {
      throw exchange.logged(error)
    }
  }

  private func decide(_ subject: Subject, _ login: PrimaryLogin, in round: DecisionRound) {
    let now = service.clock()
    let verdict = service.configuration.enrolment.primaryVerdict(
      authenticatedAt: login.authenticatedAt, now: now, within: policy.primaryFreshness)
    let standing = subject.evaluation?.standing ?? EvaluationStanding()
    guard !subject.isInactiveBinding, policy.asksForNewLogin(after: verdict, in: standing), !isOutdated else {
      return conclude(subject, .primary(verdict), in: round)
    }

    let reason = RequestError.Reason.primaryAuthenticationTooOld
    let event = EventDraft.evaluation(
      .refused, policy: policy.name, applicationID: applicationID, subject: subject, reason: reason, factor: .primary,
      transaction: evaluation.transaction, caller: exchange.caller, time: now)
    service.record(
      ThrottledEvent(event, about: evaluation.countedName, on: nameRequirements(of: subject)), in: round,
      for: exchange
    ) { () throws(RequestError) in
      throw .failedPrecondition(reason, "the person must log in again", .primaryAuthenticationTooOld)
    }
  }

  // MARK: Decide and commit

  func conclude(_ subject: Subject, _ attempt: Attempt, in round: DecisionRound) {
    guard !isOutdated else { return refuseContext() }
    let now = service.clock()
    let part = exchange.begin(.decide)
    let decision = policy.decide(AttemptFacts(subject.facts(posture: posture, now: now), attempt: attempt))
    part?.end()
    var round = round
    if case .key(_, let isValid) = attempt {
      round = round.retrying { [self] round in decide(isValid: isValid, in: round) }
    }
    commit(DecidedAttempt(decision, of: subject, at: now), in: round)
  }

  /// Makes the decision durable, then answers it.
  ///
  /// - Parameter committed: runs before the answer.
  func commit(
    _ attempt: DecidedAttempt, in round: DecisionRound, committed: @escaping @Sendable () -> Void = {}
  ) {
    let (subject, decision, now) = (attempt.subject, attempt.decision, attempt.time)
    let grant = decision.outcome == .succeeded ? Grant(to: subject, by: self, at: now) : nil
    if grant != nil, isLate(appAssertion, after: subject.sharedBinding) {
      return refuseAssertion(because: ProofError.Reason.counterNotGrown.rawValue, of: subject, in: round)
    }
    let changes = changes(attempt, grant)
    let event = event(attempt, grant)
    let seen = SeenPosture(
      posture, deviceModel: deviceModel, seenAt: now, isProven: grant != nil && proof.isByKey,
      domainState: decision.baseline == nil ? decision.domainState : .unchanged)
    // A passkey is used on any device: what that one is like says nothing of the next.
    let hasNews = proof.assertion == nil && decision.outcome != .invalidContext
    let note = hasNews ? subject.note(of: seen) : nil
    guard grant == nil else {
      return service.commit(
        ChangeSet(changes: note.map { changes + [$0.change] } ?? changes, events: [event]), in: round, for: exchange
      ) { [self] in
        service.noteSuccess(for: exchange)
        count(attempt)
        committed()
        exchange.answer(answer(decision, grant))
      }
    }
    let refusal = ThrottledEvent(
      event, answering: decision.told, about: evaluation.countedName,
      isRequired: attempt.changesWhatLasts, on: changes, beside: note)
    service.record(refusal, in: round, for: exchange) { [self] in
      count(attempt)
      committed()
      exchange.answer(answer(decision, nil))
    }
  }

  /// Once for each answer, because what was not committed is decided again.
  private func count(_ attempt: DecidedAttempt) {
    let decision = attempt.decision
    entry.meters.count(attemptBy: proof.factor, decision.outcome)
    if let verdict = decision.domainState { service.meters.verdictsOfAttempts.count(verdict) }
    if case .secret(let secret) = proof, let standing = decision.secret {
      let holder = attempt.subject.secretHolder(of: secret.kind)
      service.unknownNames.note(standing, of: secret.kind, in: holder, by: exchange.caller)
    }
    if let lock = attempt.newLock(by: proof.factor) { service.lockBegan(lock, in: applicationID, for: exchange) }
  }

  private func changes(_ attempt: DecidedAttempt, _ grant: Grant?) -> [Change] {
    let (subject, decision) = (attempt.subject, attempt.decision)
    var changes = secretChanges(attempt)
    changes.reserveCapacity(Grant.mostChanges)
    if let grant {
      let assertion = proof.assertion
      changes += grant.changes(
        subject, decision, provenFamily: proof.isByKey ? posture.platform.family : nil, assertion, at: attempt.time)
      if let assertion, let binding = subject.binding,
        let change = PasskeyAttempt.counterChange(assertion, binding)
      {
        changes.append(change)
      }
      changes += counterChanges(of: subject)
    } else {
      // A failure counts on the device only while the binding is active (R10).
      changes += nameRequirements(of: subject, countingSecret: decision.secret != nil)
    }
    if let standing = decision.device {
      var device = subject.device
      device.settle(standing)
      changes.append(.putDevice(device))
    }
    if let standing = decision.evaluation {
      var record = subject.evaluation ?? EvaluationRecord(key: evaluation.key)
      record.standing = standing
      changes.append(.putEvaluation(record))
    }
    return changes
  }

  private func event(_ attempt: DecidedAttempt, _ grant: Grant?) -> EventDraft {
    let decision = attempt.decision
    return .evaluation(
      EventDraft.EvaluationKind(decision.outcome), policy: policy.name, applicationID: applicationID,
      subject: attempt.subject, reason: decision.cause?.auditName, code: decision.laError, factor: proof.factor,
      isCounted: isLockoutCounted(decision), transaction: evaluation.transaction, tokenID: grant?.singleUseTokenID,
      isVouchedByApp: grant != nil && appAssertion != nil,
      hasSignCountBack: grant != nil && hasSignCountBack(on: attempt.subject.binding), caller: exchange.caller,
      time: attempt.time)
  }

  /// A setting lets a passkey's login succeed all the same (R46).
  private func hasSignCountBack(on binding: BindingRecord?) -> Bool {
    guard let assertion = proof.assertion, let binding else { return false }
    return PasskeyAttempt.hasCountBack(assertion, binding)
  }

  /// - Parameter countingSecret: the commit counts the attempt at the secret.
  func nameRequirements(of subject: Subject, countingSecret: Bool = false) -> [Change] {
    subject.nameRequirements(
      as: evaluation.subject,
      counting: countingSecret ? proof.secretKind.map { kind in subject.secretHolder(of: kind) } : nil)
  }

  /// `nil` if nothing is locked, or if only the device reported the lock.
  private func isLockoutCounted(_ decision: AttemptDecision) -> Bool? {
    guard decision.outcome == .lockedOut, proof.factor != nil else { return nil }
    return decision.secret != nil || decision.device != nil
  }

  /// A refusal that depends on the secret's standing also requires that the standing is current. For a named profile, its
  /// requirement does (`nameRequirements`).
  private func secretChanges(_ attempt: DecidedAttempt) -> [Change] {
    guard case .secret(let secret) = proof else { return [] }
    let subject = attempt.subject
    guard let standing = attempt.decision.secret else {
      return subject.binding == nil ? [] : [.require(subject.profile)]
    }
    return [
      subject.secretHolder(of: secret.kind)
        .change(to: standing, of: secret.kind, verifier: attempt.rehashed, at: attempt.time)
    ].compactMap { $0 }
  }

  // MARK: Answer

  private func answer(_ decision: AttemptDecision, _ grant: Grant?) -> V1.SubmitAttemptResponse {
    var response = V1.SubmitAttemptResponse(
      decision, by: proof.factor, on: posture.biometryType, in: exchange.language)
    if decision.outcome != .invalidContext {
      let presentation = policy.present(
        evaluation.prompt.titles, on: posture, isFallbackVisible: decision.isFallbackVisible)
      response.presentation = V1.Presentation(
        presentation, localizedReason: evaluation.prompt.localizedReason, in: exchange.language)
    }
    if let grant {
      response.profileID = grant.profileID
      if let claims = grant.claims {
        response.token = service.keys.tokenSigner.sign(claims)
        response.tokenExpiresAt = V1.Timestamp(UnixTime(seconds: claims.expiresAt))
      }
    }
    return response
  }
}

/// The decision on one attempt, and its subject.
struct DecidedAttempt: Sendable {
  let decision: AttemptDecision
  let subject: Subject
  let time: UnixTime
  /// The secret's new verifier, if it gets one.
  var rehashed: [UInt8]?
  /// True if an earlier step counted the attempt already.
  var isCounted = false

  init(_ decision: AttemptDecision, of subject: Subject, at time: UnixTime) {
    (self.decision, self.subject, self.time) = (decision, subject, time)
  }

  /// The lock that began with the attempt.
  fileprivate func newLock(by factor: Factor?) -> ServiceMeters.Lock? {
    if let device = decision.device, device.isLockedOut, !subject.device.biometry.isLockedOut { return .device }
    guard isCounted, decision.outcome == .lockedOut, let factor else { return nil }
    return ServiceMeters.Lock(factor)
  }

  /// True if the attempt changed a lasting count of a known profile. An evaluation's own count does not last: the
  /// evaluation ends within minutes, and a caller may begin any number of them, also for invented names.
  fileprivate var changesWhatLasts: Bool {
    subject.profileID != nil
      && (isCounted || decision.device != nil || decision.secret != nil)
  }
}

extension AttemptDecision {
  /// The part of a refusal that the caller receives. Refusals are throttled by it.
  fileprivate var told: String { bindingDenial?.reason.rawValue ?? "\(outcome) \(laError?.rawValue ?? 0)" }
}

extension TouchstoneService {
  /// True if the evaluation's policy has not changed since the evaluation began (R36).
  fileprivate func isInForce(_ evaluation: SealedEvaluation) -> Bool {
    policies[evaluation.policyName]?.revision == evaluation.policyRevision
  }
}

extension Subject {
  /// A plain comparison is enough: digests are keyed, so the length of a common prefix reveals nothing of the
  /// identifiers.
  fileprivate func holds(profileTouchIDDigest digest: [UInt8]) -> Bool {
    binding?.profileTouchIDDigest == digest
  }
}

extension AttemptProof {
  fileprivate var secretKind: Factor? {
    if case .secret(let secret) = self { secret.kind } else { nil }
  }

  fileprivate var isByKey: Bool {
    if case .key = self { true } else { false }
  }

  fileprivate var assertion: OfferedAssertion? {
    if case .passkey(let assertion) = self { assertion } else { nil }
  }
}

extension V1.SubmitAttemptRequest.Attempt {
  fileprivate var isByPasskey: Bool {
    if case .passkey = self { true } else { false }
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
