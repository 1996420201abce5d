// The durable records that all replicas share, whatever dies, and the laws that every change of them obeys.

import StoreModel
import TouchstonePolicy
import TouchstoneStore

final class Database {
  var faults = StoreFaults.none
  let eventSignal = EventSignal()
  let lineage = Lineage(rawValue: 0x4C69_6E65)
  private(set) var records = StoredRecords()
  /// As the records were at some time; what a stale read is answered from.
  private(set) var past: StoredRecords?
  private var log: [LoggedEvent] = []
  private var lastFaultStep: Int?
  /// The records to which a store that loses commits goes back.
  private var beforeLastCommit: StoredRecords?
  private unowned let world: World

  private var mutation: Mutation? { world.plan.mutation }

  /// An event with the step of its commit, and whether an answer stands for it.
  private struct LoggedEvent {
    var event: EventDraft
    var step: Int
    var replica: Int
    var isClaimed = false
  }

  init(world: World) { self.world = world }

  // MARK: Faults

  func calm() { faults = .none }

  func rememberPast() { past = records }

  func noteFault() { lastFaultStep = world.time.step }

  func hasFailed(since step: Int) -> Bool { lastFaultStep.map { $0 >= step } ?? false }

  /// Upkeep, which no law is about.
  func change<Value>(_ body: (inout StoredRecords) throws(StoreError) -> Value) -> Result<Value, StoreError> {
    do throws(StoreError) { return .success(try body(&records)) } catch { return .failure(error) }
  }

  /// The commits that the store confirmed to a process stay durable when the process dies.
  func lose(_ life: Life) {
    if mutation == .storeLosesTheLastCommit, let before = beforeLastCommit { records = before }
  }

  // MARK: Committing

  /// - Parameter causes: the calls that were in flight when the change set was handed in.
  func apply(_ changeSet: ChangeSet, of life: Life, causes: [Call]) -> Result<Void, StoreError> {
    let before = records
    if mutation == .storeSaysYesAndWritesNothing, world.chance.happens(5) { return .success(()) }
    do throws(StoreError) { try records.apply(mutation.map { $0.mutate(changeSet, on: records) } ?? changeSet) } catch {
      return .failure(error)
    }
    defer { eventSignal.ring() }
    beforeLastCommit = before
    Laws(world: world, before: before, after: records, changeSet: changeSet, causes: causes).check()
    log += records.events.dropFirst(before.events.count).compactMap { record in
      record.event.map { LoggedEvent(event: $0, step: world.time.step, replica: life.replica) }
    }
    return .success(())
  }

  /// A process got the confirmation that its change set is durable: it may verify the guesses that it admitted by it.
  func acknowledged(_ changeSet: ChangeSet, since before: StoredRecords, to life: Life) {
    for case .putProfile(let record) in changeSet.changes {
      let old = before.profile(record.applicationID, record.profileID)
      for kind in [Factor.passcode, .gesture] {
        let failures = old.secret(kind)?.standing.failures ?? 0
        if record.secret(kind)?.standing.failures ?? 0 > failures { world.secretWatch.admit(record, kind, in: life) }
      }
    }
  }

  // MARK: Events

  /// The event of an answer: written by its process since the call began, and no other answer's.
  ///
  /// Answers come in the order of their time, so to take the earliest event that fits leaves one for each of the
  /// others.
  func claimEvent(of call: Call, where isRight: (EventDraft) -> Bool) -> Bool {
    let step = call.dispatchedStep ?? 0
    let first = log.lastIndex { $0.step < step }.map { $0 + 1 } ?? 0
    for index in first..<log.count where !log[index].isClaimed && log[index].replica == call.life.replica {
      if isRight(log[index].event) {
        log[index].isClaimed = true
        return true
      }
    }
    return false
  }

  func checkLog() {
    var verifier = EventChainVerifier()
    do throws(EventChainVerifier.Fault) {
      for event in records.events { try verifier.verify(event) }
      try verifier.conclude(at: records.chain.head)
    } catch { world.report("R41", "the chain does not verify: \(error)") }
  }
}
