// Decides whether a write waits for others to share its transaction.

/// A value: when transactions began, and with how many writes.
///
/// A transaction costs as much as a login without it: an fsync, and pages that two logins would share. So when writes
/// come more often than one in `spacing`, transactions begin no sooner than this after each other. A single write, and
/// those of a quiet service, wait for nothing; and under full load the fsync takes longer than this anyway.
struct CommitPace {
  /// A person waits for a login; a millisecond of it is not noticed.
  static let spacing = Duration.milliseconds(1)
  /// The part of the latest transaction in the mean.
  private static let weight = 8

  private var latest: ContinuousClock.Instant?
  /// The mean time from one write to the next, of the latest transactions.
  private var gap = Self.spacing * 2

  mutating func began(_ writes: Int, at now: ContinuousClock.Instant) {
    defer { latest = now }
    guard let latest else { return }
    // A pause counts as twice the spacing, so that it is over with the first writes after it.
    let sample = min(latest.duration(to: now), Self.spacing * 2 * writes) / writes
    gap += (sample - gap) / Self.weight
  }

  /// Until the next transaction begins.
  func delay(at now: ContinuousClock.Instant) -> Duration {
    guard gap < Self.spacing * 3 / 4, let latest else { return .zero }
    return max(.zero, Self.spacing - latest.duration(to: now))
  }
}
