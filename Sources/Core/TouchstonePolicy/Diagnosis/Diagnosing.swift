// The diagnosis: the rules of a preflight, run over each state of the device that fits the records.

extension EvaluationPolicy {
  /// Whether a login under this policy can succeed now, and why not. For display alone.
  public func diagnose(_ facts: DiagnosisFacts) -> LoginDiagnosis {
    if let binding = facts.binding, !binding.isActive {
      return LoginDiagnosis(
        answer: .no,
        obstacles: [
          LoginObstacle(
            factors: [], cause: .bindingRevoked, remedies: [binding.holdsPasskey ? .bindPasskey : .bindDevice])
        ])
    }
    return Diagnosing(policy: self, facts: facts).diagnosis()
  }

  /// The preflight, and every rule that it evaluated. The device's state is the last one that it reported, or the best
  /// one that fits the records.
  public func explain(_ facts: DiagnosisFacts) -> (Preflight, [RuleTrace]) {
    let conditions = facts.possibleConditions(under: self)[0]
    var trace = RecordedTrace()
    if case .last(_, let verdict, _)? = facts.report {
      trace.record(
        "R23", verdict != nil,
        verdict.map { "the domain state was \($0) when it was last seen, and is taken for that" }
          ?? "it is not known how the domain state compares: it is taken for \(conditions.verdict)")
    }
    var preflight = conditions.preflight(&trace)
    if facts.binding == nil, preflight.factors.contains(.passkey) {
      let serves = Conditions.causesAgainstPasskey(facts.passkeys, conditions).isEmpty
      trace.turn(to: .passkey)
      trace.record("R46", serves, "\(serves ? "a" : "no") passkey of the profile serves")
      if !serves { preflight.factors.removeAll { $0 == .passkey } }
    }
    return (preflight, trace.rows)
  }
}

private struct Diagnosing {
  let policy: EvaluationPolicy
  let facts: DiagnosisFacts
  /// The best one first.
  let states: [Conditions]
  /// For each state, the factors that serve in it, in order.
  let serving: [[Factor]]

  init(policy: EvaluationPolicy, facts: DiagnosisFacts) {
    (self.policy, self.facts) = (policy, facts)
    let states = facts.possibleConditions(under: policy)
    self.states = states
    serving = states.map { state in
      state.servingFactors(passkeys: facts.passkeys).filter { factor in
        !Self.lacksAppsWord(for: factor, under: policy, facts, on: state.posture)
      }
    }
  }

  func diagnosis() -> LoginDiagnosis {
    let certain = serving[0].filter { factor in serving.allSatisfy { $0.contains(factor) } }
    let possible = serving.contains { !$0.isEmpty }
    return LoginDiagnosis(
      answer: !certain.isEmpty ? .yes : possible ? .unknown : .no, factors: certain,
      reportedAt: certain.contains(where: \.isProvenByDeviceKey) ? reportTime : nil, obstacles: obstacles(certain))
  }

  private func obstacles(_ certain: [Factor]) -> [LoginObstacle] {
    var obstacles: [LoginObstacle] = []
    for factor in policy.factors where !certain.contains(factor) {
      for cause in causes(against: factor) {
        if let known = obstacles.firstIndex(where: { $0.cause == cause && $0.until == until(of: cause) }) {
          obstacles[known].factors.append(factor)
        } else {
          obstacles.append(
            LoginObstacle(
              factors: [factor], cause: cause, since: since(cause), until: until(of: cause),
              remedies: remedies(for: cause, certain)))
        }
      }
    }
    return withoutNoise(obstacles, canLogIn: !certain.isEmpty)
  }

