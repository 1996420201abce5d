// Moves all of another store's state into an empty database.

internal import TouchstonePolicy
package import TouchstoneStore

/// In one transaction: the database has the tables and all rows, which were read back, or nothing. A service refuses a
/// database without tables, so none uses it before.
package enum PostgresMove {
  /// - Parameter uri: a database without tables.
  package static func fill(
    uri: String, from source: some MoveSource, by build: String = PostgresMigration.unknownBuild,
    options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> StoreMove {
    let targets = try ConnectionTarget.prepared(uri)
    let place = try PostgresAddress(uri: uri).description
    let server = try await ServerInspection.run(targets: targets, options: options)
    // Found out before anything is locked: another application may use the same lock.
    let state = try await DatabaseInspection(targets: targets, options: options).state()
    if let refusal = DatabaseInspection.refusal(of: state), state != .empty { throw refusal }
    let lane = ConnectionLane.ofOneConnection(targets: targets, options: options, timeout: PostgresMigration.timeout)
    return try await StoreOpenError.of { () throws(PostgresError) in
      try await lane.withSession { session throws(PostgresError) -> Result<StoreMove, StoreOpenError> in
        let mark = try await DatabaseInspection.mark(in: session, ofPlace: server.hasTimelines ? nil : place)
        try await PostgresMigration.lock(session)
        do throws(StoreOpenError) {
          let filling = Filling(session: session, target: MoveTarget(mark: mark, place: place), build: build)
          return .success(try await filling.fill(from: source))
        } catch {
          // Outside of a transaction it causes only a warning, which is ignored.
          _ = try? await session.run([StatementCall(.rollBack)])
          return .failure(error)
        }
      }
    }.get()
  }
}

/// Runs on one session, which has no other user and holds the lock of migrations.
private struct Filling {
  /// The number of rows in one round trip.
  private static let batchRows = 1_000

  let session: ConnectionLane.Session
  let target: MoveTarget
  let build: String

  func fill(from source: some MoveSource) async throws(StoreOpenError) -> StoreMove {
    let marks = try source.marks()
    let counts = try source.counts()
    let earlier = try source.target()
    // Another process may have made tables while this one waited.
    let state = try await StoreOpenError.of { () throws(PostgresError) in
      try await DatabaseInspection.state(in: session)
    }
    guard state == .empty else {
      if let refusal = DatabaseInspection.refusal(of: state) { throw refusal }
      return try await earlierMove(of: marks, to: earlier)
    }
    // A source that was being moved elsewhere is not moved here.
    if let earlier, earlier.mark != target.mark { throw .isElsewhere(earlier) }
    try await run([StatementCall(.begin)] + (Schema.creation + [Schema.record(by: build)]).map { .raw($0) })
    try await StoreOpenError.of { () throws(PostgresError) in try await DatabaseInspection.requireTables(in: session) }
    for table in MovedTable.allCases { try await insertAll(of: table, from: source) }
    try await run(Self.setting(marks))
    let events = try await verified(counts, marks)
    // Before a service can use this database, so that both are never used.
    try source.markBeingMoved(to: target)
    try await run([StatementCall(.commit)])
    return StoreMove(counts: counts, events: events)
  }

  private func insertAll(of table: MovedTable, from source: some MoveSource) async throws(StoreOpenError) {
    let empty = RowInsertion(into: table)
    try await run([empty.preparation])
    try await source.forEachBatch(of: table, limit: Self.batchRows) { rows throws(StoreOpenError) in
      var insertion = empty
      for row in rows { insertion.append(row) }
      try await run([insertion.call])
    }
  }

  // MARK: Before

  /// Continues from the end of the source: it was moved here, and the source can no longer be told apart.
  private func earlierMove(of marks: MovedMarks, to target: MoveTarget?) async throws(StoreOpenError) -> StoreMove {
    let head = marks.eventChainHead
    try await StoreOpenError.of { () throws(PostgresError) in try await DatabaseInspection.requireTables(in: session) }
    let results = try await run([
      StatementCall(.selectLineage), StatementCall(.selectEventChain),
      StatementCall(.selectEvents).bind(max(head.sequence, 1) - 1).bind(1).bind(Int64.max),
    ])
    let found = try await StoreOpenError.of { () throws(PostgresError) -> StoreMove? in
      let number = try results[0].only { row in row.integer() }
      let end = try results[1].only { row in EventChain.Head(&row) }
      let events = try results[2].map { row throws(PostgresError) in try EventRecord(&row) }
      let isThere = head == .genesis || events.contains { $0.sequence == head.sequence && $0.hash == head.hash }
      guard number == Int64(marks.lineage.rawValue), end.sequence >= head.sequence, isThere else { return nil }
      let verification = try await PostgresAuditLogReader(session: session).verification()
      return verification.fault == nil ? StoreMove(counts: try await counts(), events: verification) : nil
    }
    guard let found else { throw target.map { .isElsewhere($0) } ?? .occupiedDatabase }
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
  ) async throws(StoreOpenError) -> AuditLogVerification {
    let (found, events) = try await StoreOpenError.of { () throws(PostgresError) in
      (try await counts(), try await PostgresAuditLogReader(session: session).verification())
    }
    for table in MovedTable.allCases where found[table] != expected[table] {
      throw .disturbedMove(
        "\(found[table] ?? 0) rows of \(table.rawValue) are there, where \(expected[table] ?? 0) were moved")
    }
    if let fault = events.fault { throw .disturbedMove("\(fault)") }
    guard events.head == marks.eventChainHead, events.start == marks.eventChainStart else {
      throw .disturbedMove("the audit log does not end where the directory's ends")
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

  @discardableResult
  private func run(_ calls: [StatementCall]) async throws(StoreOpenError) -> [QueryResult] {
    try await StoreOpenError.of { () throws(PostgresError) in try await session.run(calls) }
  }
}

extension StoreOpenError {
  fileprivate static let occupiedDatabase = StoreOpenError(
    code: .unwritable,
    message: "the PostgreSQL database is not empty, and nothing is overwritten: give the move a database without tables"
  )

  fileprivate static func isElsewhere(_ target: MoveTarget) -> StoreOpenError {
    StoreOpenError(
      code: .otherSchema,
      message: "the PostgreSQL database is not the one that the directory's state was being moved to, and that may be "
        + "served already: run the same with --to \(target.place)")
  }

  fileprivate static func disturbedMove(_ finding: String) -> StoreOpenError {
    StoreOpenError(
      code: .corrupt,
      message: "the PostgreSQL database: \(finding), so nothing was moved: check both disks, then run the same again")
  }
}
