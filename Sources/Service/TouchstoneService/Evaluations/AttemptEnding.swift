// The end of an attempt: the decision, and everything that becomes durable with it before the answer.

internal import TouchstoneAttestation
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
      reason: reason ?? error.reason, factor: terms.proof.factor, form: terms.proof.signatureForm,
      transaction: terms.evaluation.transaction, caller: terms.caller, time: moment.now)
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

/// The decision on one attempt, its subject, and what a success grants. It is a class because each step passes it on.
final class DecidedAttempt: Sendable {
  let terms: AttemptTerms
  let decision: AttemptDecision
  private let sharedSubject: SharedRecord<Subject>
  let time: UnixTime
  /// `nil`: the attempt did not succeed.
  let grant: Grant?
  /// The secret's new verifier, if it gets one.
  private let rehashed: [UInt8]?
  /// True if an earlier step counted the attempt already.
  private let isCounted: Bool

  var subject: Subject {
    _read { yield sharedSubject.value }
  }

  init(
    _ decision: AttemptDecision, of subject: SharedRecord<Subject>, by terms: AttemptTerms, at now: UnixTime,
    rehashed: [UInt8]? = nil, isCounted: Bool = false
  ) {
    self.terms = terms
    self.decision = decision
    sharedSubject = subject
    self.time = now
    self.rehashed = rehashed
    self.isCounted = isCounted
    grant = decision.outcome == .succeeded ? Grant(to: subject.value, by: terms, at: now) : nil
  }

  /// The decision of the policy on what the device or its caller sent.
  convenience init(_ attempt: Attempt, of subject: SharedRecord<Subject>, by terms: AttemptTerms, at now: UnixTime) {
    let facts = subject.value.facts(posture: terms.posture, now: now)
    self.init(terms.policy.decide(AttemptFacts(facts, attempt: attempt)), of: subject, by: terms, at: now)
  }

  /// Must be durable before the answer.
  var commitment: Commitment {
    let (changes, note) = (changes, note)
    guard grant == nil else {
      return .changes(ChangeSet(changes: note.map { changes + [$0.change] } ?? changes, events: [event]))
    }
    return .refusal(
      ThrottledEvent(
        event, answering: decision.told, about: terms.evaluation.countedName, isRequired: changesWhatLasts, on: changes,
        beside: note))
  }

  /// The lock that began with the attempt.
  var newLock: ServiceMeters.Lock? {
    if let device = decision.device, device.isLockedOut, !subject.device.biometry.isLockedOut { return .device }
    guard isCounted, decision.outcome == .lockedOut, let factor = terms.proof.factor else { return nil }
    return ServiceMeters.Lock(factor)
  }

  /// True if the attempt changed a lasting count of a known profile. An evaluation's own count does not last: the
  /// evaluation ends within minutes, and a caller may begin any number of them, also for invented names.
  private var changesWhatLasts: Bool {
    subject.profileID != nil && (isCounted || decision.device != nil || decision.secret != nil)
  }

  /// The device's posture, to be kept. A passkey is used on any device, so the posture beside it is not kept.
  private var note: PostureNote? {
    guard terms.proof.assertion == nil, decision.outcome != .invalidContext else { return nil }
    return subject.note(
      of: SeenPosture(
        terms.posture, deviceModel: terms.deviceModel, seenAt: time, isProven: grant != nil && terms.proof.isByKey,
        domainState: decision.baseline == nil ? decision.domainState : .unchanged))
  }

  private var changes: [Change] {
    var changes = secretChanges
    changes.reserveCapacity(Grant.mostChanges)
    if let grant {
      let assertion = terms.proof.assertion
      changes += grant.changes(
        subject, decision, provenFamily: terms.proof.isByKey ? terms.posture.platform.family : nil, assertion, at: time)
      changes += counterChanges
    } else {
      // A failure counts on the device only while the binding is active (R10).
      changes += terms.nameRequirements(of: subject, countingSecret: decision.secret != nil)
    }
    if let standing = decision.device {
      var device = subject.device
      device.settle(standing)
      changes.append(.putDevice(device))
    }
    if let standing = decision.evaluation {
      var record = subject.evaluation ?? EvaluationRecord(key: terms.evaluation.key)
      record.standing = standing
      changes.append(.putEvaluation(record))
    }
    return changes
  }

  /// Raises the counter of the passkey or of the App Attest key. If another replica took an assertion at the same time,
  /// only one of the two commits succeeds.
  private var counterChanges: [Change] {
    guard terms.proof.assertion != nil || terms.appAssertion != nil, let binding = subject.binding else { return [] }
    if let assertion = terms.proof.assertion { return assertion.counterChange(binding).map { [$0] } ?? [] }
    guard let appAssertion = terms.appAssertion else { return [] }
    return [
      .raiseProofCounter(
        bindingID: binding.bindingID, from: binding.proofCounter, to: appAssertion.assertion.counter)
    ]
  }

  /// A refusal that depends on the secret's standing also requires that the standing is current. For a named profile,
  /// its requirement does (`nameRequirements`).
  private var secretChanges: [Change] {
    guard case .secret(let secret) = terms.proof else { return [] }
    guard let standing = decision.secret else { return subject.binding == nil ? [] : [.require(subject.profile)] }
    let change = subject.secretHolder(of: secret.kind)
      .change(to: standing, of: secret.kind, verifier: rehashed, at: time)
    return change.map { [$0] } ?? []
  }

  private var event: EventDraft {
    .evaluation(
      EventDraft.EvaluationKind(decision.outcome), policy: terms.policy.name, applicationID: terms.applicationID,
      subject: subject, reason: decision.cause?.auditName, code: decision.laError, factor: terms.proof.factor,
      form: terms.proof.signatureForm, isCounted: isLockoutCounted, transaction: terms.evaluation.transaction,
      tokenID: grant?.singleUseTokenID,
      isVouchedByApp: grant != nil && terms.appAssertion != nil,
      hasSignCountBack: grant != nil && hasSignCountBack, caller: terms.caller, time: time)
  }

  /// A setting lets a passkey's login succeed all the same (R46).
  private var hasSignCountBack: Bool {
    guard let assertion = terms.proof.assertion, let binding = subject.binding else { return false }
    return assertion.hasCountBack(binding)
  }

  /// `nil` if nothing is locked, or if only the device reported the lock.
  private var isLockoutCounted: Bool? {
    guard decision.outcome == .lockedOut, terms.proof.factor != nil else { return nil }
    return decision.secret != nil || decision.device != nil
  }
}

extension AttemptTerms {
  /// - Parameter countingSecret: the commit counts the attempt at the secret.
  func nameRequirements(of subject: Subject, countingSecret: Bool = false) -> [Change] {
    guard countingSecret, case .secret(let secret) = proof else {
      return subject.nameRequirements(as: evaluation.subject)
    }
    return subject.nameRequirements(as: evaluation.subject, counting: subject.secretHolder(of: secret.kind))
  }
}

extension AttemptProof {
  fileprivate var isByKey: Bool {
    if case .key = self { true } else { false }
  }

  fileprivate var assertion: OfferedAssertion? {
    if case .passkey(let assertion) = self { assertion } else { nil }
  }
}

extension AttemptDecision {
  static let invalidContext = AttemptDecision(outcome: .invalidContext, laError: .invalidContext)

  /// The part of a refusal that the caller receives. Refusals are throttled by it.
  var told: String { bindingDenial?.reason.rawValue ?? "\(outcome) \(laError?.rawValue ?? 0)" }
}