  /// Drops factors that were never set up if there are other obstacles, because they would hide those. A profile alone
  /// has no keys in any case.
  private func withoutNoise(_ obstacles: [LoginObstacle], canLogIn: Bool) -> [LoginObstacle] {
    let told = obstacles.filter { $0.cause != .noUsableFactor && $0.cause != .notSet }
    if canLogIn || !told.isEmpty { return told }
    let unset = obstacles.filter { $0.cause == .notSet }
    if facts.binding == nil, !unset.isEmpty { return unset }
    return [LoginObstacle(factors: [], cause: .noUsableFactor, remedies: [newCredential].compactMap { $0 })] + unset
  }

  /// A cause in the best state holds in every state. If the best state has no cause, the factor serves on some of the
  /// devices that fit.
  private func causes(against factor: Factor) -> [LoginObstacle.Cause] {
    if factor == .passkey, facts.binding == nil { return Conditions.causesAgainstPasskey(facts.passkeys, states[0]) }
    let causes = states[0].causes(against: factor)
    if causes != [.noUsableFactor], Self.lacksAppsWord(for: factor, under: policy, facts, on: states[0].posture) {
      return causes + [.appAssertionRequired]
    }
    guard causes.isEmpty, !states.allSatisfy({ $0.causes(against: factor).isEmpty }) else { return causes }
    guard case .last(_, nil, _)? = facts.report, facts.binding?.baseline != nil else { return [.notSeen] }
    return [.domainStateUnknown]
  }

  /// The service requires the app's word beside the key's signature. The rules of an attempt do not check it.
  private static func lacksAppsWord(
    for factor: Factor, under policy: EvaluationPolicy, _ facts: DiagnosisFacts, on posture: DevicePosture
  ) -> Bool {
    guard policy.requiresAppAssertion, factor.isProvenByDeviceKey, facts.binding?.keyProtections.isEmpty == false else {
      return false
    }
    return posture.platform.family.hasDomainState && !facts.holdsAppAttestKey
  }

  // MARK: Times

  /// Only what a device reported has a time.
  private func since(_ cause: LoginObstacle.Cause) -> UnixTime? {
    cause.isReported ? reportTime : nil
  }

  private var reportTime: UnixTime? {
    guard case .last(_, _, let time)? = facts.report else { return nil }
    return time
  }

  private func until(of cause: LoginObstacle.Cause) -> UnixTime? {
    let factor: Factor
    switch cause {
    case .passcodeLocked: factor = .passcode
    case .gestureLocked: factor = .gesture
    default: return nil
    }
    guard case .until(let end) = facts.profile.secret(for: factor).lock else { return nil }
    return end
  }

  // MARK: Remedies

  private func remedies(for cause: LoginObstacle.Cause, _ certain: [Factor]) -> [LoginObstacle.Remedy] {
    switch cause {
    // A new binding of the same device also ends it (R12).
    case .biometryLockout:
      certain.filter(\.clearsBiometricFailures).compactMap(\.remedy) + [.unlockDevice, .bindDevice]
    case .biometryLockedByDevice: [.unlockOnDevice]
    case .domainStateChanged, .domainStateChangedWithOS, .domainStateNeverRecorded, .domainStateUnknown:
      certain.filter(isEvidence).compactMap(\.remedy) + [.acceptDomainState]
    case .domainStateUnknownWhileLocked: [.unlockOnDevice]
    case .passcodeLocked: [.wait, unlocking(.passcode, facts.passcodeLadder)]
    case .gestureLocked: [.wait, unlocking(.gesture, facts.gestureLadder)]
    case .passcodeDisabled, .gestureDisabled, .notSet: [.setSecret]
    case .switchedOff: [.switchOn]
    case .osTooOld: [.updateSystem]
    case .domainStateRequired: states[0].posture.supports(.domainState) ? [] : [.updateSystem]
    case .passcodeNotSet: [.setDevicePasscode]
    case .biometryNotEnrolled: [.enrolBiometry]
    case .platformNotServed: policy.factors.contains(.passkey) ? [.bindPasskey] : []
    case .keyNotDeviceBound: [.bindPasskey]
    case .levelTooLow: [facts.binding?.holdsPasskey == false ? .bindDevice : .bindPasskey]
    case .bindingUnknown, .bindingRevoked, .platformDiffers, .appNotProven, .appAssertionRequired: [.bindDevice]
    case .noUsableFactor: [newCredential].compactMap { $0 }
    case .notSeen, .biometryNotAvailable: []
    }
  }

