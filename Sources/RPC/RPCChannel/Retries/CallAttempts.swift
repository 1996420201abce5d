internal import DispatchRPC
internal import Synchronization

/// The attempts at a call, one after the other, and what follows a failed one.
struct CallAttempts {
  enum OnFailure {
    /// The call ends with this error.
    case end(RPCError)
    /// Zero: at once.
    case retry(after: Duration)
  }

  private var machine: RetryStateMachine
  private var lastFailure: RPCError?

  init(_ attempts: RPCAttempts) {
    machine = RetryStateMachine(attempts.retryPolicy)
  }

  /// The number of attempts before the one under way; without those that were repeated transparently.
  var previous: Int { machine.attempts - 1 }

  mutating func failed(
    _ error: RPCError, _ failure: AttemptFailure, before deadline: MonotonicTime?, in core: ChannelCore
  ) -> OnFailure {
    let told = error.after(lastFailure)
    lastFailure = error
    let before = machine.attempts
    let decision = core.withThrottle { throttle in
      machine.attemptFailed(failure, throttle: &throttle, jitter: Double.random(in: -1...1))
    }
    guard case .retry(let delay) = decision, Self.ends(delay, before: deadline) else { return .end(told) }
    if machine.attempts > before { core.counters.retries.add(1, ordering: .relaxed) }
    return .retry(after: delay)
  }

  /// To wait for an attempt that will not be made only hides the error for longer.
  private static func ends(_ delay: Duration, before deadline: MonotonicTime?) -> Bool {
    guard delay > .zero, let deadline else { return true }
    return MonotonicTime.now().advanced(by: delay) < deadline
  }
}
