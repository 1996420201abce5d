// What a binding can prove, by how its keys are guarded (R31), and what a policy takes at all (R38).

/// What a device proves biometry or device owner with.
enum DeviceCredential {
  case key
  case profileTouchID
}

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
  /// What a proof by a binding rests on.
  enum Proof {
    /// It holds nothing that would do.
    case none
    case unlockedByBiometrics
    /// On what only the device's passcode unlocks.
    case unlockedByPasscode
  }

  /// What a proof of the factor by this binding would rest on. Does not ask whether the binding is active: that would
  /// tell an unknown one from a known one (R37).
  func proof(of factor: Factor, by credential: DeviceCredential?, under policy: EvaluationPolicy) -> Proof {
    if factor == .biometry && holdsProfileTouchID && credential != .key {
      return policy.acceptsProfileTouchID ? .unlockedByBiometrics : .none
    }
    guard credential != .profileTouchID else { return .none }
    // All, not any: the rules are told the factor that was proven, not which key of it signed.
    var proof = Proof.none
    for key in keyProtections where key.factor == factor {
      guard key.meets(policy.requiredKeyProtection) else { return .none }
      if key.isUnlockedByBiometrics {
        proof = .unlockedByBiometrics
      } else if proof == .none {
        proof = .unlockedByPasscode
      }
    }
    return proof
  }
}

extension Factor {
  /// By the best key that a binding could hold.
  var bestProof: BindingStanding.Proof {
    self == .deviceOwner ? .unlockedByPasscode : .unlockedByBiometrics
  }
}

extension EvaluationPolicy {
  /// Whether the factor is one of the policy's, and good enough for its purpose.
  func accepts(_ factor: Factor, by credential: DeviceCredential?, _ trace: inout some RuleTracer) -> Bool {
    guard factors.contains(factor) else {
      trace.record("R31", false, "\(name) does not take it")
      return false
    }
    guard credential != .profileTouchID || acceptsProfileTouchID else {
      trace.record("R38", false, "\(name) takes no ProfileTouchID")
      return false
    }
    guard purpose == .payment else { return true }
    return trace.check("R38", factor.isProvenByKey, "\(factor.isProvenByKey ? "a" : "no") key approves the payment")
  }

  /// A bearer identifier pays nothing (R38), and no key guards it.
  var acceptsProfileTouchID: Bool {
    purpose != .payment && requiredKeyProtection?.factor != .biometry
  }

  /// Payment requires domain state, whatever the setting says (R38).
  var comparesDomainState: Bool {
    requiresDomainState || purpose == .payment
  }
}

extension Factor {
  /// By a signature over the evaluation's terms: what a payment needs (R38).
  fileprivate var isProvenByKey: Bool {
    switch self {
    case .biometry, .deviceOwner, .passkey: true
    case .passcode, .gesture, .primary: false
    }
  }
}
