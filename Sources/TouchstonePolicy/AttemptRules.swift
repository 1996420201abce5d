// One attempt: what to answer, what to count, what to remember (R5, R7, R8, R10, R11, R21, R25, R35, R37).
//
// Holds for every decision: `nextFactors` are those that this evaluation can go on with, best first, and none once it
// is finished; only a right proof on an active binding succeeds; whatever is not counted leaves all standings as they
// were.

extension EvaluationPolicy {
  /// One attempt in an evaluation of this policy.
  public func decide(_ facts: AttemptFacts) -> AttemptDecision {
    guard !facts.evaluation.isFinished else {
      // Says nothing of the device or the binding: the caller may not be the one that finished it.
      return AttemptDecision(outcome: .invalidContext, laError: .invalidContext)
    }
    let rules = AttemptRules(policy: self, facts: facts)
    switch facts.attempt {
    case .key(let factor, let isValid):
      return rules.decideProof(by: factor, isRight: isValid && facts.binding.isActive)
    case .profileTouchID(let isValid):
      return rules.decideProof(by: .biometry, isRight: isValid && facts.binding.isActive)
    case .secret(let factor, _, _):
      return rules.anotherFactorRequired(factor)
    case .primary:
      return rules.anotherFactorRequired(.primary)
    case .report(let code):
      return rules.decideReport(code)
    }
  }

  /// Phase one of an attempt with a passcode or a gesture (R14).
  public func admitSecret(_ factor: Factor, _ facts: AdmissionFacts) -> SecretAdmission {
    .refuse(decide(AttemptFacts(facts, attempt: .key(factor: factor, isValid: false))))
  }
}

private struct AttemptRules {
  let policy: EvaluationPolicy
  let facts: AttemptFacts
  let conditions: Conditions

  init(policy: EvaluationPolicy, facts: AttemptFacts) {
    self.policy = policy
    self.facts = facts
    conditions = Conditions(policy: policy, posture: facts.posture, binding: facts.binding, device: facts.device)
  }

  // MARK: Proofs

  /// A wrong proof is judged before the binding's credentials and domain state are: whoever cannot sign learns nothing
  /// of them (R37).
  func decideProof(by factor: Factor, isRight: Bool) -> AttemptDecision {
    guard policy.factors.contains(factor), factor.isProvenByDeviceKey else { return anotherFactorRequired(factor) }
    if let obstacle = conditions.obstacle(to: factor) { return refuse(factor, for: obstacle) }
    guard isRight else { return countFailure(of: factor) }
    guard conditions.isUsable(factor) else { return anotherFactorRequired(factor) }
    return succeed(by: factor)
  }

  /// A success by device owner ends a lockout (R4, R12); one by biometry was on an unlocked device (R7). So both leave
  /// the device without failures.
  private func succeed(by factor: Factor) -> AttemptDecision {
    let cleared = BiometryStanding()
    return decision(
      .succeeded, nil, factor: factor, device: cleared,
      evaluation: EvaluationStanding(failures: facts.evaluation.failures, isFinished: true))
  }

  /// One more failure of the device and of the evaluation (R7, R8). While the device is locked, only the evaluation
  /// counts: it cannot be locked more.
  private func countFailure(of factor: Factor) -> AttemptDecision {
    var device = facts.device
    if !device.isLockedOut {
      device.consecutiveFailures += 1
      device.isLockedOut = device.consecutiveFailures >= policy.failuresBeforeLockout
    }
    let locksNow = device.isLockedOut && !facts.device.isLockedOut
    var evaluation = EvaluationStanding(failures: facts.evaluation.failures + 1)
    evaluation.isFinished =
      evaluation.failures >= policy.attemptsPerEvaluation || (locksNow && !canGoOn(with: device))

    let outcome: Outcome = locksNow ? .lockedOut : evaluation.isFinished ? .failed : .tryAgain
    let code = locksNow ? lockoutCode : .authenticationFailed
    return decision(outcome, code, factor: factor, device: device, evaluation: evaluation)
  }

