// The shell around the schedule of secrets: it keeps what is to be done, and does it.

internal import Synchronization

/// The permits in which passcodes and gestures are hashed.
final class SecretPermits: Sendable {
  /// For a request that waits. One of the two runs, once, on any thread.
  struct Waiter: Sendable {
    /// The permit is given back if it is dropped.
    var granted: @Sendable (SecretPermit) -> Void
    var expired: @Sendable () -> Void
  }

  enum Entry: Sendable {
    case permit(SecretPermit)
    case waiting
    case nameHasItsShare
    case refused(SecretSchedule.Limit)
  }

  fileprivate struct State: Sendable {
    var schedule: SecretSchedule
    var waiting: [SecretSchedule.ID: Waiter] = [:]
    var work: [SecretSchedule.ID: @Sendable () -> Void] = [:]
    var isTicking = false
  }

  private let state: Mutex<State>
  private let executor: any SecretExecutor
  private let timer: any DelayedExecutor

  init(executor: any SecretExecutor, timer: any DelayedExecutor) {
    state = Mutex(State(schedule: SecretSchedule(threads: executor.threads)))
    self.executor = executor
    self.timer = timer
  }

  func enter(_ request: SecretSchedule.Request, _ waiter: Waiter) -> Entry {
    let (entry, mustTick) = state.withLock { state in
      let entry = state.schedule.enter(request)
      if case .waiting(let id) = entry { state.waiting[id] = waiter }
      defer { state.isTicking = state.isTicking || state.schedule.hasWaiting }
      return (entry, state.schedule.hasWaiting && !state.isTicking)
    }
    if mustTick { tickLater() }
    return switch entry {
    case .permitted(let id): .permit(SecretPermit(id, of: self))
    case .waiting: .waiting
    case .nameHasItsShare: .nameHasItsShare
    case .refused(let limit): .refused(limit)
    }
  }

  /// How many requests are at which stage.
  var load: (waiting: Int, permitted: Int, running: Int) { state.withLock { $0.schedule.load } }

  // MARK: Permits

  /// Work is done outside of the lock, and what it holds is dropped there.
  fileprivate func perform(_ event: (inout State) -> SecretSchedule.Actions) {
    let (granted, started, expired) = state.withLock { state in
      let actions = event(&state)
      return (
        actions.granted.map { ($0, state.waiting.removeValue(forKey: $0)) },
        actions.started.map { ($0, state.work.removeValue(forKey: $0)) },
        actions.expired.map { state.waiting.removeValue(forKey: $0) }
      )
    }
    for (id, work) in started {
      executor.run { [self] in
        work?()
        perform { $0.schedule.finished(id) }
      }
    }
    for (id, waiter) in granted { waiter?.granted(SecretPermit(id, of: self)) }
    for waiter in expired { waiter?.expired() }
  }

  // MARK: Waiting

  private func tickLater() {
    timer.after(SecretSchedule.interval) { [weak self] in self?.tick() }
  }

  private func tick() {
    perform { $0.schedule.ticked() }
    let goesOn = state.withLock { state in
      state.isTicking = state.schedule.hasWaiting
      return state.isTicking
    }
    if goesOn { tickLater() }
  }
}

/// A permit for one hash: used once, or given back when it is dropped.
final class SecretPermit: Sendable {
  private let id: SecretSchedule.ID
  private let permits: SecretPermits
  private let isUsed = Atomic<Bool>(false)

  fileprivate init(_ id: SecretSchedule.ID, of permits: SecretPermits) {
    self.id = id
    self.permits = permits
  }

  deinit {
    if !isUsed.load(ordering: .relaxed) { permits.perform { $0.schedule.left(id) } }
  }

  /// Once.
  func run(_ work: @escaping @Sendable () -> Void) {
    precondition(!isUsed.exchange(true, ordering: .relaxed), "a permit serves once")
    permits.perform { state in
      state.work[id] = work
      return state.schedule.becameReady(id)
    }
  }
}

/// A permit on its way to the first taker.
final class OfferedPermit: Sendable {
  private let permit: Mutex<SecretPermit?>

  init(_ permit: SecretPermit) {
    self.permit = Mutex(permit)
  }

  /// `nil` from the second time on.
  func take() -> SecretPermit? {
    permit.withLock { permit in
      defer { permit = nil }
      return permit
    }
  }
}
