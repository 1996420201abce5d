// A stopped service's data directory, as the source of a move.

public import TouchstoneStore

/// Holds the directory's lock until it is released. Confined to one task.
public final class SQLiteMoveSource {
  /// For other readers of the file: longer than a page of events takes. The move does not wait for a backup.
  private static let maximumWaitMilliseconds: Int32 = 2_000

  private let directory: DataDirectory
  private let connection: SQLiteConnection

  /// Fails if a service has the directory, if there is no database in it, or if its database is not whole.
  public init(directory path: String) throws(StoreOpenError) {
    let database = "\(path)/\(DataDirectory.databaseName)"
    try DatabaseFile.inspectHeader(path: database, isWritten: false, isMoved: true)
    directory = try DataDirectory(claiming: path)
    connection = try DatabaseFile.open(in: directory, virtualFileSystem: nil, isMoved: true)
  }

  /// Verifies the whole log before the move, because a broken log is not moved.
  public func verifyLog() throws(StoreOpenError) -> AuditLogVerification {
    try reading { () throws(SQLiteError) in try SQLiteAuditLog.verify(directory.databasePath, .readOnly) }
  }

  /// Counts the rows in a directory that stays as it is, also beside a running service.
  public static func counts(directory: String) throws(StoreOpenError) -> [String: Int64] {
    let path = "\(directory)/\(DataDirectory.databaseName)"
    try DatabaseFile.inspectHeader(path: path, isWritten: false, isMoved: true)
    do throws(SQLiteError) {
      return try ClosedFile.reading(path) { access throws(SQLiteError) in
        let counts = try counts(on: SQLiteConnection(path: path, access: access))
        return Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
      }
    } catch {
      throw StoreOpenError(error, path: path)
    }
  }

  private static func counts(on connection: SQLiteConnection) throws(SQLiteError) -> MovedCounts {
    var counts: MovedCounts = [:]
    for table in MovedTable.allCases {
      counts[table] = try connection.integer("SELECT count(*) FROM (\(table.selection))")
    }
    return counts
  }

  /// Records that the move has ended. If a crash takes this back, the record that it began remains (`markBeingMoved`).
  public func markMoved() throws(StoreOpenError) {
    try reading { () throws(SQLiteError) in
      try connection.execute("PRAGMA synchronous = FULL; PRAGMA application_id = \(Schema.movedApplicationID)")
    }
  }

  private func reading<Value>(_ body: () throws(SQLiteError) -> Value) throws(StoreOpenError) -> Value {
    do throws(SQLiteError) {
      return try body()
    } catch {
      throw StoreOpenError(error, path: directory.databasePath)
    }
  }
}

extension SQLiteMoveSource: MoveSource {
  package func target() throws(StoreOpenError) -> MoveTarget? {
    try reading { () throws(SQLiteError) in
      guard try connection.integer("PRAGMA application_id") == Schema.beingMovedApplicationID else { return nil }
      return try Statement("SELECT mark, place FROM \(Schema.moveTarget)", on: connection)
        .first { row throws(SQLiteError) in
          MoveTarget(mark: try row.value(UniqueID(bytes: row.blob()), "mark"), place: row.text())
        }
    }
  }

  package func markBeingMoved(to target: MoveTarget) throws(StoreOpenError) {
    let isFirst = try self.target() == nil
    do throws(SQLiteError) {
      if isFirst { try mark(target) }
      // Not only in the log, which is a separate file: a database that lost it must not serve either.
      try connection.emptyLog(waitMilliseconds: Self.maximumWaitMilliseconds)
    } catch {
      // No service uses the other store yet, so this one may go on, unless an earlier move got further.
      if isFirst { try reading { () throws(SQLiteError) in try takeMarkBack() } }
      guard error.code.primary != .busy else { throw .beingRead(directory.databasePath, isServed: isFirst) }
      throw StoreOpenError(error, path: directory.databasePath)
    }
  }

