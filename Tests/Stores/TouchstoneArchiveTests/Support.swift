import Glibc
import StoreConformance
import TestSupport
import TouchstonePolicy
import TouchstoneStore
import TouchstoneStoreSQLite

extension File {
  /// But for the lock that an archive keeps.
  static func archiveNames(in directory: String) throws -> [String] {
    try names(in: directory).filter { $0 != "archive.lock" }
  }
}

extension EventDraft {
  /// So many seconds after the samples' now.
  static func at(_ seconds: Int, profile: String = "alice") -> EventDraft {
    var event = EventDraft.sample(profile: profile)
    event.time = Sample.now + .seconds(seconds)
    return event
  }
}

/// A store, and the directory that its events are archived to.
func withStore<Value>(
  options: SQLiteStoreOptions = SQLiteStoreOptions(),
  _ body: (SQLiteStore, _ data: String, _ archive: String) async throws -> Value
) async throws -> Value {
  try await withTemporaryDirectory { directory in
    let store = try SQLiteStore.open(directory: "\(directory)/data", options: options)
    do {
      let value = try await body(store, "\(directory)/data", "\(directory)/archive")
      await store.close()
      return value
    } catch {
      await store.close()
      throw error
    }
  }
}
