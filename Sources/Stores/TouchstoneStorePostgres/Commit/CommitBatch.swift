// Several commits in one transaction: what most calls commit (a success with its token) has statements for many at a
// time.

internal import TouchstonePolicy
internal import TouchstoneStore

/// All are done, or none. If one of them is a conflict, each goes by itself.
struct CommitBatch {
  /// Identifiers are bytes: two encodings of "é" are two records, and one `String`.
  private struct ProfileKey: Hashable {
    let applicationID: [UInt8]
    let profileID: [UInt8]

    init(_ applicationID: String, _ profileID: String) {
      self.applicationID = [UInt8](applicationID.utf8)
      self.profileID = [UInt8](profileID.utf8)
    }
  }

  private var touches: [[UInt8]: (version: RecordVersion, time: UnixTime)] = [:]
  /// The postures of some of the bindings in `touches`.
  private var postures: [[UInt8]: SeenPosture] = [:]
  /// The counters of some of the bindings in `touches`.
  private var counters: [[UInt8]: (from: UInt32, to: UInt32)] = [:]
  private var devices: [[UInt8]: RecordVersion] = [:]
  private var profiles: [ProfileKey: RecordVersion] = [:]
  private var evaluations: [ExpiringKey: EvaluationStanding] = [:]
  private var tokens: [ExpiringKey: TokenRecord] = [:]
  private var events: [EventDraft] = []

  /// Whether all of its changes have statements here: one of each kind at most, each of another record. Only posture
  /// and counter are of the touched binding; the posture goes into its row with the touch.
  static func takes(_ changeSet: ChangeSet) -> Bool {
    var kinds: Set<Kind> = []
    var touched: String?
    var noted: [String] = []
    for change in changeSet.changes {
      guard let kind = kind(of: change), kinds.insert(kind).inserted else { return false }
      switch change {
      case .touchBinding(let id, _, _): touched = id
      case .notePosture(let id, _), .raiseProofCounter(let id, _, _): noted.append(id)
      default: break
      }
    }
    return noted.allSatisfy { noted in touched.map { Identifier.areEqual($0, noted) } ?? false }
  }

  private enum Kind {
    case touch, posture, counter, device, profile, evaluation, token
  }

  /// `nil`: it has no statement here.
  private static func kind(of change: Change) -> Kind? {
    switch change {
    case .touchBinding: .touch
    case .notePosture: .posture
    case .raiseProofCounter: .counter
    case .requireDevice: .device
    // A missing erasure mark is written and removed.
    case .requireProfile(_, let id, let version):
      version > 0 || id.utf8.first != ProfileRecord.erasureMarkPrefix ? .profile : nil
    case .putEvaluation(let evaluation): evaluation.version == 0 ? .evaluation : nil
    case .putToken(let token): token.version == 0 ? .token : nil
    case .putBinding, .putDevice, .putProfile, .putReceipt, .moveReceipt, .useTicket, .requireBinding,
      .requireToken, .eraseProfile:
      nil
    }
  }

  /// False if another commit of the batch writes the same record, or depends on another version of it: one of them may
  /// have to be refused.
  mutating func add(_ changeSet: ChangeSet) -> Bool {
    guard changeSet.changes.allSatisfy(hasRoom) else { return false }
    for change in changeSet.changes { append(change) }
    events += changeSet.events
    return true
  }

  private func hasRoom(for change: Change) -> Bool {
    switch change {
    case .touchBinding(let id, _, _): touches[[UInt8](id.utf8)] == nil
    // With its touch.
    case .notePosture, .raiseProofCounter: true
    case .requireDevice(let id, let vendor, let version):
      [nil, version].contains(devices[[UInt8](vendor.storedID(ofDevice: id).utf8)])
    case .requireProfile(let applicationID, let profileID, let version):
      [nil, version].contains(profiles[ProfileKey(applicationID, profileID)])
    case .putEvaluation(let evaluation): evaluations[evaluation.key] == nil
    case .putToken(let token): tokens[token.key] == nil
    default: false
    }
  }

  private mutating func append(_ change: Change) {
    switch change {
    case .touchBinding(let id, let version, let time): touches[[UInt8](id.utf8)] = (version, time)
    case .notePosture(let id, let posture): postures[[UInt8](id.utf8)] = posture
    case .raiseProofCounter(let id, let from, let to): counters[[UInt8](id.utf8)] = (from, to)
    case .requireDevice(let id, let vendor, let version): devices[[UInt8](vendor.storedID(ofDevice: id).utf8)] = version
    case .requireProfile(let applicationID, let profileID, let version):
      profiles[ProfileKey(applicationID, profileID)] = version
    case .putEvaluation(let evaluation): evaluations[evaluation.key] = evaluation.standing
    case .putToken(let token): tokens[token.key] = token
    default: break
    }
  }

  // MARK: Statements

  var touchesBindings: Bool { !touches.isEmpty }

