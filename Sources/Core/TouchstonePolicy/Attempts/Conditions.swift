/// The state that one policy depends on at one moment. The preflight and every attempt start from it, so both apply the
/// same rules to the device (R5).
struct Conditions {
  let policy: EvaluationPolicy
  var posture: DevicePosture
  /// `nil`: no binding exists yet, and any credential could still be made.
  var binding: BindingStanding?
  /// Deciding an attempt replaces the standings. The verdict stays as it was when the attempt came in.
  var device: BiometryStanding
  var profile: ProfileStanding
  var evaluation: EvaluationStanding
  let now: UnixTime
  /// Without a binding the verdict is as without a baseline. A diagnosis sets the one that was last seen.
  var verdict: DomainStateVerdict

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

  /// The verdict for the answer, only if the evaluation names a binding: otherwise there is nothing to compare.
  var namedVerdict: DomainStateVerdict? {
    binding?.scope == .device ? verdict : nil
  }

  /// A named binding that is revoked or unknown: nothing can be evaluated with it, and nothing counts (R37).
  func bindingObstacle(_ trace: inout some RuleTracer) -> Denial? {
    guard scope == .device, let binding, !binding.isActive else { return nil }
    trace.record("R37", false, "the binding is \(binding.state)")
    return binding.state == .revoked ? .bindingRevoked : .bindingUnknown
  }

  // MARK: Biometrics of the device

  /// Closes biometrics alone (R4). The reason is the count stored here, the device's own report, or a count beyond this
  /// policy's limit although a more patient policy left the device open.
  var isBiometryLockedOut: Bool {
    device.isLockedOut || posture.isBiometryLockedOut || device.consecutiveFailures >= policy.failuresBeforeLockout
  }

  /// Attempts left before the device locks, and zero if it is locked. If the device is unknown, attempts left before
  /// the evaluation ends.
  var biometryAttemptsLeft: UInt32 {
    switch scope {
    case .device: isBiometryLockedOut ? 0 : policy.failuresBeforeLockout - device.consecutiveFailures
    case .bearer: isBiometryLockedOut ? 0 : budgetLeft(after: evaluation.failures)
    case .profile: 0
    }
  }

  /// The failures of one evaluation (R7).
  func budgetLeft(after failures: UInt32) -> UInt32 {
    policy.attemptsPerEvaluation - min(failures, policy.attemptsPerEvaluation)
  }

  /// If an evaluation falls back by itself and the budget of a device's factor is spent, the evaluation goes on without
  /// that factor (R9). An evaluation with a fallback button has ended.
  private func isSpent(_ factor: Factor) -> Bool {
    guard policy.fallback == .automatic else { return false }
    switch factor {
    case .biometry, .passkey: return budgetLeft(after: evaluation.failures) == 0
    case .deviceOwner: return budgetLeft(after: evaluation.deviceOwnerFailures) == 0
    case .passcode, .gesture, .primary: return false
    }
  }

  // MARK: One factor

  /// Whether a factor serves in this policy now.
  enum Usability {
    case usable
    /// The domain state changed (R25), or is not shown to be unchanged (R27): another factor must come first. An
    /// evaluation can still open, because the phone itself would allow it, and the attempt's answer then names the
    /// other factor.
    case suspended
    /// The factor's budget in this evaluation is spent.
    case spent
    /// The device or a lock denies it now; that may change soon.
    case obstructed(Denial)
    /// The binding or the profile has no credential for it, or it is switched off.
    case unproven(Denial)
    /// The factor is not in this policy, or does not fit the subject that this evaluation names.
    case outOfPlace(Denial)
  }

