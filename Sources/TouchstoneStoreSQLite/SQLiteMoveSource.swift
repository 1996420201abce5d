// A stopped service's data directory, as the place that all of its state is moved from.

public import TouchstoneStore

internal import TouchstonePolicy

/// Holds the directory's lock until it is released. Confined to one task.
public final class SQLiteMoveSource {
  private let directory: DataDirectory
  private let connection: SQLiteConnection

  /// Fails where a service has the directory, where there is no database in it, or where its database is not whole.
  public init(directory path: String) throws(StoreOpenError) {
    try DatabaseFile.inspectHeader(path: "\(path)/\(DataDirectory.databaseName)", isWritten: false)
    directory = try DataDirectory(claiming: path)
    connection = try DatabaseFile.open(in: directory, virtualFileSystem: nil)
  }

  /// Of the whole log, to know before the move that it is worth one.
  public func verifyLog() throws(StoreOpenError) -> AuditLogVerification {
    try reading { () throws(SQLiteError) in try SQLiteAuditLog.verify(directory.databasePath, .readOnly) }
  }

  /// From now on nobody serves from here, durably: what was used there would be unused here.
  public func markMoved() throws(StoreOpenError) {
    try reading { () throws(SQLiteError) in
      try connection.execute("PRAGMA synchronous = FULL; PRAGMA application_id = \(Schema.movedApplicationID)")
      // The header is read without SQLite: it must not be in the log alone.
      try connection.emptyLog()
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
  package func marks() throws(StoreOpenError) -> MovedMarks {
    try reading { () throws(SQLiteError) in
      let log = try EventLog(on: connection)
      return MovedMarks(
        lineage: try connection.lineage(), sweptBefore: try RecordReader(on: connection).sweptBefore(),
        highestErasedVersion: try ProfileEraser(on: connection).mark(),
        keyCheck: try Statement("SELECT value FROM key_check", on: connection).first { row in row.blob() },
        eventChainStart: try log.start(), eventChainHead: try log.head())
    }
  }

  package func counts() throws(StoreOpenError) -> MovedCounts {
    try reading { () throws(SQLiteError) in
      var counts: MovedCounts = [:]
      for table in MovedTable.allCases {
        counts[table] = try connection.integer("SELECT count(*) FROM \(table.rawValue)")
      }
      return counts
    }
  }

  package func forEachBatch<Failure>(
    of table: MovedTable, limit: Int, _ body: ([MovedRow]) async throws(Failure) -> Void
  ) async throws(Failure) -> StoreOpenError? {
    let statement: Statement
    do throws(SQLiteError) {
      statement = try Statement(table.selection, on: connection)
    } catch {
      return StoreOpenError(error, path: directory.databasePath)
    }
    defer { statement.reset() }
    while true {
      var batch: [MovedRow] = []
      do throws(SQLiteError) {
        while batch.count < limit, var row = try statement.next() { batch.append(try table.decode(&row)) }
      } catch {
        return StoreOpenError(error, path: directory.databasePath)
      }
      if !batch.isEmpty { try await body(batch) }
      // After its last row a statement would begin anew.
      if batch.count < limit { return nil }
    }
  }
}

extension MovedTable {
  fileprivate var selection: String {
    switch self {
    case .bindings:
      "SELECT \(BindingRecord.columns) FROM bindings LEFT JOIN binding_uses ON binding_number = number"
    case .devices: "SELECT \(DeviceRecord.columns), stand_in_until FROM devices"
    case .profiles: "SELECT \(ProfileRecord.columns), stand_in_until FROM profiles"
    case .evaluations: "SELECT \(EvaluationRecord.columns) FROM evaluations"
    case .tokens: "SELECT \(TokenRecord.columns) FROM tokens"
    case .usedTickets: "SELECT expires_at, id FROM used_tickets"
    case .events: "SELECT \(EventRecord.columns) FROM events ORDER BY sequence"
    }
  }

  fileprivate func decode(_ row: inout Row) throws(SQLiteError) -> MovedRow {
    switch self {
    case .bindings: return .binding(try BindingRecord(&row))
    case .devices:
      let device = DeviceRecord(&row)
      return .device(device, standInUntil: row.optionalInteger().map { UnixTime($0) })
    case .profiles:
      let profile = try ProfileRecord(&row)
      return .profile(profile, standInUntil: row.optionalInteger().map { UnixTime($0) })
    case .evaluations: return .evaluation(try EvaluationRecord(&row))
    case .tokens: return .token(try TokenRecord(&row))
    case .usedTickets: return .usedTicket(try row.key())
    case .events: return .event(try EventRecord(&row))
    }
  }
}
