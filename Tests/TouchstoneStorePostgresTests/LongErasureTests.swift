import PostgresServer
import StoreConformance
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// An erasure that takes its time, beside commits of the same profile.
struct LongErasureTests {
  /// Its events are many, or somebody has hold of one.
  @Test func noCommitOfTheProfileWaitsForItsEventsToBeErased() async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: .small)
      try await withStores(1, at: uri) { stores in
        let store = stores[0]
        try await store.commit(.putProfile(.sample()), events: [.sample("before")])
        #expect(try await store.events().count == 1)
        var erasure: Task<Void, any Error>?
        try await withTransaction("SELECT * FROM events FOR UPDATE", at: uri) {
          erasure = Task { try await store.commit(.eraseProfile(.alice)) }
          let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'tuple' AND relation = 'events'::regclass"
          while try PostgresServer.shared.get().execute(waiting, at: uri) != ["1"] { await Task.yield() }
          try await store.commit(.putProfile(try await store.profile()), events: [.sample("meanwhile")])
        }
        try await erasure?.value
        #expect(try await store.profile().version == 0)
        #expect(try await store.events().map(\.isErased) == [true, true, false])
      }
    }
  }
}
