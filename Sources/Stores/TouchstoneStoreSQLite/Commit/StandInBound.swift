// Keeps the number of stand-ins within its bound (R37): the largest shares lose the oldest of them.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Rows hold the number of each application, so that neither a start, a commit nor a sweep counts a million of them. Over
/// the bound, each transaction reads the rows of all named applications, in some microseconds each. Confined like its connection.
final class StandInBound {
  /// The number of each kind in one transaction: more than its commits can add, and some milliseconds after a lower bound.
  private static let rowsPerTransaction = 1_024

  /// The least number of unnamed applications that are compared. A batch of commits seldom adds to more.
  private static let applicationsPerLook = 16

  struct Removed {
    var devices: [String] = []
    var profiles: [ProfileKey] = []
  }

  private let maximum: Int
  private let namedApplications: NamedApplications
  private let selectTotals: Statement
  private let selectNumber: Statement
  private let selectLargest: Statement
  private let addCount: Statement
  private let removeNoCount: Statement
  private let tables: [(kind: StandInKind, table: StandInTable)]

  init(
    maximum: Int, namedApplications: NamedApplications, on connection: SQLiteConnection
  ) throws(SQLiteError) {
    self.maximum = maximum
    self.namedApplications = namedApplications
    selectTotals = try Statement("SELECT kind, sum(number) FROM stand_in_counts GROUP BY kind", on: connection)
    selectNumber = try Statement(
      "SELECT number FROM stand_in_counts WHERE kind = ? AND application_id = ?", on: connection)
    selectLargest = try Statement(
      "SELECT application_id, number FROM stand_in_counts WHERE kind = ? ORDER BY number DESC", on: connection)
    addCount = try Statement(
      """
      INSERT INTO stand_in_counts VALUES (?, ?, ?)
      ON CONFLICT (kind, application_id) DO UPDATE SET number = number + excluded.number
      """, on: connection)
    removeNoCount = try Statement(
      "DELETE FROM stand_in_counts WHERE kind = ? AND application_id = ? AND number <= 0", on: connection)
    tables = [
      (.devices, try StandInTable("devices", Schema.applicationOfStandInDevice, ["device_id"], on: connection)),
      (.profiles, try StandInTable("profiles", "application_id", ["application_id", "profile_id"], on: connection)),
    ]
  }

  func totals() throws(SQLiteError) -> StandInCounts {
    var counts = StandInCounts()
    defer { selectTotals.reset() }
    while var row = try selectTotals.next() {
      let kind = row.integer()
      if let kind = StandInKind(rawValue: kind) { counts[kind] = Int(row.integer()) }
    }
    return counts
  }

  /// Notes one that is new.
  func add(_ kind: StandInKind, of applicationID: String, to totals: inout StandInCounts) throws(SQLiteError) {
    try change(kind, of: applicationID, by: 1, in: &totals)
  }

  /// Notes those that an erasure removed.
  func remove(_ counts: StandInCounts, of applicationID: String, from totals: inout StandInCounts) throws(SQLiteError) {
    for kind in StandInKind.allCases where counts[kind] > 0 {
      try change(kind, of: applicationID, by: -counts[kind], in: &totals)
    }
  }

  func isExceeded(by totals: StandInCounts) -> Bool {
    StandInKind.allCases.contains { totals[$0] > maximum }
  }

  /// Removes those over the bound.
  func evict(from totals: inout StandInCounts) throws(SQLiteError) -> Removed {
    var removed = Removed()
    guard isExceeded(by: totals) else { return removed }
    let names = Set(namedApplications.current.map { ByteString($0) })
    for (kind, table) in tables {
      var over = min(totals[kind] - maximum, Self.rowsPerTransaction)
      guard over > 0 else { continue }
      var named = try numbers(kind, of: names)
      while over > 0 {
        // Each may lose one alone.
        let others = try largest(kind, besides: names, limit: max(Self.applicationsPerLook, over))
        let excess = StandInShares.excess(named: named, others: others, total: totals[kind], over: over)
        let shares = excess.named + excess.others
        guard !shares.isEmpty else { break }
        for share in shares {
          removed.note(try table.removeOldest(share.number, of: share.applicationID), kind)
          try change(kind, of: share.applicationID, by: -share.number, in: &totals)
          over -= share.number
        }
        for share in excess.named {
          guard let index = named.firstIndex(where: { ByteString($0.applicationID) == ByteString(share.applicationID) })
          else { continue }
          named[index].number -= share.number
        }
      }
    }
    return removed
  }

