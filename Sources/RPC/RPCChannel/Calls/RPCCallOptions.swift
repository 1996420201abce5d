public import DispatchRPC

/// Options of one call. A `nil` option takes its value from the method's policy.
public struct RPCCallOptions: Sendable {
  public var timeout: Duration?
  /// Beside `timeout`: the earlier one counts. It covers all waits and attempts.
  public var deadline: MonotonicTime?
  public var waitForReady: Bool?
  public var metadata: Metadata
  public var attempts: RPCAttempts?
  /// How messages are compressed when sent. A server that cannot read it answers UNIMPLEMENTED.
  public var compression: RPCCompression

  public init(
    timeout: Duration? = nil, deadline: MonotonicTime? = nil, waitForReady: Bool? = nil,
    metadata: Metadata = Metadata(),
    attempts: RPCAttempts? = nil, compression: RPCCompression = .identity
  ) {
    self.timeout = timeout
    self.deadline = deadline
    self.waitForReady = waitForReady
    self.metadata = metadata
    self.attempts = attempts
    self.compression = compression
  }

  func deadline(_ policy: RPCMethodPolicy, now: @autoclosure () -> MonotonicTime) -> MonotonicTime? {
    guard let timeout = timeout ?? policy.timeout else { return deadline }
    let end = now().advanced(by: timeout)
    return deadline.map { min($0, end) } ?? end
  }
}
