// Verifies the audit log in a data directory, beside a running service or after it (R41).

public import TouchstoneStore

public enum SQLiteAuditLog {
  public typealias Verification = AuditLogVerification

  /// Reads every event once, in a few microseconds each; changes nothing and takes no lock. Events that are appended
  /// meanwhile are left to the next time.
  public static func verify(directory: String) throws(StoreOpenError) -> Verification {
    let path = "\(directory)/\(DataDirectory.databaseName)"
    try DatabaseFile.inspectHeader(path: path, isWritten: false)
    do throws(SQLiteError) {
      if let verification = try verifyClosed(path) { return verification }
      return try verify(path, .readOnly)
    } catch {
      throw StoreOpenError(error, path: path)
    }
  }

  /// `nil` where a service has the file, or had it meanwhile.
  ///
  /// SQLite makes a write-ahead log even to read, where there is none, unless it is told that the file cannot change.
  private static func verifyClosed(_ path: String) throws(SQLiteError) -> Verification? {
    guard let file = ClosedFile(path: path) else { return nil }
    let verification = Result { () throws(SQLiteError) in try verify(path, .readImmutable) }
    return ClosedFile(path: path) == file ? try verification.get() : nil
  }

  static func verify(_ path: String, _ access: SQLiteConnection.Access) throws(SQLiteError) -> Verification {
    let connection = try SQLiteConnection(path: path, access: access)
    try Schema.addMissingArchive(on: connection)
    let log = try EventLog(on: connection)
    var verification = try verify(log, from: log.start())
    // What was archived and dropped while this was reading is no loss.
    while verification.fault != nil, case let start = try log.start(), start.sequence > verification.start.sequence {
      verification = try verify(log, from: start)
    }
    return verification
  }

  private static func verify(
    _ log: EventLog, from start: EventChain.Head
  ) throws(SQLiteError) -> Verification {
    let end = try log.end()
    var verifier = EventChainVerifier(continuing: start)
    var verification = Verification(start: start, head: end.head)
    do throws(EventChainVerifier.Fault) {
      try verify(log, through: end, by: &verifier)
    } catch {
      verification.fault = error
    }
    verification.count(verifier)
    return verification
  }

  private static func verify(
    _ log: EventLog, through end: EventLog.End, by verifier: inout EventChainVerifier
  ) throws(EventChainVerifier.Fault) {
    while verifier.head.sequence < end.head.sequence, let event = try nextEvent(in: log, after: verifier.head) {
      try verifier.verify(event)
    }
    try verifier.conclude(at: end.head)
    try verifier.requireStart()
    if let outlier = end.outlier { throw .unexpected(sequence: outlier) }
    // An erasure changes what stands before it: one that came while this was reading left its account behind the end.
    while verifier.hasUnaccounted, let event = try nextEvent(in: log, after: verifier.head) {
      try verifier.takeAccounts(of: event)
    }
    try verifier.requireAccounts()
  }

  private static func nextEvent(
    in log: EventLog, after head: EventChain.Head
  ) throws(EventChainVerifier.Fault) -> EventRecord? {
    do throws(SQLiteError) {
      return try log.events(matching: EventFilter(applicationID: ""), afterSequence: head.sequence, limit: 1).first
    } catch {
      // Not even readable as an event.
      throw .altered(sequence: head.sequence + 1)
    }
  }
}
