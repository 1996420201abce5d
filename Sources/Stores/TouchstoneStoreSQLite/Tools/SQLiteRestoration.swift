// A database that was put back to an earlier time, from a backup or by other means.

public import TouchstonePolicy
public import TouchstoneStore

public enum SQLiteRestoration {
  /// Declares a directory restored whose database file was put back by other means than `SQLiteBackup`: what was issued
  /// before is void from then on. Fails where a service has the directory, or there is no whole database in it.
  ///
  /// - Parameter now: when the audit log says that it was restored.
  public static func begin(directory path: String, at now: UnixTime) throws(StoreOpenError) -> Restoration {
    let database = "\(path)/\(DataDirectory.databaseName)"
    // Before the directory is claimed, which would make it.
    try DatabaseFile.inspectHeader(path: database)
    let directory = try DataDirectory(claiming: path)
    // No other process opens the database before this connection has released it.
    defer { withExtendedLifetime(directory) {} }
    let connection = try DatabaseFile.open(in: directory, virtualFileSystem: nil)
    do throws(SQLiteError) {
      // However large: if another moment's write-ahead log lay beside the file, SQLite has put its pages into the file.
      try DatabaseFile.checkPages(connection)
      try connection.execute("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")
      let restoration = try begin(on: connection, at: now)
      try connection.execute("COMMIT")
      return restoration
    } catch {
      throw StoreOpenError(error, path: database)
    }
  }

  /// A line of history of its own, whose first event is the restoration: within a transaction.
  static func begin(on connection: SQLiteConnection, at now: UnixTime) throws(SQLiteError) -> Restoration {
    let log = EventLog(on: connection)
    let last = try log.head()
    var chain = EventChain(continuing: last)
    let lineage = try connection.lineage().successor()
    // The mark speaks for keys of lines that are past, which are void already. It may be a wrong clock's.
    try connection.execute("UPDATE lineage SET number = \(lineage.rawValue); UPDATE sweep_mark SET swept_before = 0")
    try log.append(chain.append(.restored(after: last, at: now), salt: .random()))
    try log.setHead(chain.head)
    return Restoration(last: last, head: chain.head)
  }
}
