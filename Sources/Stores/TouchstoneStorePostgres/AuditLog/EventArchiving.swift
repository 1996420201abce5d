// The database's part in archiving the audit log. Archiving, sealing and erasing take turns.

internal import TouchstonePolicy
internal import TouchstoneStore

struct EventArchiving: Sendable {
  let lists: ConnectionLane
  let clock: @Sendable () -> UnixTime
  let signer: AccountSigner

  /// If it fails, nothing is changed.
  func drop(_ archived: ArchivedEvents) async throws(PostgresError) -> Result<Void, StoreError> {
    let now = clock()
    guard signer.isReady(at: now) else { return .failure(.noAuditKey) }
    return try await lists.withSession { session throws(PostgresError) in
      // Erasures lock the chain, too, so each comes before or after this transaction.
      var chain = try await LockedEventChain(in: session)
      let isErased = try await isErasedSince(archived, in: session)
      let isDropped = isErased ? false : try await moveStart(archived, in: session)
      if isDropped { try await chain.append(account: archived.event(at: now), signer) }
      try await chain.commit()
      return isDropped ? .success(()) : .failure(.otherLog)
    }
  }

  private func isErasedSince(
    _ archived: ArchivedEvents, in session: ConnectionLane.Session
  ) async throws(PostgresError) -> Bool {
    let results = try await session.run([
      StatementCall(.selectLastEvents).bind(archived.unerasedThrough).bind(ProfileErasure.eventKind)
    ])
    let erasures = try results[0].map { row throws(PostgresError) in try EventRecord(&row) }
    return erasures.contains { $0.event.map(archived.isErased) == true }
  }

  private func moveStart(
    _ archived: ArchivedEvents, in session: ConnectionLane.Session
  ) async throws(PostgresError) -> Bool {
    let results = try await session.run([
      StatementCall(.dropEvents).bind(archived.start.sequence).bind(archived.start.hash).bind(archived.end.sequence)
        .bind(archived.end.hash).bind(archived.claimant.bytes)
    ])
    return try results[0].only { row in row.integer() } == 1
  }

  func claim(by claimant: UniqueID, for duration: Duration) async throws(PostgresError) -> Bool {
    let milliseconds = duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
    let results = try await lists.run([StatementCall(.claimArchiving).bind(claimant.bytes).bind(milliseconds)])
    return try results[0].only { row in row.integer() } == 1
  }
}
