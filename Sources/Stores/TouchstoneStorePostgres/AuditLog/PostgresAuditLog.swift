// Verifies the audit log in a database, beside running services (R41).

public import TouchstoneStore

public enum PostgresAuditLog {
  /// Reads every sealed event once, and those that are sealed next, which must be readable. Changes and locks nothing.
  /// Leaves events that are sealed meanwhile to the next reading.
  public static func verify(
    uri: String, accounts: AccountReview = .none, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> AuditLogVerification {
    let inspection = DatabaseInspection(targets: try ConnectionTarget.prepared(uri), options: options)
    let (verification, unreadable) = try await inspection.inspect { session throws(PostgresError) in
      let reader = PostgresAuditLogReader(session: session, accounts: accounts)
      return (try await reader.verification(), try await reader.unreadableUnsealedEvent())
    }
    guard let unreadable, verification.fault == nil else { return verification }
    throw StoreOpenError(code: .corrupt, message: "the PostgreSQL database: \(unreadable.message)")
  }
}

struct PostgresAuditLogReader {
  let session: ConnectionLane.Session
  var accounts = AccountReview.none

  func verification() async throws(PostgresError) -> AuditLogVerification {
    var verification = try await read(maximumEvents: .max, accounts).verification
    // Events that were archived and dropped during this reading are no loss.
    while verification.fault != nil, try await start().sequence > verification.start.sequence {
      verification = try await read(maximumEvents: .max, accounts).verification
    }
    return verification
  }

  /// Verifies the whole log or, if it is long, its latest part, for a start. Reads in a transaction that sees one
  /// moment, and collects the accounts.
  func checkAtStart() async throws(PostgresError) -> (fault: EventChainVerifier.Fault?, accounts: AccountReview) {
    let reading = try await read(maximumEvents: EventLogReading.maximumEventsAtStart, .collecting)
    let (archiving, signing) = try await accountsByIndex()
    return reading.resultAtStart(latestArchiving: archiving, firstSigning: signing)
  }

  private func read(
    maximumEvents: UInt64, _ accounts: AccountReview
  ) async throws(PostgresError) -> EventLogReading {
    let start = try await start()
    let (head, outlier) = try await end()
    var reading = EventLogReading(
      keptAfter: start, through: head, outlier: outlier, maximumEvents: maximumEvents, accounts: accounts)
    while let position = reading.next { reading.take(try await page(after: position)) }
    return reading
  }

  func unreadableUnsealedEvent() async throws(PostgresError) -> PostgresError? {
    let next = StatementCall(.selectUnsealedEvents).bind(LockedEventChain.maximumRowsPerStep)
    let results = try await session.run([next])
    do throws(PostgresError) {
      _ = try results[0].map { row throws(PostgresError) in try UnsealedEvents(&row) }
      return nil
    } catch {
      return error
    }
  }

  private func start() async throws(PostgresError) -> EventChain.Head {
    guard var row = try await session.run([StatementCall(.selectEventArchive)])[0].first else {
      throw .corrupt("the audit log has no beginning")
    }
    return EventChain.Head(&row)
  }

  /// The end, and an event after it or before the first one.
  private func end() async throws(PostgresError) -> (EventChain.Head, outlier: UInt64?) {
    let results = try await session.run([StatementCall(.selectEventChain), StatementCall(.selectEventsBeyond)])
    guard var row = results[0].first else { throw .corrupt("the audit log has no head") }
    let outlier = try results[1].only { row in row.optionalInteger() }
    return (EventChain.Head(&row), outlier.map { UInt64(bitPattern: $0) })
  }

  /// The latest archiving, and the event after which accounts are signed. Indexes find both. The verification reports
  /// an event that cannot be read.
  func accountsByIndex() async throws(PostgresError) -> (latestArchiving: EventRecord?, firstSigning: EventRecord?) {
    let calls = [
      StatementCall(.selectLatestArchiving), StatementCall(.selectFirstSigning).bind(EventDraft.signingKind),
    ]
    let found = try await session.run(calls).map { result throws(PostgresError) in
      try result.map { row in try? EventRecord(&row) }.first ?? nil
    }
    return (found.first ?? nil, found.last ?? nil)
  }

  /// Returns `nil` for a row that cannot be read as an event.
  private func page(after sequence: UInt64) async throws(PostgresError) -> [EventRecord?] {
    let results = try await session.run([
      StatementCall(.selectEvents).bind(Int64(clamping: sequence)).bind(EventLogReading.eventsPerPage).bind(Int64.max)
    ])
    return try results[0].map { row in try? EventRecord(&row) }
  }
}
