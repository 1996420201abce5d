// Compare-and-set, from the service's side: decide, commit, and on a conflict read anew and decide again.

internal import TouchstoneCodec
internal import TouchstoneStore

/// How often a call decides anew before it gives up with ABORTED. Every round in which this call lost, another one
/// won, so this many only come together on one device that a crowd hammers at.
let maximumDecisionRounds = 32

/// In how many rounds a revocation or a binding compares the device's version, so that what it takes from the device is
/// what the device has. Then it goes without: somebody who fails and succeeds on the device all the time may not hold it up.
private let comparedRounds = 8

extension DeviceRecord {
  /// For a binding that completes in this round. Where the device is not compared, a lock may begin meanwhile: it counts as
  /// there already.
  func lockCount(inRound round: Int) -> UInt64 {
    round < comparedRounds ? lockCount : lockCount + 1
  }
}

extension ChangeSet {
  /// Revokes the binding, in this round of decisions.
  mutating func revoke(_ binding: BindingRecord, on device: DeviceRecord, round: Int) {
    revoke(binding, on: device)
    compare(device, round: round)
  }

  /// The device is as it was read, in this round of decisions.
  mutating func compare(_ device: DeviceRecord, round: Int) {
    guard round < comparedRounds else { return }
    changes.append(.requireDevice(id: device.deviceID, vendor: device.vendor, version: device.version))
  }
}

extension TouchstoneService {
  /// Runs `committed` on the shard once the changes are durable, or `conflicted` where something changed since it was read.
  func commit<Response>(
    _ changeSet: ChangeSet, round: Int, for exchange: Exchange<Response>,
    conflicted: @escaping @Sendable () throws(RequestError) -> Void,
    committed: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    store.commit(changeSet) { result in
      exchange.onShard {
        do throws(RequestError) {
          switch result {
          case .success: try committed()
          case .failure(let error) where error.code == .conflict && round + 1 < maximumDecisionRounds: try conflicted()
          case .failure(let error): throw exchange.logged(error)
          }
        } catch {
          exchange.refuse(error)
        }
      }
    }
  }

  /// For an answer that it is so already: runs `confirmed` once what was read is durable, for the answer is a promise
  /// like one after a commit.
  func confirm<Response>(
    for exchange: Exchange<Response>, confirmed: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    store.confirm(completion: exchange.then { (_: Void) throws(RequestError) in try confirmed() })
  }

  /// Writes an event that has no effect beside it, then runs `committed`.
  ///
  /// - Parameter note: rests on nothing, so it meets no conflict.
  func record<Response>(
    _ event: EventDraft, beside note: Change? = nil, for exchange: Exchange<Response>,
    committed: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    store.commit(
      ChangeSet(changes: note.map { [$0] } ?? [], events: [event]),
      completion: exchange.then { (_: Void) throws(RequestError) in try committed() })
  }
}
