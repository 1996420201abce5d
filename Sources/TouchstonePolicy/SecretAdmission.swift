/// Phase one of an attempt with a passcode or a gesture: whether it may be verified (R14).
public enum SecretAdmission: Sendable, Hashable {
  /// What phase two needs to know of this admission.
  public struct Reservation: Sendable, Hashable {
    public var generation: UInt64
    /// The count with this attempt.
    public var failures: UInt32

    public init(generation: UInt64, failures: UInt32) {
      self.generation = generation
      self.failures = failures
    }
  }

  /// Write the standing durably, then verify, then decide with the reservation.
  case verify(Reservation, SecretStanding)
  /// The whole budget is in flight: ask again when a verdict is in.
  case wait
  /// To be answered as it is: neither verified nor counted.
  case refuse(AttemptDecision)
}
