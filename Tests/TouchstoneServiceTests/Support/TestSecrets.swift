// Where the service's passcodes and gestures are verified in tests: counted, and held back as long as a test likes.

import Synchronization

@testable import TouchstoneService

final class TestSecrets: SecretExecutor {
  private struct State: Sendable {
    var startedCount = 0
    var isHolding = false
    var isFull = false
    var held: [@Sendable () -> Void] = []
    var observers: [(count: Int, notify: CheckedContinuation<Void, Never>)] = []
  }

  private let workers: SecretWorkers
  private let state = Mutex(State())

  init(threads: Int = 2) {
    workers = SecretWorkers(threads: threads)
  }

  /// How many secrets were verified, or wait for it; those that were set, too.
  var startedCount: Int { state.withLock { $0.startedCount } }

  /// From now on nothing is verified, until `goOn`.
  func hold() {
    state.withLock { $0.isHolding = true }
  }

  /// What is held is verified now, and what follows at once.
  func goOn() {
    let held = state.withLock { state in
      defer { state.held = [] }
      state.isHolding = false
      return state.held
    }
    for work in held { workers.run(work) }
  }

  /// What is held will never be verified: as if its process had died.
  func lose() {
    let lost = state.withLock { state in
      defer { state.held = [] }
      return state.held
    }
    for _ in lost { workers.release() }
  }

  /// No place is left.
  func fill() {
    state.withLock { $0.isFull = true }
  }

  /// Returns when so many wait to be verified.
  func untilHeld(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.held.count >= count { return true }
        state.observers.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  func reserve() -> Bool { !state.withLock { $0.isFull } && workers.reserve() }
  func release() { workers.release() }

  func run(_ work: @escaping @Sendable () -> Void) {
    let (isHeld, observers) = state.withLock { state in
      state.startedCount += 1
      guard state.isHolding else { return (false, [CheckedContinuation<Void, Never>]()) }
      state.held.append(work)
      let due = state.observers.filter { $0.count <= state.held.count }.map(\.notify)
      state.observers.removeAll { $0.count <= state.held.count }
      return (true, due)
    }
    if !isHeld { workers.run(work) }
    for observer in observers { observer.resume() }
  }
}