  /// - Parameter credential: the credential for the proof; `nil`: any that the binding holds.
  func usability(
    of factor: Factor, by credential: DeviceCredential? = nil, _ trace: inout some RuleTracer
  ) -> Usability {
    trace.turn(to: factor)
    guard policy.accepts(factor, by: credential, &trace) else { return .outOfPlace(.noUsableFactor) }
    guard isInScope(factor) else {
      trace.record("R31", false, "the evaluation names no \(scope == .profile ? "device" : "profile")")
      return .outOfPlace(factor.isSecret ? .factorNotOffered : .noUsableFactor)
    }
    // No device that the service stores has it.
    if factor == .passkey { return usabilityOfPasskey(&trace) }
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
    case .passkey: preconditionFailure("decided above")
    }
  }

  /// A named profile may have a passkey, whether the service stores the profile or not (R37). Without a subject, the
  /// passkey names its profile.
  private func usabilityOfPasskey(_ trace: inout some RuleTracer) -> Usability {
    guard !isSpent(.passkey) else {
      trace.record("R9", false, "its \(policy.attemptsPerEvaluation) attempts of this evaluation are spent")
      return .spent
    }
    let holdsPasskey = hasCredential(for: .passkey)
    guard
      trace.check(
        "R46", holdsPasskey,
        scope == .device ? "the binding is \(holdsPasskey ? "a" : "no") passkey" : "a passkey of the profile may serve")
    else {
      return .unproven(.noUsableFactor)
    }
    // In the other scopes, no passkey is known before its proof.
    guard scope == .device, binding != nil else { return .usable }
    return passkeyObstacle(&trace).map { .unproven($0) } ?? .usable
  }

  /// The obstacle to a known passkey: its level is too low, or it may be copied to other devices.
  func passkeyObstacle(_ trace: inout some RuleTracer) -> Denial? {
    guard isPasskeyProvenAsAsked(&trace) else { return .levelTooLow }
    guard policy.requiresDeviceBoundPasskeys else { return nil }
    let isBound = binding?.isPasskeyDeviceBound == true
    return trace.check("R46", isBound, "the passkey \(isBound ? "cannot" : "may") be copied to other devices")
      ? nil : .keyNotDeviceBound
  }

  /// As `isProvenAsAsked`, for a passkey that is known.
  private func isPasskeyProvenAsAsked(_ trace: inout some RuleTracer) -> Bool {
    guard policy.minimumAttestation > .none else { return true }
    let level = binding?.passkeyLevel ?? .none
    // Authenticators must prove as much as they can, as browsers' keys must.
    let asked = policy.minimumAttestation.asked(of: .web)
    return trace.check("R42", level >= asked, "the level is \(level.name), and \(policy.name) asks for \(asked.name)")
  }

  /// An evaluation without a binding has no device, and one without a subject accepts only what identifies its bearer.
  private func isInScope(_ factor: Factor) -> Bool {
    switch scope {
    case .device: factor == .biometry || binding?.isFoundByProfileTouchID != true
    case .profile: !factor.isProvenByDeviceKey
    case .bearer: factor == .biometry || factor == .passkey
    }
  }

  /// The first check of a posture, because the rules of another platform would judge it wrongly (R38).
  ///
  /// A payment by a key depends on a domain state, or on a key that hardware vouches for. On a platform without either,
  /// bytes that the app sends instead do not count.
  private func platformObstacle(_ trace: inout some RuleTracer) -> Denial? {
    let family = posture.platform.family
    if let bound = binding?.platformFamily, bound != family {
      trace.record("R38", false, "the binding is of \(bound), the posture of \(family)")
      return .platformDiffers
    }
    guard policy.purpose == .payment, !family.hasDomainState, !family.hasAttestedKeys else { return nil }
    trace.record("R38", false, "\(family) has no domain state, and nothing that is served there replaces it")
    return .platformNotServed
  }

  /// Only for payments: a login that requires a domain state names another policy for such devices.
  private var doAttestedKeysReplaceDomainState: Bool {
    policy.purpose == .payment && posture.platform.family.hasAttestedKeys
  }

  private func deviceObstacle(to factor: Factor, _ trace: inout some RuleTracer) -> Denial? {
    switch factor {
    case .biometry: posture.biometryObstacle(isLockedOut: isBiometryLockedOut, &trace)
    case .deviceOwner: posture.deviceOwnerObstacle(&trace)
    case .passcode, .gesture, .passkey, .primary: nil
    }
  }

  /// A system without domain state is refused, whatever bytes it sends. A device that could give one and did not is
  /// refused if there is no baseline yet, because nothing could be recorded (R27). With a baseline, a missing domain
  /// state is a change (R22) and not a refusal, and a locked device is excused. Without a binding there is nothing to
  /// compare and only the device's own factors need it, so only a system that is too old is refused.
  private func domainStateObstacle(to factor: Factor, _ trace: inout some RuleTracer) -> Denial? {
    guard policy.comparesDomainState, !doAttestedKeysReplaceDomainState else { return nil }
    let isNeeded = binding?.scope == .device || factor.isProvenByDeviceKey
    let couldGive = isNeeded ? posture.hasDomainState : posture.supports(.domainState)
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
    guard isProvenAsAsked(factor, by: credential, &trace) else { return .unproven(.levelTooLow) }
    if let obstacle = paymentObstacle(to: factor, &trace) { return .unproven(obstacle) }
    guard proof == .unlockedByBiometrics else { return .usable }
    let isOn = profile.settings.isBiometryEnabled
    guard trace.check("R17", isOn, "unlocking by biometrics is switched \(isOn ? "on" : "off")") else {
      return .unproven(.factorNotOffered)
    }
    let isServed = verdict == .unchanged || !mustBeUnchanged
    return trace.check(verdict.rule, isServed, "the domain state is \(verdict)") ? .usable : .suspended
  }

  /// Whether as much is proven of the credential as the policy requires of this kind of device (R42). Before a binding
  /// exists, it could still be.
  private func isProvenAsAsked(
    _ factor: Factor, by credential: DeviceCredential?, _ trace: inout some RuleTracer
  ) -> Bool {
    guard policy.minimumAttestation > .none, let binding else { return true }
    let level = binding.proofLevel(of: factor, by: credential)
    let asked = policy.minimumAttestation.asked(of: binding.platformFamily)
    return trace.check("R42", level >= asked, "the level is \(level.name), and \(policy.name) asks for \(asked.name)")
  }

  /// Without a domain state, a payment needs a key that shows by itself whose fingers unlock it (R38): hardware vouches
  /// for its protection, an app that the application lists states that it dies when another finger is enrolled, and it
  /// is a key that does.
  private func paymentObstacle(to factor: Factor, _ trace: inout some RuleTracer) -> Denial? {
    guard doAttestedKeysReplaceDomainState, let binding else { return nil }
    let level = binding.proofLevel(of: factor, by: .key)
    guard
      trace.check("R38", level >= .tee, "the level is \(level.name), and a payment without a domain state needs tee")
    else { return .levelTooLow }
    let keys = binding.keyProtections.filter { $0.factor == factor }
    let isListed = keys.allSatisfy(binding.provenKeys.ofListedApps.contains)
    guard
      trace.check(
        "R38", isListed, "the proof's app was\(isListed ? "" : " not") compared with the application's packages")
    else { return .appNotProven }
    let isCurrent = keys.allSatisfy(\.isClosedToNewFingers)
    return trace.check("R38", isCurrent, "a new finger \(isCurrent ? "cannot" : "could") unlock the key")
      ? nil : .noUsableFactor
  }

  /// Whether a key that biometrics can unlock serves only if the domain state is shown to equal the baseline: if the
  /// policy requires that (R27), and whenever there is a baseline (R25). A phone with other fingers could claim that it
  /// is locked and has no domain state. The service does not accept that (R22): the device's passcode ends the lock,
  /// and then the phone can give one.
  private var mustBeUnchanged: Bool {
    guard let binding, binding.scope == .device else { return false }
    return policy.comparesDomainState && !doAttestedKeysReplaceDomainState || binding.baseline != nil
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

  /// The factors with which an evaluation may begin or go on.
  struct Offer {
    fileprivate(set) var factors: FactorSet = []
    /// Why no evaluation can begin; `nil` if one can.
    fileprivate(set) var denial: Denial?
  }

  func offer(_ trace: inout some RuleTracer) -> Offer {
    var offer = Offer()
    var canBegin = false
    for factor in policy.factors {
      switch usability(of: factor, &trace) {
      case .usable:
        offer.factors.insert(FactorSet(factor))
        canBegin = canBegin || isReasonToBegin(factor)
      case .suspended: canBegin = canBegin || isReasonToBegin(factor)
      case .spent, .obstructed, .unproven, .outOfPlace: break
      }
    }
    if !canBegin { offer.denial = denial }
    return offer
  }

  /// The caller's own login ends an evaluation and is no reason to begin one.
  private func isReasonToBegin(_ factor: Factor) -> Bool {
    factor != .primary || policy.factors.count == 1
  }

  /// Why no evaluation can begin: the first obstacle, in the policy's order, to a factor that has a credential, because
  /// without the others no evaluation could begin either. If there is none, what such a credential lacks, and if no
  /// factor has a credential, the first that is missing. It has a time to retry if waiting helps for any factor.
  private var denial: Denial {
    var trace = NoTrace()
    var obstacle: Denial?
    var shortcoming: Denial?
    var absence: Denial?
    var retryAfter: Duration?
    for factor in policy.factors {
      let hasCredential = hasCredential(for: factor)
      switch usability(of: factor, &trace) {
      case .obstructed(let denial) where hasCredential:
        obstacle = obstacle ?? denial
        if let wait = denial.retryAfter { retryAfter = min(wait, retryAfter ?? wait) }
      case .obstructed: absence = absence ?? (factor.isSecret ? .factorNotOffered : .noUsableFactor)
      case .unproven(let denial) where hasCredential: shortcoming = shortcoming ?? denial
      case .unproven(let denial), .outOfPlace(let denial): absence = absence ?? denial
      case .usable, .suspended, .spent: break
      }
    }
    var denial = obstacle ?? shortcoming ?? absence ?? .noUsableFactor
    denial.retryAfter = retryAfter
    return denial
  }

  /// Whether the binding or the profile has a credential of the factor's kind. Which of its factors a phone's
  /// credentials prove is judged after the phone itself (R1). Before a binding exists, they could still be made.
  private func hasCredential(for factor: Factor) -> Bool {
    switch factor {
    case .biometry, .deviceOwner: binding?.holdsPasskey != true
    case .passcode, .gesture: profile.settings.isEnabled(factor) && profile.secret(for: factor).isSet
    case .passkey: scope != .device || binding?.holdsPasskey != false
    // The caller's own login, if it is a reason to begin.
    case .primary: isReasonToBegin(.primary)
    }
  }

  var usableFactors: [Factor] {
    var trace = NoTrace()
    return inOrder(offer(&trace).factors)
  }

  /// The factors in order: the profile's preferred one, then the policy's order, the caller's own login last (R17).
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
  /// Factors that a credential of the bound device proves: a hardware key, or a ProfileTouchID instead.
  var isProvenByDeviceKey: Bool {
    switch self {
    case .biometry, .deviceOwner: true
    case .passcode, .gesture, .passkey, .primary: false
    }
  }

  /// Factors that the service verifies and a ladder locks.
  var isSecret: Bool {
    switch self {
    case .passcode, .gesture: true
    case .biometry, .deviceOwner, .passkey, .primary: false
    }
  }
}
