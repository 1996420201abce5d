// Verifies the audit log in a database, beside running services (R41).

public import TouchstoneStore

public enum PostgresAuditLog {
  /// Reads every sealed event once; changes nothing and locks nothing. Events that are sealed meanwhile are left to the
  /// next time.
  public static func verify(
    uri: String, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> AuditLogVerification {
    let inspection = DatabaseInspection(targets: try ConnectionTarget.prepared(uri), options: options)
    return try await inspection.inspect { session throws(PostgresError) in
      try await PostgresAuditLogReader(session: session).verification()
    }
  }
}

struct PostgresAuditLogReader {
  /// In one round trip.
  private static let pageSize = 1_000

  let session: ConnectionLane.Session

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
    guard let result = try await session.run([StatementCall(.selectEventArchive)]).first else {
      throw .corrupt("the audit log has no beginning")
    }
    return try result.only { row in EventChain.Head(&row) }
  }

  private func verification(from start: EventChain.Head) async throws(PostgresError) -> AuditLogVerification {
    let results = try await session.run([StatementCall(.selectEventChain), StatementCall(.selectEventsBeyond)])
    guard results.count == 2 else { throw .corrupt("the audit log has no head") }
    let head = try results[0].only { row in EventChain.Head(&row) }
    let outlier = try results[1].only { row in row.optionalInteger() }
    var verifier = EventChainVerifier(continuing: start)
    var verification = AuditLogVerification(start: start, head: head)
    verification.fault = try await fault(endingAt: head, outlier: outlier, by: &verifier)
    verification.count(verifier)
    return verification
  }

  /// The first one.
  private func fault(
    endingAt head: EventChain.Head, outlier: Int64?, by verifier: inout EventChainVerifier
  ) async throws(PostgresError) -> EventChainVerifier.Fault? {
    while verifier.head.sequence < head.sequence {
      let page = try await page(after: verifier.head.sequence)
      if page.isEmpty { break }
      do throws(EventChainVerifier.Fault) {
        for event in page where verifier.head.sequence < head.sequence {
          // Not even readable as an event.
          guard let event else { throw .altered(sequence: verifier.head.sequence + 1) }
          try verifier.verify(event)
        }
      } catch {
        return error
      }
    }
    do throws(EventChainVerifier.Fault) {
      try verifier.conclude(at: head)
      try verifier.requireStart()
      if let outlier { throw .unexpected(sequence: UInt64(bitPattern: outlier)) }
    } catch {
      return error
    }
    return try await faultOfAccounts(by: &verifier)
  }

  /// An erasure changes what stands before it: one that came while this was reading left its account behind the end.
  private func faultOfAccounts(
    by verifier: inout EventChainVerifier
  ) async throws(PostgresError) -> EventChainVerifier.Fault? {
    while verifier.hasUnaccounted {
      let page = try await page(after: verifier.head.sequence)
      if page.isEmpty { break }
      do throws(EventChainVerifier.Fault) {
        for event in page where verifier.hasUnaccounted {
          guard let event else { throw .altered(sequence: verifier.head.sequence + 1) }
          try verifier.takeAccounts(of: event)
        }
      } catch {
        return error
      }
    }
    do throws(EventChainVerifier.Fault) {
      try verifier.requireAccounts()
      return nil
    } catch {
      return error
    }
  }

  /// `nil`: a row that cannot be read as an event.
  private func page(after sequence: UInt64) async throws(PostgresError) -> [EventRecord?] {
    let results = try await session.run([
      StatementCall(.selectEvents).bind(sequence).bind(array: [[UInt8]]()).bind(Self.pageSize)
    ])
    return try results.first?.map { row in try? EventRecord(&row) } ?? []
  }
}
