// Drops expired records regularly, as long as the service runs.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// If several processes share a database, each of them sweeps; a dropped record is gone for the others.
final class Sweeping: Sendable {
  /// Receives what a sweep observes.
  struct Observer: Sendable {
    /// Called every five seconds.
    var begins: @Sendable () -> Void
    /// The store failed.
    var storeFailed: @Sendable () -> Void
    /// Whether this machine's clock issues valid evaluations and tokens.
    var clockChecked: @Sendable (_ isUsable: Bool) -> Void
    /// A sweep ended, or its store failed.
    var ended: @Sendable (_ isDone: Bool) -> Void = { _ in }
  }

  /// Short, so that each sweep has few rows. A step holds the writer for milliseconds.
  private static let interval = Duration.seconds(5)

  /// The time between two steps is many times a step's own, because a checkpoint writes the step's pages again. Tens of
  /// thousands of rows a second still go, more than come.
  private static let pause = DispatchTimeInterval.milliseconds(10)

  private let store: any Store
  private let logger: Logger
  private let observer: Observer
  private let repeating = Repeating(every: interval, label: "sweeper", qos: .unspecified)
  private let clock: Mutex<SweepClock>
  private let alarm = Mutex(ClockAlarm())
  private let isAhead = Atomic<Bool>(false)
  private let isRunning = Atomic<Bool>(false)
  private let isCancelled = Atomic<Bool>(false)

  /// The clock is checked before this returns.
  init(store: any Store, logger: Logger, observer: Observer) throws(Failure) {
    self.store = store
    self.logger = logger
    self.observer = observer
    // Nothing expired before 1970, so this only reads the mark.
    let mark = try answer { store.sweep(before: UnixTime(microseconds: 0), completion: $0) }.sweptBefore
    let now = clockReading()
    if let lead = SweepClock.startLead(mark: mark, at: now.wall) {
      logger.warning(
        """
        this machine's clock is ahead of the latest sweep by more than restarts commonly take, and is used anyway: \
        if it is wrong, set it by NTP before it is further ahead
        """, metadata: ["seconds_ahead": "\(lead.components.seconds)"])
    }
    clock = Mutex(SweepClock(mark: mark, at: now))
    check(mark: mark, at: now)
    repeating.begin { [weak self] in self?.begin() }
  }

  /// Begins no other step.
  func cancel() {
    repeating.cancel()
    isCancelled.store(true, ordering: .relaxed)
  }

  /// Sweeps once, in as many steps as there are rows for.
  private func begin() {
    observer.begins()
    // The last sweep still runs: there is much to drop, or the store hangs. A probe finds out which.
    guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return observer.storeFailed() }
    let now = clockReading()
    let limit = clock.withLock { $0.limit(at: now) }
    say(limit)
    step(before: limit.time)
  }

  private func step(before time: UnixTime) {
    guard !isCancelled.load(ordering: .relaxed) else { return }
    store.sweep(before: time) { [self] result in
      if case .success(let step) = result, step.hasMore {
        return repeating.queue.asyncAfter(deadline: .now() + Self.pause) { self.step(before: time) }
      }
      isRunning.store(false, ordering: .releasing)
      guard !isCancelled.load(ordering: .relaxed) else { return }
      switch result {
      case .success(let step):
        observer.ended(true)
        check(mark: step.sweptBefore, at: clockReading())
      case .failure(let error):
        observer.ended(false)
        logger.warning("sweeping failed", metadata: ["error": "\(error.message)"])
        observer.storeFailed()
      }
    }
  }

  /// Logs once when the limit begins, and once when it ends.
  private func say(_ limit: SweepClock.Limit) {
    let wasAhead = isAhead.exchange(limit.ahead != nil, ordering: .relaxed)
    if let ahead = limit.ahead {
      guard !wasAhead else { return }
      logger.warning(
        """
        this machine's clock is ahead of the time that has passed since the latest sweep: for an hour, expired records are \
        dropped by the time that has passed; if the clock is wrong, set it by NTP
        """, metadata: ["seconds_ahead": "\(ahead.components.seconds)"])
    } else if wasAhead {
      logger.notice("expired records are dropped by this machine's clock again")
    }
  }

  /// Logs when everything that this machine's clock issues would be void.
  private func check(mark: UnixTime, at now: ClockReading) {
    switch alarm.withLock({ $0.checked(mark: mark, at: now) }) {
    case .nothing: break
    case .warn(let outage, let isNew):
      observer.clockChecked(false)
      logger.error(
        """
        this machine's clock is behind the time up to which expired records were dropped, so everything issued now is \
        void: if the clock is wrong, set it by NTP; if it is right and was ahead before, wait until the outage is over, \
        or stop the service, run `touchstone restored` and start it again (open evaluations, tickets and tokens \
        are void then)
        """, metadata: ["outage_seconds": "\(outage.components.seconds + 1)"])
      if isNew {
        store.append(.clockBehind(outage, at: now.wall)) { [self] _ in alarm.withLock { $0.notTold() } }
      }
    case .allClear:
      logger.notice("this machine's clock has passed the time up to which expired records were dropped")
      observer.clockChecked(true)
    }
  }
}

extension EventDraft {
  fileprivate static func clockBehind(_ outage: Duration, at now: UnixTime) -> EventDraft {
    .ofOperator(
      "clock.behind", at: now,
      [
        "outage_until": "\((now + outage).seconds + 1)",
        "remedy": "set the clock; if it is right, wait until then, or stop, `touchstone restored`, start",
      ])
  }
}
