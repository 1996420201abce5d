// Verifies the audit log in a data directory, beside a running service or after it (R41).

public import TouchstoneStore

public enum SQLiteAuditLog {
  public typealias Verification = AuditLogVerification

  /// Reads every event once, in a few microseconds each; changes nothing and takes no lock. Events that are appended
  /// meanwhile are left to the next time.
  ///
  /// - Parameter accounts: how the accounts' signatures are looked at.
  public static func verify(
    directory: String, accounts: AccountReview = .none
  ) throws(StoreOpenError) -> Verification {
    let path = "\(directory)/\(DataDirectory.databaseName)"
    try DatabaseFile.inspectHeader(path: path, isWritten: false)
    do throws(SQLiteError) {
      if let verification = try verifyClosed(path, accounts) { return verification }
      return try verify(path, .readOnly, accounts)
    } catch {
      throw StoreOpenError(error, path: path)
    }
  }

  /// `nil` where a service has the file, or had it meanwhile.
  ///
  /// SQLite makes a write-ahead log even to read, where there is none, unless it is told that the file cannot change.
  private static func verifyClosed(
    _ path: String, _ accounts: AccountReview
  ) throws(SQLiteError) -> Verification? {
    guard let file = ClosedFile(path: path) else { return nil }
    let verification = Result { () throws(SQLiteError) in try verify(path, .readImmutable, accounts) }
    return ClosedFile(path: path) == file ? try verification.get() : nil
  }

  static func verify(
    _ path: String, _ access: SQLiteConnection.Access, _ accounts: AccountReview = .none
  ) throws(SQLiteError) -> Verification {
    let connection = try SQLiteConnection(path: path, access: access)
    try Schema.addMissingArchive(on: connection)
    let log = try EventLog(on: connection)
    var verification = try verify(log, from: log.start(), accounts)
    // What was archived and dropped while this was reading is no loss.
    while verification.fault != nil, case let start = try log.start(), start.sequence > verification.start.sequence {
      verification = try verify(log, from: start, accounts)
    }
    return verification
  }

  private static func verify(
    _ log: EventLog, from start: EventChain.Head, _ accounts: AccountReview
  ) throws(SQLiteError) -> Verification {
    let end = try log.end()
    var reading = EventLogReading(keptAfter: start, through: end.head, outlier: end.outlier, accounts: accounts)
    while let position = reading.next { reading.take(try log.records(after: position)) }
    var verification = Verification(start: start, head: end.head)
    reading.count(in: &verification)
    return verification
  }
}
