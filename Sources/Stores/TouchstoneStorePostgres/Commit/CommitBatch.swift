// Several commits in one transaction: what most calls commit (a success with its token) has statements for many at a
// time.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Identifiers are bytes: two encodings of "é" are two records, and one `String`.
private struct ProfileKey: Hashable {
  let applicationID: [UInt8]
  let profileID: [UInt8]
}

/// A commit whose changes all have statements here: one of each kind at most. Only posture and counter are of the
/// touched binding; the posture goes into its row with the touch.
struct CommitForBatch {
  fileprivate struct Touch {
    let id: [UInt8]
    let version: RecordVersion
    let time: UnixTime
    var posture: SeenPosture?
    var counter: (from: UInt32, to: UInt32)?
  }

  fileprivate private(set) var touch: Touch?
  fileprivate private(set) var device: (id: [UInt8], version: RecordVersion)?
  fileprivate private(set) var profile: (key: ProfileKey, version: RecordVersion)?
  fileprivate private(set) var evaluation: EvaluationRecord?
  fileprivate private(set) var token: TokenRecord?
  fileprivate let events: [EventDraft]

  /// `nil`: one of its changes has no statement here.
  init?(_ changeSet: ChangeSet) {
    events = changeSet.events
    var posture: (id: String, seen: SeenPosture)?
    var counter: (id: String, from: UInt32, to: UInt32)?
    for change in changeSet.changes {
      switch change {
      case .touchBinding(let id, let version, let time) where touch == nil:
        touch = Touch(id: [UInt8](id.utf8), version: version, time: time)
      case .notePosture(let id, let seen) where posture == nil: posture = (id, seen)
      case .raiseProofCounter(let id, let from, let to) where counter == nil: counter = (id, from, to)
      case .requireDevice(let id, let vendor, let version) where device == nil:
        device = ([UInt8](vendor.storedID(ofDevice: id).utf8), version)
      // A missing erasure mark is written and removed.
      case .requireProfile(let applicationID, let id, let version)
      where profile == nil && (version > 0 || id.utf8.first != ProfileRecord.erasureMarkPrefix):
        let key = ProfileKey(applicationID: [UInt8](applicationID.utf8), profileID: [UInt8](id.utf8))
        profile = (key, version)
      case .putEvaluation(let evaluation) where self.evaluation == nil && evaluation.version == 0:
        self.evaluation = evaluation
      case .putToken(let token) where self.token == nil && token.version == 0: self.token = token
      default: return nil
      }
    }
    if let id = posture?.id, touch?.id.elementsEqual(id.utf8) != true { return nil }
    if let id = counter?.id, touch?.id.elementsEqual(id.utf8) != true { return nil }
    touch?.posture = posture?.seen
    touch?.counter = counter.map { ($0.from, $0.to) }
  }
}

/// All are done, or none. If one of them is a conflict, each goes by itself.
struct CommitBatch {
  private var touches: [[UInt8]: CommitForBatch.Touch] = [:]
  private var devices: [[UInt8]: RecordVersion] = [:]
  private var profiles: [ProfileKey: RecordVersion] = [:]
  private var evaluations: [ExpiringKey: EvaluationRecord] = [:]
  private var tokens: [ExpiringKey: TokenRecord] = [:]
  private var events: [EventDraft] = []

  /// False if another commit of the batch writes the same record, or depends on another version of it: one of them may
  /// have to be refused.
  mutating func add(_ commit: CommitForBatch) -> Bool {
    if let touch = commit.touch, touches[touch.id] != nil { return false }
    if let (id, version) = commit.device, devices[id, default: version] != version { return false }
    if let (key, version) = commit.profile, profiles[key, default: version] != version { return false }
    if let evaluation = commit.evaluation, evaluations[evaluation.key] != nil { return false }
    if let token = commit.token, tokens[token.key] != nil { return false }
    if let touch = commit.touch { touches[touch.id] = touch }
    if let (id, version) = commit.device { devices[id] = version }
    if let (key, version) = commit.profile { profiles[key] = version }
    if let evaluation = commit.evaluation { evaluations[evaluation.key] = evaluation }
    if let token = commit.token { tokens[token.key] = token }
    events += commit.events
    return true
  }

  // MARK: Statements

  var touchesBindings: Bool { !touches.isEmpty }

