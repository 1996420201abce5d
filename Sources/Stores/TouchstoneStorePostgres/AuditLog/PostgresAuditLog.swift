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
    var verification = try await verification(from: start())
    // Events that were archived and dropped during this reading are no loss.
    while verification.fault != nil, case let start = try await start(),
      start.sequence > verification.start.sequence
    {
      verification = try await self.verification(from: start)
    }
    return verification
  }

  func unreadableUnsealedEvent() async throws(PostgresError) -> PostgresError? {
    let next = StatementCall(.selectUnsealedEvents).bind(LockedEventChain.maximumRowsPerStep)
    let results = try await session.run([next])
    do throws(PostgresError) {
      _ = try results.first?.map { row throws(PostgresError) in try UnsealedEvents(&row) }
      return nil
    } catch {
      return error
    }
  }

  private func start() async throws(PostgresError) -> EventChain.Head {
    guard var row = try await session.run([StatementCall(.selectEventArchive)]).first?.first else {
      throw .corrupt("the audit log has no beginning")
    }
    return EventChain.Head(&row)
  }

  private func verification(from start: EventChain.Head) async throws(PostgresError) -> AuditLogVerification {
    let (head, outlier) = try await end()
    var reading = EventLogReading(keptAfter: start, through: head, outlier: outlier, accounts: accounts)
    while let position = reading.next { reading.take(try await page(after: position)) }
    var verification = AuditLogVerification(start: start, head: head)
    reading.count(in: &verification)
    return verification
  }

  /// Verifies the whole log or, if it is long, its latest part, for a start. Reads in a transaction that sees one
  /// moment, and collects the accounts.
  func checkAtStart() async throws(PostgresError) -> (fault: EventChainVerifier.Fault?, accounts: AccountReview) {
    let start = try await start()
    let (head, outlier) = try await end()
    var reading = EventLogReading(
      keptAfter: start, through: head, outlier: outlier, maximumEvents: EventLogReading.maximumEventsAtStart,
      accounts: .collecting)
    while let position = reading.next { reading.take(try await page(after: position)) }
    if reading.fault != nil || reading.isOfAll { return (reading.fault, reading.accounts) }
    var accounts = reading.accounts
    if accounts.firstSigned == nil { for record in try await signings() { accounts.note(signed: record) } }
    return (try await hasAccount(of: start) ? nil : .dropped(through: start.sequence), accounts)
  }

  /// The end, and an event after it or before the first one.
  private func end() async throws(PostgresError) -> (EventChain.Head, outlier: UInt64?) {
    let results = try await session.run([StatementCall(.selectEventChain), StatementCall(.selectEventsBeyond)])
    guard results.count == 2, var row = results[0].first else { throw .corrupt("the audit log has no head") }
    let outlier = try results[1].only { row in row.optionalInteger() }
    return (EventChain.Head(&row), outlier.map { UInt64(bitPattern: $0) })
  }

  /// Whether the events before the kept ones were archived: the latest archiving moved the log's beginning here.
  private func hasAccount(of start: EventChain.Head) async throws(PostgresError) -> Bool {
    guard start != .genesis else { return true }
    let results = try await session.run([StatementCall(.selectLatestArchiving)])
    let latest = try results.first?.map { row throws(PostgresError) in try EventRecord(&row) }.first?.event
    return latest.map { ArchivedEvents.isAccount(of: start, $0) } ?? false
  }

  /// The event after which accounts are signed, and the latest archiving, which is signed if that event was archived.
  /// Indexes find both.
  func signings() async throws(PostgresError) -> [EventRecord] {
    let results = try await session.run([StatementCall(.selectSignings).bind(EventDraft.signingKind)])
    // The verification reports an event that cannot be read.
    return try results.first?.map { row in try? EventRecord(&row) }.compactMap(\.self) ?? []
  }

  /// Returns `nil` for a row that cannot be read as an event.
  private func page(after sequence: UInt64) async throws(PostgresError) -> [EventRecord?] {
    let results = try await session.run([
      StatementCall(.selectEvents).bind(Int64(clamping: sequence)).bind(EventLogReading.eventsPerPage)
    ])
    return try results.first?.map { row in try? EventRecord(&row) } ?? []
  }
}
