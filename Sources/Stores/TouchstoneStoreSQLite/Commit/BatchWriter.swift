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
  private var now = UnixTime(microseconds: 0)

  /// Keys that expire earlier count as used, as this batch left it.
  private var sweptBefore: UnixTime

  private let clock: @Sendable () -> UnixTime
  private let signer: AccountSigner
  private let brokenEventFound: @Sendable (EventChainVerifier.Fault) -> Void
  private let notedFaults = NotedFaults()

  init(
    on connection: SQLiteConnection, committed: CommittedState, signer: AccountSigner, options: SQLiteStoreOptions
  ) throws(SQLiteError) {
    self.connection = connection
    self.committed = committed
    self.signer = signer
    clock = options.clock
    brokenEventFound = options.brokenEventFound
    reader = RecordReader(on: connection)
    statements = WriteStatements(on: connection)
    events = EventLog(on: connection)
    sweeper = Sweeper(on: connection)
    eraser = ProfileEraser(on: connection)
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
      try statements.begin.run()
      now = clock()
      for write in batch { answers.append(try self.write(write)) }
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
    if effects.beginSigning { signer.noteSigned() }
    for fault in effects.foundFaults {
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

  private func write(_ write: PendingWrite) throws(SQLiteError) -> WriteAnswer {
    switch write {
    case .upkeep(let upkeep): return .upkept(try upkeep.write(self))
    case .commit(let changeSet, var erasures, let completion):
      if let refusal = try refusal(of: changeSet) { return .refused(completion, refusal) }
      for index in erasures.indices { try lookOn(&erasures[index]) }
      guard erasures.allSatisfy(\.isLastPart) else {
        for index in erasures.indices where !erasures[index].isLastPart { try erasePart(of: &erasures[index]) }
        return .unfinished(.commit(changeSet, erasures, completion))
      }
      guard try writeChanges(of: changeSet) else { return .refused(completion, .rivalBinding) }
      for index in erasures.indices { try end(&erasures[index]) }
      for event in changeSet.events { try append(event) }
      return .committed(completion)
    }
  }

  /// Why nothing of it is written.
  private func refusal(of changeSet: ChangeSet) throws(SQLiteError) -> StoreError? {
    for change in changeSet.changes {
      if let conflict = try perform(.check, change) { return StoreError(code: .conflict, message: conflict) }
    }
    return changeSet.erasures.allSatisfy { signer.isReady(at: $0.time) } ? nil : .noAuditKey
  }

  /// Returns false, and leaves nothing of them, if another active binding is where one of them would be. A device
  /// speaks for one profile in an application (R29), and a ProfileTouchID for one binding (R30): the indexes refuse
  /// others. Only change sets with a binding pay for a savepoint, for which SQLite copies each page that they change.
  private func writeChanges(of changeSet: ChangeSet) throws(SQLiteError) -> Bool {
    guard changeSet.changes.contains(where: { $0.putsBinding }) else {
      for change in changeSet.changes { _ = try perform(.write, change) }
      return true
    }
    let effectsBefore = effects
    try statements.beginChangeSet.run()
    var isUnique = true
    do throws(SQLiteError) {
      for change in changeSet.changes { _ = try perform(.write, change) }
    } catch {
      guard error.code == .notUnique else { throw error }
      isUnique = false
      effects = effectsBefore
      try statements.rollBackChangeSet.run()
    }
    try statements.endChangeSet.run()
    return isUnique
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

  // MARK: Changes

  private enum Step {
    /// Compares the change's condition with the records as they were before its set.
    case check
    /// All of the set's conditions hold.
    case write
  }

  /// Returns the record that differs from the change's condition.
  private func perform(_ step: Step, _ change: Change) throws(SQLiteError) -> String? {
    switch change {
    case .putBinding(var binding):
      let key = ByteString(binding.bindingID)
      if step == .check { return mismatch("binding", try version(of: key), binding.version) }
      binding.version += 1
      try statements.put(binding)
      // Read back: it may have been used since the caller read it, and the later use stays.
      effects.bindings[key] = BindingEffect(put: try reader.binding(id: binding.bindingID).map { SharedRecord($0) })
    case .putDevice(var device):
      let key = DeviceKey(device)
      if step == .check { return mismatch("device", try version(of: key), device.version) }
      device.version += 1
      try statements.put(device)
      effects.devices[key] = .some(device)
    case .putProfile(var profile):
      let key = ProfileKey(applicationID: profile.applicationID, profileID: profile.profileID)
      if step == .check { return mismatch("profile", try version(of: key), profile.version) }
      if profile.version == 0 {
        let mark = ProfileRecord.erasureMarkID(forProfile: profile.profileID)
        profile.version = try version(of: ProfileKey(applicationID: profile.applicationID, profileID: mark))
      }
      profile.version += 1
      try statements.put(profile)
      effects.profiles[key] = .some(profile)
    case .putEvaluation(var evaluation):
      if step == .check {
        return try conflict(of: evaluation.key, "evaluation", version(ofEvaluation: evaluation.key), evaluation.version)
      }
      evaluation.version += 1
      try statements.put(evaluation)
      effects.evaluations[evaluation.key] = evaluation
    case .putToken(var token):
      if step == .check { return try conflict(of: token.key, "token", version(ofToken: token.key), token.version) }
      token.version += 1
      try statements.put(token)
      effects.tokens[token.key] = token
    case .useTicket(let key):
      if step == .check { return try reader.isUsed(ticket: key) ? "the ticket was used before, or may have been" : nil }
      try statements.useTicket.bind(key).run()
    case .touchBinding(let id, let version, let lastUsedAt):
      let key = ByteString(id)
      if step == .check { return mismatch("binding", try self.version(of: key), version) }
      try statements.touchBinding.bind(id).bind(lastUsedAt).run()
      effects.bindings[key, default: BindingEffect()].lastUsedAt = lastUsedAt
    case .notePosture(let id, let posture):
      if step == .check { return nil }
      let key = ByteString(id)
      guard try version(of: key) > 0 else {
        try statements.writeAndRemove()
        return nil
      }
      try statements.notePosture.bind(id).bind(posture.encoded).run()
      effects.bindings[key, default: BindingEffect()].lastSeen = posture
    case .raiseProofCounter(let id, let from, let counter):
      let key = ByteString(id)
      if step == .check { return try proofCounter(of: key) == from ? nil : "the binding's counter is not \(from)" }
      try statements.raiseProofCounter.bind(id).bind(counter).run()
      effects.bindings[key, default: BindingEffect()].proofCounter = counter
    case .putReceipt(let id, let receipt):
      if step == .write { try statements.putReceipt.bind(id).bind(receipt).run() }
    case .moveReceipt(let id, let newID):
      if step == .write { try statements.moveReceipt.bind(id).bind(newID).run() }
    case .requireBinding(let id, let version):
      if step == .check { return mismatch("binding", try self.version(of: ByteString(id)), version) }
    case .requireDevice(let id, let vendor, let version):
      if step == .check {
        return mismatch("device", try self.version(of: DeviceKey(vendor: vendor, deviceID: id)), version)
      }
    case .requireProfile(let applicationID, let profileID, let version):
      if step == .check {
        let key = ProfileKey(applicationID: applicationID, profileID: profileID)
        return mismatch("profile", try self.version(of: key), version)
      }
    case .requireToken(let key, let version):
      // Whether a swept token was revoked is forgotten.
      if step == .check { return try conflict(of: key, "token", self.version(ofToken: key), version) }
    case .eraseProfile: break
    }
    return nil
  }

  private func mismatch(_ kind: String, _ found: RecordVersion, _ expected: RecordVersion) -> String? {
    found == expected ? nil : "\(kind): version \(found), not \(expected)"
  }

  private func conflict(
    of key: ExpiringKey, _ kind: String, _ found: RecordVersion, _ expected: RecordVersion
  ) -> String? {
    key.expiresAt < sweptBefore ? "\(kind): expired before the latest sweep" : mismatch(kind, found, expected)
  }

  // MARK: Records: of this batch, of memory, of the database

  private func version(of key: some RecordKey) throws(SQLiteError) -> RecordVersion {
    if let known = key.version(in: effects) ?? committed.version(of: key) { return known }
    return try key.read(by: reader)?.version ?? 0
  }

  private func version(ofEvaluation key: ExpiringKey) throws(SQLiteError) -> RecordVersion {
    if let known = effects.evaluations[key]?.version ?? committed.evaluation(key).version { return known }
    return try reader.evaluation(key)?.version ?? 0
  }

  private func version(ofToken key: ExpiringKey) throws(SQLiteError) -> RecordVersion {
    if let known = effects.tokens[key]?.version ?? committed.token(key).version { return known }
    return try reader.token(key)?.version ?? 0
  }

  private func proofCounter(of key: ByteString) throws(SQLiteError) -> UInt32? {
    let effect = effects.bindings[key]
    if let raised = effect?.proofCounter { return raised }
    if let put = effect?.put { return put?.value.proofCounter }
    return try reader.binding(id: key.text)?.proofCounter
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
    for id in removed.bindings { effects.bindings[ByteString(id)] = BindingEffect(put: .some(nil)) }
    effects.profiles[ProfileKey(applicationID: erasure.applicationID, profileID: erasure.profileID)] = .some(nil)
    let mark = ProfileKey(applicationID: erasure.applicationID, profileID: erasure.markID)
    let last = try version(of: mark)
    let raised = max(last + 1, removed.version ?? 0)
    let record = ProfileRecord(applicationID: mark.applicationID, profileID: mark.profileID, version: raised)
    try statements.put(erasureMark: record)
    effects.profiles[mark] = .some(record)
    try erasePart(of: &rest)
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
      effects.foundFaults.append(broken)
    }
    effects.containErasure = true
  }
}

// MARK: Upkeep

extension BatchWriter {
  /// One bounded step.
  func sweep(before time: UnixTime) throws(SQLiteError) -> Result<SweepResult, StoreError> {
    let step = try sweeper.step(before: time)
    sweptBefore = max(time, sweptBefore)
    effects.sweptBefore = sweptBefore
    return .success(SweepResult(removedRows: step.removedRows, hasMore: step.hasMore, sweptBefore: sweptBefore))
  }

  func probe() throws(SQLiteError) -> Result<Void, StoreError> { .success(try statements.writeAndRemove()) }

  func keyCheck(initially check: [UInt8]) throws(SQLiteError) -> Result<[UInt8], StoreError> {
    .success(try statements.keyCheck(initially: check))
  }

  func drop(_ archived: ArchivedEvents) throws(SQLiteError) -> Result<Void, StoreError> {
    guard signer.isReady(at: now) else { return .failure(.noAuditKey) }
    guard try events.drop(archived) else { return .failure(.otherLog) }
    return .success(try append(account: archived.event(at: now)))
  }

  /// Returns the number of the event from which on accounts are signed; `nil`: it was appended before.
  func beginSigning() throws(SQLiteError) -> Result<UInt64?, StoreError> {
    guard let event = signer.beginning(after: chain.head, at: now) else { return .success(nil) }
    try append(event)
    effects.beginSigning = true
    return .success(chain.head.sequence)
  }
}

extension Change {
  fileprivate var putsBinding: Bool {
    if case .putBinding = self { true } else { false }
  }
}

extension StoreError {
  fileprivate static let rivalBinding = StoreError(
    code: .conflict, message: "the device, the ProfileTouchID or the passkey has another active binding")
}
