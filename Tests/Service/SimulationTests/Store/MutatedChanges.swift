// The changes that a store that is broken on purpose makes of a change set.

import StoreModel
import TouchstoneStore

extension Mutation {
  func mutate(_ changeSet: ChangeSet, on records: StoredRecords) -> ChangeSet {
    var changeSet = changeSet
    switch self {
    case .storeIgnoresVersions: changeSet.changes = changeSet.changes.map(records.atCurrentVersion)
    case .storeIgnoresRequirements:
      changeSet.changes = changeSet.changes.map { $0.restsOnly ? records.atCurrentVersion($0) : $0 }
    case .storeIgnoresProfileVersions:
      changeSet.changes = changeSet.changes.map { $0.isOfProfile ? records.atCurrentVersion($0) : $0 }
    case .storeForgetsTickets: changeSet.changes.removeAll { if case .useTicket = $0 { true } else { false } }
    case .storeDropsEvents: changeSet.events = []
    case .storeForgetsCounters:
      changeSet.changes.removeAll { if case .raiseProofCounter = $0 { true } else { false } }
    default: break
    }
    return changeSet
  }
}

extension Change {
  /// No other decision rests on its writes.
  fileprivate var restsOnly: Bool {
    switch self {
    case .touchBinding, .raiseProofCounter: true
    default: isCondition
    }
  }

  fileprivate var isOfProfile: Bool {
    switch self {
    case .putProfile, .requireProfile: true
    default: false
    }
  }
}

extension StoredRecords {
  /// The same change, as if it had been decided on what is there now.
  fileprivate func atCurrentVersion(_ change: Change) -> Change {
    switch change {
    case .putBinding(var record):
      record.version = binding(record.bindingID)?.version ?? 0
      return .putBinding(record)
    case .putDevice(var record):
      record.version = device(record.deviceID, of: record.vendor).version
      return .putDevice(record)
    case .putProfile(var record):
      record.version = profile(record.applicationID, record.profileID).version
      return .putProfile(record)
    case .putEvaluation(var record):
      record.version = evaluation(record.key)?.version ?? 0
      return .putEvaluation(record)
    case .putToken(var record):
      record.version = token(record.key)?.version ?? 0
      return .putToken(record)
    case .touchBinding(let id, _, let lastUsedAt):
      return .touchBinding(id: id, version: binding(id)?.version ?? 0, lastUsedAt: lastUsedAt)
    case .raiseProofCounter(let id, _, let counter):
      return .raiseProofCounter(bindingID: id, from: binding(id)?.proofCounter ?? 0, to: counter)
    case .requireBinding(let id, _): return .requireBinding(id: id, version: binding(id)?.version ?? 0)
    case .requireDevice(let id, let vendor, _):
      return .requireDevice(id: id, vendor: vendor, version: device(id, of: vendor).version)
    case .requireProfile(let applicationID, let profileID, _):
      return .requireProfile(
        applicationID: applicationID, profileID: profileID, version: profile(applicationID, profileID).version)
    case .requireToken(let key, _): return .requireToken(key, version: token(key)?.version ?? 0)
    case .useTicket, .notePosture, .putReceipt, .moveReceipt, .eraseProfile: return change
    }
  }
}
