/// A profile's passcode or gesture, as it is remembered between calls. The secret itself is not among it.
public struct SecretStanding: Sendable, Hashable {
  public enum Lock: Sendable, Hashable {
    case none
    case until(UnixTime)
    case untilSetAnew
  }

  public var isSet: Bool
  /// Consecutive ones. An attempt counts from its admission on, before it is verified (R14).
  public var failures: UInt32
  /// Set at the admission that reaches a rung.
  public var lock: Lock
  /// Admitted, and no verdict written yet.
  public var inFlight: UInt32
  /// When those that have not answered count as lost: their process died.
  public var inFlightUntil: UnixTime
  /// One more at each success, and whenever the secret is set or erased: a wrong verdict of an earlier generation
  /// changes nothing any more.
  public var generation: UInt64

  public init(
    isSet: Bool = false, failures: UInt32 = 0, lock: Lock = .none, inFlight: UInt32 = 0,
    inFlightUntil: UnixTime = UnixTime(microseconds: 0), generation: UInt64 = 0
  ) {
    self.isSet = isSet
    self.failures = failures
    self.lock = lock
    self.inFlight = inFlight
    self.inFlightUntil = inFlightUntil
    self.generation = generation
  }
}