  /// If another policy has disabled the secret, an operator cannot unlock it (R13).
  private func unlocking(_ factor: Factor, _ ladder: Ladder) -> LoginObstacle.Remedy {
    let state = SecretRules(ladder: ladder).state(of: facts.profile.secret(for: factor), at: facts.now)
    return state == .disabled ? .setSecret : .unlockSecret
  }

  /// The credential to set up: one that the policy accepts. A passkey is replaced by a passkey.
  private var newCredential: LoginObstacle.Remedy? {
    let takesKeys = policy.factors.contains(where: \.isProvenByDeviceKey)
    guard policy.factors.contains(.passkey), !takesKeys || facts.binding?.holdsPasskey == true else {
      return takesKeys ? .bindDevice : nil
    }
    return .bindPasskey
  }

  /// Whether a login by the factor makes the present domain state the baseline (R26).
  private func isEvidence(_ factor: Factor) -> Bool {
    switch factor {
    case .passcode, .gesture, .primary: true
    case .deviceOwner: facts.binding?.proof(of: .deviceOwner, by: .key, under: policy) == .unlockedByPasscode
    case .biometry, .passkey: false
    }
  }
}

extension Factor {
  fileprivate var remedy: LoginObstacle.Remedy? {
    switch self {
    case .deviceOwner: .logInByDeviceOwner
    case .passcode: .logInByPasscode
    case .gesture: .logInByGesture
    case .primary: .logInByPrimary
    case .biometry, .passkey: nil
    }
  }
}

extension LoginObstacle.Cause {
  /// Whether the device's report says so.
  fileprivate var isReported: Bool {
    switch self {
    case .osTooOld, .passcodeNotSet, .biometryNotAvailable, .biometryNotEnrolled, .biometryLockedByDevice,
      .domainStateUnknownWhileLocked, .domainStateChanged, .domainStateChangedWithOS, .domainStateRequired,
      .platformDiffers:
      true
    default: false
    }
  }
}

// MARK: - One state

extension Conditions {
  /// The factors by which a login can succeed in this state, in the order of an offer.
  fileprivate func servingFactors(passkeys: [BindingStanding]) -> [Factor] {
    var trace = NoTrace()
    let offer = offer(&trace)
    guard offer.denial == nil else { return [] }
    // An evaluation opens for a passkey whether the profile has one or not (R37).
    let hasPasskey = scope != .profile || Self.causesAgainstPasskey(passkeys, self).isEmpty
    return inOrder(offer.factors).filter { $0 != .passkey || hasPasskey }
  }

  /// Returns no cause if one of the passkeys serves, and otherwise the causes against the first one.
  fileprivate static func causesAgainstPasskey(
    _ passkeys: [BindingStanding], _ conditions: Conditions
  ) -> [LoginObstacle.Cause] {
    let causes = passkeys.map { passkey in
      Conditions(
        policy: conditions.policy, posture: conditions.posture, binding: passkey, device: BiometryStanding(),
        profile: conditions.profile, evaluation: conditions.evaluation, now: conditions.now
      ).causes(against: .passkey)
    }
    if causes.contains([]) { return [] }
    return causes.first ?? [.noUsableFactor]
  }

  /// Returns all obstacles to the factor. The rules find one at a time, so each one is lifted before the rules run
  /// again.
  fileprivate func causes(against factor: Factor) -> [LoginObstacle.Cause] {
    if isWithoutCredential(for: factor) { return [.noUsableFactor] }
    var conditions = self
    var causes: [LoginObstacle.Cause] = []
    while let cause = conditions.cause(against: factor), !causes.contains(cause) {
      // With no credential that could serve, nothing else matters.
      if cause == .noUsableFactor { return [cause] }
      // A device with such an obstacle gives no domain state. That does not mean that its fingers changed.
      if cause.isOfDomainState, causes.contains(where: \.silencesDomainState) { break }
      causes.append(cause)
      conditions.lift(cause, from: factor)
    }
    return causes
  }

