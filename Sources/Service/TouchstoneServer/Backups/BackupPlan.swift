// When a backup is due, and which ones go. Pure: time is an argument.

internal import TouchstonePolicy
internal import TouchstoneStoreSQLite

struct BackupPlan: Sendable {
  /// The time from a failure to the next try, if backups are not made more often.
  static let retryInterval = Duration.seconds(600)

  private let interval: Duration
  private let count: Int
  /// In the order in which they were made. The service made all of them.
  private(set) var kept: [BackupRecord]
  /// No backup is made earlier, because the last try failed.
  private var retryAt: UnixTime?
  /// The time since which the first backup has been due.
  private let start: UnixTime

  init(_ settings: BackupSettings, kept: [BackupRecord], at start: UnixTime) {
    (interval, count, self.kept, self.start) = (settings.interval, settings.count, kept, start)
  }

  /// Also if the clock was set back behind the last backup.
  func isDue(at now: UnixTime) -> Bool {
    if let retryAt, now < retryAt, now + interval > retryAt { return false }
    return kept.last.map { now >= $0.madeAt + interval || now < $0.madeAt } ?? true
  }

  /// For how long a backup has been due; 0: none is.
  func overdue(at now: UnixTime) -> Duration {
    max(.zero, now - (kept.last.map { $0.madeAt + interval } ?? start))
  }

  mutating func failed(at now: UnixTime) {
    retryAt = now + min(interval, Self.retryInterval)
  }

  /// Returns the backups that may go now. They stay in the list until they are removed.
  ///
  /// - Parameter isThere: whether a backup is still as it was made. Others count for nothing.
  mutating func made(_ backup: BackupRecord, isThere: (BackupRecord) -> Bool) -> [BackupRecord] {
    retryAt = nil
    kept = kept.filter(isThere) + [backup]
    return Array(kept.dropLast(count))
  }

  mutating func removed(_ backup: BackupRecord) {
    kept.removeAll { $0 == backup }
  }
}
