/// Everything that decides one attempt: the service reads it, the rules judge it.
@dynamicMemberLookup
public struct AttemptFacts: Sendable {
  public var admission: AdmissionFacts
  public var attempt: Attempt

  public init(_ admission: AdmissionFacts, attempt: Attempt) {
    self.admission = admission
    self.attempt = attempt
  }

  public subscript<Value>(dynamicMember path: KeyPath<AdmissionFacts, Value>) -> Value { admission[keyPath: path] }
}

/// Everything that decides the admission of a secret: the facts of an attempt that has no verdict yet.
public struct AdmissionFacts: Sendable {
  /// The posture at the attempt, not at the beginning (R5).
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
