// Decides how often and when to send a transaction again that lost a race on the server (SQLSTATE 40001, 40P01).

enum Retry {
  /// If many transactions write one row, a database that is SERIALIZABLE refuses all but one each time.
  /// Each takes 50 ms at most beside its own time, and a call's time ends them before.
  static let maximumAttempts = 20
  private static let maximumDelay: Duration = .milliseconds(50)

  /// Doubles, with full jitter, so that the losers of one race do not meet again.
  static func delay(afterAttempt attempt: Int) -> Duration {
    let limit = min(maximumDelay, .milliseconds(1 << min(attempt, 8)))
    return limit * Double.random(in: 0...1)
  }
}
