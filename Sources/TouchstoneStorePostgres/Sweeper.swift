// Drops what expired, a bounded number of rows at a time.

internal import TouchstonePolicy
internal import TouchstoneStore

struct Sweeper: Sendable {
  /// Of each of a table's key ranges (`UniqueID.spreadCount`), in one step: some milliseconds.
  static let rowsPerRange = 60
  /// Of stand-ins, and of archived events.
  static let rowsPerStep = 1_000

  /// How far processes' clocks may be from the server's.
  static let clockSkewMicroseconds = 30_000_000

  let lists: ConnectionLane
  let lineage: Lineage
  let clock: @Sendable () -> UnixTime
  let standIns: StandInBound

  /// One transaction: who sees that a row is gone sees the mark that speaks for it.
  func step(before time: UnixTime) async throws(PostgresError) -> SweepResult {
    let limits = try await standIns.limits(at: clock()) { () throws(PostgresError) in try await lookUpLimits() }
    var calls = [StatementCall(.selectLineage), StatementCall(.raiseSweepMark).bind(time)]
    calls += Statement.deleteExpiredRecords.map { StatementCall($0).bind(time).bind(Self.rowsPerRange) }
    calls += [
      StatementCall(.deleteStandInDevices).bind(max(time, limits.devices)).bind(Self.rowsPerStep),
      StatementCall(.deleteStandInProfiles).bind(max(time, limits.profiles)).bind(Self.rowsPerStep),
    ]
    calls.append(StatementCall(.deleteArchivedEvents).bind(Self.rowsPerStep))
    // By this process's clock, whatever time is swept for.
    calls.append(StatementCall(.deleteExpiredCommitMarks).bind(clock()).bind(Self.rowsPerRange))
    calls.append(StatementCall(.selectSweepMark))
    var results = try await lists.run(calls)
    guard let mark = try results.popLast()?.only({ row in row.time() }) else { throw .corrupt("no sweep mark") }
    // A process that commits nothing finds out here.
    guard try results.first?.only({ row in row.integer() }) == Int64(lineage.rawValue) else { throw .otherLineage }
    let counts = try results.dropFirst(2).map { result throws(PostgresError) in
      try result.only { row in Int(row.integer()) }
    }
    let ranges = counts.prefix(Statement.deleteExpiredRecords.count) + counts.suffix(1)
    let others = counts.dropLast().dropFirst(Statement.deleteExpiredRecords.count)
    return SweepResult(
      // Marks of commits are not what anybody put.
      removedRows: counts.dropLast().reduce(0, +),
      hasMore: ranges.contains { $0 >= Self.rowsPerRange } || others.contains { $0 >= Self.rowsPerStep },
      sweptBefore: mark)
  }

  private func lookUpLimits() async throws(PostgresError) -> StandInBound.Limits {
    let results = try await lists.run(
      [Statement.selectStandInDeviceLimit, .selectStandInProfileLimit].map {
        StatementCall($0).bind(standIns.maximum)
      }, isQuestion: true)
    var limits = StandInBound.Limits()
    if let time = try results.first?.map({ row in row.time() }).first { limits.devices = time + .microseconds(1) }
    if let time = try results.last?.map({ row in row.time() }).first { limits.profiles = time + .microseconds(1) }
    return limits
  }
}
