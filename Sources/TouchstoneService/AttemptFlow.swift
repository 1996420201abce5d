// SubmitAttempt, step by step: open the evaluation, read what it rests on, verify, decide, commit, answer.
//
// What is special to passcode and gesture, which are counted before they are verified, stands in SecretAttempt.swift;
// what a success yields, in Grant.swift.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// One attempt on its way. Every step runs on the call's shard. One reference, since each step hands it to the next.
final class AttemptFlow: Sendable {
  let service: TouchstoneService
  let exchange: Exchange<V1.SubmitAttemptResponse>
  let applicationID: String
  private let entry: PolicyBook.Entry
  let evaluation: SealedEvaluation
  let proof: AttemptProof
  let posture: DevicePosture
  private let deviceModel: String

  private init(
    service: TouchstoneService, exchange: Exchange<V1.SubmitAttemptResponse>, applicationID: String,
    entry: PolicyBook.Entry, evaluation: SealedEvaluation, proof: AttemptProof, posture: DevicePosture,
    deviceModel: String
  ) {
    self.service = service
    self.exchange = exchange
    self.applicationID = applicationID
    self.entry = entry
    self.evaluation = evaluation
    self.proof = proof
    self.posture = posture
    self.deviceModel = deviceModel
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
    let posture = validator.posture(request.posture)
    let proof = try validator.proof(request.attempt, of: service)
    try validator.finish()
    guard let proof else { preconditionFailure("a request without a proof was refused above") }

    guard
      let evaluation = service.keys.sealer.openEvaluation(
        request.evaluation, for: exchange.caller, applicationID: request.applicationID)
    else { return refuseContext(nil, request.applicationID, exchange, service: service) }
    guard service.clock() < evaluation.key.expiresAt, let entry = service.policies[evaluation.policyName],
      entry.revision == evaluation.policyRevision
    else { return refuseContext(evaluation, request.applicationID, exchange, service: service) }

    let flow = AttemptFlow(
      service: service, exchange: exchange, applicationID: request.applicationID, entry: entry,
      evaluation: evaluation, proof: proof, posture: posture, deviceModel: request.posture?.deviceModel ?? "")
    if case .secret(let secret) = proof {
      SecretAttempt(flow: flow, secret: secret).start()
    } else {
      flow.decide(round: 0, isValid: nil)
    }
  }

  /// One answer for unknown, tampered, expired, another caller's and an older policy's.
  ///
  /// - Parameter evaluation: `nil` where it could not be opened.
  private static func refuseContext(
    _ evaluation: SealedEvaluation?, _ applicationID: String, _ exchange: Exchange<V1.SubmitAttemptResponse>,
    service: TouchstoneService
  ) {
    typealias Reason = RequestError.Reason
    let now = service.clock()
    let reason =
      switch evaluation {
      case nil: Reason.evaluationUnknown
      case let evaluation? where now >= evaluation.key.expiresAt: Reason.evaluationExpired
      default: Reason.policyChanged
      }
    let event = EventDraft.evaluation(
      .refused, policy: evaluation?.policyName ?? "", applicationID: applicationID, subject: nil, reason: reason,
      transaction: evaluation?.transaction, caller: exchange.caller, time: now)
    service.record(event, for: exchange) {
      let decision = AttemptDecision(outcome: .invalidContext, laError: .invalidContext)
      exchange.answer(V1.SubmitAttemptResponse(decision, by: nil, on: .unspecified, in: exchange.language))
    }
  }

  func refuseContext() {
    Self.refuseContext(evaluation, applicationID, exchange, service: service)
  }

  /// It expired, or its policy was changed or removed since it was begun (R36). Asked again before each decision: queues,
  /// verifying and conflicts take time.
  var isOutdated: Bool {
    service.clock() >= evaluation.key.expiresAt
      || service.policies[evaluation.policyName]?.revision != evaluation.policyRevision
  }

  // MARK: Read and verify

  func read(then body: @escaping @Sendable (Subject) throws(RequestError) -> Void) {
    service.subject(
      evaluation.subject, digest: proof.profileTouchIDDigest, of: applicationID, evaluation: evaluation.key,
      for: exchange, then: body)
  }

