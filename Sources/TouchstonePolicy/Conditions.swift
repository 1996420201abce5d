// How things stand around one policy at one moment. The preflight and every attempt start from it, so that both hold
// the device to the same rules (R5).

struct Conditions {
  let policy: EvaluationPolicy
  let posture: DevicePosture
  /// `nil`: none exists yet, and any credential could still be made.
  let binding: BindingStanding?
  /// The standings are replaced while an attempt is decided. The verdict stays what it was when the attempt came in.
  var device: BiometryStanding
  var profile: ProfileStanding
  var evaluation: EvaluationStanding
  let now: UnixTime
  /// Without a binding: as without a baseline.
  let verdict: DomainStateVerdict

  init(
    policy: EvaluationPolicy, posture: DevicePosture, binding: BindingStanding?, device: BiometryStanding,
    profile: ProfileStanding, evaluation: EvaluationStanding, now: UnixTime
  ) {
    self.policy = policy
    self.posture = posture
    self.binding = binding
    self.device = device
    self.profile = profile
    self.evaluation = evaluation
    self.now = now
    verdict = .compare(baseline: binding?.baseline, posture: posture)
  }

  var scope: BindingStanding.Scope { binding?.scope ?? .device }

  /// To answer with: only where a binding was named is there something to compare.
  var namedVerdict: DomainStateVerdict? {
    binding?.scope == .device ? verdict : nil
  }

  // MARK: Biometrics of the device

  /// By the count kept here, by the device's own word, or because the count is beyond what this policy allows though
  /// a more patient one left the device open.
  var isBiometryLockedOut: Bool {
    device.isLockedOut || posture.isBiometryLockedOut || device.consecutiveFailures >= policy.failuresBeforeLockout
  }

  /// Before the device locks, and zero where it is locked. Where it is not known which device that is, before the
  /// evaluation ends.
  var biometryAttemptsLeft: UInt32 {
    switch scope {
    case .device: isBiometryLockedOut ? 0 : policy.failuresBeforeLockout - device.consecutiveFailures
    case .bearer: isBiometryLockedOut ? 0 : budgetLeft(after: evaluation.failures)
    case .profile: 0
    }
  }

  /// Of one evaluation (R7).
  func budgetLeft(after failures: UInt32) -> UInt32 {
    policy.attemptsPerEvaluation - min(failures, policy.attemptsPerEvaluation)
  }

  /// An evaluation that falls back by itself goes on when the budget of a device's factor is spent, but not with that
  /// factor (R9). One with a button has ended.
  private func isSpent(_ factor: Factor) -> Bool {
    guard policy.fallback == .automatic else { return false }
    switch factor {
    case .biometry: return budgetLeft(after: evaluation.failures) == 0
    case .deviceOwner: return budgetLeft(after: evaluation.deviceOwnerFailures) == 0
    case .passcode, .gesture, .passkey, .primary: return false
    }
  }

  // MARK: One factor

  /// What a factor is worth in this policy, now.
  enum Usability {
    case usable
    /// The domain state changed (R25), or does not show that it did not (R27): another factor must come first. It keeps
    /// no evaluation from opening. The phone itself would say yes, and an attempt is to answer which other factor is
    /// needed.
    case suspended
    /// Its budget in this evaluation is.
    case spent
    /// By the device, or by a lock: it may be otherwise in a moment.
    case obstructed(Denial)
    /// The binding or the profile has nothing to prove it with, or has it switched off.
    case unproven(Denial)
    /// Not in this policy, nor in an evaluation that names whom this one does.
    case outOfPlace(Denial)
  }

