// `canEvaluatePolicy`: may this policy be evaluated on this device now, and by which factors.

extension EvaluationPolicy {
  /// Changes nothing, and may be asked at any time (R6).
  ///
  /// `denial` is `nil` also where the domain state changed and no factor is left (`factors` is empty then): an
  /// evaluation may be opened, and its attempts answer `factorRequired` (R25).
  ///
  /// - Parameters:
  ///   - binding: `nil` before one exists. Whether it is active makes no difference (R37).
  ///   - profile: of the binding, or the one that is named alone.
  public func preflight(
    posture: DevicePosture, binding: BindingStanding?, device: BiometryStanding, profile: ProfileStanding, now: UnixTime
  ) -> Preflight {
    var trace = NoTrace()
    return Conditions(
      policy: self, posture: posture, binding: binding, device: device, profile: profile,
      evaluation: EvaluationStanding(), now: now
    ).preflight(&trace)
  }

  /// The same answer, with every rule that was asked on the way to it, in order.
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
  fileprivate func preflight(_ trace: inout some RuleTracer) -> Preflight {
    let offer = offer(&trace)
    return Preflight(
      denial: offer.denial, domainState: namedVerdict, factors: offer.denial == nil ? inOrder(offer.factors) : [],
      biometryAttemptsLeft: biometryAttemptsLeft)
  }
}
