// Where the service's passcodes and gestures are verified in tests: counted, and held back as long as a test likes.

import Synchronization

@testable import TouchstoneService

final class TestSecrets: SecretExecutor {
  private struct State: Sendable {
    var startedCount = 0
    var isHolding = false
    var held: [@Sendable () -> Void] = []
    var observers: [(count: Int, notify: CheckedContinuation<Void, Never>)] = []
  }

  /// As many as a test may hold at one time.
  let threads: Int
  private let workers = SecretWorkers(threads: 2)
  private let state = Mutex(State())

  init(threads: Int = 16) {
    self.threads = threads
  }

  /// How many secrets were verified, or wait for it; those that were set, too.
  var startedCount: Int { state.withLock { $0.startedCount } }

  /// From now on nothing is verified, until `goOn`.
  func hold() {
    state.withLock { $0.isHolding = true }
  }

  /// Verifies the held secrets now, and later ones at once.
  func goOn() {
    let held = state.withLock { state in
      defer { state.held = [] }
      state.isHolding = false
      return state.held
    }
    for work in held { workers.run(work) }
  }

  /// Drops the held secrets, which are never verified: as if their process had died.
  func lose() {
    state.withLock { $0.held = [] }
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

/// One thread, whose pieces of work are done when a test releases them, one by one.
final class SteppedSecrets: SecretExecutor {
  let threads = 1
  private let given = Mutex<(work: (@Sendable () -> Void)?, count: Int)>((nil, 0))

  /// How many secrets were verified, or are being verified.
  var count: Int { given.withLock { $0.count } }

  func run(_ work: @escaping @Sendable () -> Void) {
    given.withLock { given in
      precondition(given.work == nil, "one thread does one thing at a time")
      given = (work, given.count + 1)
    }
  }

  /// False: there was nothing to do.
  func step() -> Bool {
    let work = given.withLock { given in
      defer { given.work = nil }
      return given.work
    }
    work?()
    return work != nil
  }
}
