// Restoration of a database that PostgreSQL's own tools put back to an earlier time.

public import TouchstonePolicy
public import TouchstoneStore

public enum PostgresRestoration {
  /// Begins a new line of history (`Lineage`) in one transaction. Its first event is the restoration. Everything issued
  /// before is void then, and a service that was running before cannot commit until it is restarted.
  ///
  /// - Parameter now: the time of the restoration's event in the audit log.
  public static func begin(
    uri: String, at now: UnixTime, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> Restoration {
    let inspection = DatabaseInspection(targets: try ConnectionTarget.prepared(uri), options: options)
    return try await inspection.inspect { session throws(PostgresError) in
      try await DatabaseInspection.requireWholeLog(in: session)
      var chain = try await LockedEventChain(in: session)
      // Committed events that are not in the log yet come before it.
      try await chain.seal()
      let last = chain.head
      let lineage = try await DatabaseInspection.lineage(in: session).successor()
      // The mark concerns keys of earlier lines of history, which are void anyway. A wrong clock may have set it.
      try await session.run([
        StatementCall(.setLineage).bind(lineage.rawValue),
        StatementCall(.setSweepMark).bind(UnixTime(microseconds: 0)),
      ])
      try await chain.append([.restored(after: last, at: now)])
      let head = chain.head
      try await chain.commit()
      return Restoration(last: last, head: head)
    }
  }
}
