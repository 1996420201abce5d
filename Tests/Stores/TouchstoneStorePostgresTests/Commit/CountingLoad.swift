import StoreConformance
import Synchronization
import TestSupport
import Testing
import TouchstoneStore
import TouchstoneStorePostgres

/// Workers that each count on a device of their own, an event for each step, over stores in turn. A store that says
/// that something was done which was not, or the other way round, leaves a count that is not theirs.
final class CountingLoad: Sendable {
  private let stores: [PostgresStore]
  private let isOver = Atomic(false)
  private let progress: AsyncStream<Void>
  private let step: AsyncStream<Void>.Continuation

  fileprivate init(over stores: [PostgresStore]) {
    self.stores = stores
    (progress, step) = AsyncStream.makeStream()
  }

  /// Waits for so many more.
  func successes(_ count: Int) async {
    var left = count
    for await _ in progress {
      left -= 1
      if left == 0 { return }
    }
  }

  fileprivate func end() {
    isOver.store(true, ordering: .relaxed)
    step.finish()
  }

  /// Answers how many were done.
  fileprivate func work(as worker: Int) async throws -> UInt64 {
    let id = "phone-\(worker)"
    var done: UInt64 = 0
    var turn = worker
    while !isOver.load(ordering: .relaxed) {
      let store = stores[turn % stores.count]
      turn += 1
      let put = Change.putDevice(.sample(id, failures: UInt32(done + 1), version: done))
      switch await StoreConformance.errorCode(of: { try await store.commit(put, events: [.sample()]) }) {
      case nil:
        done += 1
        step.yield()
      case .unavailable:
        // Refused at once: the others, and the server, have their turn meanwhile.
        try await Task.sleep(for: .milliseconds(1))
      case .inDoubt:
        // Nobody else writes it: at most this one was done.
        let version = try await version(of: id)
        #expect(version == done || version == done + 1)
        done = version
      case .conflict, .corrupt:
        Issue.record("\(id) was answered wrong after \(done)")
        return done
      }
    }
    return done
  }

  fileprivate func version(of id: String) async throws -> UInt64 {
    var version: UInt64?
    try await eventually {
      do throws(StoreError) {
        version = try await stores[0].device(id: id).version
      } catch {
        try #require(error.code == .unavailable)
      }
      return version != nil
    }
    return try #require(version)
  }
}

/// Runs the load beside the body, then looks for everything that was answered, and for nothing else.
func withCountingLoad(over stores: [PostgresStore], _ body: (CountingLoad) async throws -> Void) async throws {
  let workers = 8
  let load = CountingLoad(over: stores)
  let running = Task {
    try await withThrowingTaskGroup(of: (Int, UInt64).self) { group in
      for worker in 0..<workers { group.addTask { (worker, try await load.work(as: worker)) } }
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }
  do {
    try await body(load)
  } catch {
    load.end()
    throw error
  }
  load.end()
  let done = try await running.value
  for (worker, count) in done { #expect(try await load.version(of: "phone-\(worker)") == count) }
  try await untilItServes(stores[0])
  let total = done.values.reduce(0, +)
  var verifier = EventChainVerifier()
  while case let page = try await stores[0].events(afterSequence: verifier.head.sequence), !page.isEmpty {
    for event in page { try verifier.verify(event) }
  }
  try verifier.conclude(at: await stores[0].eventChainHead())
  #expect(verifier.verifiedCount == total)
}
