// Drops expired rows, a bounded number at a time.

internal import TouchstonePolicy
internal import TouchstoneStore

struct Sweeper: Sendable {
  /// The number of rows from each key range of a table (`UniqueID.spreadCount`) in one step, which takes some milliseconds.
  static let rowsPerRange = 60
  /// The number of stand-ins, and of archived events, in one step.
  static let rowsPerStep = 1_000

  /// The number of unnamed applications whose stand-ins are removed in one step.
  private static let applicationsPerLook = 1_000

  /// The tolerated difference between processes' clocks and the server's.
  static let clockSkewMicroseconds = 30_000_000

  let lists: ConnectionLane
  let lineage: Lineage
  let clock: @Sendable () -> UnixTime
  let standIns: StandInBound

  /// One transaction, so that a reader that misses a row sees the mark that accounts for it.
  func step(before time: UnixTime) async throws(PostgresError) -> SweepResult {
    let limits = try await standIns.limits(at: clock()) { () throws(PostgresError) in try await lookUpLimits() }
    var calls = [StatementCall(.selectLineage), StatementCall(.raiseSweepMark).bind(time)]
    calls += Statement.deleteExpiredRecords.map { StatementCall($0).bind(time).bind(Self.rowsPerRange) }
    calls += [
      StatementCall(.deleteStandInDevices).bind(limits.devices, before: time).bind(Self.rowsPerStep),
      StatementCall(.deleteStandInProfiles).bind(limits.profiles, before: time).bind(Self.rowsPerStep),
    ]
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

  private func lookUpLimits() async throws(PostgresError) -> StandInBound.Limits {
    StandInBound.Limits(devices: try await limit(of: .devices), profiles: try await limit(of: .profiles))
  }

  private func limit(of kind: StandInKind) async throws(PostgresError) -> StandInLimit {
    let named = standIns.namedApplications.current
    let rows = try await ask(
      StatementCall(.selectStandInShares(kind)).bind(Self.applicationsPerLook).bind(array: named)
    ) { row in
      let share = StandInShares.Share(applicationID: row.text(), number: Int(row.integer()))
      return (share: share, isNamed: row.boolean(), total: Int(row.integer()))
    }
    var limit = StandInLimit()
    let total = rows.first?.total ?? 0
    let over = total - standIns.maximum
    guard over > 0 else { return limit }
    var excess = StandInShares.excess(
      named: rows.filter(\.isNamed).map(\.share), others: rows.filter { !$0.isNamed }.map(\.share), total: total,
      over: over)
    if !excess.listsAllOthers {
      let times = try await ask(
        StatementCall(.selectStandInLimitOfOthers(kind)).bind(excess.numberOfOthers - 1).bind(array: named)
      ) { row in row.time() }
      // Including those of the same time.
      if let time = times.first {
        limit.ofOthers = StandInLimit.OfOthers(namedApplications: named, time: time + .microseconds(1))
      }
      excess.others = []
    }
    let shares = excess.named + excess.others
    guard !shares.isEmpty else { return limit }
    limit.ofApplications = try await ask(
      StatementCall(.selectStandInLimits(kind)).bind(array: shares.map(\.applicationID))
        .bind(array: shares.map { UInt64($0.number) })
    ) { row in StandInLimit.OfApplication(applicationID: row.text(), time: row.time()) }
    return limit
  }

  private func ask<Value>(
    _ call: StatementCall, _ decode: (inout Row) throws(PostgresError) -> Value
  ) async throws(PostgresError) -> [Value] {
    try await lists.run([call], isQuestion: true).first?.map(decode) ?? []
  }
}

extension StatementCall {
  /// A time before which all go, each application's limit, and the limit of the applications without a name.
  fileprivate consuming func bind(_ limit: StandInLimit, before time: UnixTime) -> StatementCall {
    bind(time).bind(array: limit.ofApplications.map(\.applicationID))
      .bind(array: limit.ofApplications.map { UInt64(bitPattern: $0.time.microseconds) })
      .bind(limit.ofOthers.time).bind(array: limit.ofOthers.namedApplications)
  }
}
