// Drops expired rows, a bounded number at a time.

internal import TouchstonePolicy
internal import TouchstoneStore

struct Sweeper: Sendable {
  /// The number of rows from each key range of a table (`UniqueID.spreadCount`) in one step, which takes some
  /// milliseconds.
  static let rowsPerRange = 60
  /// The number of archived events in one step.
  static let rowsPerStep = 1_000

  /// The tolerated difference between processes' clocks and the server's.
  static let clockSkewMicroseconds = 30_000_000
  /// No sweep removes a row so soon after its expiry by the server's clock, even if that clock was set back by some
  /// seconds meanwhile.
  static let certainty: Duration = .microseconds(clockSkewMicroseconds / 2)

  let lists: ConnectionLane
  let lineage: Lineage
  let clock: @Sendable () -> UnixTime

  /// One transaction, so that a reader that misses a row sees the mark that accounts for it.
  func step(before time: UnixTime) async throws(PostgresError) -> SweepResult {
    var calls = [StatementCall(.selectLineage), StatementCall(.raiseSweepMark).bind(time)]
    calls += Statement.deleteExpiredRecords.map { StatementCall($0).bind(time).bind(Self.rowsPerRange) }
    calls.append(StatementCall(.deleteArchivedEvents).bind(Self.rowsPerStep))
    // By this process's clock, whatever the time of the sweep.
    calls.append(StatementCall(.deleteExpiredCommitMarks).bind(clock()).bind(Self.rowsPerRange))
    calls.append(StatementCall(.selectSweepMark))
    var results = try await lists.run(calls)
    guard let mark = try results.popLast()?.only({ row in row.time() }) else { throw .corrupt("no sweep mark") }
    // A process that commits nothing finds a new line of history here.
    guard try results.first?.only({ row in row.integer() }) == Int64(lineage.rawValue) else { throw .otherLineage }
    let counts = try results.dropFirst(2).map { result throws(PostgresError) in
      try result.only { row in Int(row.integer()) }
    }
    let ranges = counts.prefix(Statement.deleteExpiredRecords.count) + counts.suffix(1)
    let others = counts.dropLast().dropFirst(Statement.deleteExpiredRecords.count)
    return SweepResult(
      // Marks of commits are not counted, because no caller put them.
      removedRows: counts.dropLast().reduce(0, +),
      hasMore: ranges.contains { $0 >= Self.rowsPerRange } || others.contains { $0 >= Self.rowsPerStep },
      sweptBefore: mark)
  }
}
