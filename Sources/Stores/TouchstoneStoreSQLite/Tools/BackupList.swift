// The backups that the service made by itself: how it copies its database, and the list of them in it.

public import TouchstonePolicy
public import TouchstoneStore

public struct BackupRecord: Sendable, Hashable {
  /// In the directory of backups.
  public var name: String
  public var madeAt: UnixTime
  public var byteCount: Int64

  public init(name: String, madeAt: UnixTime, byteCount: Int64) {
    (self.name, self.madeAt, self.byteCount) = (name, madeAt, byteCount)
  }
}

extension SQLiteStore {
  /// Copies the database for `file` as it is at one moment. Blocks the thread meanwhile, and delays no commit.
  public func copy(to file: String, isCancelled: () -> Bool) throws(StoreOpenError) -> SQLiteCopy {
    // Not by `SQLiteBackup.copy(directory:)`: closing its descriptor of the database would end this process's locks on
    // it (fcntl(2)).
    try SQLiteBackup.copy(databasePath, .readOnly, to: file, isCancelled: isCancelled)
  }

  /// In the order in which they were made.
  public func backups(completion: @escaping Completion<[BackupRecord]>) {
    upkeep(completion) { connection throws(SQLiteError) in
      let select = Statement("SELECT name, made_at, bytes FROM backups ORDER BY number", on: connection)
      var backups: [BackupRecord] = []
      while var row = try select.next() {
        let (name, madeAt) = (row.text(), UnixTime(microseconds: row.integer()))
        backups.append(BackupRecord(name: name, madeAt: madeAt, byteCount: row.integer()))
      }
      return backups
    }
  }

  /// Some hundred rows at most, a few times a day.
  public func replaceBackups(by backups: [BackupRecord], completion: @escaping Completion<Void>) {
    upkeep(completion) { connection throws(SQLiteError) in
      try connection.execute("DELETE FROM backups")
      let insert = Statement("INSERT INTO backups (name, made_at, bytes) VALUES (?, ?, ?)", on: connection)
      for backup in backups { try insert.bind(backup.name).bind(backup.madeAt).bind(backup.byteCount).run() }
    }
  }
}
