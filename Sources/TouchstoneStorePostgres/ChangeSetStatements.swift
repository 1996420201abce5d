// A change set as the statements of one transaction.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Each record is touched by as few statements as say what the change set says of it: a record that is put is compared
/// as it is written, and need not be locked before.
///
/// Records come in one order (bindings as the change set has them, devices, profiles, and so on, each by its key), so
/// that two transactions seldom wait for one another in a circle.
struct ChangeSetStatements {
  private(set) var calls: [StatementCall] = []

  /// Two changes rest on different versions of one record.
  struct Contradiction: Error {}

  /// What a change is about.
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

    /// Bindings stay as they are: one that is revoked makes way for the next.
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

  /// A record's version as it was read, and as the statements before leave it.
  private struct Versions {
    let read: RecordVersion
    var current: RecordVersion
    let isPut: Bool
  }

  private let now: UnixTime
  private var versions: [Subject: Versions] = [:]
  /// Of all keys that are put, used or rested on.
  private var earliestExpiry = UnixTime(microseconds: .max)

  /// - Parameters:
  ///   - now: from which a stand-in's time counts.
  ///   - mark: the commit's.
  ///   - lineage: that it belongs to.
  ///   - places: gives each event its place among those of the process.
  init(
    _ changeSet: ChangeSet, now: UnixTime, mark: ExpiringKey, in lineage: Lineage, places: () -> UInt64
  ) throws(Contradiction) {
    try self.init(changesOf: changeSet, now: now)
    for event in changeSet.events {
      calls.append(
        StatementCall(.insertUnsealedEvent).bind(event, salt: .random()).bind(places()))
    }
    finish(mark: mark, in: lineage)
  }

  /// Without its events and its end.
  init(changesOf changeSet: ChangeSet, now: UnixTime) throws(Contradiction) {
    self.now = now
    let changes = changeSet.changes.compactMap { change in Self.subject(of: change).map { ($0, change) } }
    for (subject, change) in changes { try note(change, of: subject) }
    // Stable: what is said of one record keeps its order.
    let ordered = changes.enumerated().sorted { left, right in
      left.element.0 < right.element.0 || (!(right.element.0 < left.element.0) && left.offset < right.offset)
    }
    for (_, (subject, change)) in ordered { append(change, of: subject) }
    for case .requireNoBinding(let applicationID, let id) in changeSet.changes {
      calls.append(StatementCall(.requireNoBinding).bind(id).bind(applicationID))
    }
  }

  mutating func finish(mark: ExpiringKey, in lineage: Lineage) {
    calls.append(.finishing(mark: mark, earliestExpiry: earliestExpiry, in: lineage))
  }

  private mutating func note(_ change: Change, of subject: Subject) throws(Contradiction) {
    switch subject {
    case .evaluation(let key), .token(let key), .ticket(let key): earliestExpiry = min(earliestExpiry, key.expiresAt)
    case .binding, .device, .profile: break
    }
    guard let version = change.version else { return }
    let known = versions[subject]
    if let known, known.read != version { throw Contradiction() }
    versions[subject] = Versions(read: version, current: version, isPut: known?.isPut ?? false || change.isPut)
  }

  /// The version that the change finds: of a record that is put before, the next one.
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
          ? StatementCall(.insertBinding).bind(binding)
          : StatementCall(.updateBinding).bind(binding).bind(version))
    case .putDevice(let device):
      let version = advance(subject)
      calls.append(
        version == 0
          ? StatementCall(.insertDevice).bind(device, writtenAt: now)
          : StatementCall(.updateDevice).bind(device, writtenAt: now).bind(version))
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
      calls.append(StatementCall(.notePosture).bind(id).bind(posture.encoded))
    case .requireBinding, .requireDevice, .requireProfile, .requireToken:
      if let versions = versions[subject], !versions.isPut { require(subject, at: versions.read) }
    case .requireNoBinding, .eraseProfile:
      break
    }
  }

  private mutating func append(_ profile: ProfileRecord, at version: RecordVersion) {
    guard version == 0 else {
      calls.append(StatementCall(.updateProfile).bind(profile, writtenAt: now).bind(version))
      return
    }
    calls.append(StatementCall(.insertProfile).bind(profile, writtenAt: now))
    calls.append(StatementCall(.requireFreshProfile).bind(profile.applicationID).bind(profile.profileID))
  }

  private mutating func append(_ evaluation: EvaluationRecord, at version: RecordVersion) {
    let standing = evaluation.standing
    let call = StatementCall(version == 0 ? .insertEvaluation : .updateEvaluation).bind(evaluation.key)
      .bind(standing.failures).bind(standing.deviceOwnerFailures).bind(standing.isFinished)
    calls.append(version == 0 ? call : call.bind(version))
  }

  private mutating func append(_ token: TokenRecord, at version: RecordVersion) {
    let call = StatementCall(version == 0 ? .insertToken : .updateToken).bind(token.key).bind(token.state.rawValue)
      .bind(token.transaction)
    calls.append(version == 0 ? call : call.bind(version))
  }

  private mutating func require(_ subject: Subject, at version: RecordVersion) {
    let isThere = version > 0
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

  /// `nil`: it is about what is not there, or is done elsewhere.
  private static func subject(of change: Change) -> Subject? {
    switch change {
    case .putBinding(let binding): .binding([UInt8](binding.bindingID.utf8))
    case .touchBinding(let id, _, _), .notePosture(let id, _), .requireBinding(let id, _): .binding([UInt8](id.utf8))
    case .putDevice(let device): .device([UInt8](device.storedID.utf8))
    case .requireDevice(let id, let vendor, _): .device([UInt8](vendor.storedID(ofDevice: id).utf8))
    case .putProfile(let profile): .profile([UInt8](profile.applicationID.utf8), [UInt8](profile.profileID.utf8))
    case .requireProfile(let applicationID, let id, _): .profile([UInt8](applicationID.utf8), [UInt8](id.utf8))
    case .putEvaluation(let evaluation): .evaluation(evaluation.key)
    case .putToken(let token): .token(token.key)
    case .requireToken(let key, _): .token(key)
    case .useTicket(let key): .ticket(key)
    case .requireNoBinding, .eraseProfile: nil
    }
  }
}

extension Change {
  /// That it rests on.
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
    case .notePosture, .useTicket, .requireNoBinding, .eraseProfile: nil
    }
  }

  fileprivate var isPut: Bool {
    switch self {
    case .putBinding, .putDevice, .putProfile, .putEvaluation, .putToken: true
    // Touching a binding compares its version, too.
    case .touchBinding: true
    case .notePosture, .useTicket, .requireBinding, .requireNoBinding, .requireDevice, .requireProfile, .requireToken,
      .eraseProfile:
      false
    }
  }
}

extension StatementCall {
  static func finishing(mark: ExpiringKey, earliestExpiry: UnixTime, in lineage: Lineage) -> StatementCall {
    StatementCall(.finish).bind(mark).bind(earliestExpiry).bind(lineage.rawValue)
  }

  consuming func bind(_ event: EventDraft, salt: UniqueID) -> StatementCall {
    bind(salt.bytes).bind(event.time).bind(event.kind).bind(event.applicationID).bind(event.profileID)
      .bind(event.deviceID).bind(event.bindingID).bind(event.caller).bind(event.details.encoded)
  }
}
