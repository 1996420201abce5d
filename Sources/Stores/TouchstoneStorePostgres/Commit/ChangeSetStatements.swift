// Translates a change set into the statements of one transaction.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Each record has as few statements as possible: a record that is put is compared when it is written, and need not be
/// locked before.
///
/// Records come in one order (bindings as in the change set, then devices, profiles, and so on, each by its key), so that
/// two transactions seldom deadlock.
struct ChangeSetStatements {
  private(set) var calls: [StatementCall] = []

  /// Two changes depend on different versions of one record.
  struct Contradiction: Error {}

  /// The record that a change concerns.
  private enum Subject: Hashable, Comparable {
    case binding([UInt8])
    case device([UInt8])
    case profile([UInt8], [UInt8])
    case evaluation(ExpiringKey)
    case token(ExpiringKey)
    case ticket(ExpiringKey)

    private var rank: Int {
      switch self {
      case .binding: 0
      case .device: 1
      case .profile: 2
      case .evaluation: 3
      case .token: 4
      case .ticket: 5
      }
    }

    /// Bindings keep their order: a revoked one makes room for the next.
    static func < (left: Subject, right: Subject) -> Bool {
      switch (left, right) {
      case (.device(let left), .device(let right)):
        left.lexicographicallyPrecedes(right)
      case (.profile(let leftApplication, let left), .profile(let rightApplication, let right)):
        (leftApplication + [0] + left).lexicographicallyPrecedes(rightApplication + [0] + right)
      default: left.rank < right.rank
      }
    }
  }

  /// A record's version when it was read, and after the statements so far.
  private struct Versions {
    let read: RecordVersion
    var current: RecordVersion
    let isPut: Bool
  }

  private var versions: [Subject: Versions] = [:]
  /// The bindings whose posture is noted.
  private var noted: Set<Subject> = []
  /// The earliest expiry of all keys that are put, used or required.
  private var earliestExpiry = UnixTime(microseconds: .max)

  /// - Parameters:
  ///   - mark: the commit's mark.
  ///   - lineage: the commit's lineage.
  ///   - places: gives each row of events its place among the rows of the process.
  init(
    _ changeSet: ChangeSet, mark: ExpiringKey, in lineage: Lineage, places: () -> UInt64
  ) throws(Contradiction) {
    try self.init(changesOf: changeSet)
    if !changeSet.events.isEmpty { calls.append(UnsealedEvents.insertion(of: changeSet.events, places: places)) }
    finish(mark: mark, in: lineage)
  }

  /// The statements without events and end.
  init(changesOf changeSet: ChangeSet) throws(Contradiction) {
    let changes = changeSet.changes.compactMap { change in Self.subject(of: change).map { ($0, change) } }
    for (subject, change) in changes { try note(change, of: subject) }
    // A stable sort: the changes of one record keep their order.
    let ordered = changes.enumerated().sorted { left, right in
      left.element.0 < right.element.0 || (!(right.element.0 < left.element.0) && left.offset < right.offset)
    }
    for (_, (subject, change)) in ordered { append(change, of: subject) }
  }

  mutating func finish(mark: ExpiringKey, in lineage: Lineage) {
    calls.append(.finishing(mark: mark, earliestExpiry: earliestExpiry, in: lineage))
  }

  private mutating func note(_ change: Change, of subject: Subject) throws(Contradiction) {
    switch subject {
    case .evaluation(let key), .token(let key), .ticket(let key): earliestExpiry = min(earliestExpiry, key.expiresAt)
    case .binding, .device, .profile: break
    }
    if case .notePosture = change { noted.insert(subject) }
    guard let version = change.version else { return }
    let known = versions[subject]
    if let known, known.read != version { throw Contradiction() }
    versions[subject] = Versions(read: version, current: version, isPut: known?.isPut ?? false || change.isPut)
  }

  /// The version that the change finds. For a record that an earlier change put, it is the next version.
  private mutating func advance(_ subject: Subject) -> RecordVersion {
    defer { versions[subject]?.current += 1 }
    return versions[subject]?.current ?? 0
  }

  // MARK: Statements

  private mutating func append(_ change: Change, of subject: Subject) {
    switch change {
    case .putBinding(let binding):
      let version = advance(subject)
      calls.append(
        version == 0
          ? StatementCall(.insertBinding).bind(whole: binding)
          : StatementCall(.updateBinding).bind(whole: binding).bind(version))
    case .putDevice(let device):
      let version = advance(subject)
      calls.append(
        version == 0
          ? StatementCall(.insertDevice).bind(device)
          : StatementCall(.updateDevice).bind(device).bind(version))
    case .putProfile(let profile):
      append(profile, at: advance(subject))
    case .putEvaluation(let evaluation):
      append(evaluation, at: advance(subject))
    case .putToken(let token):
      append(token, at: advance(subject))
    case .useTicket(let key):
      calls.append(StatementCall(.useTicket).bind(key))
    case .touchBinding(let id, _, let lastUsedAt):
      let version = versions[subject]?.current ?? 0
      calls.append(StatementCall(.touchBinding).bind(id).bind(version).bind(lastUsedAt))
    case .notePosture(let id, let posture):
      let call = StatementCall(isRequiredByNote(subject) ? .noteRequiredPosture : .notePosture).bind(id)
        .bind(posture.encoded)
      calls.append(isRequiredByNote(subject) ? call.bind(versions[subject]?.read ?? 0) : call)
    case .raiseProofCounter(let id, let from, let to):
      calls.append(StatementCall(.raiseProofCounter).bind(id).bind(from).bind(to))
    case .putReceipt(let id, let receipt):
      calls.append(StatementCall(.putReceipt).bind(id).bind(receipt))
    case .moveReceipt(let id, let newID):
      calls.append(StatementCall(.moveReceipt).bind(id).bind(newID))
    case .requireBinding where isRequiredByNote(subject): break
    case .requireBinding, .requireDevice, .requireProfile, .requireToken:
      if let versions = versions[subject], !versions.isPut { require(subject, at: versions.read) }
    case .eraseProfile: break
    }
  }

