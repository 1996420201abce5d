// Finds out whose database it is, of which version, and whether it is whole. Writes nothing.

internal import TouchstoneStore

struct DatabaseInspection: Sendable {
  private let lane: ConnectionLane

  init(targets: [ConnectionTarget], options: PostgresStoreOptions) {
    lane = .ofOneConnection(targets: targets, options: options, timeout: options.listTimeout)
  }

  /// Whose tables there are.
  enum State: Sendable, Hashable {
    /// No table at all.
    case empty
    case ours(version: SchemaVersion)
    case foreign
  }

  func state() async throws(StoreOpenError) -> State {
    try await StoreOpenError.of { () throws(PostgresError) in
      try await lane.withSession { session throws(PostgresError) in try await Self.state(in: session) }
    }
  }

  /// Answers which line of history the database is in, and what was found of the audit log's accounts.
  func requireOurs() async throws(StoreOpenError) -> (lineage: Lineage, accounts: AccountReview) {
    try await inspect { session throws(PostgresError) in
      let accounts = try await Self.requireWholeLog(in: session)
      return (try await Self.lineage(in: session), accounts)
    }
  }

  static func lineage(in session: ConnectionLane.Session) async throws(PostgresError) -> Lineage {
    let number = try await session.run([StatementCall(.selectLineage)])[0].only { row in row.integer() }
    guard let number = UInt32(exactly: number) else { throw .corrupt("it has no lineage") }
    return Lineage(rawValue: number)
  }

  /// Inspects a database of this version, on a session that has prepared all of the store's statements.
  func inspect<Value: Sendable>(
    _ body: (ConnectionLane.Session) async throws(PostgresError) -> Value
  ) async throws(StoreOpenError) -> Value {
    if let refusal = Self.refusal(of: try await state()) { throw refusal }
    return try await StoreOpenError.of { () throws(PostgresError) in
      try await lane.withSession { session throws(PostgresError) in
        try await Self.requireTables(in: session)
        return try await body(session)
      }
    }
  }

  // MARK: The marker

  /// Also where the column `additions` is not there yet.
  private static let selectMarker = Statement(
    nil,
    """
    SELECT application, version, coalesce((to_jsonb(s) ->> 'additions')::BIGINT, 0) FROM touchstone_schema s
    WHERE only_row = 1
    """)
  /// Finds tables, views and sequences of any owner: `information_schema` shows a role only what it may use. The
  /// objects of extensions do not count.
  private static let hasTables = Statement(
    nil,
    """
    SELECT EXISTS (
      SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT EXISTS (
        SELECT 1 FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
    """)

  static func state(in session: ConnectionLane.Session) async throws(PostgresError) -> State {
    // The tables first: another process may make them between the two statements, and the marker with them.
    let tables = try await session.run([StatementCall(hasTables)])
    let hasTables = try tables[0].only { row in row.boolean() }
    return try await markedState(in: session) ?? (hasTables ? .foreign : .empty)
  }

  /// `nil`: there is no marker.
  private static func markedState(in session: ConnectionLane.Session) async throws(PostgresError) -> State? {
    do throws(PostgresError) {
      guard var row = try await session.run([StatementCall(selectMarker)])[0].first else { return .foreign }
      guard row.text() == Schema.application else { return .foreign }
      return .ours(version: SchemaVersion(tables: row.integer(), additions: row.integer()))
    } catch {
      guard case .server(let state, _) = error else { throw error }
      switch state {
      case .undefinedTable: return nil
      case .undefinedColumn: return .foreign
      default: throw error
      }
    }
  }

  /// `nil`: it is ours, and has all that this version uses.
  static func refusal(of state: State) -> StoreOpenError? {
    switch state {
    case .empty:
      StoreOpenError(
        code: .otherSchema,
        message: "the PostgreSQL database has no tables of Touchstone's: run `touchstone migrate`, with --from "
          + "DIRECTORY --to URI to move a directory's state")
    case .foreign: .foreignDatabase
    case .ours(let version): version.serves(Schema.version) ? nil : .otherVersion(version)
    }
  }

  // MARK: Identity

