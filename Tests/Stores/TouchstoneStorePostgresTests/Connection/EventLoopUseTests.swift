import EventLoops
import StoreConformance
import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// Connections run on the event loops that the store is given, so a call from there wakes no other thread.
struct EventLoopUseTests {
  @Test func readsAndCommitsAreAnsweredOnTheEventLoopThatTheyCameFrom() async throws {
    let loop = EventLoop(label: "test.postgres")
    var options = PostgresStoreOptions.small
    options.eventLoops = [loop]
    try await withStores(1, options: options) { stores in
      let store = stores[0]
      let isOnLoop = Box<Bool>()
      loop.execute { store.device(id: "phone-1", vendor: .everybody) { _ in isOnLoop.put(loop.isCurrent) } }
      #expect(await isOnLoop.next())
      let change = ChangeSet(changes: [.putDevice(.sample("phone-1", failures: 1))])
      loop.execute { store.commit(change) { _ in isOnLoop.put(loop.isCurrent) } }
      #expect(await isOnLoop.next())
      let stored = try await store.device(id: "phone-1")
      #expect(stored.version == 1)
    }
  }
}
