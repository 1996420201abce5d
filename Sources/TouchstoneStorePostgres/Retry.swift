// How often, and when, a transaction is sent again that lost a race on the server (SQLSTATE 40001, 40P01).

enum Retry {
  /// On a row that many want, a serializable engine refuses all but one each time.
  static let maximumAttempts = 10
  private static let maximumDelay: Duration = .milliseconds(50)

  /// Doubles, with full jitter: those that lost to one another are not to meet again.
  static func delay(afterAttempt attempt: Int) -> Duration {
    let limit = min(maximumDelay, .milliseconds(1 << min(attempt, 8)))
    return limit * Double.random(in: 0...1)
  }
}
