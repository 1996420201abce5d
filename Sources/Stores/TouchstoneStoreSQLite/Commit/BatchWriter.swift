// One transaction for many change sets, in order: each is compared and set, or refused without a trace.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined to the writer's queue.
final class BatchWriter {
  let connection: SQLiteConnection
  private let committed: CommittedState
  private let reader: RecordReader
  private let statements: WriteStatements
  private let events: EventLog
  private let sweeper: Sweeper
  private let eraser: ProfileEraser
  private var chain: EventChain
  private var effects = BatchEffects()

  /// Keys that expire earlier count as used, as this batch left it.
  private var sweptBefore: UnixTime

  private let clock: @Sendable () -> UnixTime
  private let signer: AccountSigner
  private let brokenEventFound: @Sendable (EventChainVerifier.Fault) -> Void
  private let notedFaults = NotedFaults()
  /// By this batch.
  private var foundFaults: [EventChainVerifier.Fault] = []

  init(
    on connection: SQLiteConnection, committed: CommittedState, signer: AccountSigner, options: SQLiteStoreOptions
  ) throws(SQLiteError) {
    self.connection = connection
    self.committed = committed
    self.signer = signer
    clock = options.clock
    brokenEventFound = options.brokenEventFound
    reader = try RecordReader(on: connection)
    statements = try WriteStatements(on: connection)
    events = try EventLog(on: connection)
    sweeper = try Sweeper(on: connection)
    eraser = try ProfileEraser(on: connection)
    chain = EventChain(continuing: try events.head())
    sweptBefore = try reader.sweptBefore()
  }

  /// The latest batch erased something, which the write-ahead log may still hold.
  var hasErased: Bool { effects.containErasure }

  /// The latest batch appended events.
  private(set) var hasAppended = false
  /// The latest batch's fsync, and what SQLite wrote before it.
  private(set) var commitTime = Duration.zero

  /// Writes the whole batch in one transaction. Returns the answers that may be delivered now.
  func write(_ batch: [PendingWrite]) throws(BatchFailure) -> [WriteAnswer] {
    let headBefore = chain.head
    let markBefore = sweptBefore
    var answers: [WriteAnswer] = []
    answers.reserveCapacity(batch.count)
    do throws(SQLiteError) {
      effects = BatchEffects()
      foundFaults = []
      try statements.begin.run()
      let now = clock()
      for write in batch { answers.append(try apply(write, now: now)) }
      if chain.head != headBefore { try events.setHead(chain.head) }
    } catch {
      rollBack(to: headBefore, markBefore)
      throw BatchFailure(beforeCommit: error)
    }
    let beganCommit = ContinuousClock.now
    do throws(SQLiteError) {
      try statements.commit.run()
    } catch {
      rollBack(to: headBefore, markBefore)
      throw BatchFailure(inCommit: error)
    }
    commitTime = beganCommit.duration(to: .now)
    hasAppended = chain.head != headBefore
    // Memory never holds a change that is not durable.
    committed.publish(effects)
    if answers.contains(where: \.hasBegunSigning) { signer.noteSigned() }
    for fault in foundFaults {
      notedFaults.insert(fault)
      brokenEventFound(fault)
    }
    return answers
  }

  private func rollBack(to head: EventChain.Head, _ mark: UnixTime) {
    chain.rewind(to: head)
    sweptBefore = mark
    // SQLite may have undone it already. Even if this fails, too, the transaction was never committed.
    if connection.isInTransaction { try? statements.rollback.run() }
  }

  private func apply(_ write: PendingWrite, now: UnixTime) throws(SQLiteError) -> WriteAnswer {
    switch write {
    case .commit(let changeSet, var erasures, let completion):
      if let refusal = try refusal(of: changeSet) { return .refused(completion, refusal) }
      for index in erasures.indices { try lookOn(&erasures[index]) }
      guard erasures.allSatisfy(\.isLastPart) else {
        for index in erasures.indices where !erasures[index].isLastPart { try erasePart(of: &erasures[index]) }
        return .unfinished(.commit(changeSet, erasures, completion))
      }
      for change in changeSet.changes { try self.write(change) }
      for index in erasures.indices { try end(&erasures[index]) }
      for event in changeSet.events { try append(event) }
      return .committed(completion)
    case .sweep(let time, let completion):
      return .swept(completion, try sweep(before: time))
    case .probe(let completion):
      try statements.writeAndRemove()
      return .probed(completion)
    case .keyCheck(let check, let completion):
      return .keyCheck(completion, try statements.keyCheck(initially: check))
    case .drop(let archived, let completion):
      guard signer.isReady(at: now) else { return .refused(completion, .noAuditKey) }
      guard try events.drop(archived) else { return .refused(completion, .otherLog) }
      try append(account: archived.event(at: now))
      return .committed(completion)
    case .beginSigning(let completion):
      guard let event = signer.beginning(after: chain.head, at: now) else { return .begunSigning(completion, nil) }
      try append(event)
      return .begunSigning(completion, chain.head.sequence)
    }
  }

