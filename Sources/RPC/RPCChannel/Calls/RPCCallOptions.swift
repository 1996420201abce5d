public import DispatchRPC

/// Options of one call. A `nil` option takes its value from the method's policy.
public struct RPCCallOptions: Sendable {
  public var timeout: Duration?
  /// Beside `timeout`: the earlier one counts. It covers all waits and attempts.
  public var deadline: MonotonicTime?
  public var waitForReady: Bool?
  public var metadata: Metadata
  /// For a call with one request and one answer: a stream is tried once.
  public var attempts: RPCAttempts?

  public init(
    timeout: Duration? = nil, deadline: MonotonicTime? = nil, waitForReady: Bool? = nil,
    metadata: Metadata = Metadata(), attempts: RPCAttempts? = nil
  ) {
    self.timeout = timeout
    self.deadline = deadline
    self.waitForReady = waitForReady
    self.metadata = metadata
    self.attempts = attempts
  }

  func deadline(_ policy: RPCMethodPolicy, now: @autoclosure () -> MonotonicTime) -> MonotonicTime? {
    guard let timeout = timeout ?? policy.timeout else { return deadline }
    let end = now().advanced(by: timeout)
    return deadline.map { min($0, end) } ?? end
  }
}
