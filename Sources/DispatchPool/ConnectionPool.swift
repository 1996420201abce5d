/// Connections to one target, and leases on their streams.
///
/// Thread-safe. Dropping the pool closes its connections at once; `drain` is the polite way.
public final class ConnectionPool<Connection: PooledConnection>: Sendable {
  private let core: PoolCore

  /// Opens nothing yet.
  /// - Parameter makeConnection: makes a connection that is not connected; it reports through the closure.
  public init(
    configuration: PoolConfiguration,
    makeConnection:
      @escaping @Sendable (ConnectionID, @escaping @Sendable (PoolConnectionEvent) -> Void) -> Connection
  ) {
    core = PoolCore(configuration: configuration, makeConnection: makeConnection)
  }

  deinit {
    core.drain(deadline: .now()) {}
  }

  /// Opens the minimum of connections now instead of at the first request.
  public func start() {
    core.start()
  }

  /// Asks for a stream on the least loaded connection. If there is one, `completion` is called before this returns;
  /// otherwise later, on another thread. It is called exactly once and must not block.
  ///
  /// - Parameters:
  ///   - deadline: how long to wait; `nil`: until there is a lease.
  ///   - waitForReady: wait even if nothing is connected and the last attempt failed.
  @discardableResult
  public func lease(
    deadline: MonotonicInstant? = nil, waitForReady: Bool = false,
    completion: @escaping @Sendable (Result<Lease<Connection>, PoolError>) -> Void
  ) -> LeaseRequest {
    let answer = core.lease(
      deadline: deadline, waitForReady: waitForReady, completion: { completion($0.map(Lease.init)) })
    switch answer {
    case .granted(let token): completion(.success(Lease(token)))
    case .refused(let error): completion(.failure(error))
    case .waits(let id): return LeaseRequest(id: id, core: core)
    }
    return LeaseRequest(id: nil, core: core)
  }

  /// Refuses requests from now on, waiting ones too. Completes when all leases are back and all connections closed, or
  /// at the deadline, when the rest is closed by force. May complete before it returns.
  public func drain(deadline: MonotonicInstant? = nil, completion: @escaping @Sendable () -> Void) {
    core.drain(deadline: deadline, completion: completion)
  }

  public var statistics: PoolStatistics {
    core.statistics
  }
}