  /// - Parameter isValid: a signature's verdict, if an earlier round found it of a binding. Its keys never change, so it
  ///   stands.
  private func decide(round: Int, isValid: Bool?) {
    read { [self] subject throws(RequestError) in
      switch proof {
      case .key(let factor, let signature):
        guard isValid == nil, subject.evaluation?.standing.isFinished != true else {
          return conclude(subject, .key(factor: factor, isValid: isValid ?? false), round: round)
        }
        try verify(signature, by: factor, subject, round: round)
      case .profileTouchID(let digest):
        conclude(subject, .profileTouchID(isValid: subject.holds(profileTouchIDDigest: digest)), round: round)
      case .primary(let login):
        decide(subject, login, round: round)
      case .report(let code):
        conclude(subject, .report(code), round: round)
      case .secret:
        preconditionFailure("a secret has phases of its own")
      }
    }
  }

  private func verify(
    _ signature: [UInt8], by factor: Factor, _ subject: Subject, round: Int
  ) throws(RequestError) {
    let ownKey = subject.binding?.publicKey(for: factor)
    let check = SignatureCheck(
      publicKey: try importedKey(ownKey), signature: signature,
      message: evaluation.signingInput(applicationID: applicationID, policy: policy))
    exchange.context.verifications.add(check) { [self] isValid in
      conclude(subject, .key(factor: factor, isValid: isValid && ownKey != nil), round: round)
    }
  }

  /// Where there is no key, a stand-in takes as long to say no (R37). One that was stored does not import where the store
  /// was damaged.
  private func importedKey(_ bytes: [UInt8]?) throws(RequestError) -> P256PublicKey {
    guard let bytes else { return .standIn }
    do throws(CryptoError) {
      return try P256PublicKey(bytes: bytes)
    } catch {
      throw exchange.logged(error)
    }
  }

  private func decide(_ subject: Subject, _ login: PrimaryLogin, round: Int) {
    let now = service.clock()
    let verdict = service.configuration.enrolment.primaryVerdict(
      authenticatedAt: login.authenticatedAt, now: now, within: policy.primaryFreshness)
    let standing = subject.evaluation?.standing ?? EvaluationStanding()
    guard policy.asksForNewLogin(after: verdict, in: standing), !isOutdated else {
      return conclude(subject, .primary(verdict), round: round)
    }

    let reason = RequestError.Reason.primaryAuthenticationTooOld
    let event = EventDraft.evaluation(
      .refused, policy: policy.name, applicationID: applicationID, subject: subject, reason: reason, factor: .primary,
      transaction: evaluation.transaction, caller: exchange.caller, time: now)
    service.record(event, for: exchange) { () throws(RequestError) in
      throw .failedPrecondition(reason, "the person must log in again", .primaryAuthenticationTooOld)
    }
  }

  // MARK: Decide and commit

  private func conclude(_ subject: Subject, _ attempt: Attempt, round: Int) {
    guard !isOutdated else { return refuseContext() }
    let now = service.clock()
    let decision = policy.decide(AttemptFacts(subject.facts(posture: posture, now: now), attempt: attempt))
    let isValid: Bool? = if case .key(_, let isValid) = attempt, subject.binding != nil { isValid } else { nil }
    commit(
      subject, decision, at: now, round: round, conflicted: { [self] in decide(round: round + 1, isValid: isValid) })
  }

  /// Makes the decision durable, then answers it.
  ///
  /// - Parameters:
  ///   - rehashed: the secret's new verifier, where it is to have one.
  ///   - committed: runs before the answer.
  func commit(
    _ subject: Subject, _ decision: AttemptDecision, rehashed: [UInt8]? = nil, at now: UnixTime, round: Int,
    conflicted: @escaping @Sendable () throws(RequestError) -> Void,
    committed: @escaping @Sendable () -> Void = {}
  ) {
    let grant = decision.outcome == .succeeded ? Grant(to: subject, by: self, at: now) : nil
    service.commit(
      changeSet(subject, decision, grant, rehashed: rehashed, at: now), round: round, for: exchange,
      conflicted: conflicted,
      committed: { [self] in
        committed()
        exchange.answer(answer(decision, grant))
      })
  }

