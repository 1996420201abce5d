public import DispatchRPC

/// The settings of all calls of a method, unless the call has its own.
public struct RPCMethodPolicy: Sendable, Hashable {
  /// From the call to its answer, with all waits and attempts. `nil`: for ever.
  public var timeout: Duration?
  /// Wait for a connection while the server is out of reach, instead of failing with UNAVAILABLE
  /// (grpc/grpc doc/wait-for-ready.md).
  public var waitForReady: Bool
  public var attempts: RPCAttempts

  public init(timeout: Duration? = nil, waitForReady: Bool = false, attempts: RPCAttempts = .once) {
    self.timeout = timeout
    self.waitForReady = waitForReady
    self.attempts = attempts
  }
}

/// The number of tries. A call that certainly did not reach the server's application is always sent again, within
/// bounds (A6, "transparent retries").
public enum RPCAttempts: Sendable, Hashable {
  case once
  /// One after the other. Only for calls that may happen twice.
  case retry(RPCRetryPolicy)

  var retryPolicy: RPCRetryPolicy? {
    if case .retry(let policy) = self { policy } else { nil }
  }
}

/// gRFC A6's RetryPolicy. A call is tried again while nothing of an answer has come.
public struct RPCRetryPolicy: Sendable, Hashable {
  /// A6 has clients treat larger numbers as 5.
  public static let mostAttempts = 5

  /// The first one included.
  public var maximumAttempts: Int
  /// Before the first retry.
  public var initialBackoff: Duration
  public var maximumBackoff: Duration
  public var multiplier: Double
  /// Each wait is longer or shorter by up to this share.
  public var jitter: Double
  public var retryableCodes: Set<RPCCode>

  /// - Precondition: `maximumAttempts` > 1, `multiplier` and the back-offs > 0.
  public init(
    maximumAttempts: Int = 3, initialBackoff: Duration = .milliseconds(100), maximumBackoff: Duration = .seconds(2),
    multiplier: Double = 2, jitter: Double = 0.2, retryableCodes: Set<RPCCode> = [.unavailable]
  ) {
    precondition(maximumAttempts > 1 && multiplier > 0 && initialBackoff > .zero && maximumBackoff > .zero)
    self.maximumAttempts = min(maximumAttempts, Self.mostAttempts)
    self.initialBackoff = initialBackoff
    self.maximumBackoff = maximumBackoff
    self.multiplier = multiplier
    self.jitter = jitter
    self.retryableCodes = retryableCodes
  }
}

/// gRFC A6's RetryThrottlingPolicy, for a channel: no retries while too much fails.
///
/// A bucket of tokens that starts full: a failure takes one, a success puts `tokenRatio` back; at half or less nothing
/// is tried again.
public struct RPCRetryThrottling: Sendable, Hashable {
  public var maximumTokens: Double
  public var tokenRatio: Double

  /// - Precondition: `maximumTokens` in 1...1000, `tokenRatio` > 0.
  public init(maximumTokens: Double = 10, tokenRatio: Double = 0.1) {
    precondition((1...1000).contains(maximumTokens) && tokenRatio > 0)
    self.maximumTokens = maximumTokens
    self.tokenRatio = tokenRatio
  }
}
