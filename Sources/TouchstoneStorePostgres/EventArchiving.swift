// What archiving the audit log asks of the database: beside sealing and erasing, one at a time.

internal import TouchstonePolicy
internal import TouchstoneStore

struct EventArchiving: Sendable {
  let lists: ConnectionLane
  let clock: @Sendable () -> UnixTime
  let signer: AccountSigner

  /// Where it was not done, nothing is changed.
  func drop(_ archived: ArchivedEvents) async throws(PostgresError) -> Result<Void, StoreError> {
    let now = clock()
    guard signer.isReady(at: now) else { return .failure(.noAuditKey) }
    return try await lists.withSession { session throws(PostgresError) in
      // Erasures hold the chain, too: each is seen here, or sees what is done here.
      var chain = try await LockedEventChain(in: session)
      let results = try await session.run([
        StatementCall(.dropEvents).bind(archived.start.sequence).bind(archived.start.hash).bind(archived.end.sequence)
          .bind(archived.end.hash).bind(archived.unerasedThrough).bind(ProfileErasure.eventKind)
          .bind(archived.claimant.bytes)
      ])
      guard let result = results.first else { throw .corrupt("no archive's end") }
      let isDropped = try result.only { row in row.integer() } == 1
      if isDropped { try await chain.append(account: archived.event(at: now), signer) }
      try await chain.commit()
      return isDropped ? .success(()) : .failure(.otherLog)
    }
  }

  func claim(by claimant: UniqueID, for duration: Duration) async throws(PostgresError) -> Bool {
    let milliseconds = duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
    let results = try await lists.run([StatementCall(.claimArchiving).bind(claimant.bytes).bind(milliseconds)])
    guard let result = results.first else { throw .corrupt("no archive's end") }
    return try result.only { row in row.integer() } == 1
  }
}