  /// Why nothing of it is written.
  private func refusal(of changeSet: ChangeSet) throws(SQLiteError) -> StoreError? {
    for index in changeSet.changes.indices {
      if let conflict = try conflict(of: changeSet.changes[index], after: changeSet.changes[..<index]) {
        return StoreError(code: .conflict, message: conflict)
      }
    }
    return changeSet.erasures.allSatisfy { signer.isReady(at: $0.time) } ? nil : .noAuditKey
  }

  private func append(_ event: EventDraft) throws(SQLiteError) {
    try events.append(chain.append(event, salt: .random()))
  }

  /// The batch fails if the key was removed meanwhile.
  private func append(account: EventDraft) throws(SQLiteError) {
    guard let event = signer.account(account, after: chain.head) else {
      throw SQLiteError(code: .busy, message: StoreError.noAuditKey.message)
    }
    try append(event)
  }

  /// One bounded step.
  private func sweep(before time: UnixTime) throws(SQLiteError) -> SweepResult {
    let step = try sweeper.step(before: time)
    sweptBefore = max(time, sweptBefore)
    effects.sweptBefore = sweptBefore
    return SweepResult(removedRows: step.removedRows, hasMore: step.hasMore, sweptBefore: sweptBefore)
  }

  // MARK: Conditions

  /// Returns the record that differs from the change's condition. `earlier`: the set's earlier changes, not written
  /// yet.
  private func conflict(of change: Change, after earlier: ArraySlice<Change>) throws(SQLiteError) -> String? {
    if let key = change.expiringKey, key.expiresAt < sweptBefore { return "expired before the latest sweep" }
    return switch change {
    case .putBinding(let binding):
      try conflict(ofPutting: binding, after: earlier)
    case .putDevice(let device):
      mismatch("device", try version(of: DeviceKey(device)), device.version)
    case .putProfile(let profile):
      mismatch(
        "profile", try version(ofProfile: profile.profileID, applicationID: profile.applicationID), profile.version)
    case .putEvaluation(let evaluation):
      mismatch("evaluation", try version(ofEvaluation: evaluation.key), evaluation.version)
    case .putToken(let token):
      mismatch("token", try version(ofToken: token.key), token.version)
    case .useTicket(let key):
      try reader.isUsed(ticket: key) ? "the ticket was used before" : nil
    case .touchBinding(let id, let version, _), .requireBinding(let id, let version):
      mismatch("binding", try self.version(ofBinding: id), version)
    case .raiseProofCounter(let id, let from, _):
      try proofCounter(ofBinding: id) == from ? nil : "the binding's counter is not \(from)"
    case .requireDevice(let id, let vendor, let version):
      mismatch("device", try self.version(of: DeviceKey(vendor: vendor, deviceID: id)), version)
    case .requireProfile(let applicationID, let profileID, let version):
      mismatch("profile", try self.version(ofProfile: profileID, applicationID: applicationID), version)
    case .requireToken(let key, let version):
      mismatch("token", try self.version(ofToken: key), version)
    case .notePosture, .putReceipt, .moveReceipt, .eraseProfile:
      nil
    }
  }

  private func mismatch(_ kind: String, _ found: RecordVersion, _ expected: RecordVersion) -> String? {
    found == expected ? nil : "\(kind): version \(found), not \(expected)"
  }