  private func mark(_ target: MoveTarget) throws(SQLiteError) {
    try connection.execute("PRAGMA synchronous = FULL; BEGIN; \(Schema.beginMove)")
    try Statement("INSERT INTO \(Schema.moveTarget) VALUES (1, ?, ?)", on: connection)
      .bind(target.mark.bytes).bind(target.place).run()
    try connection.execute("COMMIT")
  }

  private func takeMarkBack() throws(SQLiteError) {
    if connection.isInTransaction { try connection.execute("ROLLBACK") }
    try connection.execute("BEGIN; \(Schema.takeMoveBack); COMMIT")
  }

  package func marks() throws(StoreOpenError) -> MovedMarks {
    try reading { () throws(SQLiteError) in
      let log = EventLog(on: connection)
      let reader = RecordReader(on: connection)
      return MovedMarks(
        lineage: try connection.lineage(), sweptBefore: try reader.sweptBefore(),
        keyCheck: try Statement("SELECT value FROM key_check", on: connection).first { row in row.blob() },
        eventChainStart: try log.start(), eventChainHead: try log.head())
    }
  }

  package func counts() throws(StoreOpenError) -> MovedCounts {
    try reading { () throws(SQLiteError) in try Self.counts(on: connection) }
  }

  package func forEachBatch(
    of table: MovedTable, limit: Int, _ body: ([MovedRow]) async throws(StoreOpenError) -> Void
  ) async throws(StoreOpenError) {
    let statement = Statement(table.selection, on: connection)
    defer { statement.reset() }
    var batch: [MovedRow]
    repeat {
      batch = try reading { () throws(SQLiteError) in
        var rows: [MovedRow] = []
        while rows.count < limit, var row = try statement.next() { rows.append(try table.decode(&row)) }
        return rows
      }
      if !batch.isEmpty { try await body(batch) }
      // After its last row a statement would begin anew.
    } while batch.count == limit
  }
}

extension StoreOpenError {
  fileprivate static func beingRead(_ path: String, isServed: Bool) -> StoreOpenError {
    StoreOpenError(
      code: .locked,
      message: "\(path): another process reads it (a backup, a verification), so that it cannot be marked as moved"
        + "\(isServed ? "; it was not moved, and can be served from" : ""): run the same again when no other process "
        + "reads it")
  }
}

extension ProfileRecord {
  /// In another kind of store, a mark is a row of `profiles`.
  fileprivate static let columnsOfErasureMark = columns.names.map { column in
    switch column {
    case "application_id", "version": column
    case "profile_id": "mark_id"
    case let name where name.hasPrefix("is_") || name == "incarnation": "0"
    default: "NULL"
    }
  }.joined(separator: ", ")
}

extension MovedTable {
  fileprivate var selection: String {
    switch self {
    case .bindings:
      "SELECT \(BindingRecord.columns) FROM \(BindingRecord.joined)"
    case .receipts: "SELECT binding_id, receipt FROM app_attest_receipts"
    case .devices: "SELECT \(DeviceRecord.columns) FROM devices"
    case .profiles:
      """
      SELECT \(ProfileRecord.columns) FROM profiles
      UNION ALL SELECT \(ProfileRecord.columnsOfErasureMark) FROM erasure_marks
      """
    case .evaluations: "SELECT expires_at, id, \(EvaluationRecord.columns) FROM evaluations"
    case .tokens: "SELECT expires_at, id, \(TokenRecord.columns) FROM tokens"
    case .usedTickets: "SELECT expires_at, id FROM used_tickets"
    case .events: "SELECT \(EventRecord.columns) FROM events ORDER BY sequence"
    }
  }

  fileprivate func decode(_ row: inout Row) throws(SQLiteError) -> MovedRow {
    switch self {
    case .bindings: return .binding(try BindingRecord(&row))
    case .receipts: return .receipt(bindingID: row.text(), row.blob())
    case .devices: return .device(DeviceRecord(&row))
    case .profiles: return .profile(try ProfileRecord(&row))
    case .evaluations: return .evaluation(EvaluationRecord(key: try row.key(), &row))
    case .tokens: return .token(try TokenRecord(key: try row.key(), &row))
    case .usedTickets: return .usedTicket(try row.key())
    case .events: return .event(try EventRecord(&row))
    }
  }
}
