// How things stand around one policy at one moment. The preflight and every attempt start from it, so that both hold
// the device to the same rules (R5).

struct Conditions {
  let policy: EvaluationPolicy
  let posture: DevicePosture
  /// `nil`: none exists yet, and any credential could still be made.
  let binding: BindingStanding?
  /// Replaced while an attempt is decided. The verdict stays what it was when the attempt came in.
  var device: BiometryStanding
  /// Without a binding: as without a baseline.
  let verdict: DomainStateVerdict

  init(policy: EvaluationPolicy, posture: DevicePosture, binding: BindingStanding?, device: BiometryStanding) {
    self.policy = policy
    self.posture = posture
    self.binding = binding
    self.device = device
    verdict = .compare(baseline: binding?.baseline, posture: posture, device: device)
  }

  /// By the count kept here, by the device's own word, or because the count is beyond what this policy allows though
  /// a more patient one left the device open.
  var isBiometryLockedOut: Bool {
    device.isLockedOut || posture.isBiometryLockedOut || device.consecutiveFailures >= policy.failuresBeforeLockout
  }

  /// Zero exactly where biometrics are locked.
  var biometryAttemptsLeft: UInt32 {
    isBiometryLockedOut ? 0 : policy.failuresBeforeLockout - device.consecutiveFailures
  }

  /// Usable now, in the policy's order.
  var usableFactors: [Factor] {
    policy.factors.filter { isUsable($0) }
  }

  func isUsable(_ factor: Factor) -> Bool {
    obstacle(to: factor) == nil && isProvable(factor, whileDomainStateIsChanged: verdict.isChanged)
  }

  /// Why the policy cannot be evaluated; `nil` where it can.
  ///
  /// A changed domain state is never the reason. The phone itself would say yes, and the evaluation must open, so that
  /// its attempt can answer which other factor is needed (R25).
  var denial: Denial? {
    var first: Denial?
    for factor in policy.factors {
      if let obstacle = obstacle(to: factor) {
        first = first ?? obstacle
      } else if isProvable(factor, whileDomainStateIsChanged: false) {
        return nil
      }
    }
    return first ?? .noUsableFactor
  }

  /// What on the device stands in the factor's way: R1 in its order, then R27.
  func obstacle(to factor: Factor) -> Denial? {
    if let oldest = policy.minimumOSVersion, !posture.runs(atLeast: oldest) { return .osTooOld }
    switch factor {
    case .biometry:
      return posture.biometryObstacle(isLockedOut: isBiometryLockedOut) ?? domainStateObstacle
    case .deviceOwner:
      return posture.deviceOwnerObstacle ?? domainStateObstacle
    case .passcode, .gesture, .passkey, .primary:
      return nil
    }
  }

  private func isProvable(_ factor: Factor, whileDomainStateIsChanged isChanged: Bool) -> Bool {
    guard factor.isProvenByDeviceKey else { return false }
    return binding?.canProve(factor, under: policy, whileDomainStateIsChanged: isChanged) ?? true
  }

  /// A system without domain state is refused; so is a device that could give one and did not, where there is no
  /// baseline (R27). With one, silence is a change (R22), not a refusal; and a locked device is excused.
  private var domainStateObstacle: Denial? {
    guard policy.comparesDomainState else { return nil }
    guard posture.supports(.domainState) else { return .domainStateRequired }
    return posture.domainState.isEmpty && verdict == .neverRecorded ? .domainStateRequired : nil
  }
}

extension Factor {
  /// Proven by a signature of the binding's hardware key.
  var isProvenByDeviceKey: Bool {
    switch self {
    case .biometry, .deviceOwner: true
    case .passcode, .gesture, .passkey, .primary: false
    }
  }
}

extension EvaluationPolicy {
  /// Payment requires domain state, whatever the setting says (R38).
  var comparesDomainState: Bool {
    requiresDomainState || purpose == .payment
  }
}
