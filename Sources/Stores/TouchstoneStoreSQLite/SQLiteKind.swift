// SQLite, as commands and a start ask for it.

package import TouchstonePolicy
package import TouchstoneStore

package struct SQLiteKind: DirectoryStoreKind {
  package let name = "sqlite"
  package let title = "SQLite"

  package init() {}

  package func open(_ place: StorePlace, options: StoreOptions) throws(StoreOpenError) -> OpenStore {
    var own = SQLiteStoreOptions()
    own.brokenEventFound = options.brokenEventFound
    own.observer = options.observer
    let store = try SQLiteStore.open(directory: place.text, options: own)
    return OpenStore(store, statistics: { store.statistics })
  }

  package func verifyLog(
    _ place: StorePlace, accounts: AccountReview
  ) throws(StoreOpenError) -> AuditLogVerification {
    try SQLiteAuditLog.verify(directory: place.text, accounts: accounts)
  }

  package func beginRestoration(_ place: StorePlace, at now: UnixTime) throws(StoreOpenError) -> Restoration {
    try SQLiteRestoration.begin(directory: place.text, at: now)
  }

  package func isThere(in directory: String) -> Bool { SQLiteStore.isThere(in: directory) }

  package func backUp(
    _ directory: String, to file: String, sign: (_ path: String) throws(StoreOpenError) -> Void
  ) throws(StoreOpenError) -> DatabaseSummary {
    try SQLiteBackup.write(directory: directory, to: file, sign: sign)
  }

  package func restore(
    _ directory: String, from file: String, at now: UnixTime, accept: () throws(StoreOpenError) -> Void
  ) throws(StoreOpenError) -> (backup: DatabaseSummary, restoration: Restoration) {
    try SQLiteBackup.restore(from: file, to: directory, at: now, accept: accept)
  }

  package func moveSource(in directory: String) throws(StoreOpenError) -> any MoveSource {
    try SQLiteMoveSource(directory: directory)
  }

  package func movedCounts(in directory: String) throws(StoreOpenError) -> [String: Int64] {
    try SQLiteMoveSource.counts(directory: directory)
  }
}
