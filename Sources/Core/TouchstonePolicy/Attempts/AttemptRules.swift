// One attempt: the answer, what counts, and what to store (R5, R7–R12, R21, R25, R35–R38).
//
// For every decision: `nextFactors` are the factors with which this evaluation can go on, best first, and none once it
// is finished. Only a right proof on an active binding succeeds. An attempt that is not counted leaves all standings as
// they were.

extension EvaluationPolicy {
  /// Decides one attempt in an evaluation of this policy. For a passcode or a gesture this is phase two.
  public func decide(_ facts: AttemptFacts) -> AttemptDecision {
    var trace = NoTrace()
    return AttemptRules(policy: self, facts: facts.admission).decide(facts.attempt, &trace)
  }

  /// The same decision, with every rule that it evaluated, in order.
  public func explainAttempt(_ facts: AttemptFacts) -> (AttemptDecision, [RuleTrace]) {
    var trace = RecordedTrace()
    let decision = AttemptRules(policy: self, facts: facts.admission).decide(facts.attempt, &trace)
    return (decision, trace.rows)
  }
}

struct AttemptRules {
  let policy: EvaluationPolicy
  let binding: BindingStanding
  /// The standings before the attempt.
  let before: Conditions

  init(policy: EvaluationPolicy, facts: AdmissionFacts) {
    self.policy = policy
    binding = facts.binding
    before = Conditions(
      policy: policy, posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile,
      evaluation: facts.evaluation, now: facts.now)
  }

  func decide(_ attempt: Attempt, _ trace: inout some RuleTracer) -> AttemptDecision {
    if case .secret(let factor, let reservation, let isRight) = attempt {
      return decideSecret(factor, reservation, isRight: isRight, &trace)
    }
    guard isOpen(&trace) else { return .invalidContext }
    if let denial = before.bindingObstacle(&trace) { return .ended(by: denial) }
    switch attempt {
    case .key(let factor, let isValid):
      return decideProof(by: factor, .key, isRight: checkProof(isValid: isValid, &trace), &trace)
    case .profileTouchID(let isValid):
      return decideProof(by: .biometry, .profileTouchID, isRight: checkProof(isValid: isValid, &trace), &trace)
    case .passkey(let refusal):
      return decidePasskey(refusal, &trace)
    case .primary(let verdict):
      return decidePrimary(verdict, &trace)
    case .report(let code):
      return decideReport(code, &trace)
    case .secret:
      preconditionFailure("decided above")
    }
  }

  func isOpen(_ trace: inout some RuleTracer) -> Bool {
    let isFinished = before.evaluation.isFinished
    return trace.check("R35", !isFinished, "the evaluation is \(isFinished ? "finished" : "open")")
  }

  /// If the profile or the bearer is unknown, a right proof counts as wrong (R37).
  func checkProof(isValid: Bool, _ trace: inout some RuleTracer) -> Bool {
    trace.record("R11", isValid, "the proof is \(isValid ? "right" : "wrong")")
    return trace.check("R37", binding.isActive, "the subject is\(binding.isActive ? "" : " not") known") && isValid
  }

  // MARK: Proofs

  /// A wrong proof is judged before the binding's credentials and domain state, so a caller that cannot sign learns
  /// nothing about them (R37).
  ///
  /// - Parameter credential: the proof of the factor; `nil` if the device did not name it.
  private func decideProof(
    by factor: Factor, _ credential: DeviceCredential?, isRight: Bool, _ trace: inout some RuleTracer
  ) -> AttemptDecision {
    guard factor.isProvenByDeviceKey else {
      return anotherFactorRequired(.biometry, .denial(.noUsableFactor), before)
    }
    let usability = before.usability(of: factor, by: credential, &trace)
    switch usability {
    case .obstructed(let obstacle): return refuse(factor, for: obstacle, before)
    case .outOfPlace, .spent: return anotherFactorRequired(factor, cause(usability), before)
    case .unproven, .suspended, .usable: break
    }
    guard isRight else { return countFailure(of: factor, causeOfFailure(of: credential)) }
    guard case .usable = usability else { return anotherFactorRequired(factor, cause(usability), before) }
    return succeed(by: factor, before)
  }

  /// A wrong one counts in its evaluation alone: no device is known, and a signature cannot be guessed (R46).
  private func decidePasskey(_ refusal: PasskeyRefusal?, _ trace: inout some RuleTracer) -> AttemptDecision {
    let usability = before.usability(of: .passkey, &trace)
    switch usability {
    case .obstructed(let obstacle): return refuse(.passkey, for: obstacle, before)
    case .outOfPlace, .spent: return anotherFactorRequired(.passkey, cause(usability), before)
    case .unproven, .suspended, .usable: break
    }
    guard checkProof(isValid: refusal == nil, &trace) else {
      return countFailure(of: .passkey, refusal.map { .passkeyRefused($0) } ?? .bindingNotActive)
    }
    guard case .usable = usability else { return anotherFactorRequired(.passkey, cause(usability), before) }
    if let obstacle = before.passkeyObstacle(&trace) {
      return anotherFactorRequired(.passkey, .denial(obstacle.reason), before)
    }
    return succeed(by: .passkey, before)
  }

