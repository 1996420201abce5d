// Change sets that erase profiles: one transaction, which holds the audit log meanwhile.

internal import DispatchPool
internal import TouchstonePolicy
internal import TouchstoneStore

/// Rare, and of several round trips: what was committed before is sealed, the events that name the profile lose their
/// content, and their accounts come behind all of them. Commits go on; their events are sealed afterwards.
struct ProfileEraser: Sendable {
  /// Read and erased in one round trip.
  private static let maximumEventsPerStep = 1_000

  let lists: ConnectionLane
  let lineage: Lineage
  let clock: @Sendable () -> UnixTime
  let signer: AccountSigner

  func commit(_ changeSet: ChangeSet, erasing erasures: [ProfileErasure]) async -> StoreError? {
    guard erasures.allSatisfy({ signer.isReady(at: $0.time) }) else { return .noAuditKey }
    let now = clock()
    let mark = ExpiringKey(expiresAt: now + Committer.markLifetime, id: .random())
    var statements: ChangeSetStatements
    do throws(ChangeSetStatements.Contradiction) {
      statements = try ChangeSetStatements(changesOf: changeSet, now: now)
    } catch {
      return StoreError(code: .conflict, message: "two changes rest on different versions of one record")
    }
    statements.finish(mark: mark, in: lineage)
    let calls = statements.calls
    do throws(PostgresError) {
      try await lists.withSession { session throws(PostgresError) in
        var chain = try await LockedEventChain(in: session)
        try await chain.seal()
        // However many: no record is locked yet, so nobody's commit waits for it.
        var erased: [[UInt64]] = []
        for erasure in erasures { erased.append(try await Self.eraseEvents(of: erasure, after: 0, in: session)) }
        try await session.run(calls)
        for erasure in erasures { try await Self.removeRecords(of: erasure, in: session) }
        // What was committed meanwhile: a few.
        try await chain.seal()
        for (erasure, sequences) in zip(erasures, erased) {
          let late = try await Self.eraseEvents(of: erasure, after: sequences.last ?? 0, in: session)
          for account in erasure.accounts(ofErased: sequences + late) {
            try await chain.append(account: account, signer)
          }
        }
        try await chain.append(changeSet.events)
        try await chain.commit()
      }
      return nil
    } catch {
      guard case .lost(let reason) = error else { return StoreError(error) }
      return await settle(mark, reason: reason)
    }
  }

  /// As `Committer` does, and asked once: an administrator asks again.
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

  private static func removeRecords(
    of erasure: ProfileErasure, in session: ConnectionLane.Session
  ) async throws(PostgresError) {
    let removed = try await session.run([
      StatementCall(.deleteBindingsOfProfile).bind(erasure.applicationID).bind(erasure.profileID)
    ])
    let bindings = try removed.first?.map { row in row.text() } ?? []
    let profiles =
      [erasure.profileID, ProfileRecord.standInID(forProfile: erasure.profileID)]
      + bindings.map { ProfileRecord.standInID(forUnknownBinding: $0) }
    // In the order of every commit: devices before profiles.
    let results = try await session.run([
      StatementCall(.deleteDevices).bind(
        array: bindings.flatMap {
          [
            DeviceRecord.standInID(forUnknownBinding: $0, applicationID: erasure.applicationID),
            DeviceRecord.standInID(forRevokedBinding: $0),
          ]
        }),
      StatementCall(.deleteProfiles).bind(erasure.applicationID).bind(array: profiles),
    ])
    let highest = try results.last?.only { row in row.version() } ?? 0
    try await session.run([StatementCall(.raiseErasureMark).bind(highest)])
  }

  /// Which they were, rising.
  private static func eraseEvents(
    of erasure: ProfileErasure, after sequence: UInt64, in session: ConnectionLane.Session
  ) async throws(PostgresError) -> [UInt64] {
    var erased: [UInt64] = []
    while true {
      let results = try await session.run([
        StatementCall(.selectEventsOfProfile).bind(erasure.applicationID).bind(erasure.profileID)
          .bind(erased.last ?? sequence).bind(maximumEventsPerStep)
      ])
      let events = try results.first?.map { row throws(PostgresError) in try EventRecord(&row) } ?? []
      guard !events.isEmpty else { return erased }
      let sequences = events.map(\.sequence)
      try await session.run([
        StatementCall(.eraseEvents).bind(array: sequences).bind(array: events.map(\.content.digest))
      ])
      erased += sequences
    }
  }
}
