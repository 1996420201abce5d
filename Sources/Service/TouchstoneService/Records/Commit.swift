// Compare-and-set on the service's side: decide, commit, and after a conflict read and decide again.

internal import DispatchRPC
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// The rounds of decisions that a call has before it fails with ABORTED. In each round that this call loses, another
/// call wins. A call loses this many only if very many calls concern the same device.
let maximumDecisionRounds = 32

/// The rounds in which a new binding compares the device's version, so that the lock under which it is made is current.
/// Later rounds do not compare it: otherwise a steady stream of attempts on the device could delay the call for ever.
private let comparedRounds = 8

/// One round of a call: it reads, decides and commits.
struct DecisionRound: Sendable {
  private let index: Int

  /// After the last one, the call fails with ABORTED (`RequestError.tooManyRounds`).
  static var all: some Sequence<DecisionRound> { (0..<maximumDecisionRounds).lazy.map { DecisionRound(index: $0) } }

  fileprivate var comparesDevice: Bool { index < comparedRounds }
}

extension DeviceRecord {
  /// Returns the number of the lock that a binding is made under in this round; 0 if there is none. In a round that
  /// does not compare the device, a lock may begin at the same time, so the next lock counts as begun.
  func presentLock(in round: DecisionRound) -> UInt64 {
    if biometry.isLockedOut { return lockCount }
    return round.comparesDevice ? 0 : lockCount + 1
  }
}

extension ChangeSet {
  mutating func revoke(_ binding: BindingRecord) {
    var revoked = binding
    revoked.isRevoked = true
    changes.append(.putBinding(revoked))
  }

  /// Requires that the device did not change since it was read, if this round compares it.
  mutating func compare(_ device: DeviceRecord, in round: DecisionRound) {
    guard round.comparesDevice else { return }
    changes.append(.requireDevice(id: device.deviceID, vendor: device.vendor, version: device.version))
  }
}

extension TouchstoneService {
  /// Returns true once the changes are durable; false if a record changed since it was read: the call decides again.
  func commit<Response>(_ changeSet: ChangeSet, for exchange: Exchange<Response>) async throws(RequestError) -> Bool {
    try await commit(changeSet, decided: changeSet.events, for: exchange)
  }

  /// - Parameter decided: the events of what is decided, also those that are not committed because there are too many
  ///   like them.
  private func commit<Response>(
    _ changeSet: ChangeSet, decided: [EventDraft], for exchange: Exchange<Response>
  ) async throws(RequestError) -> Bool {
    let began = MonotonicTime.now()
    let result = await storeResult { store.commit(changeSet, completion: $0) }
    exchange.trace?.add(.commit, since: began)
    switch result {
    case .success:
      meters.store.committed(since: began)
      exchange.logDecisions(decided, written: changeSet.events)
      return true
    case .failure(let error):
      guard error.code == .conflict else { throw exchange.logged(error) }
      meters.store.failed(.conflict)
      return false
    }
  }

  /// For an answer that changes nothing: returns once the records that were read are durable. The answer is a promise,
  /// like an answer after a commit.
  func confirm<Response>(for exchange: Exchange<Response>) async throws(RequestError) {
    try await exchange.value { store.confirm(completion: $0) }
  }

  /// Commits the event of a refusal; false if a record changed since it was read. If there were too many events like it
  /// (`EventThrottle`), only the refusal's changes and conditions are committed. If it has none, nothing is committed:
  /// the records that were read are confirmed, for which PostgreSQL writes a mark.
  func record<Response>(
    _ refusal: ThrottledEvent, for exchange: Exchange<Response>
  ) async throws(RequestError) -> Bool {
    let admission = admit(refusal, of: exchange.caller)
    guard let changeSet = refusal.changeSet(admission) else {
      try await confirm(for: exchange)
      exchange.logDecisions([refusal.event], written: [])
      return true
    }
    var isWritten = false
    defer { if !isWritten { putBack(admission, of: refusal, by: exchange.caller) } }
    isWritten = try await commit(changeSet, decided: [refusal.event], for: exchange)
    return isWritten
  }

  /// Commits the event of a refusal, and throws `error`. Returns if a record changed since it was read.
  func refuse<Response>(
    _ error: RequestError, recording refusal: ThrottledEvent, for exchange: Exchange<Response>
  ) async throws(RequestError) {
    if try await record(refusal, for: exchange) { throw error }
  }

  /// Decides whether the refusal's event is written. A commit that fails puts the admission back.
  func admit(_ refusal: ThrottledEvent, of caller: Caller) -> EventThrottle.Admission {
    let admission = eventThrottle.withLock {
      $0.admit(
        refusal.key, isRequired: refusal.isRequired, showsPosture: refusal.showsPosture, of: caller.identity,
        at: monotonicClock())
    }
    if admission.suppressed == nil, !refusal.isRequired { meters.leftOutEvent() }
    return admission
  }

  func putBack(_ admission: EventThrottle.Admission, of refusal: ThrottledEvent, by caller: Caller) {
    eventThrottle.withLock {
      $0.putBack(
        admission, refusal.key, isRequired: refusal.isRequired, of: caller.identity, at: monotonicClock())
    }
  }

  /// Whether a refusal that changes nothing has no event now. It counts as left out if so: nothing need be read for it.
  func leavesOut<Response>(_ refusal: ThrottledEvent, for exchange: Exchange<Response>) -> Bool {
    let leavesOut = eventThrottle.withLock {
      $0.leavesOut(refusal.key, of: exchange.caller.identity, at: monotonicClock())
    }
    if leavesOut { meters.leftOutEvent() }
    return leavesOut
  }

  /// Each evaluation that succeeds makes some room for the events of its caller's refusals.
  func noteSuccess<Response>(for exchange: Exchange<Response>) {
    eventThrottle.withLock { $0.noteSuccess(of: exchange.caller.identity) }
  }
}
