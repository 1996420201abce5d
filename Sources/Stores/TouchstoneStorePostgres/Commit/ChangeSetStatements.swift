// Translates a change set into the statements of one transaction.

internal import TouchstonePolicy
internal import TouchstoneStore

/// First come the decisions, which hold the rows that they are about, then the writes. A first record is inserted as a
/// decision, because nothing else holds a missing row, and withdrawn if a later decision is a conflict. If the last
/// decision is about a record with one write, that write is the decision.
///
/// Records come in one order (bindings as in the change set, then devices, profiles, and so on, each by its key), so
/// that two transactions seldom deadlock.
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

    /// Bindings keep their order: a revoked one makes room for the next.
    private var place: (rank: Int, bytes: [UInt8], key: ExpiringKey?) {
      switch self {
      case .binding: (0, [], nil)
      case .device(let id): (1, id, nil)
      case .profile(let applicationID, let id): (2, applicationID + [0] + id, nil)
      case .evaluation(let key): (3, [], key)
      case .token(let key): (4, [], key)
      case .ticket(let key): (5, [], key)
      }
    }

    static func < (left: Subject, right: Subject) -> Bool {
      let (left, right) = (left.place, right.place)
      guard left.rank == right.rank else { return left.rank < right.rank }
      if let key = left.key, let other = right.key { return key < other }
      return left.bytes.lexicographicallyPrecedes(right.bytes)
    }
  }

  /// A record's version when it was read, and after the statements so far.
  private struct Versions {
    let read: RecordVersion
    var current: RecordVersion
    let isPut: Bool
  }

  private struct Decision {
    let call: StatementCall
    /// Deletes what the call inserted.
    var withdrawal: StatementCall?
    /// Does the decision as well.
    var write: (call: StatementCall, index: Int)?
  }

  private var versions: [Subject: Versions] = [:]
  /// The bindings whose posture is noted.
  private var noted: Set<Subject> = []
  /// The earliest expiry of all keys that are put, used or required.
  private var earliestExpiry = UnixTime(microseconds: .max)
  private var decisions: [Decision] = []
  private var writes: [(subject: Subject, call: StatementCall)] = []
  /// Whether an earlier statement decided about the version of the record, or inserted it.
  private var held: Set<Subject> = []
  /// A binding that the change set puts may have to be written before another one is inserted.
  private var updatesBindings = false
  private var revoked: [String] = []

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
    assemble()
  }

  private mutating func assemble() {
    if let last = decisions.last, let write = last.write {
      let subject = writes[write.index].subject
      if writes.count(where: { $0.subject == subject }) == 1 {
        writes.remove(at: write.index)
        decisions[decisions.count - 1] = Decision(call: write.call)
      }
    }
    calls = decisions.map(\.call) + decisions.dropLast().compactMap(\.withdrawal) + writes.map(\.call)
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
    if case .putBinding(let binding) = change, binding.version > 0 { updatesBindings = true }
    guard let (version, isPut) = change.condition else { return }
    let known = versions[subject]
    if let known, known.read != version { throw Contradiction() }
    versions[subject] = Versions(read: version, current: version, isPut: known?.isPut ?? false || isPut)
  }

  /// The version that the change finds. For a record that an earlier change put, it is the next version.
  private mutating func advance(_ subject: Subject) -> RecordVersion {
    defer { versions[subject]?.current += 1 }
    return versions[subject]?.current ?? 0
  }

  // MARK: Statements

  private mutating func append(_ change: Change, of subject: Subject) {
    switch change {
    case .putBinding(let binding): append(binding, at: advance(subject), subject)
    case .putDevice(let device):
      let version = advance(subject)
      guard version > 0 else {
        return insert(
          subject, StatementCall(.insertDevice).bind(device),
          withdrawal: StatementCall(.withdrawDevice).bind(device.storedID))
      }
      write(subject, Statement.updateDevice) { $0.bind(device).bind(version) }
    case .putProfile(let profile): append(profile, at: advance(subject), subject)
    case .putEvaluation(let evaluation):
      let version = advance(subject)
      guard version > 0 else {
        return insert(
          subject, StatementCall(.insertEvaluation).bind(evaluation.key).bind(evaluation.standing),
          withdrawal: StatementCall(.withdrawEvaluation).bind(evaluation.key))
      }
      write(subject, Statement.updateEvaluation) { $0.bind(evaluation.key).bind(evaluation.standing).bind(version) }
    case .putToken(let token):
      let version = advance(subject)
      guard version > 0 else {
        return insert(
          subject, StatementCall(.insertToken).bind(token.key).bind(token),
          withdrawal: StatementCall(.withdrawToken).bind(token.key))
      }
      write(subject, Statement.updateToken) { $0.bind(token.key).bind(token).bind(version) }
    case .useTicket(let key):
      insert(
        subject, StatementCall(.useTicket).bind(key), withdrawal: StatementCall(.withdrawTicket).bind(key))
    case .touchBinding(let id, _, let lastUsedAt):
      _ = hold(subject)
      writes.append((subject, StatementCall(.touchBinding).bind(id).bind(lastUsedAt)))
    case .notePosture(let id, let posture):
      guard isRequiredByNote(subject) else {
        return writes.append((subject, StatementCall(.notePosture).bind(id).bind(posture.encoded)))
      }
      let version = versions[subject]?.read ?? 0
      write(subject, Statement.noteRequiredPosture) {
        $0.bind(id).bind(posture.encoded).bind(version)
      }
    case .raiseProofCounter(let id, let from, let to):
      let isNew = versions[subject]?.read == 0
      if !isNew { decide(StatementCall(.holdProofCounter).bind(id).bind(from)) }
      write(subject, Statement.raiseProofCounter, decides: !isNew) { $0.bind(id).bind(from).bind(to) }
    case .putReceipt(let id, let receipt):
      writes.append((subject, StatementCall(.putReceipt).bind(id).bind(receipt)))
    case .moveReceipt(let id, let newID):
      writes.append((subject, StatementCall(.moveReceipt).bind(id).bind(newID)))
    case .requireBinding where isRequiredByNote(subject): break
    case .requireBinding, .requireDevice, .requireProfile, .requireToken:
      if let versions = versions[subject], !versions.isPut { require(subject, at: versions.read) }
    case .eraseProfile: break
    }
  }

  private mutating func decide(_ call: StatementCall, withdrawal: StatementCall? = nil) {
    decisions.append(Decision(call: call, withdrawal: withdrawal))
  }

  private mutating func insert(_ subject: Subject, _ call: StatementCall, withdrawal: StatementCall) {
    decide(call, withdrawal: withdrawal)
    held.insert(subject)
  }

  /// Decides about the version that was read, before the record's first write. False if that was done before.
  private mutating func hold(_ subject: Subject) -> Bool {
    guard held.insert(subject).inserted, let version = versions[subject]?.read else { return false }
    let call =
      switch subject {
      case .binding(let id): StatementCall(.holdBinding).bind(id)
      case .device(let id): StatementCall(.holdDevice).bind(id)
      case .profile(let applicationID, let id): StatementCall(.holdProfile).bind(applicationID).bind(id)
      case .evaluation(let key): StatementCall(.holdEvaluation).bind(key)
      case .token(let key), .ticket(let key): StatementCall(.holdToken).bind(key)
      }
    decide(call.bind(version))
    return true
  }

  private mutating func write(
    _ subject: Subject, _ statement: ComparingStatement, _ bind: (consuming StatementCall) -> StatementCall
  ) {
    let decides = hold(subject)
    write(subject, statement, decides: decides, bind)
  }

  /// - Parameter decides: the latest decision is about it.
  private mutating func write(
    _ subject: Subject, _ statement: ComparingStatement, decides: Bool,
    _ bind: (consuming StatementCall) -> StatementCall
  ) {
    if decides { decisions[decisions.count - 1].write = (bind(StatementCall(statement.deciding)), writes.count) }
    writes.append((subject, bind(StatementCall(statement.decided))))
  }

  /// The version is required by the lock of the note. If a shared lock came first, two commits on one binding would
  /// each wait for the other's to end.
  private func isRequiredByNote(_ subject: Subject) -> Bool {
    guard let versions = versions[subject], noted.contains(subject) else { return false }
    return !versions.isPut && versions.read > 0
  }

  private mutating func append(_ binding: BindingRecord, at version: RecordVersion, _ subject: Subject) {
    defer { if binding.isRevoked { revoked.append(binding.bindingID) } }
    guard version == 0 else {
      return write(subject, Statement.updateBinding) { $0.bind(whole: binding).bind(version) }
    }
    guard updatesBindings else {
      return insert(
        subject, StatementCall(Statement.insertBinding.deciding).bind(whole: binding),
        withdrawal: StatementCall(.withdrawBinding).bind(binding.bindingID))
    }
    held.insert(subject)
    decide(
      StatementCall(.requireNoRival).bind(binding.bindingID).bind(!binding.isRevoked).bind(binding.applicationID)
        .bind(binding.deviceID).bind(binding.credential.digest).bind(array: revoked))
    writes.append((subject, StatementCall(Statement.insertBinding.decided).bind(whole: binding)))
  }

  private mutating func append(_ profile: ProfileRecord, at version: RecordVersion, _ subject: Subject) {
    guard version == 0 else {
      return write(subject, Statement.updateProfile) { $0.bind(profile).bind(version) }
    }
    let markID = ProfileRecord.erasureMarkID(forProfile: profile.profileID)
    insert(
      subject, StatementCall(.insertProfile).bind(profile).bind(markID),
      withdrawal: StatementCall(.withdrawProfile).bind(profile.applicationID).bind(profile.profileID))
    decide(StatementCall(.requireFreshProfile).bind(profile.applicationID).bind(profile.profileID).bind(markID))
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
    decide(isThere ? call.bind(version) : call)
  }

  private mutating func requireNoErasureMark(_ applicationID: [UInt8], _ id: [UInt8]) {
    let mark = ProfileRecord(
      applicationID: String(decoding: applicationID, as: UTF8.self), profileID: String(decoding: id, as: UTF8.self))
    decide(StatementCall(.insertNoErasureMark).bind(mark))
    writes.append((.profile(applicationID, id), StatementCall(.deleteNoErasureMark).bind(applicationID).bind(id)))
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
  /// The condition that the record has this version, and whether the change writes the record at it.
  fileprivate var condition: (version: RecordVersion, isPut: Bool)? {
    switch self {
    case .putBinding(let binding): (binding.version, true)
    case .putDevice(let device): (device.version, true)
    case .putProfile(let profile): (profile.version, true)
    case .putEvaluation(let evaluation): (evaluation.version, true)
    case .putToken(let token): (token.version, true)
    case .touchBinding(_, let version, _): (version, true)
    case .requireBinding(_, let version), .requireDevice(_, _, let version), .requireProfile(_, _, let version),
      .requireToken(_, let version):
      (version, false)
    case .notePosture, .raiseProofCounter, .putReceipt, .moveReceipt, .useTicket, .eraseProfile: nil
    }
  }
}

extension StatementCall {
  static func finishing(mark: ExpiringKey, earliestExpiry: UnixTime, in lineage: Lineage) -> StatementCall {
    StatementCall(.finish).bind(mark).bind(earliestExpiry).bind(lineage.rawValue)
  }
}