  /// Removes up to `limit` of each kind that may be forgotten.
  func sweep(
    before time: UnixTime, limit: Int, from totals: inout StandInCounts
  ) throws(SQLiteError) -> (removed: Removed, hasMore: Bool) {
    var (removed, hasMore) = (Removed(), false)
    for (kind, table) in tables {
      let rows = try table.removeExpired(before: time, limit: limit)
      let numbers = Dictionary(rows.map { (ByteString($0.applicationID), 1) }, uniquingKeysWith: +)
      for (application, number) in numbers { try change(kind, of: application.text, by: -number, in: &totals) }
      removed.note(rows, kind)
      hasMore = hasMore || rows.count == limit
    }
    return (removed, hasMore)
  }

  private func change(
    _ kind: StandInKind, of applicationID: String, by number: Int, in totals: inout StandInCounts
  ) throws(SQLiteError) {
    totals[kind] += number
    try addCount.bind(kind.rawValue).bind(applicationID).bind(number).run()
    if number < 0 { try removeNoCount.bind(kind.rawValue).bind(applicationID).run() }
  }

  private func numbers(
    _ kind: StandInKind, of names: Set<ByteString>
  ) throws(SQLiteError) -> [StandInShares.Share] {
    var shares: [StandInShares.Share] = []
    for application in names {
      let number = try selectNumber.bind(kind.rawValue).bind(application.text).first { row in Int(row.integer()) }
      if let number { shares.append(StandInShares.Share(applicationID: application.text, number: number)) }
    }
    return shares
  }

  private func largest(
    _ kind: StandInKind, besides names: Set<ByteString>, limit: Int
  ) throws(SQLiteError) -> [StandInShares.Share] {
    var largest: [StandInShares.Share] = []
    selectLargest.bind(kind.rawValue)
    defer { selectLargest.reset() }
    while largest.count < limit, var row = try selectLargest.next() {
      let share = StandInShares.Share(applicationID: row.text(), number: Int(row.integer()))
      if !names.contains(ByteString(share.applicationID)) { largest.append(share) }
    }
    return largest
  }
}

extension StandInBound.Removed {
  var count: Int { devices.count + profiles.count }

  fileprivate mutating func note(_ rows: [StandInTable.Row], _ kind: StandInKind) {
    switch kind {
    case .devices: devices += rows.map(\.id)
    case .profiles: profiles += rows.map { ProfileKey(applicationID: $0.applicationID, profileID: $0.id) }
    }
  }
}

/// The stand-ins among the rows of one table.
private final class StandInTable {
  struct Row {
    let applicationID: String
    let id: String
  }

  private let deleteOldest: Statement
  private let deleteExpired: Statement

  /// - Parameters:
  ///   - application: in SQL, as the index has it.
  ///   - key: its columns; the last one is the id.
  init(
    _ table: String, _ application: String, _ key: [String], on connection: SQLiteConnection
  ) throws(SQLiteError) {
    let columns = key.joined(separator: ", ")
    func deletion(_ condition: String) throws(SQLiteError) -> Statement {
      try Statement(
        """
        DELETE FROM \(table) WHERE (\(columns)) IN (SELECT \(columns) FROM \(table) WHERE \(condition) LIMIT ?)
        RETURNING \(application), \(key.last ?? "")
        """, on: connection)
    }
    deleteOldest = try deletion("\(application) = ? AND stand_in_until IS NOT NULL ORDER BY stand_in_until")
    deleteExpired = try deletion("stand_in_until < ?")
  }

  func removeOldest(_ number: Int, of applicationID: String) throws(SQLiteError) -> [Row] {
    try rows(of: deleteOldest.bind(applicationID).bind(number))
  }

  func removeExpired(before time: UnixTime, limit: Int) throws(SQLiteError) -> [Row] {
    try rows(of: deleteExpired.bind(time).bind(limit))
  }

  private func rows(of deletion: Statement) throws(SQLiteError) -> [Row] {
    var rows: [Row] = []
    while var row = try deletion.next() { rows.append(Row(applicationID: row.text(), id: row.text())) }
    return rows
  }
}
