// Drops what expired, a bounded number of rows at a time, so that commits never wait long for it.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection.
final class Sweeper {
  /// Of each table, in one step: about a millisecond.
  static let rowsPerStep = 1_000
  /// An unknown binding's failures are forgotten after a day without one: nobody's device is unlocked by it.
  static let standInLifetime = Duration.seconds(24 * 60 * 60)

  private struct Expiring {
    /// The key of the first row that one step leaves, if it expired too.
    let selectEnd: Statement
    let deleteBeforeKey: Statement
    let deleteBeforeTime: Statement
    let countChanges: Statement

    init(table: String, on connection: SQLiteConnection) throws(SQLiteError) {
      selectEnd = try Statement(
        """
        SELECT expires_at, id FROM \(table) WHERE expires_at < ? ORDER BY expires_at, id
        LIMIT 1 OFFSET \(Sweeper.rowsPerStep)
        """, on: connection)
      deleteBeforeKey = try Statement("DELETE FROM \(table) WHERE (expires_at, id) < (?, ?)", on: connection)
      deleteBeforeTime = try Statement("DELETE FROM \(table) WHERE expires_at < ?", on: connection)
      countChanges = try Statement("SELECT changes()", on: connection)
    }

    func step(before time: UnixTime) throws(SQLiteError) -> SweepResult {
      let end = try selectEnd.bind(time).first { row throws(SQLiteError) in try row.key() }
      if let end {
        try deleteBeforeKey.bind(end).run()
      } else {
        try deleteBeforeTime.bind(time).run()
      }
      let removed = try countChanges.first { row in row.integer() } ?? 0
      return SweepResult(removedRows: Int(removed), hasMore: end != nil)
    }
  }

  private let raiseMark: Statement
  private let expiring: [Expiring]
  private let deleteStandIns: Statement

  init(on connection: SQLiteConnection) throws(SQLiteError) {
    raiseMark = try Statement(
      "UPDATE sweep_mark SET swept_before = ?1 WHERE swept_before < ?1", on: connection)
    var expiring: [Expiring] = []
    for table in ["evaluations", "tokens", "used_tickets"] {
      expiring.append(try Expiring(table: table, on: connection))
    }
    self.expiring = expiring
    deleteStandIns = try Statement(
      """
      DELETE FROM devices WHERE device_id IN (
        SELECT device_id FROM devices WHERE is_stand_in AND updated_at < ? LIMIT \(Self.rowsPerStep))
      RETURNING device_id
      """, on: connection)
  }

  /// Answers also which stand-in devices went. The mark moves with the first step: all before it reads as used, whether
  /// its row went already or not.
  func step(before time: UnixTime) throws(SQLiteError) -> (result: SweepResult, standIns: [String]) {
    try raiseMark.bind(time).run()
    var result = SweepResult(removedRows: 0, hasMore: false)
    for table in expiring {
      let step = try table.step(before: time)
      result.removedRows += step.removedRows
      result.hasMore = result.hasMore || step.hasMore
    }
    var standIns: [String] = []
    deleteStandIns.bind(time + (.zero - Self.standInLifetime))
    while var row = try deleteStandIns.next() { standIns.append(row.text()) }
    result.removedRows += standIns.count
    result.hasMore = result.hasMore || standIns.count == Self.rowsPerStep
    return (result, standIns)
  }
}