  private func changeSet(
    _ subject: Subject, _ decision: AttemptDecision, _ grant: Grant?, rehashed: [UInt8]?, at now: UnixTime
  ) -> ChangeSet {
    var changes = secretChanges(subject, decision, rehashed: rehashed, at: now)
    // A failure as an unknown one rests on its being unknown.
    if subject.binding == nil, let bindingID = evaluation.subject.bindingID {
      changes.append(.requireNoBinding(applicationID: applicationID, id: bindingID))
    }
    if let grant {
      changes += grant.changes(
        subject, decision, provenFamily: proof.isByKey ? posture.platform.family : nil, at: now)
    }
    let seen = SeenPosture(
      posture, deviceModel: deviceModel, seenAt: now, isProven: decision.outcome == .succeeded && proof.isByKey)
    if let note = subject.note(of: seen) { changes.append(note) }
    if let standing = decision.device {
      // A failure counts there only while the binding is active (R10); a success compares the binding in any case.
      if grant == nil, let binding = subject.binding {
        changes.append(.requireBinding(id: binding.bindingID, version: binding.version))
      }
      var device = subject.device
      device.settle(standing)
      changes.append(.putDevice(device))
    }
    if let standing = decision.evaluation {
      var record = subject.evaluation ?? EvaluationRecord(key: evaluation.key)
      record.standing = standing
      changes.append(.putEvaluation(record))
    }
    let event = EventDraft.evaluation(
      EventDraft.EvaluationKind(decision.outcome), policy: policy.name, applicationID: applicationID,
      subject: subject, reason: decision.cause?.auditName, code: decision.laError, factor: proof.factor,
      isCounted: isLockoutCounted(decision), transaction: evaluation.transaction, tokenID: grant?.singleUseTokenID,
      caller: exchange.caller, time: now)
    return ChangeSet(changes: changes, events: [event])
  }

  /// `nil` where nothing is locked, or where the device said so.
  private func isLockoutCounted(_ decision: AttemptDecision) -> Bool? {
    guard decision.outcome == .lockedOut, proof.factor != nil else { return nil }
    return decision.secret != nil || decision.device != nil
  }

  /// A refusal that rests on the secret's standing is not given on a stale one either.
  private func secretChanges(
    _ subject: Subject, _ decision: AttemptDecision, rehashed: [UInt8]?, at now: UnixTime
  ) -> [Change] {
    guard case .secret(let secret) = proof else { return [] }
    var holder = subject.secretHolder
    guard let standing = decision.secret else { return holder.isPlaceholder ? [] : [.require(holder)] }
    holder.settle(secret.kind, standing, verifier: rehashed, at: now)
    return [.putProfile(holder)]
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

extension Subject {
  /// Digests are keyed, so how far two agree tells nothing of what they are digests of.
  fileprivate func holds(profileTouchIDDigest digest: [UInt8]) -> Bool {
    binding?.profileTouchIDDigest == digest
  }
}

extension AttemptProof {
  fileprivate var isByKey: Bool {
    if case .key = self { true } else { false }
  }
}

extension ProfileRecord {
  /// Stands for nobody, and is never written.
  fileprivate var isPlaceholder: Bool { profileID.isEmpty }
}

extension V1.SubmitAttemptResponse {
  /// What was decided, and what the person is told (R20).
  ///
  /// - Parameter factor: the one tried; `nil`: the device's report, or nothing that was looked at.
  fileprivate init(
    _ decision: AttemptDecision, by factor: Factor?, on biometry: BiometryType, in language: @autoclosure () -> Language
  ) {
    self.init(
      outcome: V1.Outcome(decision.outcome), laError: V1.LAError(decision.laError),
      result: V1.Result(outcome: decision.outcome, code: decision.laError),
      nextFactors: decision.nextFactors.map(V1.Factor.init), attemptsLeft: decision.attemptsLeft,
      retryAfter: decision.retryAfter.map(V1.Duration.init),
      domainState: V1.DomainStateVerdict(decision.domainState))
    if decision.outcome != .succeeded {
      message = Message(decision, by: factor, biometry: biometry, in: language()).map(V1.LocalizedText.init)
    }
  }
}
