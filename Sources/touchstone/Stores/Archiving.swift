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
    round = ArchivingRound(archiver: archiver, age: settings.age, logger: logger)
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
  private let age: Duration
  private let logger: Logger
  private let isCancelled = Atomic<Bool>(false)

  init(archiver: EventArchiver, age: Duration, logger: Logger) {
    self.archiver = archiver
    self.age = age
    self.logger = logger
  }

  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
  }

  /// On a queue of its own: it waits for the store and the disk.
  func run() {
    do throws(ArchiveError) {
      while !isCancelled.load(ordering: .relaxed),
        case .archived(let file, _, _) = try archiver.archive(before: systemTime() + (.zero - age))
      {
        logger.info("events were archived", metadata: ["file": "\(file)"])
      }
    } catch {
      guard !isCancelled.load(ordering: .relaxed) else { return }
      logger.warning("archiving events failed", metadata: ["error": "\(error.message)"])
    }
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
