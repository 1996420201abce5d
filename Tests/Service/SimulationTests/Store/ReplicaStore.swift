// The store as one process sees it: slow, failing, in doubt, in other orders; never wrong.

import StoreModel
import TouchstoneStore

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class ReplicaStore: ModelStore, @unchecked Sendable {
  private unowned let world: World
  private let database: Database
  private let life: Life
  private var chance: Chance { world.chance }

  init(world: World, life: Life) {
    self.world = world
    self.database = world.database
    self.life = life
  }

  // MARK: Reading

  var eventSignal: EventSignal { database.eventSignal }
  var lineage: Lineage { database.lineage }

  /// A value of the moment of the call or of the answer's, or of some time before where reads are stale.
  func read<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>, _ value: @escaping @Sendable (StoredRecords) -> Value
  ) {
    let what = work.rawValue
    let faults = database.faults
    if chance.happens(faults.unavailablePercent) { return deliver(what, .failure(Self.unavailable), to: completion) }
    if chance.happens(faults.stalePercent), let past = database.past {
      return deliver(what, .success(value(past)), to: completion)
    }
    guard chance.happens(50) else { return deliver(what, .success(value(database.records)), to: completion) }
    later("the store has \(what)") { [database] in completion(.success(value(database.records))) }
  }

  // MARK: Writing

  func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>) {
    let faults = database.faults
    let causes = life.calls
    if chance.happens(faults.conflictPercent) {
      return deliver(
        "a commit", .failure(StoreError(code: .conflict, message: StoreFaults.privateMessage)), to: completion)
    }
    if chance.happens(faults.unavailablePercent) {
      return deliver("a commit", .failure(Self.unavailable), to: completion)
    }
    if chance.happens(faults.inDoubtPercent) {
      // Done before the answer, after it, or never.
      if chance.happens(60) { apply(changeSet, causes) { _, _ in } }
      return deliver(
        "a commit", .failure(StoreError(code: .inDoubt, message: StoreFaults.privateMessage)), to: completion)
    }
    if world.plan.mutation == .storeAnswersBeforeItWrites {
      apply(changeSet, causes) { _, _ in }
      return deliver("a commit", .success(()), to: completion)
    }
    apply(changeSet, causes) { [self] result, before in
      if case .success = result { database.acknowledged(changeSet, since: before, to: life) }
      deliver("a commit", result, to: completion)
    }
  }

  /// Now or later; later also where the process has died meanwhile, or not.
  private func apply(
    _ changeSet: ChangeSet, _ causes: [Call], then: @escaping (Result<Void, StoreError>, StoredRecords) -> Void
  ) {
    let work = { [database, life] in
      let before = database.records
      then(database.apply(changeSet, of: life, causes: causes), before)
    }
    guard chance.happens(80) else { return work() }
    let survivesDeath = chance.happens(50)
    world.schedule.add(
      Schedule.Task(
        name: "the store commits of replica \(life.replica)", due: world.time.elapsed, life: survivesDeath ? nil : life,
        run: work))
  }

  func write<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>,
    _ change: @escaping @Sendable (inout StoredRecords) throws(StoreError) -> Value
  ) {
    deliver(work.rawValue, database.change(change), to: completion)
  }

  func probe(completion: @escaping Completion<Void>) {
    let isAvailable = !chance.happens(database.faults.unavailablePercent)
    deliver("a probe", isAvailable ? .success(()) : .failure(Self.unavailable), to: completion)
  }

  func close(completion: @escaping @Sendable () -> Void) { later("the store closes", completion) }

  // MARK: Answering

  private static let unavailable = StoreError(code: .unavailable, message: StoreFaults.privateMessage)

  /// Before the call returns, as from a cache, or later.
  private func deliver<Value: Sendable>(
    _ what: String, _ result: Result<Value, StoreError>, to completion: @escaping Completion<Value>
  ) {
    if case .failure = result { database.noteFault() }
    if chance.happens(30) { completion(result) } else { later("the store answers \(what)") { completion(result) } }
  }

  private func later(_ name: String, _ work: @escaping () -> Void) {
    guard !life.isOver else { return }
    world.schedule.add(
      Schedule.Task(name: "\(name) to replica \(life.replica)", due: world.time.elapsed, life: life, run: work))
  }
}
