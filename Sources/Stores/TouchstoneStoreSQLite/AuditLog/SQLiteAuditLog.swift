// Verifies the audit log in a data directory, beside a running service or after it (R41).

public import TouchstoneStore

public enum SQLiteAuditLog {
  public typealias Verification = AuditLogVerification

  /// Reads every event once, in a few microseconds each. Changes nothing and takes no lock. Leaves events that are
  /// appended meanwhile to the next reading.
  ///
  /// - Parameter accounts: how the accounts' signatures are verified.
  public static func verify(
    directory: String, accounts: AccountReview = .none
  ) throws(StoreOpenError) -> Verification {
    let path = "\(directory)/\(DataDirectory.databaseName)"
    try DatabaseFile.inspectHeader(path: path, isWritten: false)
    do throws(SQLiteError) {
      return try ClosedFile.reading(path) { access throws(SQLiteError) in try verify(path, access, accounts) }
    } catch {
      throw StoreOpenError(error, path: path)
    }
  }

  static func verify(
    _ path: String, _ access: SQLiteConnection.Access, _ accounts: AccountReview = .none
  ) throws(SQLiteError) -> Verification {
    let connection = try SQLiteConnection(path: path, access: access)
    let log = EventLog(on: connection)
    var verification = try verify(log, accounts)
    // Events that were archived and dropped during this reading are no loss.
    while verification.fault != nil, try log.start().sequence > verification.start.sequence {
      verification = try verify(log, accounts)
    }
    if verification.fault == nil { try requireIndexes(of: &verification, on: connection) }
    // Earlier versions have an index instead, which was just checked.
    if verification.fault == nil, try Schema.version(of: connection).tables == Schema.version.tables,
      let hidden = try log.firstHidden(through: verification.head.sequence)
    {
      verification.note(hidden: hidden)
    }
    return verification
  }

  private static func verify(_ log: EventLog, _ accounts: AccountReview) throws(SQLiteError) -> Verification {
    let start = try log.start()
    let end = try log.end()
    return try log.read(
      EventLogReading(keptAfter: start, through: end.head, outlier: end.outlier, accounts: accounts)
    ).verification
  }

  /// Lists and erasures find events by the indexes, which the chain of hashes does not cover. Reads the table and its
  /// indexes once, in one or two microseconds for each event.
  private static func requireIndexes(
    of verification: inout Verification, on connection: SQLiteConnection
  ) throws(SQLiteError) {
    let check = Statement("PRAGMA integrity_check(events)", on: connection)
    guard let finding = try check.first({ row in row.text() }), finding != "ok" else { return }
    // "row 7 missing from index events_of_block": a row's number is its event's.
    let words = finding.split(separator: " ")
    guard words.starts(with: ["row"]), words.dropFirst(2).starts(with: ["missing", "from", "index"]),
      let sequence = UInt64(words[1])
    else { throw SQLiteError(code: .corrupt, message: "the audit log: \(finding)") }
    verification.note(hidden: sequence)
  }
}

extension AuditLogVerification {
  fileprivate mutating func note(hidden sequence: UInt64) {
    let start = start.sequence
    verifiedCount = min(verifiedCount, sequence > start ? sequence - start - 1 : 0)
    fault = .hidden(sequence: sequence)
  }
}
