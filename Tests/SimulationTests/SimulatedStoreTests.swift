import StoreConformance
import Synchronization
import Testing
import TouchstonePolicy
import TouchstoneStore

/// The store of the simulated worlds, slow and out of order, is held to what every store must do.
struct SimulatedStoreTests {
  /// All but what a store of many rows does: it sweeps in steps, and forgets stand-ins.
  static let checks = StoreConformance.checks.filter { !$0.name.contains("step") && !$0.name.contains("forgotten") }

  @Test(arguments: checks) func conforms(_ check: StoreConformance.Check) async throws {
    try await check.run(PumpedStore())
  }
}

/// Lets everything that a call begins happen before it returns, as a world does step by step.
///
/// `@unchecked Sendable`: the lock is the guard.
private final class PumpedStore: Store, @unchecked Sendable {
  private let lock = Mutex(())
  private let world = World(seed: 1)
  private let store: ReplicaStore
  private let life: Life
  private var isClosed = false

  init() {
    life = Life(replica: 0, shardCount: 1, policies: [], at: 0)
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

  func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor, evaluation: ExpiringKey?,
    completion: @escaping Completion<AttemptRecords>
  ) {
    pump(completion) {
      store.attemptRecords(for: subject, vendor: vendor, evaluation: evaluation, completion: completion)
    }
  }

  func enrolmentRecords(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey,
    completion: @escaping Completion<EnrolmentRecords>
  ) {
    pump(completion) {
      store.enrolmentRecords(
        applicationID: applicationID, profileID: profileID, deviceID: deviceID, vendor: vendor, ticket: ticket,
        completion: completion)
    }
  }

  func device(id: String, vendor: Vendor, completion: @escaping Completion<DeviceRecord>) {
    pump(completion) { store.device(id: id, vendor: vendor, completion: completion) }
  }

  func activeBinding(applicationID: String, deviceID: String, completion: @escaping Completion<BindingRecord?>) {
    pump(completion) { store.activeBinding(applicationID: applicationID, deviceID: deviceID, completion: completion) }
  }

  func token(_ key: ExpiringKey, completion: @escaping Completion<TokenRecord?>) {
    pump(completion) { store.token(key, completion: completion) }
  }

  func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int,
    completion: @escaping Completion<[BindingRecord]>
  ) {
    pump(completion) {
      store.bindings(
        applicationID: applicationID, profileID: profileID, includingRevoked: includingRevoked, after: after,
        limit: limit, completion: completion)
    }
  }

  func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int, completion: @escaping Completion<EventPage>
  ) {
    pump(completion) {
      store.events(matching: filter, afterSequence: afterSequence, limit: limit, completion: completion)
    }
  }

  func eventChainHead(completion: @escaping Completion<EventChain.Head>) {
    pump(completion) { store.eventChainHead(completion: completion) }
  }

  func eventChainStart(completion: @escaping Completion<EventChain.Head>) {
    pump(completion) { store.eventChainStart(completion: completion) }
  }

  func drop(_ archived: ArchivedEvents, completion: @escaping Completion<Void>) {
    pump(completion) { store.drop(archived, completion: completion) }
  }

  func claimArchiving(by claimant: UniqueID, for duration: Duration, completion: @escaping Completion<Bool>) {
    pump(completion) { store.claimArchiving(by: claimant, for: duration, completion: completion) }
  }

  var eventSignal: EventSignal { store.eventSignal }
  var lineage: Lineage { store.lineage }

  func probe(completion: @escaping Completion<Void>) {
    pump(completion) { store.probe(completion: completion) }
  }

  func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>) {
    pump(completion) { store.commit(changeSet, completion: completion) }
  }

  func sweep(before time: UnixTime, completion: @escaping Completion<SweepResult>) {
    pump(completion) { store.sweep(before: time, completion: completion) }
  }

  func signAccounts(with keys: AccountKeys, completion: @escaping Completion<Void>) {
    pump(completion) { store.signAccounts(with: keys, completion: completion) }
  }

  func keyCheck(initially check: [UInt8], completion: @escaping Completion<[UInt8]>) {
    pump(completion) { store.keyCheck(initially: check, completion: completion) }
  }

  func close(completion: @escaping @Sendable () -> Void) {
    lock.withLock { _ in isClosed = true }
    pump { store.close(completion: completion) }
  }
}
