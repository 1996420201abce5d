/// All that one attempt is decided on: the service reads it, the rules judge it.
public struct AttemptFacts: Sendable {
  /// Of this moment, not of the beginning (R5).
  public var posture: DevicePosture
  public var binding: BindingStanding
  public var device: BiometryStanding
  public var evaluation: EvaluationStanding
  public var attempt: Attempt

  public init(
    posture: DevicePosture, binding: BindingStanding, device: BiometryStanding, evaluation: EvaluationStanding,
    attempt: Attempt
  ) {
    self.posture = posture
    self.binding = binding
    self.device = device
    self.evaluation = evaluation
    self.attempt = attempt
  }
}
