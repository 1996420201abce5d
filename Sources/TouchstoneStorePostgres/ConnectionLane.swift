// Connections for calls of one kind, and transactions on whichever has room.

internal import Dispatch
internal import DispatchPool

/// Calls of one kind do not wait for those of another: a read not for a commit's fsync, a commit not for a list.
final class ConnectionLane: Sendable {
  private let pool: ConnectionPool<PostgresConnection>
  let timeout: Duration

  struct Configuration {
    /// To each host, at most: one is kept, the others come and go with the load.
    var connections: Int
    /// Transactions at a time on each.
    var depth: Int
    var maximumWaiting: Int
    /// Of a call.
    var timeout: Duration
    /// Of one answer.
    var answerTimeout: Duration
    var prepared = Statement.all
  }

  /// Opens nothing yet.
  init(_ configuration: Configuration, targets: [ConnectionTarget], backoff: BackoffConfiguration) {
    timeout = configuration.timeout
    var pool = PoolConfiguration(
      minimumConnections: 1, maximumConnections: configuration.connections,
      maximumWaiting: configuration.maximumWaiting, assumedCapacity: configuration.depth, backoff: backoff)
    // A standby refuses, as do hosts that are down: where several serve, they share the load.
    pool.balancing = .leastRequest
    let setup = SessionSetup.statements(statementTimeout: configuration.answerTimeout)
    self.pool = ConnectionPool(
      configuration: pool, endpoints: targets.indices.map { EndpointID($0) }
    ) { id, report in
      PostgresConnection(
        configuration: .init(
          target: targets[id.endpoint.number], capacity: configuration.depth, connectTimeout: backoff.connectTimeout,
          // The server gives up first, and says so.
          answerTimeout: configuration.answerTimeout + SessionSetup.grace, setup: setup,
          prepared: configuration.prepared),
        report: report)
    }
  }

  func start() {
    pool.start()
  }

  func drain(deadline: MonotonicInstant, completion: @escaping @Sendable () -> Void) {
    pool.drain(deadline: deadline, completion: completion)
  }

  // MARK: One transaction, one round trip

  func run(
    _ calls: [StatementCall], until deadline: MonotonicInstant? = nil,
    completion: @escaping @Sendable (Result<[QueryResult], PostgresError>) -> Void
  ) {
    pool.lease(deadline: deadline ?? .now() + timeout) { result in
      switch result {
      case .failure(let error): completion(.failure(PostgresError(error)))
      case .success(let lease):
        lease.connection.send(
          Transaction(calls: calls) { result in
            lease.release()
            completion(result)
          })
      }
    }
  }

  func run(
    _ calls: [StatementCall], until deadline: MonotonicInstant? = nil
  ) async throws(PostgresError) -> [QueryResult] {
    let result = await withCheckedContinuation { continuation in
      run(calls, until: deadline) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  // MARK: Several round trips

  /// A connection that nobody else uses meanwhile: for lanes of depth 1.
  struct Session: Sendable {
    fileprivate let connection: PostgresConnection

    @discardableResult
    func run(_ calls: [StatementCall]) async throws(PostgresError) -> [QueryResult] {
      let result = await withCheckedContinuation { continuation in
        connection.send(Transaction(calls: calls) { continuation.resume(returning: $0) })
      }
      return try result.get()
    }
  }

  /// Where the body fails, what it began is rolled back.
  func withSession<Value: Sendable>(
    _ body: (Session) async throws(PostgresError) -> Value
  ) async throws(PostgresError) -> Value {
    let lease = try await lease()
    let session = Session(connection: lease.connection)
    do throws(PostgresError) {
      let value = try await body(session)
      lease.release()
      return value
    } catch {
      // Outside of a transaction it is a warning that nobody reads.
      _ = try? await session.run([StatementCall(.rollBack)])
      lease.release()
      throw error
    }
  }

  private func lease() async throws(PostgresError) -> Lease<PostgresConnection> {
    let result = await withCheckedContinuation { continuation in
      _ = pool.lease(deadline: .now() + timeout) { continuation.resume(returning: $0) }
    }
    switch result {
    case .success(let lease): return lease
    case .failure(let error): throw PostgresError(error)
    }
  }
}