  /// - Parameter credential: what is to prove it; `nil`: whatever the binding holds.
  func usability(
    of factor: Factor, by credential: DeviceCredential? = nil, _ trace: inout some RuleTracer
  ) -> Usability {
    trace.turn(to: factor)
    guard policy.accepts(factor, by: credential, &trace) else { return .outOfPlace(.noUsableFactor) }
    guard isInScope(factor) else {
      trace.record("R31", false, "the evaluation names no \(scope == .profile ? "device" : "profile")")
      return .outOfPlace(factor.isSecret ? .factorNotOffered : .noUsableFactor)
    }
    if let obstacle = platformObstacle(&trace) { return .obstructed(obstacle) }
    if let oldest = policy.minimumOSVersion {
      guard trace.check("R2", posture.runs(atLeast: oldest), "needs \(oldest.text), runs \(posture.systemText)") else {
        return .obstructed(.osTooOld)
      }
    }
    if let obstacle = deviceObstacle(to: factor, &trace) ?? domainStateObstacle(to: factor, &trace) {
      return .obstructed(obstacle)
    }
    guard !isSpent(factor) else {
      trace.record("R9", false, "its \(policy.attemptsPerEvaluation) attempts of this evaluation are spent")
      return .spent
    }
    switch factor {
    case .biometry, .deviceOwner: return usabilityOfKeys(for: factor, by: credential, &trace)
    case .passcode, .gesture: return usabilityOfSecret(factor, &trace)
    case .primary: return .usable
    case .passkey: return .outOfPlace(.noUsableFactor)
    }
  }

  /// Who names no binding has no device, and who names nobody has nothing but the ProfileTouchID.
  private func isInScope(_ factor: Factor) -> Bool {
    switch scope {
    case .device: factor == .biometry || binding?.isFoundByProfileTouchID != true
    case .profile: !factor.isProvenByDeviceKey
    case .bearer: factor == .biometry
    }
  }

  /// First of all that is asked of a posture: by the rules of another platform it would be judged wrongly (R38).
  ///
  /// A payment rests on a domain state. Where a platform has none, no bytes that the app sends in its place are one; what
  /// can take its place there, an attested key or a passkey, is not served by this version.
  private func platformObstacle(_ trace: inout some RuleTracer) -> Denial? {
    let family = posture.platform.family
    if let bound = binding?.platformFamily, bound != family {
      trace.record("R38", false, "the binding is of \(bound), the posture of \(family)")
      return .platformDiffers
    }
    guard policy.purpose == .payment, !family.hasDomainState else { return nil }
    trace.record("R38", false, "\(family) has no domain state, and no attested key takes its place yet")
    return .platformNotServed
  }

  private func deviceObstacle(to factor: Factor, _ trace: inout some RuleTracer) -> Denial? {
    switch factor {
    case .biometry: posture.biometryObstacle(isLockedOut: isBiometryLockedOut, &trace)
    case .deviceOwner: posture.deviceOwnerObstacle(&trace)
    case .passcode, .gesture, .passkey, .primary: nil
    }
  }

  /// A system without domain state is refused; so is a device that could give one and did not, where there is no
  /// baseline yet, for nothing could be recorded (R27). With a baseline, silence is a change (R22), not a refusal; and a
  /// locked device is excused. Without a binding there is nothing to compare, and only the device's own factors need it.
  private func domainStateObstacle(to factor: Factor, _ trace: inout some RuleTracer) -> Denial? {
    guard policy.comparesDomainState else { return nil }
    let couldGive = posture.supports(.domainState)
    let isNeeded = binding?.scope == .device || factor.isProvenByDeviceKey
    let isMissing = isNeeded && posture.domainState.isEmpty && verdict == .neverRecorded
    let given = couldGive && !isMissing
    return trace.check("R27", given, "a domain state is required, and\(given ? "" : " not") given")
      ? nil : posture.platform.family.hasDomainState ? .domainStateRequired : .platformNotServed
  }

  private func usabilityOfKeys(
    for factor: Factor, by credential: DeviceCredential?, _ trace: inout some RuleTracer
  ) -> Usability {
    let proof = binding?.proof(of: factor, by: credential, under: policy) ?? factor.bestProof
    guard trace.check("R31", proof != .none, "the binding \(proof == .none ? "cannot" : "can") prove it to this policy")
    else { return .unproven(.noUsableFactor) }
    guard proof == .unlockedByBiometrics else { return .usable }
    let isOn = profile.settings.isBiometryEnabled
    guard trace.check("R17", isOn, "unlocking by biometrics is switched \(isOn ? "on" : "off")") else {
      return .unproven(.factorNotOffered)
    }
    let isServed = verdict == .unchanged || !mustBeUnchanged
    return trace.check(verdict.rule, isServed, "the domain state is \(verdict)") ? .usable : .suspended
  }

