// A database that was put back to an earlier time by PostgreSQL's own tools.

public import TouchstonePolicy
public import TouchstoneStore

public enum PostgresRestoration {
  /// Begins a line of history of its own (`Lineage`), whose first event is the restoration. In one transaction: from then on
  /// whatever was issued before is void, and a service that runs since before is refused every commit until it starts
  /// again.
  ///
  /// - Parameter now: when the audit log says that it was restored.
  public static func begin(
    uri: String, at now: UnixTime, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> Restoration {
    let inspection = DatabaseInspection(targets: try ConnectionTarget.prepared(uri), options: options)
    return try await inspection.inspect { session throws(PostgresError) in
      try await DatabaseInspection.requireWholeLog(in: session)
      var chain = try await LockedEventChain(in: session)
      // What is committed and not in the log yet comes before it.
      try await chain.seal()
      let last = chain.head
      let lineage = try await DatabaseInspection.lineage(in: session).successor()
      // The mark speaks for keys of lines that are past, which are void already. It may be a wrong clock's.
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
