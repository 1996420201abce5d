// `canEvaluatePolicy`: whether this policy can be evaluated on this device now, and with which factors.

extension EvaluationPolicy {
  /// Changes nothing, and may be called at any time (R6).
  ///
  /// `denial` is also `nil` if the domain state changed and no factor is left (`factors` is empty then): an evaluation
  /// may be opened, and its attempts answer `factorRequired` (R25).
  ///
  /// - Parameters:
  ///   - binding: `nil` if none exists yet. One that is revoked or unknown is denied, and shows nothing else (R37).
  ///   - profile: the binding's, or the one that the evaluation names alone.
  public func preflight(
    posture: DevicePosture, binding: BindingStanding?, device: BiometryStanding, profile: ProfileStanding, now: UnixTime
  ) -> Preflight {
    var trace = NoTrace()
    return Conditions(
      policy: self, posture: posture, binding: binding, device: device, profile: profile,
      evaluation: EvaluationStanding(), now: now
    ).preflight(&trace)
  }

  /// The same answer, with every rule that it evaluated, in order.
  public func explain(
    posture: DevicePosture, binding: BindingStanding?, device: BiometryStanding, profile: ProfileStanding, now: UnixTime
  ) -> (Preflight, [RuleTrace]) {
    var trace = RecordedTrace()
    let preflight = Conditions(
      policy: self, posture: posture, binding: binding, device: device, profile: profile,
      evaluation: EvaluationStanding(), now: now
    ).preflight(&trace)
    return (preflight, trace.rows)
  }
}

extension Conditions {
  func preflight(_ trace: inout some RuleTracer) -> Preflight {
    if let denial = bindingObstacle(&trace) {
      return Preflight(denial: denial, domainState: nil, factors: [], biometryAttemptsLeft: 0)
    }
    let offer = offer(&trace)
    return Preflight(
      denial: offer.denial, domainState: namedVerdict, factors: offer.denial == nil ? inOrder(offer.factors) : [],
      biometryAttemptsLeft: biometryAttemptsLeft)
  }
}
