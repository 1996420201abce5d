// An attempt with a passcode or a gesture has two phases (R14): its admission, which counts it before it is verified,
// and its verdict.

/// Phase one: whether the secret may be verified.
public enum SecretAdmission: Sendable, Hashable {
  /// The facts of this admission that phase two needs.
  public struct Reservation: Sendable, Hashable {
    public var generation: UInt64
    /// The count including this attempt.
    public var failures: UInt32

    public init(generation: UInt64, failures: UInt32) {
      self.generation = generation
      self.failures = failures
    }
  }

  /// Write the standing durably, then verify, then decide with the reservation.
  case verify(Reservation, SecretStanding)
  /// The whole budget is being verified: try again after a verdict.
  case wait
  /// The answer: neither verified nor counted.
  case refuse(AttemptDecision)
}

extension EvaluationPolicy {
  /// Phase one of an attempt with a passcode or a gesture. Pure: the caller writes the standing.
  public func admitSecret(_ factor: Factor, _ facts: AdmissionFacts) -> SecretAdmission {
    var trace = NoTrace()
    return AttemptRules(policy: self, facts: facts).admitSecret(factor, &trace)
  }

  /// The same admission, with every rule that it evaluated, in order.
  public func explainAdmission(of factor: Factor, _ facts: AdmissionFacts) -> (SecretAdmission, [RuleTrace]) {
    var trace = RecordedTrace()
    let admission = AttemptRules(policy: self, facts: facts).admitSecret(factor, &trace)
    return (admission, trace.rows)
  }
}

extension AttemptRules {
  func admitSecret(_ factor: Factor, _ trace: inout some RuleTracer) -> SecretAdmission {
    guard isOpen(&trace) else { return .refuse(.invalidContext) }
    if let denial = before.bindingObstacle(&trace) { return .refuse(.ended(by: denial)) }
    guard factor.isSecret else {
      return .refuse(anotherFactorRequired(.biometry, .denial(.noUsableFactor), before))
    }
    let usability = before.usability(of: factor, &trace)
    switch usability {
    case .obstructed(let obstacle): return .refuse(refuse(factor, for: obstacle, before))
    case .outOfPlace, .unproven, .spent, .suspended:
      return .refuse(anotherFactorRequired(factor, cause(usability), before))
    case .usable: break
    }
    switch before.rules.admit(factor, before.profile.secret(for: factor), at: before.now) {
    case .verify(let reservation, let counted):
      trace.record("R14", true, "counted as failure \(counted.failures) before it is verified")
      return .verify(reservation, counted)
    case .wait:
      trace.record("R14", true, "waits for the verdict of \(before.profile.secret(for: factor).inFlight) others")
      return .wait
    case .refuse(let denial):
      return .refuse(refuse(factor, for: denial, before))
    }
  }

  /// Phase two. The verdict is settled even if the evaluation changed or the binding was revoked meanwhile, so a right
  /// secret does not stay counted. A wrong one never ends the evaluation and costs the device nothing.
  func decideSecret(
    _ factor: Factor, _ reservation: SecretAdmission.Reservation, isRight: Bool, _ trace: inout some RuleTracer
  ) -> AttemptDecision {
    guard factor.isSecret else { return anotherFactorRequired(.biometry, .denial(.noUsableFactor), before) }
    var after = before
    after.profile.setSecret(
      SecretRules.settle(before.profile.secret(for: factor), reservation, isRight: isRight), for: factor)
    let settled = decision(.invalidContext, .invalidContext, by: factor, nil, after).secret
    guard isOpen(&trace) else {
      var late = AttemptDecision.invalidContext
      late.secret = settled
      return late
    }
    if let denial = before.bindingObstacle(&trace) {
      var late = AttemptDecision.ended(by: denial)
      late.secret = settled
      return late
    }
    let isRight = checkProof(isValid: isRight, &trace)
    let usability = after.usability(of: factor, &trace)
    switch usability {
    case .obstructed(let obstacle): return refuse(factor, for: obstacle, after)
    case .outOfPlace, .unproven, .spent, .suspended:
      return anotherFactorRequired(factor, cause(usability), after)
    case .usable: break
    }
    return isRight
      ? succeed(by: factor, after) : decision(.tryAgain, .authenticationFailed, by: factor, .secretWrong, after)
  }
}
