// The factors that a binding can prove, by the protection of its keys (R31), and the credentials that a policy accepts
// at all (R38).

/// The credential for biometry or device owner.
enum DeviceCredential {
  case key
  case profileTouchID
}

extension KeyProtection {
  /// Whether this protection is good enough. A demand concerns only keys of its own factor: a policy that also accepts
  /// device owner, and demands `biometryCurrentSet`, still accepts any device-owner key.
  func meets(_ demand: KeyProtection?) -> Bool {
    guard let demand, demand.factor == factor else { return true }
    switch demand {
    case .biometryAny, .userPresence: return true
    case .biometryCurrentSet, .devicePasscode: return self == demand
    }
  }

  /// A finger that was enrolled a minute ago may have unlocked the key. `biometryCurrentSet` is included, because only
  /// the device claims that such a key dies with a change.
  var isUnlockedByBiometrics: Bool {
    switch self {
    case .biometryCurrentSet, .biometryAny, .userPresence: true
    case .devicePasscode: false
    }
  }
}

extension BindingStanding {
  /// The protection of a binding's proof.
  enum Proof {
    /// The binding holds no fitting credential.
    case none
    case unlockedByBiometrics
    /// A key that only the device's passcode unlocks.
    case unlockedByPasscode
  }

  /// Returns the protection that a proof of the factor by this binding would have. Does not check that the binding is
  /// active: that would tell unknown bindings from known ones (R37).
  func proof(of factor: Factor, by credential: DeviceCredential?, under policy: EvaluationPolicy) -> Proof {
    if factor == .biometry && holdsProfileTouchID && credential != .key {
      return policy.acceptsProfileTouchID ? .unlockedByBiometrics : .none
    }
    guard credential != .profileTouchID else { return .none }
    // All, not any: the rules know the proven factor, and not which key of it signed.
    var proof = Proof.none
    for key in keyProtections where key.factor == factor {
      guard key.meets(policy.requiredKeyProtection), !policy.requiresP256Keys || !rsaKeys.contains(key) else {
        return .none
      }
      if key.isUnlockedByBiometrics {
        proof = .unlockedByBiometrics
      } else if proof == .none {
        proof = .unlockedByPasscode
      }
    }
    return proof
  }

  /// Returns the level that is proven of the credential for the factor (R42). A ProfileTouchID is not a key, and
  /// nothing is proven of it.
  func proofLevel(of factor: Factor, by credential: DeviceCredential?) -> ProofLevel {
    if factor == .biometry && holdsProfileTouchID && credential != .key { return .none }
    return .ofBinding(keyProtections.filter { $0.factor == factor }.map { provenKeys[$0] })
  }

  /// The lowest level among all credentials.
  public var proofLevel: ProofLevel {
    if holdsPasskey { return passkeyLevel }
    return holdsProfileTouchID ? .none : .ofBinding(keyProtections.map { provenKeys[$0] })
  }

  /// Returns the level that a policy requires of this kind of credential (R42).
  public func askedLevel(by policy: EvaluationPolicy) -> ProofLevel {
    // Authenticators are asked for what they can reach, as browsers' keys are.
    policy.minimumAttestation.asked(of: holdsPasskey ? .web : platformFamily)
  }
}

extension KeyProtection {
  /// Whether a finger that was enrolled a minute ago cannot unlock it, by the word of the app that made it.
  var isClosedToNewFingers: Bool {
    switch self {
    case .biometryCurrentSet, .devicePasscode: true
    case .biometryAny, .userPresence: false
    }
  }
}

extension Factor {
  /// With the best key that a binding could hold.
  var bestProof: BindingStanding.Proof {
    self == .deviceOwner ? .unlockedByPasscode : .unlockedByBiometrics
  }
}

extension EvaluationPolicy {
  /// Whether the factor is one of the policy's, and good enough for its purpose.
  func accepts(_ factor: Factor, by credential: DeviceCredential?, _ trace: inout some RuleTracer) -> Bool {
    guard factors.contains(factor) else {
      trace.record("R31", false, "\(name) does not accept it")
      return false
    }
    guard credential != .profileTouchID || acceptsProfileTouchID else {
      trace.record("R38", false, "\(name) accepts no ProfileTouchID")
      return false
    }
    guard purpose == .payment else { return true }
    return trace.check("R38", factor.isProvenByKey, "\(factor.isProvenByKey ? "a" : "no") key approves the payment")
  }

  /// A bearer identifier approves no payment (R38), is no key on P-256, and no key protects it.
  var acceptsProfileTouchID: Bool {
    purpose != .payment && requiredKeyProtection?.factor != .biometry && !requiresP256Keys
  }

  /// Payment requires domain state, whatever the setting says (R38).
  var comparesDomainState: Bool {
    requiresDomainState || purpose == .payment
  }
}

extension Factor {
  /// By a signature over the evaluation's content, as a payment needs (R38).
  var isProvenByKey: Bool {
    switch self {
    case .biometry, .deviceOwner, .passkey: true
    case .passcode, .gesture, .primary: false
    }
  }
}
