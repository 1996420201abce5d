internal import DispatchPool

/// When a target's names are looked up: as often as asked for, but no more often than an interval allows; after a
/// failure again, ever more slowly. Pure; time and chance are arguments.
struct ResolutionSchedule {
  enum Step: Equatable {
    case none
    case resolveNow
    /// Call `timerFired` then.
    case wait(until: MonotonicTime)
  }

  private enum State: Equatable {
    case idle(notBefore: MonotonicTime?)
    case waiting
    case resolving
  }

  private let interval: Duration
  private let backoff: BackoffConfiguration
  private var state = State.idle(notBefore: nil)
  private var failures = 0

  init(interval: Duration, backoff: BackoffConfiguration) {
    self.interval = interval
    self.backoff = backoff
  }

  mutating func asked(at now: MonotonicTime) -> Step {
    switch state {
    case .waiting, .resolving:
      return .none
    case .idle(let notBefore?) where now < notBefore:
      state = .waiting
      return .wait(until: notBefore)
    case .idle:
      state = .resolving
      return .resolveNow
    }
  }

  mutating func timerFired() -> Step {
    guard state == .waiting else { return .none }
    state = .resolving
    return .resolveNow
  }

  mutating func succeeded(at now: MonotonicTime) {
    failures = 0
    state = .idle(notBefore: now + interval)
  }

  /// - Parameter jitter: uniform in -1...1.
  mutating func failed(at now: MonotonicTime, jitter: Double) -> Step {
    failures += 1
    state = .waiting
    return .wait(until: now + backoff.delay(after: failures, jitter: jitter))
  }
}
