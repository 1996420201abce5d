// When a fault that lasts is reported. Pure: time is an argument.

internal import TouchstonePolicy

/// The alarm of one fault. It reports after its patience, and then at each reminder.
struct Alarm: Sendable {
  struct Report: Sendable, Hashable {
    /// The time of the first failure.
    var since: UnixTime
    /// No event tells of the fault yet.
    var isNew: Bool
  }

  private let patience: Duration
  private let reminderInterval: Duration
  private var since: UnixTime?
  private var reportedAt: UnixTime?
  private var isTold = false

  init(patience: Duration = .zero, reminderInterval: Duration) {
    (self.patience, self.reminderInterval) = (patience, reminderInterval)
  }

  /// Returns `nil` if no report is due. A clock that was set back reports once more, and no flood of times.
  mutating func failed(at now: UnixTime) -> Report? {
    let since = self.since ?? now
    self.since = since
    let isDue = reportedAt.map { now >= $0 + reminderInterval || now < $0 || !isTold } ?? (now >= since + patience)
    guard isDue else { return nil }
    defer { (reportedAt, isTold) = (now, true) }
    return Report(since: since, isNew: !isTold)
  }

  /// The event of the report could not be appended: the next failure reports again.
  mutating func notTold() {
    isTold = false
  }

  mutating func ended() {
    (since, reportedAt, isTold) = (nil, nil, false)
  }
}
