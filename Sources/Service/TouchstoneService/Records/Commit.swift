// Compare-and-set on the service's side: decide, commit, and after a conflict read and decide again.

internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// The rounds of decisions that a call has before it fails with ABORTED. In each round that this call loses, another
/// call wins. A call loses this many only if very many calls concern the same device.
let maximumDecisionRounds = 32

/// The rounds in which a new binding compares the device's version, so that the lock under which it is made is current.
/// Later rounds do not compare it: otherwise a steady stream of attempts on the device could delay the call for ever.
private let comparedRounds = 8

/// One round of a call: it reads, decides and commits. All the phases of a call share its rounds.
struct DecisionRound: Sendable {
  typealias Step = @Sendable (DecisionRound) throws(RequestError) -> Void

  /// From 0.
  let index: Int
  /// The next round runs it.
  private let step: Step

  fileprivate init(index: Int, step: @escaping Step) {
    (self.index, self.step) = (index, step)
  }

  /// Returns this round with another step after a conflict, for a phase that keeps an earlier phase's result.
  func retrying(_ step: @escaping Step) -> DecisionRound {
    DecisionRound(index: index, step: step)
  }

  /// Runs the step in the next round. Throws ABORTED if this was the last one.
  func again() throws(RequestError) {
    guard index + 1 < maximumDecisionRounds else { throw .tooManyRounds }
    try step(DecisionRound(index: index + 1, step: step))
  }
}

extension CallExchange {
  /// Runs `step` in the call's first round, and in another one after each conflict.
  func deciding(_ step: @escaping DecisionRound.Step) {
    refusingErrors { () throws(RequestError) in try step(DecisionRound(index: 0, step: step)) }
  }
}

extension DeviceRecord {
  /// Returns the number of the lock that a binding is made under in this round; 0 if there is none. In a round that
  /// does not compare the device, a lock may begin at the same time, so the next lock counts as begun.
  func presentLock(in round: DecisionRound) -> UInt64 {
    if biometry.isLockedOut { return lockCount }
    return round.index < comparedRounds ? 0 : lockCount + 1
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
    guard round.index < comparedRounds else { return }
    changes.append(.requireDevice(id: device.deviceID, vendor: device.vendor, version: device.version))
  }
}

extension TouchstoneService {
  /// Runs `committed` on the call's event loop once the changes are durable. If a record changed since it was read, the
  /// call decides again.
  ///
  /// - Parameters:
  ///   - round: `nil`: a conflict refuses the call.
  ///   - failed: runs first if the commit fails, for any reason.
  func commit<Response>(
    _ changeSet: ChangeSet, in round: DecisionRound?, for exchange: Exchange<Response>,
    failed: @escaping @Sendable () -> Void = {},
    committed: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    commit(changeSet, decided: changeSet.events, in: round, for: exchange, failed: failed, committed: committed)
  }

  /// - Parameter decided: the events of what is decided, also those that are not committed because there are too many
  ///   like them.
  private func commit<Response>(
    _ changeSet: ChangeSet, decided: [EventDraft], in round: DecisionRound?, for exchange: Exchange<Response>,
    failed: @escaping @Sendable () -> Void, committed: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    let began = MonotonicTime.now()
    store.commit(changeSet) { [meters] result in
      exchange.onLoop {
        exchange.trace?.add(.commit, since: began)
        exchange.refusingErrors { () throws(RequestError) in
          switch result {
          case .success:
            meters.store.committed(since: began)
            exchange.logDecisions(decided, written: changeSet.events)
            try committed()
          case .failure(let error):
            failed()
            if error.code == .conflict { meters.store.failed(.conflict) }
            guard error.code == .conflict, let round else { throw exchange.logged(error) }
            try round.again()
          }
        }
      }
    }
  }

  /// For an answer that changes nothing: runs `confirmed` once the records that were read are durable. The answer is a
  /// promise, like an answer after a commit.
  func confirm<Response>(
    for exchange: Exchange<Response>, confirmed: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    store.confirm(completion: exchange.then { (_: Void) throws(RequestError) in try confirmed() })
  }

  /// Commits the event of a refusal, then runs `committed`. If there were too many events like it (`EventThrottle`),
  /// only the refusal's changes and conditions are committed. If it has none, nothing is committed: the records that
  /// were read are confirmed, for which PostgreSQL writes a mark.
  func record<Response>(
    _ refusal: ThrottledEvent, in round: DecisionRound? = nil, for exchange: Exchange<Response>,
    committed: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    let admission = admit(refusal, of: exchange.caller)
    guard let changeSet = refusal.changeSet(admission) else {
      return confirm(for: exchange) { () throws(RequestError) in
        exchange.logDecisions([refusal.event], written: [])
        try committed()
      }
    }
    commit(
      changeSet, decided: [refusal.event], in: round, for: exchange,
      failed: { [self] in putBack(admission, of: refusal, by: exchange.caller) }, committed: committed)
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