  /// Whether a key that biometrics can unlock serves only where the domain state is shown to be the baseline's: where the
  /// policy requires that (R27), and wherever a baseline is there (R25). A phone with other fingers could say instead that
  /// it is locked and has none to give. The service does not take its word for it (R22): the device's passcode ends the
  /// lock, and then the phone can give one.
  private var mustBeUnchanged: Bool {
    guard let binding, binding.scope == .device else { return false }
    return policy.comparesDomainState || binding.baseline != nil
  }

  private func usabilityOfSecret(_ factor: Factor, _ trace: inout some RuleTracer) -> Usability {
    let isOn = profile.settings.isEnabled(factor)
    let secret = profile.secret(for: factor)
    guard trace.check("R17", isOn && secret.isSet, "is \(isOn ? "on" : "off"), and\(secret.isSet ? "" : " not") set")
    else { return .unproven(.factorNotOffered) }
    let obstacle = rules.obstacle(to: factor, secret, at: now)
    trace.record("R13", obstacle == nil, "\(rules.state(of: secret, at: now).text) after \(secret.failures) failures")
    return obstacle.map { .obstructed($0) } ?? .usable
  }

  var rules: SecretRules { SecretRules(ladder: policy.ladder) }

  // MARK: All of them

  /// What an evaluation may begin or go on with.
  struct Offer {
    fileprivate(set) var factors: FactorSet = []
    /// Why no evaluation can begin; `nil` where one can.
    fileprivate(set) var denial: Denial?
  }

  /// The denial is the first obstacle in the policy's order; only where none is in the way, that there is nothing to
  /// prove it with. It says when to come again wherever any factor can be waited for.
  func offer(_ trace: inout some RuleTracer) -> Offer {
    var offer = Offer()
    var obstacle: Denial?
    var absence: Denial?
    var retryAfter: Duration?
    var canBegin = false
    for factor in policy.factors {
      // The caller's own login is what an evaluation ends with, not why one begins.
      let isReason = factor != .primary || policy.factors.count == 1
      switch usability(of: factor, &trace) {
      case .usable:
        offer.factors.insert(FactorSet(factor))
        canBegin = canBegin || isReason
      case .suspended: canBegin = canBegin || isReason
      case .spent: break
      case .obstructed(let denial):
        if let wait = denial.retryAfter, isReason { retryAfter = min(wait, retryAfter ?? wait) }
        obstacle = obstacle ?? denial
      case .unproven(let denial), .outOfPlace(let denial): absence = absence ?? denial
      }
    }
    if !canBegin {
      offer.denial = obstacle ?? absence ?? .noUsableFactor
      offer.denial?.retryAfter = retryAfter
    }
    return offer
  }

  var usableFactors: [Factor] {
    var trace = NoTrace()
    return inOrder(offer(&trace).factors)
  }

  /// The profile's preferred one, then the policy's order, and the caller's own login last (R17).
  func inOrder(_ factors: FactorSet) -> [Factor] {
    var ordered: [Factor] = []
    guard !factors.isEmpty else { return ordered }
    ordered.reserveCapacity(factors.count)
    let preferred = profile.settings.preferred
    if let preferred, factors.contains(preferred) { ordered.append(preferred) }
    for factor in policy.factors where factors.contains(factor) && factor != preferred && factor != .primary {
      ordered.append(factor)
    }
    if factors.contains(.primary) { ordered.append(.primary) }
    return ordered
  }
}

extension Factor {
  /// Proven by what the bound device holds: a hardware key, or a ProfileTouchID in its place.
  var isProvenByDeviceKey: Bool {
    switch self {
    case .biometry, .deviceOwner: true
    case .passcode, .gesture, .passkey, .primary: false
    }
  }

  /// Verified by the service, and locked by a ladder.
  var isSecret: Bool {
    switch self {
    case .passcode, .gesture: true
    case .biometry, .deviceOwner, .passkey, .primary: false
    }
  }
}