  /// Where the device locks, an evaluation that accepts device owner goes on with it (R9).
  private func canGoOn(with device: BiometryStanding) -> Bool {
    !usableFactors(with: device).isEmpty
  }

  // MARK: Refusals, uncounted

  /// What held at the beginning no longer does (R5). The evaluation stays open: it may hold again in a moment.
  private func refuse(_ factor: Factor, for obstacle: Denial) -> AttemptDecision {
    decision(obstacle.reason == .biometryLockout ? .lockedOut : .failed, obstacle.code, factor: factor)
  }

  /// The factor does not serve here: the policy does not accept it, its key is not guarded as demanded (R31), or the
  /// domain state changed (R25). -6, because it sends an app written for LAContext to its other login, where -1 would
  /// have it ask for the same finger again.
  func anotherFactorRequired(_ factor: Factor) -> AttemptDecision {
    decision(.factorRequired, .biometryNotAvailable, factor: factor)
  }

  // MARK: Reports

  /// The device's word for what went wrong: it can cost, never grant (R10, R11, R21).
  func decideReport(_ code: LAErrorCode?) -> AttemptDecision {
    switch code {
    case .authenticationFailed:
      // Of biometrics wherever the policy asks for them; the code does not tell.
      let factor: Factor = policy.factors.contains(.biometry) ? .biometry : .deviceOwner
      return decideProof(by: factor, isRight: false)
    case .biometryLockout:
      var locked = facts.device
      locked.isLockedOut = true
      return decision(.lockedOut, lockoutCode, device: locked)
    case .userFallback:
      var fallback = decision(.fallback, code)
      fallback.nextFactors.removeAll { $0 == .biometry }
      return fallback
    case .userCancel, .systemCancel, .appCancel:
      return decision(.canceled, code)
    case .invalidContext:
      return decision(
        .invalidContext, code, evaluation: EvaluationStanding(failures: facts.evaluation.failures, isFinished: true))
    case .passcodeNotSet, .biometryNotAvailable, .biometryNotEnrolled, .companionNotAvailable, .biometryNotPaired,
      .biometryDisconnected, .invalidDimensions, .notInteractive, nil:
      return decision(.failed, code)
    }
  }

  // MARK: Answers

  /// - Parameters:
  ///   - factor: the one tried; biometrics where the attempt does not tell.
  ///   - device: its standing after the attempt; `nil`: as before.
  ///   - evaluation: likewise.
  private func decision(
    _ outcome: Outcome, _ code: LAErrorCode?, factor: Factor = .biometry, device: BiometryStanding? = nil,
    evaluation: EvaluationStanding? = nil
  ) -> AttemptDecision {
    let deviceAfter = device ?? facts.device
    let evaluationAfter = evaluation ?? facts.evaluation
    return AttemptDecision(
      outcome: outcome, laError: code,
      nextFactors: evaluationAfter.isFinished ? [] : usableFactors(with: deviceAfter),
      attemptsLeft: attemptsLeft(with: factor, device: deviceAfter, evaluation: evaluationAfter),
      domainState: conditions.verdict,
      isFallbackVisible: evaluationAfter.failures > 0,
      device: deviceAfter == facts.device ? nil : deviceAfter,
      evaluation: evaluationAfter == facts.evaluation ? nil : evaluationAfter)
  }

  /// Before the device locks. Device owner works on a locked device, too: there it is the evaluation that ends.
  private func attemptsLeft(
    with factor: Factor, device: BiometryStanding, evaluation: EvaluationStanding
  ) -> UInt32 {
    let after = conditions(with: device)
    guard factor == .deviceOwner && after.isBiometryLockedOut else { return after.biometryAttemptsLeft }
    return policy.attemptsPerEvaluation - min(evaluation.failures, policy.attemptsPerEvaluation)
  }

  private func usableFactors(with device: BiometryStanding) -> [Factor] {
    conditions(with: device).usableFactors
  }

  private func conditions(with device: BiometryStanding) -> Conditions {
    var after = conditions
    after.device = device
    return after
  }

  private var lockoutCode: LAErrorCode {
    Denial.biometryLockout(on: facts.posture).code
  }
}
