// Connections for calls of one kind. A transaction goes to any connection that has room.

internal import DispatchPool
internal import EventLoops
internal import Synchronization

/// Calls of one kind do not wait for another kind: no read waits for a commit's fsync, and no commit for a list.
final class ConnectionLane: Sendable {
  private let pool: ConnectionPool<PostgresConnection>
  let timeout: Duration

  struct Configuration: Sendable {
    /// The maximum for each host. The minimum is kept; the others come and go with the load.
    var connections: Int
    /// Transactions at one time on each connection.
    var depth: Int
    var maximumWaiting: Int
    /// The time for a call.
    var timeout: Duration
    /// The time for one answer.
    var answerTimeout: Duration
    /// The time between two statements of a transaction; by default twice the time for an answer.
    var idleTimeout: Duration?
    /// If answers may take long, a Sync comes before each transaction, and its answer has less time.
    var signOfLifeTimeout: Duration?
    /// A few batches are little for one connection, so more are there only if they are kept.
    var minimumConnections = 1
    /// The statements that are prepared on it.
    var prepared: [Statement]
    /// How the server plans them (`SessionSetup.plansByIndex`).
    var planning: [String] = []
    /// A transaction whose commit makes all earlier ones durable, so that waiting commits share one fsync.
    var flushing: (@Sendable () -> StatementCall)?
    /// Ends the connection if another primary has replaced its server. Shared by all lanes of a store. `nil`: the
    /// server has no timelines.
    var succession: Succession?

    /// How long the connection waits for an answer: the server gives up first, with an error.
    var receiveTimeout: Duration { answerTimeout + SessionSetup.grace }

    /// Done first, and not prepared.
    var setup: [String] {
      SessionSetup.statements(statementTimeout: answerTimeout, idleTimeout: idleTimeout ?? answerTimeout * 2) + planning
    }
  }

  /// Opens no connection yet.
  ///
  /// - Parameter loops: of the store; by default the lane's own.
  init(
    _ configuration: Configuration, targets: [ConnectionTarget], options: PostgresStoreOptions,
    on loops: LoopTurns? = nil
  ) {
    timeout = configuration.timeout
    var pool = PoolConfiguration(
      minimumConnections: configuration.minimumConnections, maximumConnections: configuration.connections,
      maximumWaiting: configuration.maximumWaiting, assumedCapacity: configuration.depth, backoff: options.backoff)
    // A standby refuses, as do hosts that are down. If several hosts serve, they share the load.
    pool.balancing = .leastRequest
    let loops = loops ?? LoopTurns(options)
    self.pool = ConnectionPool(
      configuration: pool, endpoints: targets.indices.map { EndpointID($0) }
    ) { id, report in
      PostgresConnection(
        to: targets[id.endpoint.number], within: options.connectTimeout, configuration, on: loops.next(), report: report
      )
    }
  }

  var statistics: PoolStatistics { pool.statistics }

  func start() {
    pool.start()
  }

  func drain(deadline: MonotonicTime, completion: @escaping @Sendable () -> Void) {
    pool.drain(deadline: deadline, completion: completion)
  }

  // MARK: One transaction, one round trip

  /// If a connection has ended, the transaction is tried on another one, as long as nothing was sent, or only a query.
  ///
  /// - Parameter isQuestion: it changes nothing, so it may be sent twice.
  func run(
    _ calls: [StatementCall], until deadline: MonotonicTime? = nil, isQuestion: Bool = false,
    freesRowsEarly: Bool = false,
    completion: @escaping @Sendable (Result<[QueryResult], PostgresError>) -> Void
  ) {
    let transaction = Transaction(calls: calls, freesRowsEarly: freesRowsEarly, completion: completion)
    run(transaction, until: deadline ?? .now() + timeout, isQuestion: isQuestion, triesLeft: Self.maximumTries)
  }

  /// After a restart of the server every connection may have ended, but not so often in a row.
  private static let maximumTries = 3

