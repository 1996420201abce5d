// Moves all of another store's state into an empty database.

internal import TouchstonePolicy
package import TouchstoneStore

/// Moves rows in batches, each a transaction. The database is marked as being filled before the first batch, and no
/// service uses it until every row and the whole log were read back. An interrupted move begins anew, after its rows
/// are removed.
package enum PostgresMove {
  /// - Parameter uri: an empty database. It gets this version's tables if it has none.
  package static func fill(
    uri: String, from source: some MoveSource, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> StoreMove {
    let targets = try ConnectionTarget.prepared(uri)
    let place = try PostgresAddress(uri: uri).description
    let state = try await DatabaseInspection(targets: targets, options: options).state()
    if state == .empty, let earlier = try source.target() { throw .isElsewhere(earlier) }
    if !isBeingFilled(state) { _ = try await PostgresMigration.run(uri: uri, isToBeFilled: true, options: options) }
    let lane = ConnectionLane.ofOneConnection(targets: targets, options: options, timeout: PostgresMigration.timeout)
    let result: Result<StoreMove, StoreOpenError>
    do throws(PostgresError) {
      result = try await lane.withSession { session throws(PostgresError) in
        try await PostgresMigration.lock(session)
        // Another process may have done it while this one waited.
        let state = try await DatabaseInspection.state(in: session)
        if !isBeingFilled(state), let refusal = DatabaseInspection.refusal(of: state) { return .failure(refusal) }
        do throws(MoveFailure) {
          let filling = Filling(session: session, place: place)
          return .success(try await filling.fill(from: source, again: isBeingFilled(state)))
        } catch {
          switch error {
          case .source(let error): return .failure(error)
          case .target(let error): throw error
          }
        }
      }
    } catch {
      throw StoreOpenError(error)
    }
    return try result.get()
  }

  private static func isBeingFilled(_ state: DatabaseInspection.State) -> Bool {
    state == .ours(version: Schema.version, isBeingFilled: true)
  }
}

/// The side that failed.
private enum MoveFailure: Error {
  /// Also if the content of the database does not match it.
  case source(StoreOpenError)
  case target(PostgresError)
}

/// Runs on one session, which has no other user.
private struct Filling {
  /// The number of rows in one round trip and one fsync.
  private static let batchRows = 1_000

  let session: ConnectionLane.Session
  let place: String

  /// - Parameter again: the rows of an earlier move are removed first.
  func fill(from source: some MoveSource, again: Bool) async throws(MoveFailure) -> StoreMove {
    let marks = try reading { () throws(StoreOpenError) in try source.marks() }
    let counts = try reading { () throws(StoreOpenError) in try source.counts() }
    try await asking { () throws(PostgresError) in try await DatabaseInspection.requireTables(in: session) }
    let earlier = try reading { () throws(StoreOpenError) in try source.target() }
    let target = earlier ?? MoveTarget(mark: .random(), place: place)
    if again {
      if earlier != nil { try await requireMark(of: target) }
      try await run(Self.beginning(to: target, inEmptiness: false))
    } else {
      // A source that was moved elsewhere is not moved here.
      let isBegun = earlier == nil ? try await beginInEmptiness(to: target) : false
      if !isBegun { return try await earlierMove(of: marks, to: earlier) }
    }
    for table in MovedTable.allCases { try await insertAll(of: table, from: source) }
    try await run(Self.setting(marks))
    let events = try await verified(counts, marks)
    // Before a service can use this database, so that both are never used.
    try reading { () throws(StoreOpenError) in try source.markBeingMoved(to: target) }
    try await run([.raw(Schema.markFilled)])
    return StoreMove(counts: counts, events: events)
  }

  /// While the server inserts a batch, the next one is read, and no more.
  private func insertAll(of table: MovedTable, from source: some MoveSource) async throws(MoveFailure) {
    let insertion = RowInsertion(into: table)
    try await run([insertion.preparation])
    var earlier: Task<Result<Void, MoveFailure>, Never>?
    let failure = try await source.forEachBatch(of: table, limit: Self.batchRows) { rows throws(MoveFailure) in
      var insertion = insertion
      for row in rows { insertion.append(row) }
      let call = insertion.call
      try await earlier?.value.get()
      earlier = Task {
        do throws(MoveFailure) {
          try await run([call])
          return .success(())
        } catch {
          return .failure(error)
        }
      }
    }
    try await earlier?.value.get()
    if let failure { throw .source(failure) }
  }

  // MARK: Before

  private static let removeAll = StatementCall.raw(
    """
    TRUNCATE \(MovedTable.allCases.map(\.rawValue).joined(separator: ", ")), unsealed_events, commit_marks, key_check
    """)
  /// The marker comes first: it waits for a service that is just starting, whose key check is then found.
  private static func beginning(to target: MoveTarget, inEmptiness: Bool) -> [StatementCall] {
    [.raw(Schema.markBeingFilled)] + (inEmptiness ? [requireEmptiness] : [])
      + [removeAll, StatementCall(putMark).bind(key(of: target))]
  }
  /// Divides by zero if there is any row, also if a service with other keys began here, which may still run.
  private static let requireEmptiness = StatementCall.raw(
    """
    SELECT 1 / (CASE WHEN (SELECT sequence FROM event_chain) > 0 \(
      (MovedTable.allCases.map(\.rawValue) + ["unsealed_events", "key_check"]).map { "OR EXISTS (SELECT 1 FROM \($0))" }
        .joined(separator: " ")
    ) THEN 0 ELSE 1 END)
    """)

  /// False if the database is not empty.
  private func beginInEmptiness(to target: MoveTarget) async throws(MoveFailure) -> Bool {
    do throws(MoveFailure) {
      try await run(Self.beginning(to: target, inEmptiness: true))
      return true
    } catch {
      if case .target(.server(.divisionByZero, _)) = error { return false }
      throw error
    }
  }

  /// Stored among the marks of commits, which no process queries while the database is being filled. It has expired, so the
  /// first sweep removes it.
  private static let putMark = Statement(
    nil, "INSERT INTO commit_marks VALUES ($1::SMALLINT, $2::BIGINT, $3::BYTEA, TRUE)")
  private static let selectMark = Statement(
    nil, "SELECT 1 FROM commit_marks WHERE spread = $1::SMALLINT AND expires_at = $2::BIGINT AND id = $3::BYTEA")

  private static func key(of target: MoveTarget) -> ExpiringKey {
    ExpiringKey(expiresAt: UnixTime(seconds: 0), id: target.mark)
  }

  /// The move was interrupted in a database without this mark: this source got further elsewhere.
  private func requireMark(of target: MoveTarget) async throws(MoveFailure) {
    let results = try await run([StatementCall(Self.selectMark).bind(Self.key(of: target))])
    guard results.first?.first != nil else { throw .source(.isElsewhere(target)) }
  }

  /// Continues from the end of the source: it was moved here, and the source can no longer be told apart.
  private func earlierMove(of marks: MovedMarks, to target: MoveTarget?) async throws(MoveFailure) -> StoreMove {
    let head = marks.eventChainHead
    let results = try await run([
      StatementCall(.selectLineage), StatementCall(.selectEventChain),
      StatementCall(.selectEvents).bind(max(head.sequence, 1) - 1).bind(1),
    ])
    let found = try await asking { () throws(PostgresError) -> StoreMove? in
      let number = try results[0].only { row in row.integer() }
      let end = try results[1].only { row in EventChain.Head(&row) }
      let events = try results[2].map { row throws(PostgresError) in try EventRecord(&row) }
      let isThere = head == .genesis || events.contains { $0.sequence == head.sequence && $0.hash == head.hash }
      guard number == Int64(marks.lineage.rawValue), end.sequence >= head.sequence, isThere else { return nil }
      let verification = try await PostgresAuditLogReader(session: session).verification()
      return verification.fault == nil ? StoreMove(counts: try await counts(), events: verification) : nil
    }
    guard let found else { throw .source(target.map { .isElsewhere($0) } ?? .occupiedDatabase) }
    return found
  }

  // MARK: After

  private static func setting(_ marks: MovedMarks) -> [StatementCall] {
    [
      StatementCall(.setLineage).bind(marks.lineage.rawValue),
      StatementCall(.setSweepMark).bind(marks.sweptBefore),
      StatementCall(.setArchiveMark).bind(marks.eventChainStart.sequence).bind(marks.eventChainStart.hash),
      StatementCall(.setEventChain).bind(marks.eventChainHead.sequence).bind(marks.eventChainHead.hash),
    ] + (marks.keyCheck.map { [StatementCall(.setKeyCheck).bind($0)] } ?? [])
  }

  /// Checks that every row is there, and that the log is as it was written.
  private func verified(
    _ expected: MovedCounts, _ marks: MovedMarks
  ) async throws(MoveFailure) -> AuditLogVerification {
    let (found, events) = try await asking { () throws(PostgresError) in
      (try await counts(), try await PostgresAuditLogReader(session: session).verification())
    }
    for table in MovedTable.allCases where found[table] != expected[table] {
      throw .source(
        .disturbedMove(
          "\(found[table] ?? 0) rows of \(table.rawValue) are there, where \(expected[table] ?? 0) were moved"))
    }
    if let fault = events.fault { throw .source(.disturbedMove("\(fault)")) }
    guard events.head == marks.eventChainHead, events.start == marks.eventChainStart else {
      throw .source(.disturbedMove("the audit log goes on behind what was moved"))
    }
    return events
  }

  private func counts() async throws(PostgresError) -> MovedCounts {
    let tables = MovedTable.allCases
    let results = try await session.run(tables.map { .raw("SELECT count(*) FROM \($0.rawValue)") })
    var counts: MovedCounts = [:]
    for (table, result) in zip(tables, results) { counts[table] = try result.only { row in row.integer() } }
    return counts
  }

  // MARK: Calls

  /// A transaction.
  @discardableResult
  private func run(_ calls: [StatementCall]) async throws(MoveFailure) -> [QueryResult] {
    try await asking { () throws(PostgresError) in
      try await ConnectionLane.retrying { () throws(PostgresError) in try await session.run(calls) }
    }
  }

  private func asking<Value>(
    _ body: () async throws(PostgresError) -> Value
  ) async throws(MoveFailure) -> Value {
    do throws(PostgresError) {
      return try await body()
    } catch .server(.uniqueViolation, let message) {
      throw .source(.disturbedMove(message))
    } catch {
      throw .target(error)
    }
  }

  private func reading<Value>(_ body: () throws(StoreOpenError) -> Value) throws(MoveFailure) -> Value {
    do throws(StoreOpenError) {
      return try body()
    } catch {
      throw .source(error)
    }
  }
}

extension StoreOpenError {
  fileprivate static let occupiedDatabase = StoreOpenError(
    code: .unwritable,
    message: "the PostgreSQL database is not empty, and nothing is overwritten: give the move a database of its own")

  fileprivate static func isElsewhere(_ target: MoveTarget) -> StoreOpenError {
    StoreOpenError(
      code: .otherSchema,
      message: "the PostgreSQL database is not the one that the directory's state was being moved to, and that may be "
        + "served already: run the same with --to \(target.place)")
  }

  fileprivate static func disturbedMove(_ finding: String) -> StoreOpenError {
    StoreOpenError(
      code: .corrupt,
      message: "the PostgreSQL database: \(finding): somebody else writes to it; stop that, then run the same again")
  }
}
