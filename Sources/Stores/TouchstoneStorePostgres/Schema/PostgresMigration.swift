// Gives a database this version's tables, one process at a time.

package import TouchstoneStore

/// A change of the tables, made or only planned.
package struct SchemaChange: Sendable, Hashable {
  /// The tables' version afterwards.
  package var version: SchemaVersion
  /// In their order; none if nothing is to be done.
  package var statements: [String]

  /// The time of the latest change, and the build that made it, as a text; `nil` if no change is recorded.
  package var latest: String?

  package init(version: SchemaVersion, statements: [String], latest: String? = nil) {
    self.version = version
    self.statements = statements
    self.latest = latest
  }
}

package enum PostgresMigration {
  /// Returns the change that `run` would make now. Writes nothing.
  package static func plan(
    uri: String, by build: String = unknownBuild, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> SchemaChange {
    let targets = try ConnectionTarget.prepared(uri)
    return try plan(from: await DatabaseInspection(targets: targets, options: options).state(), by: build)
  }

  /// One transaction: the database has all of the change with its marker, or stays as it was. Services of an earlier
  /// version go on beside an addition.
  ///
  /// - Parameter build: the version of the program, for the record.
  package static func run(
    uri: String, by build: String = unknownBuild, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> SchemaChange {
    let targets = try ConnectionTarget.prepared(uri)
    _ = try await ServerInspection.run(targets: targets, options: options)
    // Found out before anything is locked: another application may use the same lock.
    _ = try plan(from: await DatabaseInspection(targets: targets, options: options).state(), by: build)
    let lane = ConnectionLane.ofOneConnection(targets: targets, options: options, timeout: timeout)
    return try await StoreOpenError.of { () throws(PostgresError) in
      try await lane.withSession { session throws(PostgresError) in try await migrate(in: session, by: build) }
    }.get()
  }

  package static let unknownBuild = "unknown"
  /// The limit of one statement, because a move's may go through a large table.
  static let timeout: Duration = .seconds(60 * 60)
  /// The advisory lock's key: "Tchs" and "migr" in ASCII.
  private static let lockKey = 0x5463_6873_6D69_6772

  /// While a change waits for a table's lock, all later statements on that table wait behind it.
  private static let boundedLockWait = "SET LOCAL lock_timeout = '1s'"
  private static let selectLatest = Statement(
    nil,
    """
    SELECT to_char(made_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' by ' || build FROM schema_changes
    ORDER BY version DESC, additions DESC LIMIT 1
    """)

  private static func plan(
    from state: DatabaseInspection.State, by build: String
  ) throws(StoreOpenError) -> SchemaChange {
    if state == .empty {
      return SchemaChange(version: Schema.version, statements: Schema.creation + [Schema.record(by: build)])
    }
    if case .ours(let version) = state, version.tables == Schema.version.tables,
      (0..<Schema.version.additions).contains(version.additions)
    {
      return SchemaChange(
        version: Schema.version,
        statements: [boundedLockWait] + Schema.steps(after: version.additions) + [Schema.record(by: build)])
    }
    if let refusal = DatabaseInspection.refusal(of: state) { throw refusal }
    // A later version's additions stay.
    guard case .ours(let version) = state else { preconditionFailure("no other state is accepted") }
    return SchemaChange(version: version, statements: [])
  }

  private static func migrate(
    in session: ConnectionLane.Session, by build: String
  ) async throws(PostgresError) -> Result<SchemaChange, StoreOpenError> {
    try await lock(session)
    // Another process may have done it while this one waited.
    let state = try await DatabaseInspection.state(in: session)
    var change: SchemaChange
    do throws(StoreOpenError) {
      change = try plan(from: state, by: build)
    } catch {
      return .failure(error)
    }
    if !change.statements.isEmpty {
      try await session.run(
        [StatementCall(.begin)] + change.statements.map { .raw($0) } + [StatementCall(.commit)])
    }
    if var row = try await session.run([StatementCall(selectLatest)])[0].first { change.latest = row.text() }
    return .success(change)
  }

  /// Held until the connection ends.
  static func lock(_ session: ConnectionLane.Session) async throws(PostgresError) {
    try await session.run([.raw("SELECT pg_advisory_lock(\(lockKey))")])
  }
}

extension StatementCall {
  /// Not prepared.
  static func raw(_ sql: String) -> StatementCall {
    StatementCall(Statement(nil, sql))
  }
}
