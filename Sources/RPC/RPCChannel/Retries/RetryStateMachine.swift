internal import DispatchRPC

/// When a call is tried again, one attempt after the other (gRFC A6). Pure; chance is an argument.
struct RetryStateMachine {
  enum OnFailure: Equatable {
    /// The call fails with what the attempt failed with.
    case fail
    /// At once, and as the same attempt.
    case `repeat`
    case retry(after: Duration)
  }

  /// A call that never left does no harm when it is sent again, but there must be a bound: each of these met another
  /// connection that was just closing.
  static let mostUnsent = 16

  /// `nil`: transparent retries alone.
  private let policy: RPCRetryPolicy?
  /// The one under way included; without those that were repeated transparently.
  private(set) var attempts = 1
  private var unsent = 0
  private var wasUnprocessed = false
  /// Retries since the server last said how long to wait: the exponent of the next wait.
  private var backoffs = 0

  init(_ policy: RPCRetryPolicy?) {
    self.policy = policy
  }

  /// - Parameter jitter: uniform in -1...1.
  mutating func attemptFailed(
    _ failure: AttemptFailure, throttle: inout RetryThrottle?, jitter: Double
  ) -> OnFailure {
    if isRepeatedTransparently(failure) { return .repeat }
    guard let policy else { return .fail }
    let isRetryable = policy.retryableCodes.contains(failure.code)
    if isRetryable || failure.pushback == .never { throttle?.attemptFailed() }
    guard isRetryable, failure.progress < .answered, attempts < policy.maximumAttempts,
      throttle?.allowsRetries ?? true
    else { return .fail }
    switch failure.pushback {
    case .never: return .fail
    case .after(let delay):
      backoffs = 0
      attempts += 1
      return .retry(after: delay)
    case .none:
      attempts += 1
      return .retry(after: nextBackoff(policy, jitter: jitter))
    }
  }

  /// A call that never left is sent again, up to `mostUnsent` times; a call that left and was not processed, once.
  private mutating func isRepeatedTransparently(_ failure: AttemptFailure) -> Bool {
    switch failure.progress {
    case .unsent where unsent < Self.mostUnsent:
      unsent += 1
      return true
    case .unprocessed where !wasUnprocessed && failure.pushback != .never:
      wasUnprocessed = true
      return true
    case .unsent, .unprocessed, .sent, .answered:
      return false
    }
  }

  private mutating func nextBackoff(_ policy: RPCRetryPolicy, jitter: Double) -> Duration {
    var delay = policy.initialBackoff
    for _ in 0..<backoffs where delay < policy.maximumBackoff { delay = delay * policy.multiplier }
    backoffs += 1
    return min(delay, policy.maximumBackoff) * (1 + policy.jitter * jitter)
  }
}

/// A channel's tokens: no retries when so much fails that trying again only adds to it (gRFC A6, "Throttling Retry
/// Attempts"). Pure.
struct RetryThrottle: Equatable {
  private let configuration: RPCRetryThrottling
  private(set) var tokens: Double

  init(_ configuration: RPCRetryThrottling) {
    self.configuration = configuration
    tokens = configuration.maximumTokens
  }

  var allowsRetries: Bool { tokens > configuration.maximumTokens / 2 }

  /// With a code that the policy would retry, or a pushback that forbids it.
  mutating func attemptFailed() {
    tokens = max(0, tokens - 1)
  }

  mutating func attemptSucceeded() {
    tokens = min(configuration.maximumTokens, tokens + configuration.tokenRatio)
  }
}

/// The facts of a failed attempt that decide about another one.
struct AttemptFailure: Equatable {
  /// `grpc-retry-pushback-ms` (gRFC A6).
  enum Pushback: Equatable {
    case none
    case after(Duration)
    /// A negative number, or what is not one.
    case never
  }

  var code: RPCCode
  var progress: RPCProgress
  var pushback: Pushback

  init(code: RPCCode, progress: RPCProgress = .sent, pushback: Pushback = .none) {
    self.code = code
    self.progress = progress
    self.pushback = pushback
  }

  init(_ error: RPCError) {
    self.init(code: error.code, progress: error.progress, pushback: Pushback(error.metadata))
  }
}

extension AttemptFailure.Pushback {
  static let header = "grpc-retry-pushback-ms"

  init(_ metadata: Metadata) {
    // A value that is no text, or several, say nothing that could be relied on: as malformed as no number.
    switch metadata.all(Self.header) {
    case let values where values.isEmpty: self = .none
    case let values where values.count == 1: self.init(values[0])
    default: self = .never
    }
  }

  private init(_ value: Metadata.Value) {
    if case .text(let text) = value, let milliseconds = Int32(text), milliseconds >= 0 {
      self = .after(.milliseconds(Int64(milliseconds)))
    } else {
      self = .never
    }
  }
}