  /// In the order of `ChangeSetStatements`: decisions about bindings, devices, profiles, and so on, then writes.
  func calls(
    mark: ExpiringKey, in lineage: Lineage, at now: UnixTime, places: () -> UInt64
  ) -> [StatementCall] {
    let expiries = (evaluations.keys.lazy.map(\.expiresAt), tokens.keys.lazy.map(\.expiresAt))
    let earliest = min(expiries.0.min() ?? .latest, expiries.1.min() ?? .latest)
    // `commitLogin` relies on no sweep having removed the evaluation yet, so one that has expired goes the other way.
    if now < earliest, let login = login(mark: mark, in: lineage, places: places) { return [login] }
    var calls: [StatementCall] = []
    // Rare: of an application that names profiles which were never bound.
    for (key, version) in profiles where version == 0 {
      calls.append(StatementCall(.requireNoProfile).bind(key.applicationID).bind(key.profileID))
    }
    calls.append(together(earliestExpiry: earliest, places: places))
    calls += withdrawals
    calls.append(.finishing(mark: mark, earliestExpiry: earliest, in: lineage))
    return calls
  }

  /// `nil`: there is not exactly one record of each kind, or a token (of a payment).
  private func login(mark: ExpiringKey, in lineage: Lineage, places: () -> UInt64) -> StatementCall? {
    guard let touch = touches.values.first, let device = devices.first, let profile = profiles.first,
      let evaluation = evaluations.values.first, tokens.isEmpty,
      [touches.count, devices.count, profiles.count, evaluations.count].allSatisfy({ $0 == 1 })
    else { return nil }
    let rows = UnsealedEvents.encoded(events)
    guard rows.count == 1 else { return nil }
    return StatementCall(.commitLogin).bind(touch.id).bind(touch.version).bind(touch.counter?.from)
      .bind(device.key).bind(device.value).bind(profile.key.applicationID).bind(profile.key.profileID)
      .bind(profile.value).bind(evaluation.key).bind(evaluation.standing).bind(touch.time).bind(touch.posture?.encoded)
      .bind(touch.counter?.to).bind(eventRow: rows[0], places: places).bind(mark).bind(lineage.rawValue)
      .bind(timestamp: evaluation.key.expiresAt + Sweeper.certainty)
  }

  private func together(earliestExpiry: UnixTime, places: () -> UInt64) -> StatementCall {
    var held = RowArrays([.bytea, .bigint, .bigint])
    var touched = RowArrays([.bigint, .bytea, .bigint])
    for touch in touches.values {
      held.append(.row.bind(touch.id).bind(touch.version).bind(touch.counter?.from))
      touched.append(.row.bind(touch.time).bind(touch.posture?.encoded).bind(touch.counter?.to))
    }
    var known = (devices: RowArrays([.bytea, .bigint]), profiles: RowArrays([.bytea, .bytea, .bigint]))
    for (id, version) in devices where version > 0 { known.devices.append(.row.bind(id).bind(version)) }
    for (key, version) in profiles where version > 0 {
      known.profiles.append(.row.bind(key.applicationID).bind(key.profileID).bind(version))
    }
    let missing = devices.filter { $0.value == 0 }.map(\.key)
    return StatementCall(.commitTogether).bind(held).bind(known.devices).bind(array: missing).bind(known.profiles)
      .bind(earliestExpiry).bind(evaluationRows).bind(tokenRows).bind(touched)
      .bind(UnsealedEvents.rows(of: events, places: places))
  }

  // Records in one order, so that two batches with the same records do not deadlock.

  private var evaluationRows: RowArrays {
    var rows = RowArrays(Self.keyTypes + [.bigint, .bigint, .boolean])
    for (key, evaluation) in evaluations.sorted(by: { $0.key < $1.key }) {
      rows.append(.row.bind(key).bind(evaluation.standing))
    }
    return rows
  }

  private var tokenRows: RowArrays {
    var rows = RowArrays(Self.keyTypes + [.bigint, .bytea])
    for (key, token) in tokens.sorted(by: { $0.key < $1.key }) { rows.append(.row.bind(key).bind(token)) }
    return rows
  }

  /// Take back what was written before a conflict was found.
  private var withdrawals: [StatementCall] {
    guard evaluations.count > 1 || tokens.count > 1 else { return [] }
    return [(Statement.withdrawEvaluations, Array(evaluations.keys)), (.withdrawTokens, Array(tokens.keys))]
      .filter { !$0.1.isEmpty }.map(Self.withdrawal)
  }

  private static let keyTypes: [ArrayElements.ElementType] = [.smallint, .bigint, .bytea]

  private static func withdrawal(_ statement: Statement, of keys: [ExpiringKey]) -> StatementCall {
    var rows = RowArrays(keyTypes)
    for key in keys { rows.append(.row.bind(key)) }
    return StatementCall(statement).bind(rows)
  }
}

extension UnixTime {
  /// The earliest expiry of a commit in which nothing expires.
  fileprivate static let latest = UnixTime(microseconds: .max)
}
