import StoreConformance
import StoreModel
import Synchronization
import Testing
import TouchstonePolicy
import TouchstoneStore

/// The store of the simulated worlds, slow and out of order, is held to what every store must do.
struct SimulatedStoreTests {
  /// All but the sweeps in steps, which are for stores of many rows.
  static let checks = StoreConformance.checks.filter { !$0.name.contains("step") }

  @Test(arguments: checks) func conforms(_ check: StoreConformance.Check) async throws {
    try await check.run(PumpedStore())
  }
}

/// Lets everything that a call begins happen before it returns, as a world does step by step.
///
/// `@unchecked Sendable`: the lock is the guard.
private final class PumpedStore: ModelStore, @unchecked Sendable {
  private let lock = Mutex(())
  private let world = World(seed: 1)
  private let store: ReplicaStore
  private let life: Life
  private var isClosed = false

  init() {
    life = Life(replica: 0, eventLoopCount: 1, policies: [], at: 0)
    store = ReplicaStore(world: world, life: life)
  }

  private func pump(_ body: () -> Void) {
    lock.withLock { _ in
      body()
      while let task = world.schedule.takeReady(0, at: world.time.elapsed) { task.run() }
    }
  }

  private func pump<Value>(_ completion: Completion<Value>, _ body: () -> Void) {
    let isClosed = lock.withLock { _ in self.isClosed }
    if isClosed { return completion(.failure(StoreError(code: .unavailable, message: "closed"))) }
    pump(body)
  }

  func read<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>, _ value: @escaping @Sendable (StoredRecords) -> Value
  ) {
    pump(completion) { store.read(work, completion, value) }
  }

  func write<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>,
    _ change: @escaping @Sendable (inout StoredRecords) throws(StoreError) -> Value
  ) {
    pump(completion) { store.write(work, completion, change) }
  }

  var eventSignal: EventSignal { store.eventSignal }
  var lineage: Lineage { store.lineage }

  func probe(completion: @escaping Completion<Void>) {
    pump(completion) { store.probe(completion: completion) }
  }

  func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>) {
    pump(completion) { store.commit(changeSet, completion: completion) }
  }

  func close(completion: @escaping @Sendable () -> Void) {
    lock.withLock { _ in isClosed = true }
    pump { store.close(completion: completion) }
  }
}
