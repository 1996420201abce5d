// Events that are old enough go from the audit log into files, now and then, for as long as the service runs.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TouchstoneArchive
internal import TouchstonePolicy
internal import TouchstoneStore

/// Where several processes have the same database, one at a time does so.
final class Archiving: Sendable {
  /// The log is looked at as often: often enough that no event is much older than the age.
  private static let intervals = Duration.seconds(1)...Duration.seconds(60)
  private static let intervalsPerAge = 8

  /// The guard of the timer is the queue; cancelling is safe from anywhere.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer
  private let queue = DispatchQueue(label: "touchstone.archiver")
  private let round: ArchivingRound

  init(store: any Store, settings: RetentionSettings, logger: Logger) throws(Failure) {
    let archiver = EventArchiver(store: store, directory: settings.archive)
    do throws(ArchiveError) {
      try archiver.prepare()
    } catch {
      throw Failure(error)
    }
    round = ArchivingRound(archiver: archiver, store: store, age: settings.age, logger: logger)
    let interval = min(max(settings.age / Self.intervalsPerAge, Self.intervals.lowerBound), Self.intervals.upperBound)
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(
      deadline: .now() + .seconds(Int(interval.components.seconds)),
      repeating: .seconds(Int(interval.components.seconds)))
    timer.setEventHandler { [round] in round.run() }
    timer.activate()
  }

  /// No other file is begun.
  func cancel() {
    timer.cancel()
    round.cancel()
  }

  /// Once the file on its way is finished, and the claim on archiving given back, so that others may go on.
  func whenIdle(_ completion: @escaping @Sendable () -> Void) {
    queue.async(execute: completion)
  }
}

/// Of as many files as there is for.
private final class ArchivingRound: Sendable {
  private let archiver: EventArchiver
  private let store: any Store
  private let age: Duration
  private let logger: Logger
  private let isCancelled = Atomic<Bool>(false)
  private let failing: Mutex<ArchivingFailure>

  init(archiver: EventArchiver, store: any Store, age: Duration, logger: Logger) {
    self.archiver = archiver
    self.store = store
    self.age = age
    self.logger = logger
    failing = Mutex(ArchivingFailure(age: age))
  }

  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
  }

  /// On a queue of its own: it waits for the store and the disk.
  func run() {
    do throws(ArchiveError) {
      var outcome = try archive()
      while case .archived(let file, _, _) = outcome, !isCancelled.load(ordering: .relaxed) {
        logger.info("events were archived", metadata: ["file": "\(file)"])
        outcome = try archive()
      }
      // Who is at it may fail as this one did.
      if outcome != .busy { failing.withLock { $0.ended() } }
    } catch {
      guard !isCancelled.load(ordering: .relaxed) else { return }
      logger.warning("archiving events failed", metadata: ["error": "\(error.message)"])
      let now = systemTime()
      if let since = failing.withLock({ $0.failed(at: now) }) { tell(error, since: since, at: now) }
    }
  }

  private func archive() throws(ArchiveError) -> EventArchiver.Outcome {
    try archiver.archive(before: systemTime() + (.zero - age))
  }

  /// A warning a minute is overlooked where nobody reads them; who follows the log sees this.
  private func tell(_ error: ArchiveError, since: UnixTime, at now: UnixTime) {
    logger.error(
      "events that should be archived stay in the log", metadata: ["error": "\(error.message)"])
    let changeSet = ChangeSet(events: [error.code.event(since: since, at: now)])
    if case .failure = blockingAnswer(of: { store.commit(changeSet, completion: $0) }) {
      failing.withLock { $0.notTold() }
    }
  }
}

/// Archiving that goes on failing, and when that is to be said aloud.
struct ArchivingFailure {
  /// Then events are much older than they should be, or an hour has gone by.
  private static let longestPatience = Duration.seconds(60 * 60)
  private static let reminderInterval = Duration.seconds(24 * 60 * 60)

  private let patience: Duration
  private var since: UnixTime?
  private var due: UnixTime?

  init(age: Duration) {
    patience = min(age, Self.longestPatience)
  }

  /// Since when, where it is to be said now.
  mutating func failed(at now: UnixTime) -> UnixTime? {
    guard let since, let due else {
      self.since = now
      due = now + patience
      return nil
    }
    guard now >= due else { return nil }
    self.due = now + Self.reminderInterval
    return since
  }

  /// It could not be said.
  mutating func notTold() {
    due = since
  }

  mutating func ended() {
    since = nil
    due = nil
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
      }
    return EventDraft(
      time: time, kind: "events.not_archived", applicationID: "", caller: "operator",
      details: [
        EventDetail(key: "reason", value: reason),
        EventDetail(key: "since", value: "\(since.microseconds / 1_000_000)"),
      ])
  }
}

extension Failure {
  init(_ error: ArchiveError) {
    let status: ExitStatus =
      switch error.code {
      case .unusable: .unwritableData
      case .damaged: .corruptData
      case .inUse: .lockedData
      case .store: .unavailable
      }
    self.init(status: status, message: error.message)
  }
}
