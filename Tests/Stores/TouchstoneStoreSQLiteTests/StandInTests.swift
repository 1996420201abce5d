import TestSupport
import StoreConformance
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStoreSQLite

// R37
struct StandInTests {
  @Test func theLeastRecentlyWrittenStandInsGoFirst() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.maximumStandIns = 3
      options.clock = StoreConformance.tickingClock()
      try await StoreConformance.expectBoundedStandIns { [options] in
        try SQLiteStore.open(directory: directory, options: options)
      }
    }
  }

  @Test func oneApplicationsGuessesPushOutNoOtherOnes() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.maximumStandIns = 6
      options.clock = StoreConformance.tickingClock()
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await StoreConformance.expectStandInsOfApplicationsApart(in: store)
      await store.close()
      try expectRightCounts(in: directory)
    }
  }

  @Test func guessesInInventedApplicationsPushOutNoNamedOnes() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.maximumStandIns = 20
      options.namedApplications = ["bank", "caf\u{e9}", "bank"]
      options.clock = StoreConformance.tickingClock()
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await StoreConformance.expectStandInsOfNamedApplicationsKept(in: store, inventedApplications: 100)
      await store.close()
      try expectRightCounts(in: directory)
    }
  }

  @Test func applicationsThatAReloadNamesKeepTheirsFromThenOn() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.maximumStandIns = 20
      options.clock = StoreConformance.tickingClock()
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await StoreConformance.expectStandInsOfNamedApplicationsKept(in: store, inventedApplications: 100) {
        options.namedApplications.replace(with: ["bank", "caf\u{e9}"])
      }
      await store.close()
    }
  }

  /// Whatever became of them: guessed at, evicted, swept, erased, or refused in a commit.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func theCountsAreThoseOfTheRows(_ seed: UInt64) async throws {
    try await withTemporaryDirectory { directory in
      var chance = SeededGenerator(seed: seed)
      var options = SQLiteStoreOptions()
      options.maximumStandIns = 20
      options.clock = StoreConformance.tickingClock()
      var store = try SQLiteStore.open(directory: directory, options: options)
      for _ in 0..<300 {
        let (application, number) = ("a-\(chance.next() % 30)", chance.next() % 5)
        let device = DeviceRecord.standInID(forUnknownBinding: "b-\(number)", applicationID: application)
        let profile = ProfileRecord.sample(
          ProfileRecord.standInID(forProfile: "p-\(number)"), application: application)
        switch chance.next() % 8 {
        case 0:
          let erasure = ProfileErasure(
            applicationID: application, profileID: "p-\(number)", time: Sample.now, caller: "admin",
            reason: "ticket 4711")
          try await store.commit(.eraseProfile(erasure))
        case 1: _ = try await store.sweep(before: Sample.now + .seconds(366 * 24 * 60 * 60))
        case 2:
          await store.close()
          store = try SQLiteStore.open(directory: directory, options: options)
        // Some are there already: a conflict.
        default: try? await store.commit(.putDevice(.sample(device, failures: 1)), .putProfile(profile))
        }
      }
      await store.close()
      try expectRightCounts(in: directory)
    }
  }

  private func expectRightCounts(in directory: String) throws {
    let connection = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite)
    let difference = """
      SELECT count(*) FROM (
        SELECT * FROM (
          SELECT 1, \(Schema.applicationOfStandInDevice), count(*) FROM devices WHERE stand_in_until IS NOT NULL GROUP BY 2
          UNION ALL
          SELECT 2, application_id, count(*) FROM profiles WHERE stand_in_until IS NOT NULL GROUP BY 2)
        EXCEPT SELECT kind, application_id, number FROM stand_in_counts)
      """
    #expect(try connection.integer(difference) == 0)
    let total = try connection.integer("SELECT coalesce(sum(number), 0) FROM stand_in_counts")
    let rows = "(SELECT count(*) FROM devices WHERE stand_in_until IS NOT NULL)"
    #expect(
      try connection.integer(
        "SELECT \(rows) + (SELECT count(*) FROM profiles WHERE stand_in_until IS NOT NULL)") == total)
  }

  /// Neither a commit nor a sweep looks at all stand-ins.
  @Test func whatIsForgottenIsFoundByItsIndex() throws {
    let connection = try SQLiteConnection(path: ":memory:", access: .create)
    try Schema.create(on: connection)
    for (table, application) in [("devices", Schema.applicationOfStandInDevice), ("profiles", "application_id")] {
      let plan = try Statement(
        """
        EXPLAIN QUERY PLAN SELECT 1 FROM \(table) WHERE \(application) = 'a' AND stand_in_until IS NOT NULL
        ORDER BY stand_in_until LIMIT 1
        """, on: connection)
      var steps: [String] = []
      while var row = try plan.next() {
        _ = (row.integer(), row.integer(), row.integer())
        steps.append(row.text())
      }
      #expect(steps.count == 1)
      #expect(steps[0].contains("stand_in_\(table)_of_application (") && steps[0].hasPrefix("SEARCH"))
    }
  }

  /// Not at the next sweep, which a wrong clock may put off.
  @Test func theBoundHoldsInTheCommitThatWouldExceedIt() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.maximumStandIns = 2
      options.clock = StoreConformance.tickingClock()
      let store = try SQLiteStore.open(directory: directory, options: options)
      let ids = (1...3).map { DeviceRecord.standInID(forUnknownBinding: "b-\($0)", applicationID: "a") }
      for id in ids { try await store.commit(.putDevice(.sample(id, failures: 1))) }
      #expect(try await store.device(id: ids[0]) == DeviceRecord(deviceID: ids[0]))
      #expect(try await store.device(id: ids[1]).version == 1)
      // A decision that rested on the forgotten row is refused, and made anew.
      await #expect(throws: StoreError.self) {
        try await store.commit(.putDevice(.sample(ids[0], failures: 2, version: 1)))
      }
      await store.close()
    }
  }

  @Test func aLoweredBoundIsReachedBySweeping() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      let store = try SQLiteStore.open(directory: directory, options: options)
      for batch in 0..<30 {
        let changes = (0..<100).map { number in
          Change.putProfile(.sample(ProfileRecord.standInID(forProfile: "nobody \(batch) \(number)")))
        }
        try await store.commit(changes)
      }
      await store.close()
      options.maximumStandIns = 10
      let lowered = try SQLiteStore.open(directory: directory, options: options)
      var steps = 1
      while try await lowered.sweep(before: Sample.now).hasMore { steps += 1 }
      #expect((2...10).contains(steps))
      var count = 0
      for number in 0..<100 {
        let id = ProfileRecord.standInID(forProfile: "nobody 29 \(number)")
        if try await lowered.profile(id).version > 0 { count += 1 }
      }
      #expect(count == 10)
      await lowered.close()
    }
  }
}
