// What expired is dropped, now and then, for as long as the service runs.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// Where several processes have the same database each does so: what one dropped, the others do not find.
final class Sweeping: Sendable {
  /// What it finds out.
  struct Observer: Sendable {
    /// The store did not do it.
    var storeFailed: @Sendable () -> Void
    /// Whether what is issued by this machine's clock is of use.
    var clockChecked: @Sendable (_ isUsable: Bool) -> Void
  }

  /// So that few rows wait at a time; a step holds the writer for milliseconds.
  private static let interval = DispatchTimeInterval.seconds(5)

  /// The guard of the timer is the queue; cancelling is safe from anywhere.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer
  private let sweep: Sweep

  /// The clock is checked before this returns.
  init(store: any Store, logger: Logger, observer: Observer) throws(Failure) {
    let queue = DispatchQueue(label: "touchstone.sweeper")
    // Nothing expired before 1970: only the mark is asked for.
    let mark = try answer { store.sweep(before: UnixTime(microseconds: 0), completion: $0) }.sweptBefore
    sweep = Sweep(store: store, mark: mark, queue: queue, logger: logger, observer: observer)
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval)
    timer.setEventHandler { [sweep] in sweep.begin() }
    timer.activate()
  }

  /// No other step is begun.
  func cancel() {
    timer.cancel()
    sweep.cancel()
  }
}

/// One at a time, of as many steps as it takes.
private final class Sweep: Sendable {
  private let store: any Store
  private let logger: Logger
  private let observer: Sweeping.Observer
  private let queue: DispatchQueue
  private let clock: Mutex<SweepClock>
  private let watch: ClockMarkWatch
  private let isAhead = Atomic<Bool>(false)
  private let isRunning = Atomic<Bool>(false)
  private let isCancelled = Atomic<Bool>(false)
  /// Between two steps, many times a step's own: what a step writes is written again by a checkpoint, and read by nobody.
  /// Tens of thousands of rows a second still go, more than come.
  private static let pause = DispatchTimeInterval.milliseconds(10)

  init(store: any Store, mark: UnixTime, queue: DispatchQueue, logger: Logger, observer: Sweeping.Observer) {
    self.store = store
    self.queue = queue
    self.logger = logger
    self.observer = observer
    let now = clockReading()
    clock = Mutex(SweepClock(mark: mark, at: now))
    watch = ClockMarkWatch(store: store, logger: logger, clockChecked: observer.clockChecked)
    watch.check(mark: mark, at: now)
  }

  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
  }

  func begin() {
    // Still at the last one: there is much to drop, or the store hangs. It is asked which.
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
        return queue.asyncAfter(deadline: .now() + Self.pause) { self.step(before: time) }
      }
      isRunning.store(false, ordering: .releasing)
      guard !isCancelled.load(ordering: .relaxed) else { return }
      switch result {
      case .success(let step):
        watch.check(mark: step.sweptBefore, at: clockReading())
      case .failure(let error):
        logger.warning("sweeping failed", metadata: ["error": "\(error.message)"])
        observer.storeFailed()
      }
    }
  }

  /// Once when it begins, and once when it is over.
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
}

/// Tells the operator when what is issued by this machine's clock is void.
private final class ClockMarkWatch: Sendable {
  private let store: any Store
  private let logger: Logger
  private let clockChecked: @Sendable (Bool) -> Void
  private let alarm = Mutex(ClockAlarm())

  init(store: any Store, logger: Logger, clockChecked: @escaping @Sendable (Bool) -> Void) {
    self.store = store
    self.logger = logger
    self.clockChecked = clockChecked
  }

  func check(mark: UnixTime, at now: ClockReading) {
    switch alarm.withLock({ $0.checked(mark: mark, at: now) }) {
    case .nothing: break
    case .warn(let outage, let isNew):
      clockChecked(false)
      logger.error(
        """
        this machine's clock is behind the time up to which expired records were dropped, so all that is issued now is \
        void: if the clock is wrong, set it by NTP; if it is right and was ahead before, wait until the outage is over, \
        or stop the service, run `touchstone restored` and start it again (open evaluations, tickets and tokens \
        are void then)
        """, metadata: ["outage_seconds": "\(outage.components.seconds + 1)"])
      if isNew { tell(outage, at: now.wall) }
    case .allClear:
      logger.notice("this machine's clock has passed the time up to which expired records were dropped")
      clockChecked(true)
    }
  }

  private func tell(_ outage: Duration, at now: UnixTime) {
    store.commit(ChangeSet(events: [.clockBehind(outage, at: now)])) { [self] result in
      if case .failure = result { alarm.withLock { $0.notTold() } }
    }
  }
}

extension EventDraft {
  fileprivate static func clockBehind(_ outage: Duration, at now: UnixTime) -> EventDraft {
    EventDraft(
      time: now, kind: "clock.behind", applicationID: "", caller: "operator",
      details: [
        EventDetail(key: "outage_until", value: "\((now + outage).seconds + 1)"),
        EventDetail(
          key: "remedy", value: "set the clock; if it is right, wait until then, or stop, `touchstone restored`, start"),
      ])
  }
}
