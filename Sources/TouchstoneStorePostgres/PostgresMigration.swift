// Brings a database to this version's schema: forward only, with replicas running, and one migration at a time.

public import TouchstoneStore

public struct PostgresMigration: Sendable, Hashable {
  /// 0: an empty database.
  public var fromVersion: Int64
  public var toVersion: Int64
  /// In their order; none where nothing is to be done.
  public var statements: [String]

  /// What `run` would do now. Writes nothing.
  public static func plan(
    uri: String, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> PostgresMigration {
    let targets = try ConnectionTarget.prepared(uri)
    return try plan(from: await DatabaseInspection(targets: targets, options: options).state())
  }

  /// Each step is a transaction. Where one is cut short, the next run takes it up again.
  public static func run(
    uri: String, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> PostgresMigration {
    let targets = try ConnectionTarget.prepared(uri)
    _ = try await ServerInspection.run(targets: targets, options: options)
    // Found out before anything is locked: another application may use the same lock.
    _ = try plan(from: await DatabaseInspection(targets: targets, options: options).state())
    let lane = ConnectionLane.ofOneConnection(targets: targets, options: options, timeout: timeout)
    let result: Result<PostgresMigration, StoreOpenError>
    do throws(PostgresError) {
      result = try await lane.withSession { session throws(PostgresError) in try await migrate(in: session) }
    } catch {
      throw StoreOpenError(error)
    }
    return try result.get()
  }

  /// Of one statement: an index over a large table takes its time.
  static let timeout: Duration = .seconds(60 * 60)
  /// Of the advisory lock: "Tchs" and "migr" in ASCII.
  private static let lockKey = 0x5463_6873_6D69_6772

  private static func plan(from state: DatabaseInspection.State) throws(StoreOpenError) -> PostgresMigration {
    let version: Int64
    switch state {
    case .foreign: throw .foreignDatabase
    case .empty: version = 0
    case .ours(_, Schema.beingFilled?): throw .beingFilled
    case .ours(let current, let migratingTo):
      let newest = max(current, migratingTo ?? current)
      guard newest <= Schema.version else { throw .newerDatabase(newest) }
      version = current
    }
    return PostgresMigration(
      fromVersion: version, toVersion: Schema.version,
      statements: Array(Schema.steps[Int(max(0, version))...].joined()))
  }

  private static func migrate(
    in session: ConnectionLane.Session
  ) async throws(PostgresError) -> Result<PostgresMigration, StoreOpenError> {
    try await lock(session)
    // Another one may have done it while this one waited.
    let state = try await DatabaseInspection.state(in: session)
    let plan: PostgresMigration
    do throws(StoreOpenError) {
      plan = try Self.plan(from: state)
    } catch {
      return .failure(error)
    }
    if state == .empty { try await session.run(marking) }
    for version in (plan.fromVersion + 1)..<(plan.toVersion + 1) {
      try await session.run([.raw("UPDATE touchstone_schema SET migrating_to = \(version)")])
      try await session.run(
        [StatementCall(.begin), .raw(holdingMarker(at: version - 1))]
          + Schema.steps[Int(version - 1)].map { .raw($0) } + [
            .raw("UPDATE touchstone_schema SET version = \(version), migrating_to = NULL"), StatementCall(.commit),
          ])
    }
    return .success(plan)
  }

  /// Held until the connection ends. Where the engine knows no such locks, the marker's row does.
  static func lock(_ session: ConnectionLane.Session) async throws(PostgresError) {
    do throws(PostgresError) {
      try await session.run([.raw("SELECT pg_advisory_lock(\(lockKey))")])
    } catch {
      guard case .server(let state, _) = error, [.undefinedFunction, .featureNotSupported].contains(state) else {
        throw error
      }
    }
  }

  /// In one transaction: another process that saw the table without its row would take the database for another application's.
  private static let marking: [StatementCall] = [
    StatementCall(.begin), .raw(Schema.marker),
    .raw("INSERT INTO touchstone_schema VALUES (1, '\(Schema.application)', 0, NULL) ON CONFLICT DO NOTHING"),
    StatementCall(.commit),
  ]

  /// Fails where the database is not at this version any more.
  private static func holdingMarker(at version: Int64) -> String {
    """
    SELECT 1 / count(*) FROM (
      SELECT 1 FROM touchstone_schema WHERE version = \(version) FOR UPDATE) AS marker
    """
  }
}

extension StatementCall {
  /// Not prepared.
  static func raw(_ sql: String) -> StatementCall {
    StatementCall(Statement(nil, sql))
  }
}
