import StoreConformance
import TemporaryFiles
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
      // What rested on the forgotten row is refused, and decided anew.
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
