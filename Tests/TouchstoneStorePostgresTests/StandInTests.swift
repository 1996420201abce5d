import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

// R37
struct StandInTests {
  @Test func theLeastRecentlyWrittenStandInsGoFirst() async throws {
    var options = PostgresStoreOptions.small
    options.maximumStandIns = 3
    options.clock = StoreConformance.tickingClock(from: options.clock())
    try await withDatabase { [options] uri in
      _ = try await PostgresMigration.run(uri: uri, options: options)
      try await StoreConformance.expectBoundedStandIns { try await PostgresStore.open(uri: uri, options: options) }
    }
  }

  /// What one replica's guesses added, another one's sweep finds as soon as it looks.
  @Test func theBoundIsTheDatabasesNotTheReplicas() async throws {
    var options = PostgresStoreOptions.small
    options.maximumStandIns = 2
    options.clock = StoreConformance.tickingClock(from: options.clock())
    try await withStores(2, options: options) { stores in
      let ids = (1...4).map { DeviceRecord.standInID(forUnknownBinding: "b-\($0)", applicationID: "a") }
      for (number, id) in ids.enumerated() { try await stores[number % 2].commit(.putDevice(.sample(id, failures: 1))) }
      _ = try await stores[0].sweep(before: Sample.now)
      var kept: [String] = []
      for id in ids where try await stores[1].device(id: id).version > 0 { kept.append(id) }
      #expect(kept == Array(ids.suffix(2)))
    }
  }
}
