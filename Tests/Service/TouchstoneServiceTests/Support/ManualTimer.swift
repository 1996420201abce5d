// Time passes when a test says so.

import Synchronization

@testable import TouchstoneService

final class ManualTimer: DelayedExecutor {
  private struct State: Sendable {
    var work: [@Sendable () -> Void] = []
    var observers: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  var isSet: Bool { state.withLock { !$0.work.isEmpty } }

  func after(_ delay: Duration, _ work: @escaping @Sendable () -> Void) {
    let observers = state.withLock { state in
      state.work.append(work)
      defer { state.observers = [] }
      return state.observers
    }
    for observer in observers { observer.resume() }
  }

  /// Returns when something waits for it.
  func untilSet() async {
    await withCheckedContinuation { continuation in
      let isSet = state.withLock { state in
        if !state.work.isEmpty { return true }
        state.observers.append(continuation)
        return false
      }
      if isSet { continuation.resume() }
    }
  }

  /// Runs what was set until now.
  func fire() {
    let due = state.withLock { state in
      defer { state.work = [] }
      return state.work
    }
    for work in due { work() }
  }
}