  /// Returns a digest of the names of cluster, database and schema, which tells a move's target from every other
  /// database.
  ///
  /// - Parameter place: stands for the cluster's name, if the server does not show its own; otherwise `nil`.
  static func mark(
    in session: ConnectionLane.Session, ofPlace place: String?
  ) async throws(PostgresError) -> UniqueID {
    let cluster =
      place == nil
      ? "(SELECT system_identifier::TEXT FROM pg_control_system())" : "convert_from($1::BYTEA, 'UTF8')"
    let name = "\(cluster) || '/' || current_database() || '/' || current_schema()"
    var call = StatementCall(Statement(nil, "SELECT substring(sha256(convert_to(\(name), 'UTF8')), 1, 16)"))
    if let place { call = call.bind(Array(place.utf8)) }
    let digest = try await session.run([call])[0].only { row in row.blob() }
    guard let mark = UniqueID(bytes: digest) else { throw .corrupt("it has no name") }
    return mark
  }

  // MARK: Content

  /// Prepares what the store says: whatever a statement names must be there.
  static func requireTables(in session: ConnectionLane.Session) async throws(PostgresError) {
    let calls = Statement.all.compactMap { statement -> StatementCall? in
      guard let name = statement.name, !Statement.ofTransactions.contains(statement) else { return nil }
      return StatementCall(Statement(nil, "PREPARE \(name) AS \(statement.sql)"))
    }
    do throws(PostgresError) {
      try await session.run(calls)
    } catch {
      guard case .server(let state, let message) = error, !state.isOfTheMoment else { throw error }
      throw .corrupt("its tables are not as this version makes them: \(message)")
    }
  }

  /// From one moment, for another process may append.
  @discardableResult
  static func requireWholeLog(in session: ConnectionLane.Session) async throws(PostgresError) -> AccountReview {
    try await session.run([StatementCall(Statement(nil, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))]
    )
    let (fault, accounts) = try await PostgresAuditLogReader(session: session).checkAtStart()
    try await session.run([StatementCall(.rollBack)])
    if let fault { throw .corrupt("the audit log is not as it was written: \(fault)") }
    return accounts
  }
}

extension ConnectionLane {
  /// For what is done once, on tables that may not be there: it fails as soon as it is known that no host serves.
  static func ofOneConnection(
    targets: [ConnectionTarget], options: PostgresStoreOptions, timeout: Duration
  ) -> ConnectionLane {
    ConnectionLane(
      .init(
        connections: 1, depth: 1, maximumWaiting: options.maximumWaiting, timeout: timeout, answerTimeout: timeout,
        prepared: Statement.ofTransactions),
      targets: targets, options: options)
  }
}

extension StoreOpenError {
  fileprivate static let foreignDatabase = StoreOpenError(
    code: .corrupt,
    message: "the PostgreSQL database holds another application's tables: give Touchstone a database of its own")

  fileprivate static func otherVersion(_ version: SchemaVersion) -> StoreOpenError {
    guard version.tables != Schema.version.tables else {
      return StoreOpenError(
        code: .otherSchema,
        message: "the PostgreSQL database has schema \(version), and this version needs \(Schema.version): run "
          + "`touchstone migrate`; services of the earlier version go on beside it")
    }
    return StoreOpenError(
      code: .otherSchema,
      message: "the PostgreSQL database has schema \(version), where this version knows \(Schema.version): use the "
        + "version of Touchstone that made it, or another database")
  }

  static func of<Value>(
    _ body: () async throws(PostgresError) -> Value
  ) async throws(StoreOpenError) -> Value {
    do throws(PostgresError) {
      return try await body()
    } catch {
      throw StoreOpenError(error)
    }
  }

  init(_ error: PostgresError) {
    switch error {
    case .corrupt(let message):
      self.init(code: .corrupt, message: "the PostgreSQL database: \(message); restore it from a backup")
    case .server(.lockNotAvailable, _):
      self.init(
        code: .unreachable,
        message: "the PostgreSQL database: another session (a dump, an open transaction) holds a table that must be "
          + "changed; run the same again when it has ended")
    case .server(let state, _) where !state.isOfTheMoment:
      self.init(code: .unwritable, message: "the PostgreSQL database: \(error.message); check the role's privileges")
    case .server, .conflict, .notSent, .lost:
      self.init(code: .unreachable, message: "the PostgreSQL database: \(error.message); check the server and the URI")
    }
  }
}
