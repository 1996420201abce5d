/// When something that a replica handed out serves: an evaluation, a ticket, a token.
public enum Expiry {
  /// How far the clock that issued something may have been ahead of ours. As much as a start tolerates between two
  /// replicas.
  public static let issueTolerance: Duration = .seconds(120)

  /// Neither expired nor of the future: what has longer to live than its lifetime was issued while the clock was ahead,
  /// and would live until that time has come.
  public static func isInTime(_ expiresAt: UnixTime, lifetime: Duration, at now: UnixTime) -> Bool {
    now < expiresAt && expiresAt <= now + lifetime + issueTolerance
  }
}
