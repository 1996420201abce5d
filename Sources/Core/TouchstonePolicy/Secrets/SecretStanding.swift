/// The state of a profile's passcode or gesture between calls, without the secret itself.
public struct SecretStanding: Sendable, Hashable {
  public enum Lock: Sendable, Hashable {
    case none
    case until(UnixTime)
    case untilSetAnew
  }

  public var isSet: Bool
  /// Consecutive failures. An attempt counts from its admission on, before it is verified (R14).
  public var failures: UInt32
  /// Set at the admission that reaches a rung.
  public var lock: Lock
  /// Attempts that were admitted and have no verdict yet.
  public var inFlight: UInt32
  /// When those without a verdict count as lost, because their process died.
  public var inFlightUntil: UnixTime
  /// Rises at each success, and whenever the secret is set or erased: a wrong verdict of an earlier generation changes
  /// nothing.
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
