// Verifies the audit log in a data directory, beside a running service or after it (R41).

public import TouchstoneStore

public enum SQLiteAuditLog {
  public struct Verification: Sendable, Hashable {
    /// Events that were found as they were written, from the first one on.
    public var verifiedCount: UInt64
    /// The last of them. Note it elsewhere: who can rewrite the whole log cannot rewrite the note.
    public var head: EventChain.Head
    /// `nil`: all of them.
    public var fault: EventChainVerifier.Fault?
  }

  /// Reads every event once, in a few microseconds each; changes nothing and takes no lock. Events that are appended
  /// meanwhile are left to the next time.
  public static func verify(directory: String) throws(StoreOpenError) -> Verification {
    let path = "\(directory)/\(DataDirectory.databaseName)"
    try DatabaseFile.inspectHeader(path: path, isWritten: false)
    do throws(SQLiteError) {
      let log = try EventLog(on: SQLiteConnection(path: path, access: .readOnly))
      return try verify(log)
    } catch {
      throw StoreOpenError(error, path: path)
    }
  }

  private static func verify(_ log: EventLog) throws(SQLiteError) -> Verification {
    let noted = try log.head()
    var verifier = EventChainVerifier()
    var fault: EventChainVerifier.Fault?
    do throws(EventChainVerifier.Fault) {
      while verifier.head.sequence < noted.sequence, let event = try nextEvent(in: log, after: verifier.head) {
        try verifier.verify(event)
      }
      try verifier.conclude(at: noted)
    } catch {
      fault = error
    }
    return Verification(verifiedCount: verifier.verifiedCount, head: verifier.head, fault: fault)
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