  /// A device speaks for one profile in an application (R29), and a ProfileTouchID for one binding (R30).
  private func conflict(
    ofPutting binding: BindingRecord, after earlier: ArraySlice<Change>
  ) throws(SQLiteError) -> String? {
    let mismatch = mismatch("binding", try version(ofBinding: binding.bindingID), binding.version)
    guard mismatch == nil, !binding.isRevoked else { return mismatch }
    let application = ByteString(binding.applicationID)
    let device = ByteString(binding.deviceID)
    let holderOfDevice = holder(
      at: try reader.activeBinding(applicationID: binding.applicationID, deviceID: binding.deviceID), after: earlier
    ) { ByteString($0.applicationID) == application && ByteString($0.deviceID) == device }
    if let holderOfDevice, holderOfDevice != ByteString(binding.bindingID) {
      return "the device has another active binding"
    }
    guard let digest = binding.credential.digest else { return nil }
    let holderOfDigest = holder(
      at: try reader.activeBinding(applicationID: binding.applicationID, profileTouchID: digest), after: earlier
    ) { ByteString($0.applicationID) == application && $0.credential.digest == digest }
    if let holderOfDigest, holderOfDigest != ByteString(binding.bindingID) {
      return "the ProfileTouchID or passkey has another active binding"
    }
    return nil
  }

  /// The holder of a value that only one active binding may hold, after `earlier` is written.
  private func holder(
    at start: BindingRecord?, after earlier: ArraySlice<Change>, where isRival: (BindingRecord) -> Bool
  ) -> ByteString? {
    var holder = start.map { ByteString($0.bindingID) }
    for case .putBinding(let binding) in earlier where isRival(binding) {
      let id = ByteString(binding.bindingID)
      if !binding.isRevoked {
        holder = id
      } else if holder == id {
        holder = nil
      }
    }
    return holder
  }

  // MARK: Versions: of this batch, of memory, of the database

  private func version(ofBinding id: String) throws(SQLiteError) -> RecordVersion {
    let key = ByteString(id)
    if let changed = effects.bindings[key] { return changed?.version ?? 0 }
    if let known = committed.version(ofBinding: key) { return known }
    return try reader.binding(id: id)?.version ?? 0
  }

  private func proofCounter(ofBinding id: String) throws(SQLiteError) -> UInt32? {
    let key = ByteString(id)
    if let changed = effects.bindings[key] { return changed?.proofCounter }
    if let raised = effects.proofCounters[key] { return raised }
    return try reader.binding(id: id)?.proofCounter
  }

  private func version(of device: DeviceKey) throws(SQLiteError) -> RecordVersion {
    if let changed = effects.devices[device] { return changed?.version ?? 0 }
    if let known = committed.version(of: device) { return known }
    return try reader.device(id: device.deviceID, vendor: device.vendor)?.version ?? 0
  }

  private func version(ofProfile id: String, applicationID: String) throws(SQLiteError) -> RecordVersion {
    let key = ProfileKey(applicationID: applicationID, profileID: id)
    if let changed = effects.profiles[key] { return changed?.version ?? 0 }
    if let known = committed.version(of: key) { return known }
    return try reader.profile(applicationID: applicationID, profileID: id)?.version ?? 0
  }

  private func version(ofEvaluation key: ExpiringKey) throws(SQLiteError) -> RecordVersion {
    if let known = effects.evaluations[key]?.version ?? committed.evaluation(key).version { return known }
    return try reader.evaluation(key)?.version ?? 0
  }

  private func version(ofToken key: ExpiringKey) throws(SQLiteError) -> RecordVersion {
    if let known = effects.tokens[key]?.version ?? committed.token(key).version { return known }
    return try reader.token(key)?.version ?? 0
  }

  // MARK: Effects

