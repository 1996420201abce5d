// Verifies the audit log in a database, beside running services (R41).

public import TouchstoneStore

public enum PostgresAuditLog {
  /// Reads every sealed event once; changes nothing and locks nothing. Events that are sealed meanwhile are left to the
  /// next time.
  public static func verify(
    uri: String, accounts: AccountReview = .none, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> AuditLogVerification {
    let inspection = DatabaseInspection(targets: try ConnectionTarget.prepared(uri), options: options)
    return try await inspection.inspect { session throws(PostgresError) in
      try await PostgresAuditLogReader(session: session, accounts: accounts).verification()
    }
  }
}

struct PostgresAuditLogReader {
  let session: ConnectionLane.Session
  var accounts = AccountReview.none

  func verification() async throws(PostgresError) -> AuditLogVerification {
    var verification = try await verification(from: start())
    // What was archived and dropped while this was reading is no loss.
    while verification.fault != nil, case let start = try await start(),
      start.sequence > verification.start.sequence
    {
      verification = try await self.verification(from: start)
    }
    return verification
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

  /// Of the whole log or, where it is long, its latest part: what a start looks at. In a transaction that sees one moment. The
  /// accounts in it are collected.
  func checkAtStart() async throws(PostgresError) -> (fault: EventChainVerifier.Fault?, accounts: AccountReview) {
    let start = try await start()
    let (head, outlier) = try await end()
    var reading = EventLogReading(
      keptAfter: start, through: head, outlier: outlier, maximumEvents: EventLogReading.maximumEventsAtStart,
      accounts: .collecting)
    while let position = reading.next { reading.take(try await page(after: position)) }
    if reading.fault != nil || reading.isOfAll { return (reading.fault, reading.accounts) }
    return (try await hasAccount(of: start) ? nil : .dropped(through: start.sequence), reading.accounts)
  }

  /// And an event that stands beyond it, or before the first one.
  private func end() async throws(PostgresError) -> (EventChain.Head, outlier: UInt64?) {
    let results = try await session.run([StatementCall(.selectEventChain), StatementCall(.selectEventsBeyond)])
    guard results.count == 2, var row = results[0].first else { throw .corrupt("the audit log has no head") }
    let outlier = try results[1].only { row in row.optionalInteger() }
    return (EventChain.Head(&row), outlier.map { UInt64(bitPattern: $0) })
  }

  /// Whether what is missing before the kept events was archived: the latest archiving left the log's beginning here.
  private func hasAccount(of start: EventChain.Head) async throws(PostgresError) -> Bool {
    guard start != .genesis else { return true }
    let results = try await session.run([StatementCall(.selectLatestArchiving)])
    let latest = try results.first?.map { row throws(PostgresError) in try EventRecord(&row) }.first?.event
    return latest.map { ArchivedEvents.isAccount(of: start, $0) } ?? false
  }

  /// `nil`: a row that cannot be read as an event.
  private func page(after sequence: UInt64) async throws(PostgresError) -> [EventRecord?] {
    let results = try await session.run([
      StatementCall(.selectEvents).bind(Int64(clamping: sequence)).bind(array: [[UInt8]]())
        .bind(EventLogReading.eventsPerPage)
    ])
    return try results.first?.map { row in try? EventRecord(&row) } ?? []
  }
}
