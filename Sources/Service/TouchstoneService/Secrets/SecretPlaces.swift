// The shell around the schedule of secrets: it keeps what is to be done, and does it.

internal import Synchronization

/// The places in which passcodes and gestures are hashed.
final class SecretPlaces: Sendable {
  /// For a request that waits. One of the two runs, once, on any thread.
  struct Patience: Sendable {
    /// The place is given back if it is dropped.
    var granted: @Sendable (SecretPlace) -> Void
    var expired: @Sendable () -> Void
  }

  enum Entry: Sendable {
    case place(SecretPlace)
    case waiting
    case nameHasItsShare
    case refused(SecretSchedule.Limit)
  }

  private struct State: Sendable {
    var schedule: SecretSchedule
    var waiting: [SecretSchedule.ID: Patience] = [:]
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

  func enter(_ request: SecretSchedule.Request, _ patience: Patience) -> Entry {
    let (entry, mustTick) = state.withLock { state in
      let entry = state.schedule.enter(request)
      if case .waiting(let id) = entry { state.waiting[id] = patience }
      defer { state.isTicking = state.isTicking || state.schedule.hasWaiting }
      return (entry, state.schedule.hasWaiting && !state.isTicking)
    }
    if mustTick { tickLater() }
    return switch entry {
    case .placed(let id): .place(SecretPlace(id, of: self))
    case .waiting: .waiting
    case .nameHasItsShare: .nameHasItsShare
    case .refused(let limit): .refused(limit)
    }
  }

  /// How many requests are at which stage.
  var load: (waiting: Int, placed: Int, running: Int) { state.withLock { $0.schedule.load } }

  // MARK: Places

  fileprivate func leave(_ id: SecretSchedule.ID) {
    perform { $0.schedule.left(id) }
  }

  fileprivate func run(_ work: @escaping @Sendable () -> Void, in id: SecretSchedule.ID) {
    perform { state in
      state.work[id] = work
      return state.schedule.becameReady(id)
    }
  }

  /// Work is done outside of the lock, and what it holds is dropped there.
  private func perform(_ event: (inout State) -> SecretSchedule.Actions) {
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
    for (id, patience) in granted { patience?.granted(SecretPlace(id, of: self)) }
    for patience in expired { patience?.expired() }
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

/// A place for one hash: used once, or given back when it is dropped.
final class SecretPlace: Sendable {
  private let id: SecretSchedule.ID
  private let places: SecretPlaces
  private let isUsed = Atomic<Bool>(false)

  fileprivate init(_ id: SecretSchedule.ID, of places: SecretPlaces) {
    self.id = id
    self.places = places
  }

  deinit {
    if !isUsed.load(ordering: .relaxed) { places.leave(id) }
  }

  /// Once.
  func run(_ work: @escaping @Sendable () -> Void) {
    precondition(!isUsed.exchange(true, ordering: .relaxed), "a place serves once")
    places.run(work, in: id)
  }
}

/// A place on its way to the first taker.
final class OfferedPlace: Sendable {
  private let place: Mutex<SecretPlace?>

  init(_ place: SecretPlace) {
    self.place = Mutex(place)
  }

  /// `nil` from the second time on.
  func take() -> SecretPlace? {
    place.withLock { place in
      defer { place = nil }
      return place
    }
  }
}