  private func write(_ change: Change) throws(SQLiteError) {
    switch change {
    case .putBinding(var binding):
      binding.version += 1
      try statements.put(binding)
      let key = ByteString(binding.bindingID)
      // Read back: it may have been used since the caller read it, and the later use stays.
      effects.bindings[key] = .some(try reader.binding(id: binding.bindingID))
      effects.bindingUses[key] = nil
      effects.bindingPostures[key] = nil
      effects.proofCounters[key] = nil
    case .putDevice(var device):
      device.version += 1
      try statements.put(device)
      effects.devices[DeviceKey(device)] = .some(device)
    case .putProfile(var profile):
      if profile.version == 0 {
        let mark = ProfileRecord.erasureMarkID(forProfile: profile.profileID)
        profile.version = try version(ofProfile: mark, applicationID: profile.applicationID)
      }
      profile.version += 1
      try statements.put(profile)
      effects.profiles[ProfileKey(applicationID: profile.applicationID, profileID: profile.profileID)] = .some(profile)
    case .putEvaluation(var evaluation):
      evaluation.version += 1
      try statements.put(evaluation)
      effects.evaluations[evaluation.key] = evaluation
    case .putToken(var token):
      token.version += 1
      try statements.put(token)
      effects.tokens[token.key] = token
    case .useTicket(let key):
      try statements.useTicket.bind(key).run()
    case .touchBinding(let id, _, let lastUsedAt):
      try statements.touchBinding.bind(id).bind(lastUsedAt).run()
      let key = ByteString(id)
      if effects.bindings[key] == nil {
        effects.bindingUses[key] = lastUsedAt
      } else {
        effects.bindings[key]??.lastUsedAt = lastUsedAt
      }
    case .notePosture(let id, let posture):
      guard try version(ofBinding: id) > 0 else { return try statements.writeAndRemove() }
      try statements.notePosture.bind(id).bind(posture.encoded).run()
      let key = ByteString(id)
      if effects.bindings[key] == nil {
        effects.bindingPostures[key] = posture
      } else {
        effects.bindings[key]??.lastSeen = posture
      }
    case .raiseProofCounter(let id, _, let counter):
      try statements.raiseProofCounter.bind(id).bind(counter).run()
      let key = ByteString(id)
      if effects.bindings[key] == nil {
        effects.proofCounters[key] = counter
      } else {
        effects.bindings[key]??.proofCounter = counter
      }
    case .putReceipt(let id, let receipt):
      try statements.putReceipt.bind(id).bind(receipt).run()
    case .moveReceipt(let id, let newID):
      try statements.moveReceipt.bind(id).bind(newID).run()
    case .requireBinding, .requireDevice, .requireProfile, .requireToken, .eraseProfile:
      break
    }
  }

  // MARK: Erasing

  /// Finds the events that were appended since the last look.
  private func lookOn(_ rest: inout EventErasure) throws(SQLiteError) {
    let end = chain.head.sequence
    rest.sequences += try events.sequences(naming: rest.erasure, after: rest.searchedThrough, through: end)
    rest.searchedThrough = end
  }

  /// The records, and the last part of the events.
  private func end(_ rest: inout EventErasure) throws(SQLiteError) {
    let erasure = rest.erasure
    let removed = try eraser.removeRecords(of: erasure)
    for id in removed.bindings {
      effects.bindings[ByteString(id)] = .some(nil)
      effects.bindingUses[ByteString(id)] = nil
      effects.bindingPostures[ByteString(id)] = nil
      effects.proofCounters[ByteString(id)] = nil
    }
    let profile = ProfileKey(applicationID: erasure.applicationID, profileID: erasure.profileID)
    effects.profiles[profile] = .some(nil)
    let mark = try version(ofProfile: erasure.markID, applicationID: erasure.applicationID)
    try raiseMark(erasure.markID, of: erasure, to: mark + 1)
    if let version = removed.version { try raiseMark(erasure.markID, of: erasure, to: version) }
    try erasePart(of: &rest)
  }

  private func raiseMark(
    _ id: String, of erasure: ProfileErasure, to minimum: RecordVersion
  ) throws(SQLiteError) {
    guard try version(ofProfile: id, applicationID: erasure.applicationID) < minimum else { return }
    let mark = ProfileRecord(applicationID: erasure.applicationID, profileID: id, version: minimum)
    try statements.put(erasureMark: mark)
    effects.profiles[ProfileKey(applicationID: mark.applicationID, profileID: id)] = .some(mark)
  }

  /// With its accounts.
  private func erasePart(of rest: inout EventErasure) throws(SQLiteError) {
    let start = try events.start().sequence
    // Events that were archived meanwhile are out of reach.
    for sequence in rest.takePart() where sequence > start {
      rest.findings.note(try events.erase(sequence, by: rest.erasure), of: sequence)
    }
    for account in rest.findings.takeAccounts(of: rest.erasure) { try append(account: account) }
    if let broken = rest.findings.takeNewFault() {
      if !notedFaults.contain(broken) { try append(broken.event(at: rest.erasure.time)) }
      foundFaults.append(broken)
    }
    effects.containErasure = true
  }
}

extension Change {
  /// The key of what it puts, uses or rests on.
  fileprivate var expiringKey: ExpiringKey? {
    switch self {
    case .putEvaluation(let evaluation): evaluation.key
    case .putToken(let token): token.key
    case .useTicket(let key): key
    // Whether it was revoked is forgotten.
    case .requireToken(let key, _): key
    case .putBinding, .putDevice, .putProfile, .touchBinding, .notePosture, .raiseProofCounter, .putReceipt,
      .moveReceipt,
      .requireBinding, .requireDevice, .requireProfile, .eraseProfile:
      nil
    }
  }
}