  /// In the order of `ChangeSetStatements`: decisions about bindings, devices, profiles, and so on, then writes.
  func calls(mark: ExpiringKey, in lineage: Lineage, places: () -> UInt64) -> [StatementCall] {
    let expiries = (evaluations.keys.lazy.map(\.expiresAt), tokens.keys.lazy.map(\.expiresAt))
    let earliest = min(expiries.0.min() ?? .latest, expiries.1.min() ?? .latest)
    var calls = [holding(earliestExpiry: earliest)]
    // Rare: of an application that names profiles which were never bound.
    for (key, version) in profiles where version == 0 {
      calls.append(StatementCall(.requireNoProfile).bind(key.applicationID).bind(key.profileID))
    }
    calls += insertions
    if !touches.isEmpty { calls += updatesOfBindings }
    if !events.isEmpty { calls.append(UnsealedEvents.insertion(of: events, places: places)) }
    calls.append(.finishing(mark: mark, earliestExpiry: earliest, in: lineage))
    return calls
  }

  private func holding(earliestExpiry: UnixTime) -> StatementCall {
    var expectedCounters = ArrayElements(of: .bigint)
    for id in touches.keys {
      if let counter = counters[id] {
        expectedCounters.append(bigEndian: Int64(counter.from))
      } else {
        expectedCounters.appendNull()
      }
    }
    let knownDevices = devices.filter { $0.value > 0 }
    let knownProfiles = profiles.filter { $0.value > 0 }
    return StatementCall(.holdRecords).bind(array: touches.map(\.key)).bind(array: touches.map(\.value.version))
      .bind(expectedCounters).bind(array: knownDevices.map(\.key)).bind(array: knownDevices.map(\.value))
      .bind(array: devices.filter { $0.value == 0 }.map(\.key)).bind(array: knownProfiles.map(\.key.applicationID))
      .bind(array: knownProfiles.map(\.key.profileID)).bind(array: knownProfiles.map(\.value)).bind(earliestExpiry)
  }

  private var updatesOfBindings: [StatementCall] {
    if touches.count == 1, postures.isEmpty, counters.isEmpty, let (id, touch) = touches.first {
      return [StatementCall(.touchBinding).bind(id).bind(touch.time)]
    }
    var seen = ArrayElements(of: .bytea)
    var nextCounters = ArrayElements(of: .bigint)
    for id in touches.keys {
      if let posture = postures[id] { seen.append(posture.encoded) } else { seen.appendNull() }
      if let counter = counters[id] {
        nextCounters.append(bigEndian: Int64(counter.to))
      } else {
        nextCounters.appendNull()
      }
    }
    return [
      StatementCall(.touchBindings).bind(array: touches.map(\.key)).bind(times: touches.map(\.value.time)).bind(seen)
        .bind(nextCounters)
    ]
  }

  /// Records in one order, so that two batches with the same ones never wait for each other both. After a conflict with
  /// one of them, the others are withdrawn.
  private var insertions: [StatementCall] {
    let evaluations = evaluations.sorted { $0.key < $1.key }
    let tokens = tokens.sorted { $0.key < $1.key }
    var calls: [StatementCall] = []
    if !evaluations.isEmpty { calls.append(Self.insertion(of: evaluations)) }
    if !tokens.isEmpty { calls.append(Self.insertion(of: tokens)) }
    if evaluations.count > 1 || !evaluations.isEmpty && !tokens.isEmpty {
      calls.append(StatementCall(.withdrawEvaluations).bind(keys: evaluations.map(\.key)))
    }
    if tokens.count > 1 { calls.append(StatementCall(.withdrawTokens).bind(keys: tokens.map(\.key))) }
    return calls
  }

  private static func insertion(of evaluations: [(key: ExpiringKey, value: EvaluationStanding)]) -> StatementCall {
    var failures = ArrayElements(of: .bigint)
    var deviceOwnerFailures = ArrayElements(of: .bigint)
    var isFinished = ArrayElements(of: .boolean)
    for (_, standing) in evaluations {
      failures.append(bigEndian: Int64(standing.failures))
      deviceOwnerFailures.append(bigEndian: Int64(standing.deviceOwnerFailures))
      isFinished.append([standing.isFinished ? 1 : 0])
    }
    return StatementCall(.insertEvaluations).bind(keys: evaluations.map(\.key)).bind(failures)
      .bind(deviceOwnerFailures).bind(isFinished)
  }

  private static func insertion(of tokens: [(key: ExpiringKey, value: TokenRecord)]) -> StatementCall {
    var states = ArrayElements(of: .bigint)
    var transactions = ArrayElements(of: .bytea)
    for (_, token) in tokens {
      states.append(bigEndian: Int64(token.state.rawValue))
      transactions.append(token.transaction)
    }
    return StatementCall(.insertTokens).bind(keys: tokens.map(\.key)).bind(states).bind(transactions)
  }
}

extension UnixTime {
  /// The earliest expiry of a commit in which nothing expires.
  fileprivate static let latest = UnixTime(microseconds: .max)
}

extension StatementCall {
  /// An array for each column of a key.
  consuming func bind(keys: some Collection<ExpiringKey>) -> StatementCall {
    var spreads = ArrayElements(of: .smallint)
    var times = ArrayElements(of: .bigint)
    var ids = ArrayElements(of: .bytea)
    for key in keys {
      spreads.append(bigEndian: key.id.spread)
      times.append(bigEndian: key.expiresAt.microseconds)
      ids.append(key.id.bytes)
    }
    return bind(spreads).bind(times).bind(ids)
  }

  fileprivate consuming func bind(times: [UnixTime]) -> StatementCall {
    bind(array: times.map { UInt64(bitPattern: $0.microseconds) })
  }
}
