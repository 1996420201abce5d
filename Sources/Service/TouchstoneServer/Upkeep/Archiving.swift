// Moves old events from the audit log into files, regularly, as long as the service runs.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TouchstoneArchive
internal import TouchstonePolicy
internal import TouchstoneStore

/// If several processes share a database, one at a time archives.
final class Archiving: Sendable {
  /// How often the log is checked: often enough that no event is much older than the age.
  private static let intervals = Duration.seconds(1)...Duration.seconds(60)
  private static let intervalsPerAge = 8

  private let archiver: EventArchiver
  private let store: any Store
  private let age: Duration
  private let logger: Logger
  private let meters: ServerMeters
  private let repeating: Repeating
  private let isCancelled = Atomic<Bool>(false)
  private let alarm: Mutex<Alarm>

  init(store: any Store, settings: RetentionSettings, logger: Logger, meters: ServerMeters) throws(Failure) {
    (self.store, self.logger, self.meters, age) = (store, logger, meters, settings.age)
    archiver = EventArchiver(store: store, directory: settings.archive)
    alarm = Mutex(Self.alarm(age: age))
    repeating = Repeating(every: Self.interval(age: age), label: "archiver", qos: .unspecified)
    try failing { [archiver] () throws(ArchiveError) in try archiver.prepare() }
    repeating.begin { [weak self] in self?.archiveAll() }
  }

  /// The time between two checks of the log.
  static func interval(age: Duration) -> Duration {
    min(max(age / intervalsPerAge, intervals.lowerBound), intervals.upperBound)
  }

  /// The report comes when events are much older than they should be, or after an hour, and then daily.
  static func alarm(age: Duration) -> Alarm {
    Alarm(patience: min(age, .seconds(60 * 60)), reminderInterval: .seconds(24 * 60 * 60))
  }

  /// Begins no other file.
  func cancel() {
    repeating.cancel()
    isCancelled.store(true, ordering: .relaxed)
  }

  /// Calls `completion` when the present file is finished and the archiving claim is returned, so that other replicas
  /// may archive.
  func whenIdle(_ completion: @escaping @Sendable () -> Void) {
    repeating.queue.async(execute: completion)
  }

  /// Archives the events that are old enough by now into as many files as they need. Events that grow old meanwhile are
  /// for the next round: otherwise a busy log would get a file for every few events, without end.
  private func archiveAll() {
    do throws(ArchiveError) {
      let present = try archiver.presentTime(at: systemTime())
      var outcome = try archiver.archive(olderThan: age, at: present)
      while case .archived(let file, _, _) = outcome, !isCancelled.load(ordering: .relaxed) {
        logger.info("events were archived", metadata: ["file": "\(file)"])
        meters.noteArchivedFile()
        alarm.withLock { $0.ended() }
        outcome = try archiver.archive(olderThan: age, at: present)
      }
      // A busy replica may fail in the same way.
      guard outcome != .busy else { return }
      alarm.withLock { $0.ended() }
      meters.noteArchiving(isDone: true)
    } catch {
      guard !isCancelled.load(ordering: .relaxed) else { return }
      meters.noteArchiving(isDone: false)
      logger.warning("archiving events failed", metadata: ["error": "\(error.message)"])
      let now = systemTime()
      if let report = alarm.withLock({ $0.failed(at: now) }) { tell(error, since: report.since, at: now) }
    }
  }

  /// Followers of the audit log see this event even if no operator reads the warnings.
  private func tell(_ error: ArchiveError, since: UnixTime, at now: UnixTime) {
    logger.error(
      "events that should be archived stay in the log", metadata: ["error": "\(error.message)"])
    store.append(error.code.event(since: since, at: now)) { [self] _ in alarm.withLock { $0.notTold() } }
  }
}

extension ArchiveError.Code {
  fileprivate func event(since: UnixTime, at time: UnixTime) -> EventDraft {
    let reason =
      switch self {
      case .unusable: "unusable"
      case .damaged: "damaged"
      case .inUse: "in_use"
      case .store: "store"
      case .erased: "erased"
      }
    return .ofOperator("events.not_archived", at: time, ["reason": reason, "since": "\(since.seconds)"])
  }
}
