// Inspects a server: whether it is PostgreSQL itself, whether a session belongs to one connection, how its clock
// differs, and whether it has timelines.

internal import DispatchPool
internal import TouchstonePolicy
internal import TouchstoneStore

struct ServerInspection: Sendable {
  /// The server says which timeline it writes (`Succession`).
  let hasTimelines: Bool

  /// Writes nothing. Refuses a server on which the store cannot rely.
  static func run(
    targets: [ConnectionTarget], options: PostgresStoreOptions
  ) async throws(StoreOpenError) -> ServerInspection {
    let (lane, other) = (bareLane(targets, options), bareLane(targets, options))
    let engine = try await StoreOpenError.of { () throws(PostgresError) in try await otherEngine(lane) }
    if let engine { throw .otherEngine(engine) }
    let (isAlone, difference, hidden) = try await StoreOpenError.of { () throws(PostgresError) in
      let isAlone = try await lane.withSession { session throws(PostgresError) in
        try await self.isAlone(session, beside: other)
      }
      return (isAlone, try await clockDifference(on: lane, options), try await reasonForHiddenTimelines(lane))
    }
    guard isAlone else { throw .pooledTransactions }
    if let refusal = StoreOpenError(clockDifference: difference, options) { throw refusal }
    if let hidden { options.timelinesHidden(hidden) }
    return ServerInspection(hasTimelines: hidden == nil)
  }

  /// A pooler that shares sessions between transactions does not keep a session's prepared statements.
  private static func bareLane(_ targets: [ConnectionTarget], _ options: PostgresStoreOptions) -> ConnectionLane {
    ConnectionLane(
      .init(
        connections: 1, depth: 1, maximumWaiting: options.maximumWaiting, timeout: options.listTimeout,
        answerTimeout: options.listTimeout, prepared: []),
      targets: targets, options: options)
  }

  // MARK: Sessions

  /// Checks that a session keeps a setting in its next transaction, and that no other session has it.
  static func isAlone(
    _ session: ConnectionLane.Session, beside other: ConnectionLane
  ) async throws(PostgresError) -> Bool {
    // Random, and long enough to have no effect if another client inherits the session.
    let timeout = Int.random(in: 3_600_000...7_200_000)
    let tell = StatementCall(Statement(nil, "SET statement_timeout = \(timeout)"))
    let ask = StatementCall(Statement(nil, "SELECT current_setting('statement_timeout')"))
    // Connected first, because its own settings would hide the setting that it must detect.
    _ = try await other.run([ask], isQuestion: true)
    let told = try await session.run([tell, ask])[1].only { row in row.text() }
    let known = try await session.run([ask])[0].only { row in row.text() }
    let overheard = try await other.run([ask], isQuestion: true)[0].only { row in row.text() }
    return known == told && overheard != told
  }

  // MARK: The clock

  private static let selectTime = Statement(nil, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT")

  /// Returns by how much this clock is ahead, at least, because the answer took some time to arrive.
  static func clockDifference(
    on lane: ConnectionLane, _ options: PostgresStoreOptions
  ) async throws(PostgresError) -> Duration {
    let before = options.clock()
    let time = try await lane.run([StatementCall(selectTime)], isQuestion: true)[0].only { row in row.time() }
    let after = options.clock()
    if time < before { return .microseconds(before.microseconds - time.microseconds) }
    return time > after ? .microseconds(after.microseconds - time.microseconds) : .zero
  }

  // MARK: Its size

  private static let selectSize = Statement(nil, "SELECT pg_database_size(current_database())")

  static func databaseSize(on lane: ConnectionLane) async throws(PostgresError) -> UInt64 {
    try await lane.run([StatementCall(selectSize)], isQuestion: true)[0].only { row in UInt64(max(0, row.integer())) }
  }

  // MARK: Its clients

  /// More machines than one database has.
  private static let maximumClients = 256

  private static let selectClients = Statement(
    nil,
    """
    SELECT coalesce(host(client_addr), 'unix'), count(*), (extract(epoch FROM min(backend_start)) * 1000000)::BIGINT
    FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user AND backend_start IS NOT NULL
    GROUP BY 1 ORDER BY 1 LIMIT \(maximumClients)
    """)

  static func clients(on lane: ConnectionLane) async throws(PostgresError) -> [StoreClient] {
    let result = try await lane.run([StatementCall(selectClients)], isQuestion: true).first
    return try result?.map { row throws(PostgresError) in
      StoreClient(address: row.text(), connections: Int(row.integer()), since: row.time())
    } ?? []
  }

  // MARK: The engine

  /// Returns the name of another engine with PostgreSQL's protocol; `nil`: it is PostgreSQL. The store relies on one
  /// log (a commit that waits for its fsync makes all earlier ones durable), on transactions over all tables, and on
  /// row locks.
  private static func otherEngine(_ lane: ConnectionLane) async throws(PostgresError) -> String? {
    let version = try await lane.run([StatementCall(Statement(nil, "SELECT version()"))], isQuestion: true)[0]
      .only { row in row.text() }
    if let other = otherEngine(version: version) { return other }
    let hasCitus = Statement(nil, "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus')")
    let isCitus = try await lane.run([StatementCall(hasCitus)], isQuestion: true)[0].only { row in row.boolean() }
    return isCitus ? "Citus" : nil
  }

  /// What stands in `version()`, and the engine's name.
  private static let otherEngines = [
    ("-YB-", "YugabyteDB"), ("Yugabyte", "YugabyteDB"), ("CockroachDB", "CockroachDB"), ("Greenplum", "Greenplum"),
    ("Redshift", "Redshift"),
  ]

  static func otherEngine(version: String) -> String? {
    if let known = otherEngines.first(where: { version.contains($0.0) }) { return known.1 }
    return version.hasPrefix("PostgreSQL ") ? nil : "an unknown engine"
  }

  // MARK: Timelines

  /// Returns `nil` if the server says which timeline it writes. Some servers that are sold as PostgreSQL refuse the
  /// query.
  private static func reasonForHiddenTimelines(_ lane: ConnectionLane) async throws(PostgresError) -> String? {
    do throws(PostgresError) {
      let timeline = try await lane.run([StatementCall(Timeline.select)], isQuestion: true)
        .first?.only { row in Timeline(&row) }
      return timeline == nil ? "the server returned none" : nil
    } catch {
      guard case .server(let state, let message) = error, !state.isOfTheMoment else { throw error }
      return message
    }
  }
}

extension StoreOpenError {
  static func otherEngine(_ name: String) -> StoreOpenError {
    StoreOpenError(
      code: .unwritable,
      message: "the PostgreSQL database: the server is \(name), where this store could lose what it answered; use "
        + "PostgreSQL itself")
  }

  fileprivate static let pooledTransactions = StoreOpenError(
    code: .unwritable,
    message: "the PostgreSQL database: between it and this process a pooler shares sessions (transaction or statement "
      + "pooling), and what a session was told is lost; connect directly, or have it pool sessions")

  /// Returns `nil` if the difference is tolerated.
  fileprivate init?(clockDifference: Duration, _ options: PostgresStoreOptions) {
    let seconds = clockDifference.components.seconds
    guard abs(seconds) > options.maximumClockDifference.components.seconds else { return nil }
    self.init(
      code: .unwritable,
      message:
        "the PostgreSQL database: this machine's clock is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") "
        + "the server's, where \(options.maximumClockDifference.components.seconds) s are the most: set both by NTP")
  }
}
