// Commits change sets that erase profiles. Their transactions lock the audit log.

internal import DispatchPool
internal import TouchstonePolicy
internal import TouchstoneStore

/// Erases profiles. Erasures are rare, and take several round trips. First the revoked bindings are removed, which may
/// be any number, and then the events that name the profile are erased with their accounts after them, in transactions
/// of a bounded number each. The transactions that erase events seal earlier commits and lock the audit log's end; the
/// last one also removes the other records. If an erasure is cut short, the profile therefore stays in place, and a
/// repeated erasure ends it: the id is free for a new person only when nothing is left of the old one. Commits go on;
/// their events are sealed between two parts, or afterwards.
struct ProfileEraser: Sendable {
  /// The revoked bindings of one transaction: some milliseconds.
  private static let revokedBindingsPerStep = 500

  let lists: ConnectionLane
  let lineage: Lineage
  let clock: @Sendable () -> UnixTime
  let signer: AccountSigner
  /// The log's end is locked while the last transaction waits for a record.
  let lockTimeout: Duration
  let brokenEventFound: @Sendable (EventChainVerifier.Fault) -> Void
  let notedFaults = NotedFaults()

  func commit(_ changeSet: ChangeSet, erasing erasures: [ProfileErasure]) async -> StoreError? {
    guard erasures.allSatisfy({ signer.isReady(at: $0.time) }) else { return .noAuditKey }
    let mark = ExpiringKey(expiresAt: clock() + Committer.markLifetime, id: .random())
    var statements: ChangeSetStatements
    do throws(ChangeSetStatements.Contradiction) {
      statements = try ChangeSetStatements(changesOf: changeSet)
    } catch {
      return StoreError(code: .conflict, message: "two changes rest on different versions of one record")
    }
    statements.finish(mark: mark, in: lineage)
    var parts = erasures.map { EventErasure($0) }
    do throws(PostgresError) {
      for erasure in erasures { try await removeRevokedBindings(of: erasure) }
      while try await !eraseNextPart(of: &parts, changeSet, statements.calls) { tellFaults(in: &parts) }
    } catch {
      guard case .lost(let reason) = error else { return StoreError(error) }
      if let failure = await settle(mark, reason: reason) { return failure }
    }
    tellFaults(in: &parts)
    return nil
  }

  /// Commits go on, also those that seal events.
  private func removeRevokedBindings(of erasure: ProfileErasure) async throws(PostgresError) {
    var last = ""
    var count = 0
    repeat {
      let removed = try await lists.withSession(isRepeatable: true) { session throws(PostgresError) in
        let results = try await session.run([
          StatementCall(.begin),
          StatementCall(.deleteRevokedBindings).bind(erasure.applicationID).bind(erasure.profileID).bind(last)
            .bind(Self.revokedBindingsPerStep),
        ])
        let bindings = try results[1].map { row in row.text() }
        try await session.run([StatementCall(.commit)])
        return bindings
      }
      last = removed.last ?? last
      count = removed.count
    } while count == Self.revokedBindingsPerStep
  }

  /// Answers whether it was the last part, which comes with the change set and the removal of the records.
  ///
  /// - Parameter parts: right also if only the commit's answer was lost.
  private func eraseNextPart(
    of parts: inout [EventErasure], _ changeSet: ChangeSet, _ calls: [StatementCall]
  ) async throws(PostgresError) -> Bool {
    let before = parts
    var isLast = false
    try await lists.withSession { session throws(PostgresError) in
      parts = before
      var chain = try await LockedEventChain(in: session)
      try await chain.seal()
      // No record is locked yet, so no commit waits for it.
      for index in parts.indices { try await parts[index].erasePart(in: session, through: chain.head.sequence) }
      isLast = parts.allSatisfy(\.isDone)
      if isLast {
        try await session.run([StatementCall(.limitLockWaits).bind(String(lockTimeout.milliseconds))] + calls)
        for part in parts { try await Self.removeRecords(of: part.erasure, in: session) }
        // Seals the few events committed meanwhile. Later events belong to a new profile.
        try await chain.seal()
        for index in parts.indices { try await parts[index].eraseRest(in: session, through: chain.head.sequence) }
      }
      for index in parts.indices { try await account(for: &parts[index], &chain) }
      if isLast { try await chain.append(changeSet.events) }
      try await chain.commit()
    }
    return isLast
  }

  private func account(for part: inout EventErasure, _ chain: inout LockedEventChain) async throws(PostgresError) {
    for account in part.findings.takeAccounts(of: part.erasure) { try await chain.append(account: account, signer) }
    if let fault = part.findings.newFault, !notedFaults.contain(fault) {
      try await chain.append([fault.event(at: part.erasure.time)])
    }
  }

  /// Called after the transaction that found them.
  private func tellFaults(in parts: inout [EventErasure]) {
    for index in parts.indices {
      guard let fault = parts[index].findings.takeNewFault() else { continue }
      notedFaults.insert(fault)
      brokenEventFound(fault)
    }
  }

  /// As in `Committer`, with one query only: an administrator repeats the call.
  private func settle(_ mark: ExpiringKey, reason: String) async -> StoreError? {
    do throws(PostgresError) {
      let isCommitted = try Committer.isCommitted(await lists.run(Committer.question(about: mark), isQuestion: true))
        .get()
      return isCommitted
        ? nil : StoreError(code: .unavailable, message: "the connection was lost, and nothing done: \(reason)")
    } catch {
      return StoreError(code: .inDoubt, message: "the connection was lost in an erasure: \(reason)")
    }
  }

  /// A binding is added in a commit that also writes the profile's row. Such a commit may be about to end: then its row
  /// is waited for, and its binding is not seen before. When the row is gone, no other commit adds a binding, and what
  /// was added meanwhile is removed, too. Missing rows are held like others: no first record comes before the last
  /// event is erased.
  private static func removeRecords(
    of erasure: ProfileErasure, in session: ConnectionLane.Session
  ) async throws(PostgresError) {
    let mark = ProfileRecord(applicationID: erasure.applicationID, profileID: erasure.markID, version: 1)
    try await session.run([raising(.beginErasure, mark)])
    try await removeBindings(of: erasure, in: session)
    try await removeProfile(of: erasure, in: session)
    try await removeBindings(of: erasure, in: session)
  }

  private static func removeBindings(
    of erasure: ProfileErasure, in session: ConnectionLane.Session
  ) async throws(PostgresError) {
    try await session.run([
      StatementCall(.deleteBindingsOfProfile).bind(erasure.applicationID).bind(erasure.profileID)
    ])
  }

  /// Holds the profile where it is missing, and raises its mark.
  private static func removeProfile(
    of erasure: ProfileErasure, in session: ConnectionLane.Session
  ) async throws(PostgresError) {
    let results = try await session.run([
      raising(.reserveProfile, .init(applicationID: erasure.applicationID, profileID: erasure.profileID)),
      StatementCall(.deleteProfile).bind(erasure.applicationID).bind(erasure.profileID),
    ])
    guard let version = try results[1].map({ row in row.version() }).first, version > 0 else { return }
    try await session.run([
      raising(
        .raiseErasureMark, .init(applicationID: erasure.applicationID, profileID: erasure.markID, version: version))
    ])
  }

  private static func raising(_ statement: Statement, _ record: ProfileRecord) -> StatementCall {
    StatementCall(statement).bind(record).bind(record.version)
  }
}