  /// One statement notes the posture and requires the version. If a shared lock came first, two commits on one binding would
  /// each wait for the other's to end.
  private func isRequiredByNote(_ subject: Subject) -> Bool {
    guard let versions = versions[subject], noted.contains(subject) else { return false }
    return !versions.isPut && versions.read > 0
  }

  private mutating func append(_ profile: ProfileRecord, at version: RecordVersion) {
    guard version == 0 else {
      calls.append(StatementCall(.updateProfile).bind(profile).bind(version))
      return
    }
    let markID = ProfileRecord.erasureMarkID(forProfile: profile.profileID)
    calls.append(StatementCall(.insertProfile).bind(profile).bind(markID))
    calls.append(
      StatementCall(.requireFreshProfile).bind(profile.applicationID).bind(profile.profileID).bind(markID))
  }

  private mutating func append(_ evaluation: EvaluationRecord, at version: RecordVersion) {
    let call = StatementCall(version == 0 ? .insertEvaluation : .updateEvaluation).bind(evaluation.key)
      .bind(evaluation.standing)
    calls.append(version == 0 ? call : call.bind(version))
  }

  private mutating func append(_ token: TokenRecord, at version: RecordVersion) {
    let call = StatementCall(version == 0 ? .insertToken : .updateToken).bind(token.key).bind(token)
    calls.append(version == 0 ? call : call.bind(version))
  }

  private mutating func require(_ subject: Subject, at version: RecordVersion) {
    let isThere = version > 0
    if !isThere, case .profile(let applicationID, let id) = subject, id.first == ProfileRecord.erasureMarkPrefix {
      return requireNoErasureMark(applicationID, id)
    }
    let call: StatementCall =
      switch subject {
      case .binding(let id): StatementCall(isThere ? .requireBinding : .requireNoBindingAtAll).bind(id)
      case .device(let id): StatementCall(isThere ? .requireDevice : .requireNoDevice).bind(id)
      case .profile(let applicationID, let id):
        StatementCall(isThere ? .requireProfile : .requireNoProfile).bind(applicationID).bind(id)
      case .token(let key), .evaluation(let key), .ticket(let key):
        StatementCall(isThere ? .requireToken : .requireNoToken).bind(key)
      }
    calls.append(isThere ? call.bind(version) : call)
  }

  private mutating func requireNoErasureMark(_ applicationID: [UInt8], _ id: [UInt8]) {
    let mark = ProfileRecord(
      applicationID: String(decoding: applicationID, as: UTF8.self), profileID: String(decoding: id, as: UTF8.self))
    calls.append(StatementCall(.insertNoErasureMark).bind(mark))
    calls.append(StatementCall(.deleteNoErasureMark).bind(applicationID).bind(id))
  }

  /// `nil`: the record does not exist, or the change is made elsewhere.
  private static func subject(of change: Change) -> Subject? {
    switch change {
    case .putBinding(let binding): .binding([UInt8](binding.bindingID.utf8))
    case .touchBinding(let id, _, _), .notePosture(let id, _), .raiseProofCounter(let id, _, _), .putReceipt(let id, _),
      .moveReceipt(_, let id), .requireBinding(let id, _):
      .binding([UInt8](id.utf8))
    case .putDevice(let device): .device([UInt8](device.storedID.utf8))
    case .requireDevice(let id, let vendor, _): .device([UInt8](vendor.storedID(ofDevice: id).utf8))
    case .putProfile(let profile): .profile([UInt8](profile.applicationID.utf8), [UInt8](profile.profileID.utf8))
    case .requireProfile(let applicationID, let id, _): .profile([UInt8](applicationID.utf8), [UInt8](id.utf8))
    case .putEvaluation(let evaluation): .evaluation(evaluation.key)
    case .putToken(let token): .token(token.key)
    case .requireToken(let key, _): .token(key)
    case .useTicket(let key): .ticket(key)
    case .eraseProfile: nil
    }
  }
}

extension Change {
  /// The condition that the record has this version.
  fileprivate var version: RecordVersion? {
    switch self {
    case .putBinding(let binding): binding.version
    case .putDevice(let device): device.version
    case .putProfile(let profile): profile.version
    case .putEvaluation(let evaluation): evaluation.version
    case .putToken(let token): token.version
    case .touchBinding(_, let version, _), .requireBinding(_, let version), .requireDevice(_, _, let version),
      .requireProfile(_, _, let version), .requireToken(_, let version):
      version
    case .notePosture, .raiseProofCounter, .putReceipt, .moveReceipt, .useTicket, .eraseProfile: nil
    }
  }

  fileprivate var isPut: Bool {
    switch self {
    case .putBinding, .putDevice, .putProfile, .putEvaluation, .putToken: true
    // Touching a binding compares its version, too.
    case .touchBinding: true
    case .notePosture, .raiseProofCounter, .putReceipt, .moveReceipt, .useTicket, .requireBinding,
      .requireDevice, .requireProfile, .requireToken, .eraseProfile:
      false
    }
  }
}

extension StatementCall {
  static func finishing(mark: ExpiringKey, earliestExpiry: UnixTime, in lineage: Lineage) -> StatementCall {
    StatementCall(.finish).bind(mark).bind(earliestExpiry).bind(lineage.rawValue)
  }
}
