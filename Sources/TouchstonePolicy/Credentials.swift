// What a binding can prove, by how its keys are guarded (R31).

extension KeyProtection {
  /// Whether a key guarded like this is good enough. A demand concerns the keys of its own factor: who accepts device
  /// owner beside biometrics, and demands `biometryCurrentSet`, still accepts any device-owner key.
  func meets(_ demand: KeyProtection?) -> Bool {
    guard let demand, demand.factor == factor else { return true }
    switch demand {
    case .biometryAny, .userPresence: return true
    case .biometryCurrentSet, .devicePasscode: return self == demand
    }
  }

  /// A finger enrolled a minute ago may be what unlocked the key. `biometryCurrentSet` is among them: that such a key
  /// dies with a change is the device's word.
  var isUnlockedByBiometrics: Bool {
    switch self {
    case .biometryCurrentSet, .biometryAny, .userPresence: true
    case .devicePasscode: false
    }
  }
}

extension BindingStanding {
  /// Whether a proof of the factor by this binding could satisfy the policy. Does not ask whether the binding is
  /// active: that would tell an unknown one from a known one (R37).
  ///
  /// - Parameter isChanged: the domain state differs from the baseline, so nothing that biometrics unlock serves (R25).
  func canProve(_ factor: Factor, under policy: EvaluationPolicy, whileDomainStateIsChanged isChanged: Bool) -> Bool {
    if factor == .biometry && holdsProfileTouchID {
      return policy.acceptsProfileTouchID && !isChanged
    }
    // All, not any: the rules are told the factor that was proven, not which key of it signed.
    var isHeld = false
    for key in keyProtections where key.factor == factor {
      guard key.meets(policy.requiredKeyProtection), !(isChanged && key.isUnlockedByBiometrics) else { return false }
      isHeld = true
    }
    return isHeld
  }
}

extension EvaluationPolicy {
  /// A bearer identifier pays nothing (R38), and no key guards it.
  var acceptsProfileTouchID: Bool {
    purpose != .payment && requiredKeyProtection?.factor != .biometry
  }
}