  /// Judges only the login's age: the service checks that the caller vouches for it.
  private func decidePrimary(_ verdict: PrimaryVerdict, _ trace: inout some RuleTracer) -> AttemptDecision {
    let usability = before.usability(of: .primary, &trace)
    switch usability {
    case .obstructed(let obstacle): return refuse(.primary, for: obstacle, before)
    case .outOfPlace, .spent, .unproven, .suspended:
      return anotherFactorRequired(.primary, cause(usability), before)
    case .usable: break
    }
    let isFresh = trace.check("R28", verdict == .fresh, "the caller's own login is \(verdict)")
    guard checkProof(isValid: isFresh, &trace) else {
      let cause: AttemptCause = isFresh ? .bindingNotActive : .primaryAuthenticationTooOld
      return decision(.failed, .authenticationFailed, by: .primary, cause, before)
    }
    return succeed(by: .primary, before)
  }

  /// - Parameter conditions: include what the success has cleared already.
  func succeed(by factor: Factor, _ conditions: Conditions) -> AttemptDecision {
    var after = conditions
    after.evaluation.isFinished = true
    if before.scope == .device && factor.clearsBiometricFailures { after.device = BiometryStanding() }
    var success = decision(.succeeded, nil, by: factor, nil, after)
    success.baseline = newBaseline(after: factor)
    return success
  }

  /// Counts one more failure of the device and of the evaluation (R7, R8). If the device is locked or unknown, only the
  /// evaluation counts it.
  private func countFailure(of factor: Factor, _ cause: AttemptCause) -> AttemptDecision {
    var after = before
    if before.scope == .device && factor != .passkey && !before.device.isLockedOut {
      after.device.consecutiveFailures += 1
      after.device.isLockedOut = after.device.consecutiveFailures >= policy.failuresBeforeLockout
    }
    let locksNow = after.device.isLockedOut && !before.device.isLockedOut
    let budgetLeft = countInEvaluation(factor, &after)
    switch policy.fallback {
    case .button: after.evaluation.isFinished = budgetLeft == 0 || (locksNow && !after.canGoOn)
    case .automatic: after.evaluation.isFinished = (budgetLeft == 0 || locksNow) && !after.canGoOn
    }

    if locksNow { return decision(.lockedOut, lockoutCode, by: factor, cause, after) }
    let outcome: Outcome =
      after.evaluation.isFinished ? .failed : budgetLeft == 0 ? .factorRequired : .tryAgain
    return decision(outcome, .authenticationFailed, by: factor, cause, after)
  }

  /// Counts a failure by this factor, and returns the rest of its budget. If biometrics fall back to device owner, that
  /// factor has its own budget (R9).
  private func countInEvaluation(_ factor: Factor, _ after: inout Conditions) -> UInt32 {
    if policy.fallback == .automatic && factor == .deviceOwner {
      after.evaluation.deviceOwnerFailures += 1
      return after.budgetLeft(after: after.evaluation.deviceOwnerFailures)
    }
    after.evaluation.failures += 1
    return after.budgetLeft(after: after.evaluation.failures)
  }

  // MARK: Refusals

  /// A precondition that held at the beginning no longer holds (R5). The evaluation stays open, because it may hold
  /// again soon.
  func refuse(_ factor: Factor, for obstacle: Denial, _ after: Conditions) -> AttemptDecision {
    var refusal = decision(.failed, obstacle.code, by: factor, .denial(obstacle.reason), after)
    refusal.retryAfter = obstacle.retryAfter
    switch obstacle.reason {
    case .passcodeLocked, .gestureLocked, .passcodeDisabled, .gestureDisabled:
      refusal.outcome = .lockedOut
    case .biometryLockout:
      // A policy that falls back by itself goes on at once (R9).
      refusal.outcome = policy.fallback == .automatic && after.canGoOn ? .factorRequired : .lockedOut
    case .osTooOld, .passcodeNotSet, .biometryNotAvailable, .biometryNotEnrolled, .domainStateRequired,
      .platformNotServed, .platformDiffers, .bindingUnknown, .bindingRevoked, .noUsableFactor, .levelTooLow,
      .appNotProven, .keyNotDeviceBound, .factorNotOffered:
      break
    }
    return refusal
  }

  /// The factor does not serve here: the policy does not accept it, its key has the wrong protection (R31), it is not
  /// offered (R17), or the domain state changed (R25). The code is -6, because an app written for LAContext then goes
  /// to its other login; after -1 it would prompt for the same finger again.
  func anotherFactorRequired(
    _ factor: Factor, _ cause: AttemptCause?, _ after: Conditions
  ) -> AttemptDecision {
    var refusal = decision(.factorRequired, .biometryNotAvailable, by: factor, cause, after)
    // The answer does not even show the count of a secret that does not serve here.
    if factor.isSecret { refusal.attemptsLeft = 0 }
    return refusal
  }

