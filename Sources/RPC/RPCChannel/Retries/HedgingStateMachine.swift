// When a call is tried beside itself, and which of the attempts counts (gRFC A6, "Hedging Policy"). Pure.

internal import DispatchRPC

struct HedgingStateMachine {
  enum Decision: Equatable {
    /// The call ends with what this attempt brought; the others are cancelled.
    case finish
    /// Another attempt now; then, if there is a time, `timerFired` after it.
    case send(thenAfter: Duration?)
    /// `timerFired` after this; no earlier timer counts any more.
    case waitThen(Duration)
    /// For the attempts that run, or the timer that is set.
    case wait
  }

  private let policy: RPCHedgingPolicy
  private var retry = RetryStateMachine(nil)
  /// Sent; without those that were repeated transparently.
  private(set) var attempts = 0
  private(set) var running = 0
  /// No more are sent: a pushback forbade it.
  private var isStopped = false
  private var timerIsSet = false

  init(_ policy: RPCHedgingPolicy) {
    self.policy = policy
  }

  /// The first attempt is sent: the time to the next.
  mutating func begin() -> Duration? {
    noteSent()
  }

  mutating func timerFired(_ throttle: RetryThrottle?) -> Decision {
    timerIsSet = false
    guard maySend(throttle) else { return running > 0 ? .wait : .finish }
    return .send(thenAfter: noteSent())
  }

  mutating func attemptFailed(_ failure: AttemptFailure, throttle: inout RetryThrottle?) -> Decision {
    var none: RetryThrottle?
    if retry.attemptFailed(failure, isCommitted: false, throttle: &none, jitter: 0) != .fail {
      return .send(thenAfter: nil)
    }
    running -= 1
    let isFatal = !policy.nonFatalCodes.contains(failure.code)
    if !isFatal || failure.pushback == .never { throttle?.attemptFailed() }
    guard !isFatal else { return .finish }
    switch failure.pushback {
    case .never:
      isStopped = true
      timerIsSet = false
    case .after(let delay) where maySend(throttle):
      timerIsSet = true
      return .waitThen(delay)
    case .none where maySend(throttle):
      return .send(thenAfter: noteSent())
    case .after, .none:
      break
    }
    return running > 0 || timerIsSet ? .wait : .finish
  }

  private func maySend(_ throttle: RetryThrottle?) -> Bool {
    !isStopped && attempts < policy.maximumAttempts && throttle?.allowsRetries ?? true
  }

  private mutating func noteSent() -> Duration? {
    attempts += 1
    running += 1
    timerIsSet = attempts < policy.maximumAttempts
    return timerIsSet ? policy.delay : nil
  }
}
