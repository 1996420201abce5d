// Decides when to read the configuration again because its files changed. Pure: it gets what was seen, and when.

/// Compares what is seen of the files with what the last reading considered, whether that reading was taken or refused.
/// A refused change is therefore read again only after another change.
struct FileWatch: Sendable {
  typealias Instant = ContinuousClock.Instant

  enum Step: Sendable, Hashable {
    case wait
    case reload
  }

  /// Files that differ are read when two looks have seen the same, because their writer may not be done: a half-written
  /// file can be valid.
  static let settlingTime = Duration.seconds(1)
  /// If one of the files changes at each look, they are read as they are.
  static let patience = Duration.seconds(10)

  private let considered: FileSnapshot
  private var change: (seen: FileSnapshot, since: Instant)?

  init(considered: FileSnapshot) {
    self.considered = considered
  }

  mutating func looked(_ seen: FileSnapshot, at now: Instant) -> Step {
    guard seen != considered else {
      change = nil
      return .wait
    }
    let (earlier, since) = (change?.seen, change?.since ?? now)
    change = (seen, since)
    return seen == earlier || now - since >= Self.patience ? .reload : .wait
  }

  /// The time until the next look.
  func delay(within interval: Duration) -> Duration {
    change == nil ? interval : min(interval, Self.settlingTime)
  }
}