  // MARK: Reports

  /// The device's report of a failure: it can cost attempts and never grants anything (R10, R11, R21).
  private func decideReport(_ code: LAErrorCode?, _ trace: inout some RuleTracer) -> AttemptDecision {
    trace.record("R11", false, "a report (\(code.map { "\($0.rawValue)" } ?? "unknown")) proves nothing")
    switch code {
    case .authenticationFailed:
      // Counts for biometrics if the policy accepts them; the code does not name a factor.
      let factor: Factor = policy.factors.contains(.biometry) ? .biometry : .deviceOwner
      return decideProof(by: factor, nil, isRight: false, &trace)
    case .biometryLockout:
      var after = before
      if before.scope == .device { after.device.isLockedOut = true }
      return decision(.lockedOut, lockoutCode, by: .biometry, .reported, after)
    case .userFallback:
      var fallback = decision(.fallback, code, by: .biometry, .reported, before)
      fallback.nextFactors.removeAll { $0 == .biometry }
      return fallback
    case .userCancel, .systemCancel, .appCancel:
      return decision(.canceled, code, by: .biometry, .reported, before)
    case .invalidContext:
      var after = before
      after.evaluation.isFinished = true
      return decision(.invalidContext, code, by: .biometry, .reported, after)
    case .passcodeNotSet, .biometryNotAvailable, .biometryNotEnrolled, .companionNotAvailable, .biometryNotPaired,
      .biometryDisconnected, .invalidDimensions, .notInteractive, nil:
      return decision(.failed, code, by: .biometry, .reported, before)
    }
  }

  // MARK: Answers

  /// - Parameters:
  ///   - factor: the factor of the attempt; biometrics if the attempt names none.
  ///   - after: the standings after the attempt.
  func decision(
    _ outcome: Outcome, _ code: LAErrorCode?, by factor: Factor, _ cause: AttemptCause?, _ after: Conditions
  ) -> AttemptDecision {
    let secret = after.profile.secret(for: factor)
    var decision = AttemptDecision(
      outcome: outcome, laError: code,
      nextFactors: after.evaluation.isFinished ? [] : after.usableFactors,
      attemptsLeft: after.attemptsLeft(with: factor),
      domainState: after.namedVerdict,
      isFallbackVisible: policy.fallback == .button && after.evaluation.failures > 0,
      device: after.device == before.device ? nil : after.device,
      evaluation: after.evaluation == before.evaluation ? nil : after.evaluation,
      secret: secret == before.profile.secret(for: factor) ? nil : secret, cause: cause)
    decision.nextFailureDisables =
      factor.isSecret && policy.ladder.effect(ofFailure: secret.failures + 1) == .disable
    return decision
  }

  private var lockoutCode: LAErrorCode {
    Denial.biometryLockout(on: before.posture).code
  }
}

extension AttemptDecision {
  /// Shows nothing of the device or the binding: another caller may have finished the evaluation.
  static let invalidContext = AttemptDecision(
    outcome: .invalidContext, laError: .invalidContext, cause: .evaluationFinished)

  /// The binding is no more, so nothing is counted, and the evaluation cannot go on.
  static func ended(by denial: Denial) -> AttemptDecision {
    AttemptDecision(
      outcome: .failed, laError: denial.code, cause: .denial(denial.reason), bindingDenial: denial)
  }
}

extension Conditions {
  /// For an answer with a factor.
  fileprivate var canGoOn: Bool {
    var trace = NoTrace()
    return !offer(&trace).factors.isEmpty
  }

  /// Attempts left before the factor locks. Device owner works on a locked device, too; there the evaluation's end
  /// limits it, and also if device owner has its own budget.
  fileprivate func attemptsLeft(with factor: Factor) -> UInt32 {
    switch factor {
    case .deviceOwner where policy.fallback == .automatic: budgetLeft(after: evaluation.deviceOwnerFailures)
    case .deviceOwner where isBiometryLockedOut: budgetLeft(after: evaluation.failures)
    case .passcode, .gesture:
      profile.settings.isEnabled(factor) && profile.secret(for: factor).isSet
        ? rules.attemptsLeft(with: profile.secret(for: factor), at: now) : 0
    case .primary: 0
    case .passkey: budgetLeft(after: evaluation.failures)
    case .biometry, .deviceOwner: biometryAttemptsLeft
    }
  }
}

extension Factor {
  /// Biometry, whose own failures these are, and the factors that end a lockout: device owner and passcode (R4, R12).
  var clearsBiometricFailures: Bool {
    switch self {
    case .biometry, .deviceOwner, .passcode: true
    case .gesture, .passkey, .primary: false
    }
  }
}