  private func isWithoutCredential(for factor: Factor) -> Bool {
    switch factor {
    case .biometry, .deviceOwner:
      scope != .device || binding?.proof(of: factor, by: nil, under: policy) == BindingStanding.Proof.none
    case .passkey: scope == .device && binding?.holdsPasskey != true
    case .passcode, .gesture, .primary: false
    }
  }

  private func cause(against factor: Factor) -> LoginObstacle.Cause? {
    var trace = NoTrace()
    switch usability(of: factor, &trace) {
    case .usable, .spent: return nil
    case .suspended: return .init(verdict)
    case .obstructed(let denial), .unproven(let denial), .outOfPlace(let denial):
      switch denial.reason {
      case .biometryLockout: return isLockedByService ? .biometryLockout : .biometryLockedByDevice
      case .factorNotOffered: return factor.isSecret && !profile.secret(for: factor).isSet ? .notSet : .switchedOff
      default: return LoginObstacle.Cause(rawValue: denial.reason.rawValue)
      }
    }
  }

  private var isLockedByService: Bool {
    device.isLockedOut || device.consecutiveFailures >= policy.failuresBeforeLockout
  }

  /// Lifts one cause, so that the rules find the next one.
  private mutating func lift(_ cause: LoginObstacle.Cause, from factor: Factor) {
    switch cause {
    case .osTooOld: posture.osVersion = OSVersion(.max)
    case .passcodeNotSet: posture.isPasscodeSet = true
    case .biometryNotAvailable: (posture.isBiometryAvailable, posture.biometryType) = (true, .touchID)
    case .biometryNotEnrolled: posture.isBiometryEnrolled = true
    case .biometryLockout: device = BiometryStanding()
    case .biometryLockedByDevice: posture.isBiometryLockedOut = false
    case .domainStateNeverRecorded, .domainStateUnknownWhileLocked, .domainStateChanged, .domainStateChangedWithOS:
      verdict = .unchanged
    case .passcodeLocked, .gestureLocked, .passcodeDisabled, .gestureDisabled:
      profile.setSecret(SecretStanding(isSet: true), for: factor)
    case .notSet:
      // Setting it switches it on (R17).
      profile = profile.settingSecret(factor, at: now)
    case .levelTooLow, .appNotProven: binding?.provenKeys = ProvenKeys(all: .strongbox, areOfListedApp: true)
    case .switchedOff: profile.settings.setEnabled(true, for: factor == .deviceOwner ? .biometry : factor)
    case .bindingUnknown, .bindingRevoked, .notSeen, .domainStateUnknown, .domainStateRequired, .platformNotServed,
      .platformDiffers,
      .noUsableFactor, .keyNotDeviceBound, .appAssertionRequired:
      break
    }
  }
}

extension LoginObstacle.Cause {
  fileprivate var isOfDomainState: Bool {
    switch self {
    case .domainStateChanged, .domainStateChangedWithOS, .domainStateNeverRecorded, .domainStateUnknownWhileLocked: true
    default: false
    }
  }

  fileprivate var silencesDomainState: Bool {
    self == .passcodeNotSet || self == .biometryNotAvailable || self == .biometryNotEnrolled
  }

  fileprivate init(_ verdict: DomainStateVerdict) {
    self =
      switch verdict {
      case .neverRecorded: .domainStateNeverRecorded
      case .unchanged: preconditionFailure("an unchanged domain state suspends nothing")
      case .unknownWhileLocked: .domainStateUnknownWhileLocked
      case .changed: .domainStateChanged
      case .changedWithOS: .domainStateChangedWithOS
      }
  }
}
