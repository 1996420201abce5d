import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

// R37
struct StandInTests {
  @Test func theLeastRecentlyWrittenStandInsGoFirst() async throws {
    var options = PostgresStoreOptions.small
    options.maximumStandIns = 3
    options.clock = StoreConformance.tickingClock(over: options.clock)
    try await withDatabase { [options] uri in
      _ = try await PostgresMigration.run(uri: uri, options: options)
      try await StoreConformance.expectBoundedStandIns { try await PostgresStore.open(uri: uri, options: options) }
    }
  }

  @Test func oneApplicationsGuessesPushOutNoOtherOnes() async throws {
    var options = PostgresStoreOptions.small
    options.maximumStandIns = 6
    options.clock = StoreConformance.tickingClock(over: options.clock)
    try await withStores(1, options: options) { stores in
      try await StoreConformance.expectStandInsOfApplicationsApart(in: stores[0])
    }
  }

  @Test(arguments: [100, 1_500]) func guessesInInventedApplicationsPushOutNoNamedOnes(_ inventedApplications: Int)
    async throws
  {
    var options = PostgresStoreOptions.small
    options.maximumStandIns = 20
    options.namedApplications = ["bank", "caf\u{e9}", "bank"]
    options.clock = StoreConformance.tickingClock(over: options.clock)
    try await withStores(1, options: options) { stores in
      try await StoreConformance.expectStandInsOfNamedApplicationsKept(
        in: stores[0], inventedApplications: inventedApplications)
    }
  }

  @Test func applicationsThatAReloadNamesKeepTheirsFromThenOn() async throws {
    var options = PostgresStoreOptions.small
    options.maximumStandIns = 20
    options.clock = StoreConformance.tickingClock(over: options.clock)
    try await withStores(1, options: options) { [options] stores in
      try await StoreConformance.expectStandInsOfNamedApplicationsKept(in: stores[0], inventedApplications: 100) {
        options.namedApplications.replace(with: ["bank", "caf\u{e9}"])
      }
    }
  }

  /// More applications than are looked at: only a caller that is granted all can name so many. The bound holds all the same.
  @Test func theBoundHoldsHoweverManyApplicationsThereAre() async throws {
    var options = PostgresStoreOptions.small
    options.maximumStandIns = 10
    options.clock = StoreConformance.tickingClock(over: options.clock)
    try await withStores(1, options: options) { stores in
      let ids = (0..<1_500).map { DeviceRecord.standInID(forUnknownBinding: "b", applicationID: "a-\($0)") }
      // Those of one change set are of one time.
      for start in stride(from: 0, to: ids.count, by: 5) {
        try await stores[0].commit(ids[start..<start + 5].map { .putDevice(.sample($0, failures: 1)) })
      }
      while try await stores[0].sweep(before: Sample.now).hasMore {}
      var kept = 0
      for id in ids where try await stores[0].device(id: id).version > 0 { kept += 1 }
      #expect((6...10).contains(kept))
    }
  }

  /// The sweep of one replica finds the stand-ins that another replica's guesses added, as soon as it looks.
  @Test func theBoundIsTheDatabasesNotTheReplicas() async throws {
    var options = PostgresStoreOptions.small
    options.maximumStandIns = 2
    options.clock = StoreConformance.tickingClock(over: options.clock)
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
