/// Connections to the endpoints of one target, and leases on their streams.
///
/// Thread-safe. Dropping the pool closes its connections at once; `drain` is the polite way.
public final class ConnectionPool<Connection: PooledConnection>: Sendable {
  private let core: PoolCore

  public typealias ConnectionFactory =
    @Sendable (ConnectionID, @escaping @Sendable (PoolConnectionEvent) -> Void) -> Connection

  /// A pool of a single endpoint, or of endpoints that stay as they are. Opens nothing yet.
  /// - Parameter makeConnection: makes a connection to the name's endpoint, which is not connected; it reports through
  ///   the closure.
  public init(
    configuration: PoolConfiguration, endpoints: [EndpointID] = [.only],
    makeConnection: @escaping ConnectionFactory
  ) {
    core = PoolCore(configuration: configuration, endpoints: endpoints, resolve: {}, makeConnection: makeConnection)
  }

  /// A pool whose endpoints a resolver finds. Opens nothing yet, and resolves nothing.
  /// - Parameter resolve: finds the endpoints, then calls `replaceEndpoints` or `endpointsNotFound`. Called at the
  ///   first request, and whenever a connection is lost: the resolver itself bounds how often it looks. Runs on a queue
  ///   of the pool's.
  public init(
    configuration: PoolConfiguration, resolve: @escaping @Sendable () -> Void,
    makeConnection: @escaping ConnectionFactory
  ) {
    core = PoolCore(configuration: configuration, endpoints: nil, resolve: resolve, makeConnection: makeConnection)
  }

  deinit {
    core.drain(deadline: .now()) {}
  }

  /// Opens the minimum of connections now instead of at the first request.
  public func start() {
    core.start()
  }

  /// Endpoints in both lists keep their connections. An endpoint that is missing from the new list takes no more
  /// leases; its connections close when their leases return.
  ///
  /// - Parameter endpoints: in the order to prefer.
  public func replaceEndpoints(_ endpoints: [EndpointID]) {
    core.replaceEndpoints(endpoints)
  }

  /// If no endpoint is known, fails the requests that wait, except those that wait until the pool is ready.
  /// - Parameter reason: for people.
  public func endpointsNotFound(reason: String) {
    core.endpointsNotFound(reason: reason)
  }

  /// Asks for a stream on the least loaded connection of the endpoint whose turn it is. If there is one, `completion`
  /// is called before this returns; otherwise later, on another thread. It is called exactly once and must not block.
  ///
  /// - Parameters:
  ///   - deadline: how long to wait; `nil`: until there is a lease.
  ///   - waitForReady: wait even if nothing is connected and the last attempt failed.
  @discardableResult
  public func lease(
    deadline: MonotonicTime? = nil, waitForReady: Bool = false,
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
  public func drain(deadline: MonotonicTime? = nil, completion: @escaping @Sendable () -> Void) {
    core.drain(deadline: deadline, completion: completion)
  }

  public var statistics: PoolStatistics {
    core.statistics
  }

  /// The endpoints in use in the order they were given, then those that are gone and have connections left.
  public var endpoints: [EndpointID] {
    core.endpoints
  }
}

/// Why a request got no lease. In every case nothing was sent anywhere.
public enum PoolError: Error, Sendable, Hashable {
  /// Its deadline came first. `lastFailure`: why the last attempt to connect failed, if nothing is connected.
  case timedOut(lastFailure: String?)
  /// Nothing is connected, the next attempt is some time away, and the request would not wait for it.
  case unreachable(lastFailure: String)
  /// `PoolConfiguration.maximumWaiting` requests wait already.
  case tooManyWaiting
  /// By `LeaseRequest.cancel()`.
  case cancelled
  /// The pool takes no more requests.
  case draining
}

/// The pool at one moment.
public struct PoolStatistics: Sendable, Hashable {
  public var connecting = 0
  /// Take new leases.
  public var serving = 0
  /// Carry what they have and take no new leases.
  public var goingAway = 0
  /// Told to close, not closed yet.
  public var closing = 0
  /// Leases out, whatever their connections are doing.
  public var leased = 0
  /// Leases that the serving connections can carry together.
  public var capacity = 0
  /// Requests in the queue.
  public var waiting = 0
}
