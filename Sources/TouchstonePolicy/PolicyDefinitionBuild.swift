// From a definition to the policy that is meant.

extension PolicyDefinition {
  /// With the defaults where nothing is written. Only for a definition without defects.
  func build() throws(UnreadableSetting) -> EvaluationPolicy {
    let purpose = try purpose.read() ?? .login
    var policy = EvaluationPolicy(
      name: name, purpose: purpose, factors: try Self.readAll(factors), tokenLifetime: Self.tokenLifetime(for: purpose))
    if let attempts = try attempts.read() { policy.attemptsPerEvaluation = UInt32(clamping: attempts) }
    if let lockoutAfter = try lockoutAfter.read() { policy.failuresBeforeLockout = UInt32(clamping: lockoutAfter) }
    if ladder != .absent { policy.ladder = try buildLadder() }
    if let primaryFreshness = try primaryFreshness.read() { policy.primaryFreshness = primaryFreshness }
    policy.requiredKeyProtection = try keyProtection.read()
    policy.minimumOSVersion = try minimumOS.read()
    policy.requiresDomainState = try (domainState.read() ?? Self.domainState(for: purpose)) == .required
    if let evaluationLifetime = try evaluationLifetime.read() { policy.evaluationLifetime = evaluationLifetime }
    try buildToken(of: &policy)
    if let fallback = try fallback.read() { policy.fallback = fallback }
    policy.presentation = EvaluationPolicy.Titles(fallback: try fallbackTitle.read(), cancel: try cancelTitle.read())
    return policy
  }

  /// As of the built-in policies; a payment's is R38's.
  private static func tokenLifetime(for purpose: EvaluationPolicy.Purpose) -> Duration {
    switch purpose {
    case .login: .seconds(300)
    case .payment: .seconds(120)
    }
  }

  /// R38.
  private static func domainState(for purpose: EvaluationPolicy.Purpose) -> DomainState {
    switch purpose {
    case .login: .compared
    case .payment: .required
    }
  }

  private static func readAll<Value>(_ list: Setting<[Setting<Value>]>) throws(UnreadableSetting) -> [Value] {
    var values: [Value] = []
    for written in try list.read() ?? [] {
      if let value = try written.read() { values.append(value) }
    }
    return values
  }

  private func buildLadder() throws(UnreadableSetting) -> Ladder {
    var rungs: [Ladder.Rung] = []
    for rung in try Self.readAll(ladder) {
      let failures = UInt32(clamping: try rung.failures.read() ?? 0)
      let lock = try rung.lock.read()
      // Both must be readable, whichever counts.
      let isDisabling = try rung.disable.read() == true
      rungs.append(Ladder.Rung(failures: failures, effect: isDisabling ? .disable : .lock(lock ?? .zero)))
    }
    guard Ladder.violation(in: rungs) == nil else { throw UnreadableSetting() }
    return Ladder(rungs: rungs)
  }

  private func buildToken(of policy: inout EvaluationPolicy) throws(UnreadableSetting) {
    switch try token.read() {
    case nil:
      break
    case Token.none?:
      policy.tokenLifetime = nil
    case .issued(let lifetime, let isSingleUse)?:
      if let lifetime = try lifetime.read() { policy.tokenLifetime = lifetime }
      if let isSingleUse = try isSingleUse.read() { policy.isTokenSingleUse = isSingleUse }
    }
  }
}
