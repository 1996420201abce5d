/// Everything that decides one attempt: the service reads it, the rules judge it.
public struct AttemptFacts: Sendable {
  /// The posture at the attempt, not at the beginning (R5).
  public var posture: DevicePosture
  public var binding: BindingStanding
  public var device: BiometryStanding
  public var profile: ProfileStanding
  public var evaluation: EvaluationStanding
  public var now: UnixTime
  public var attempt: Attempt

  public init(
    posture: DevicePosture, binding: BindingStanding, device: BiometryStanding, profile: ProfileStanding,
    evaluation: EvaluationStanding, now: UnixTime, attempt: Attempt
  ) {
    self.posture = posture
    self.binding = binding
    self.device = device
    self.profile = profile
    self.evaluation = evaluation
    self.now = now
    self.attempt = attempt
  }

  public init(_ facts: AdmissionFacts, attempt: Attempt) {
    self.init(
      posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile,
      evaluation: facts.evaluation, now: facts.now, attempt: attempt)
  }

  var admission: AdmissionFacts {
    AdmissionFacts(
      posture: posture, binding: binding, device: device, profile: profile, evaluation: evaluation, now: now)
  }
}

/// Everything that decides the admission of a secret: the facts of an attempt that has no verdict yet.
public struct AdmissionFacts: Sendable {
  public var posture: DevicePosture
  public var binding: BindingStanding
  public var device: BiometryStanding
  public var profile: ProfileStanding
  public var evaluation: EvaluationStanding
  public var now: UnixTime

  public init(
    posture: DevicePosture, binding: BindingStanding, device: BiometryStanding, profile: ProfileStanding,
    evaluation: EvaluationStanding, now: UnixTime
  ) {
    self.posture = posture
    self.binding = binding
    self.device = device
    self.profile = profile
    self.evaluation = evaluation
    self.now = now
  }
}
