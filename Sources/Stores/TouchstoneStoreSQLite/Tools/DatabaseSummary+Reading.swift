// How a database file is read and verified as a whole.

internal import TouchstoneStore

extension DatabaseSummary {
  /// Reads a whole file to which no process writes: its pages and indexes, its tables' definitions, its audit log.
  ///
  /// - Parameter name: the file's in errors; `nil`: its path.
  static func verified(path: String, named name: String? = nil) throws(StoreOpenError) -> DatabaseSummary {
    let name = name ?? path
    try DatabaseFile.inspectHeader(path: path, named: name, isWritten: false)
    let summary: DatabaseSummary
    do throws(SQLiteError) {
      summary = try verified(by: SQLiteConnection(path: path, access: .readImmutable), path: path)
    } catch {
      throw StoreOpenError(error, path: name)
    }
    if let fault = summary.events.fault { throw .corrupt(name, "\(fault)") }
    return summary
  }

  private static func verified(
    by connection: SQLiteConnection, path: String
  ) throws(SQLiteError) -> DatabaseSummary {
    let finding = try Statement("PRAGMA integrity_check(1)", on: connection).first { row in row.text() }
    guard finding == "ok" else { throw SQLiteError(code: .corrupt, message: finding ?? "it cannot be checked") }
    guard try Schema.isIntact(on: connection) else {
      throw SQLiteError(code: .corrupt, message: "its tables are not as its version makes them")
    }
    return DatabaseSummary(
      tables: try Schema.counts(on: connection),
      byteCount: try connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size"),
      events: try SQLiteAuditLog.verify(path, .readImmutable))
  }
}

extension Schema {
  /// Counts the rows of each table.
  static func counts(on connection: SQLiteConnection) throws(SQLiteError) -> [DatabaseSummary.TableCount] {
    var counts: [DatabaseSummary.TableCount] = []
    for table in try tableNames(on: connection) {
      counts.append(.init(table: table, rows: try connection.integer("SELECT count(*) FROM \"\(table)\"")))
    }
    return counts
  }

  /// All but SQLite's own.
  static func tableNames(on connection: SQLiteConnection) throws(SQLiteError) -> [String] {
    let select = Statement(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
      on: connection)
    var names: [String] = []
    while var row = try select.next() { names.append(row.text()) }
    return names
  }
}
