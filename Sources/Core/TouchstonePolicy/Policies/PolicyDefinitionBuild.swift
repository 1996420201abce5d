// Makes the policy that a definition describes.

extension PolicyDefinition {
  /// Uses the default of each setting that is not written. Only for a definition without defects.
  func build() throws(UnreadableSetting) -> EvaluationPolicy {
    let purpose = try purpose.read() ?? .login
    var policy = EvaluationPolicy(defaultsFor: purpose)
    policy.name = name
    for setting in PolicySetting.all { try setting.apply(self, &policy) }
    return policy
  }
}

extension EvaluationPolicy {
  /// The defaults of the built-in policies; R38 fixes a payment's.
  init(defaultsFor purpose: Purpose) {
    self.init(
      name: "", purpose: purpose, factors: [], tokenLifetime: purpose == .payment ? .seconds(120) : .seconds(300))
    requiresDomainState = purpose == .payment
  }
}

extension Ladder {
  init(_ written: [Setting<PolicyDefinition.Rung>]) throws(UnreadableSetting) {
    var rungs: [Rung] = []
    for rung in try written.readAll() {
      let failures = UInt32(clamping: try rung.failures.read() ?? 0)
      let lock = try rung.lock.read()
      // Both must be readable, whichever applies.
      let isDisabling = try rung.disable.read() == true
      rungs.append(Rung(failures: failures, effect: isDisabling ? .disable : .lock(lock ?? .zero)))
    }
    guard Self.violation(in: rungs) == nil else { throw UnreadableSetting() }
    self.init(rungs: rungs)
  }
}

extension PolicyDefinition.Token {
  init(of policy: EvaluationPolicy) {
    guard let lifetime = policy.tokenLifetime else {
      self = .none
      return
    }
    self = .issued(lifetime: .value(lifetime), isSingleUse: .value(policy.isTokenSingleUse))
  }

  func apply(to policy: inout EvaluationPolicy) throws(UnreadableSetting) {
    switch self {
    case .none:
      policy.tokenLifetime = nil
    case .issued(let lifetime, let isSingleUse):
      if let lifetime = try lifetime.read() { policy.tokenLifetime = lifetime }
      if let isSingleUse = try isSingleUse.read() { policy.isTokenSingleUse = isSingleUse }
    }
  }
}
