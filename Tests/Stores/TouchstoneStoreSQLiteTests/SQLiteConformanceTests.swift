import StoreConformance
import TestSupport
import Testing
import TouchstoneStoreSQLite

/// SQLite does all that every store must do.
struct SQLiteConformanceTests {
  @Test(arguments: StoreConformance.checks)
  func conforms(_ check: StoreConformance.Check) async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await check.run(store)
      await store.close()
    }
  }

  /// The same with hardly any memory: everything is read from the database.
  @Test(arguments: StoreConformance.checks)
  func conformsWithoutMemory(_ check: StoreConformance.Check) async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.cachedBindings = 0
      options.cachedDevices = 0
      options.cachedProfiles = 0
      options.cachedEvaluations = 0
      options.cachedTokens = 0
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await check.run(store)
      await store.close()
    }
  }
}