  private func run(
    _ transaction: Transaction, until deadline: MonotonicTime, isQuestion: Bool, triesLeft: Int
  ) {
    pool.lease(deadline: deadline) { [self] result in
      switch result {
      case .failure(let error): transaction.completion(.failure(PostgresError(error)))
      case .success(let lease):
        lease.connection.send(
          Transaction(calls: transaction.calls, freesRowsEarly: transaction.freesRowsEarly) { result in
            lease.release()
            guard triesLeft > 1, result.mayBeRepeated(isQuestion: isQuestion), .now() < deadline else {
              return transaction.completion(result)
            }
            self.run(transaction, until: deadline, isQuestion: isQuestion, triesLeft: triesLeft - 1)
          })
      }
    }
  }

  /// Sends it again if it lost a race on the server.
  func run(_ calls: [StatementCall], isQuestion: Bool = false) async throws(PostgresError) -> [QueryResult] {
    try await Self.retrying { () throws(PostgresError) in
      try await withCheckedContinuation { continuation in
        run(calls, isQuestion: isQuestion) { continuation.resume(returning: $0) }
      }.get()
    }
  }

  // MARK: Several round trips

  /// A connection for one user at a time: for lanes of depth 1.
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

  /// If the body fails, its transaction is rolled back. If it lost a race on the server, it is called again.
  ///
  /// - Parameter isRepeatable: the body may be done twice, so it is also called again if the connection is lost.
  func withSession<Value: Sendable>(
    isRepeatable: Bool = false, _ body: (Session) async throws(PostgresError) -> Value
  ) async throws(PostgresError) -> Value {
    guard isRepeatable else { return try await withLeasedSession(body) }
    let deadline = MonotonicTime.now() + timeout
    for _ in 1..<Self.maximumTries {
      do throws(PostgresError) {
        return try await withLeasedSession(body)
      } catch {
        guard error.isOfConnection, .now() < deadline else { throw error }
      }
    }
    return try await withLeasedSession(body)
  }

  private func withLeasedSession<Value: Sendable>(
    _ body: (Session) async throws(PostgresError) -> Value
  ) async throws(PostgresError) -> Value {
    let lease = try await lease()
    defer { lease.release() }
    let session = Session(connection: lease.connection)
    return try await Self.retrying { () throws(PostgresError) in
      do throws(PostgresError) {
        return try await body(session)
      } catch {
        // Outside of a transaction it causes only a warning, which is ignored.
        _ = try? await session.run([StatementCall(.rollBack)])
        throw error
      }
    }
  }

  static func retrying<Value>(
    _ body: () async throws(PostgresError) -> Value
  ) async throws(PostgresError) -> Value {
    for attempt in 1..<Retry.maximumAttempts {
      do throws(PostgresError) {
        return try await body()
      } catch {
        guard error.isWorthRetrying else { throw error }
        try? await Task.sleep(for: Retry.delay(afterAttempt: attempt))
      }
    }
    return try await body()
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

/// Gives the connections of a store to its event loops in turn.
final class LoopTurns: Sendable {
  private let loops: [EventLoop]
  private let given = Atomic(0)

  init(_ options: PostgresStoreOptions) {
    loops = options.eventLoops.isEmpty ? [EventLoop(label: "postgres")] : options.eventLoops
  }

  func next() -> EventLoop { loops[given.add(1, ordering: .relaxed).oldValue % loops.count] }
}

extension PostgresError {
  fileprivate var isOfConnection: Bool {
    switch self {
    case .notSent, .lost: true
    default: false
    }
  }
}

extension Result<[QueryResult], PostgresError> {
  fileprivate func mayBeRepeated(isQuestion: Bool) -> Bool {
    switch self {
    case .failure(.notSent): true
    case .failure(.lost): isQuestion
    // A database that is SERIALIZABLE may refuse any transaction that ran beside others.
    case .failure(.server(let state, _)): isQuestion && state.isWorthRetrying
    case .success, .failure: false
    }
  }
}

enum Retry {
  /// If many transactions write one row, a database that is SERIALIZABLE refuses all but one each time. Each takes 25
  /// ms on average beside its own time, and a call's time ends them before: 20 were too few for 200 guesses at one
  /// secret on a busy machine.
  static let maximumAttempts = 60
  private static let maximumDelay: Duration = .milliseconds(50)

  /// Doubles, with full jitter, so that the losers of one race do not meet again.
  static func delay(afterAttempt attempt: Int) -> Duration {
    let limit = min(maximumDelay, .milliseconds(1 << min(attempt, 8)))
    return limit * Double.random(in: 0...1)
  }
}
