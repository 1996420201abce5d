// Gives an empty database this version's tables, one process at a time.

package import TouchstoneStore

/// A change of the tables, made or only planned.
package struct SchemaChange: Sendable, Hashable {
  /// The tables' version afterwards.
  package var version: Int64
  /// In their order; none if nothing is to be done.
  package var statements: [String]

  package init(version: Int64, statements: [String]) {
    self.version = version
    self.statements = statements
  }
}

package enum PostgresMigration {
  /// Returns the change that `run` would make now. Writes nothing.
  package static func plan(
    uri: String, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> SchemaChange {
    let targets = try ConnectionTarget.prepared(uri)
    return try plan(from: await DatabaseInspection(targets: targets, options: options).state())
  }

  /// One transaction: the database has all of the tables with their marker, or nothing.
  package static func run(
    uri: String, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> SchemaChange {
    let targets = try ConnectionTarget.prepared(uri)
    _ = try await ServerInspection.run(targets: targets, options: options)
    // Found out before anything is locked: another application may use the same lock.
    _ = try plan(from: await DatabaseInspection(targets: targets, options: options).state())
    let lane = ConnectionLane.ofOneConnection(targets: targets, options: options, timeout: timeout)
    return try await StoreOpenError.of { () throws(PostgresError) in
      try await lane.withSession { session throws(PostgresError) in try await migrate(in: session) }
    }.get()
  }

  /// The limit of one statement, because a move's may go through a large table.
  static let timeout: Duration = .seconds(60 * 60)
  /// The advisory lock's key: "Tchs" and "migr" in ASCII.
  private static let lockKey = 0x5463_6873_6D69_6772

  private static func plan(from state: DatabaseInspection.State) throws(StoreOpenError) -> SchemaChange {
    if state == .empty { return SchemaChange(version: Schema.version, statements: Schema.creation) }
    if let refusal = DatabaseInspection.refusal(of: state) { throw refusal }
    return SchemaChange(version: Schema.version, statements: [])
  }

  private static func migrate(
    in session: ConnectionLane.Session
  ) async throws(PostgresError) -> Result<SchemaChange, StoreOpenError> {
    try await lock(session)
    // Another process may have done it while this one waited.
    let state = try await DatabaseInspection.state(in: session)
    let change: SchemaChange
    do throws(StoreOpenError) {
      change = try plan(from: state)
    } catch {
      return .failure(error)
    }
    if !change.statements.isEmpty {
      try await session.run(
        [StatementCall(.begin)] + change.statements.map { .raw($0) } + [StatementCall(.commit)])
    }
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
