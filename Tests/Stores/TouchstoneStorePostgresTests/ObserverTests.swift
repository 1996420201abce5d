import DispatchPool
import StoreConformance
import Synchronization
import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// The events that a store reports while it works.
struct ObserverTests {
  @Test func commitsAndConnectionsAreObserved() async throws {
    let observed = Mutex((commits: 0, time: Duration.zero))
    var options = PostgresStoreOptions.small
    options.observer = StoreObserver { commits, time in
      observed.withLock { $0 = ($0.commits + commits, $0.time + time) }
    }
    try await withStores(1, options: options) { stores in
      let store = stores[0]
      for number in 0..<3 {
        try await store.commit(.putDevice(.sample("phone-\(number)", failures: 1)))
      }
      let (commits, time) = observed.withLock { $0 }
      #expect(commits == 3)
      #expect(time > .zero)

      #expect(store.lanes.map(\.name) == ["reads", "writes", "waits", "lists", "seals"])
      let writes = try #require(store.lanes.first { $0.name == "writes" })
      #expect(writes.serving >= 1)
      #expect((writes.inUse, writes.waiting) == (0, 0))
      #expect(writes.idle >= 1)
      #expect(store.unsealedFor < options.sealingPatience)
    }
  }

  /// PostgreSQL's empty database alone has some 7 MB.
  @Test func theSizeOfTheDatabaseIsThatOfItsFiles() async throws {
    try await withMigratedDatabase { uri in
      try await withStores(1, at: uri) { stores in
        let size = await withCheckedContinuation { continuation in
          stores[0].databaseSize { continuation.resume(returning: $0) }
        }
        let expected = try PostgresServer.shared.get().execute("SELECT pg_database_size(current_database())", at: uri)
        let (bytes, known) = (try size.get(), try #require(expected.first.flatMap { UInt64($0) }))
        #expect(bytes > 1_000_000 && max(bytes, known) - min(bytes, known) < 1_000_000)
      }
    }
  }

  @Test func theUnsealedAgeIsThatOfAnEndThatStays() {
    func seconds(_ count: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: count * 1_000_000_000) }
    var watch = SealingWatch(patience: .seconds(30))
    #expect(watch.age(at: seconds(100)) == .zero)
    _ = watch.looked(hasUnsealed: true, end: 7, at: seconds(100))
    #expect(watch.age(at: seconds(100)) == .zero)
    _ = watch.looked(hasUnsealed: true, end: 7, at: seconds(110))
    #expect(watch.age(at: seconds(150)) == .seconds(50))
    _ = watch.looked(hasUnsealed: true, end: 8, at: seconds(150))
    #expect(watch.age(at: seconds(155)) == .seconds(5))
    _ = watch.looked(hasUnsealed: false, end: 9, at: seconds(160))
    #expect(watch.age(at: seconds(170)) == .zero)
  }
}
