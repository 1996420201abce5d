// Drops expired records and the rows of archived events, a bounded number at a time, so that commits never wait long
// for it.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection.
final class Sweeper {
  /// The number of rows of each table in one step: about a millisecond in total, for which commits wait.
  static let rowsPerStep = 500

  struct Step {
    private(set) var removedRows = 0
    private(set) var hasMore = false

    mutating func count(_ removedRows: Int, hasMore: Bool) {
      self.removedRows += removedRows
      self.hasMore = self.hasMore || hasMore
    }
  }

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

    func step(before time: UnixTime) throws(SQLiteError) -> (removedRows: Int, hasMore: Bool) {
      let end = try selectEnd.bind(time).first { row throws(SQLiteError) in try row.key() }
      if let end {
        try deleteBeforeKey.bind(end).run()
      } else {
        try deleteBeforeTime.bind(time).run()
      }
      let removed = try countChanges.first { row in row.integer() } ?? 0
      return (Int(removed), end != nil)
    }
  }

  private let raiseMark: Statement
  private let expiring: [Expiring]
  private let deleteArchivedEvents: Statement
  private let countChanges: Statement

  init(on connection: SQLiteConnection) throws(SQLiteError) {
    raiseMark = try Statement(
      "UPDATE sweep_mark SET swept_before = ?1 WHERE swept_before < ?1", on: connection)
    var expiring: [Expiring] = []
    for table in ["evaluations", "tokens", "used_tickets"] {
      expiring.append(try Expiring(table: table, on: connection))
    }
    self.expiring = expiring
    deleteArchivedEvents = try Statement(
      """
      DELETE FROM events WHERE sequence IN (
        SELECT sequence FROM events WHERE sequence <= (SELECT sequence FROM event_archive)
        ORDER BY sequence LIMIT \(Self.rowsPerStep))
      """, on: connection)
    countChanges = try Statement("SELECT changes()", on: connection)
  }

  /// The mark moves with the first step: every key before it reads as used, whether its
  /// row is gone or not.
  func step(before time: UnixTime) throws(SQLiteError) -> Step {
    try raiseMark.bind(time).run()
    var step = Step()
    for table in expiring {
      let removed = try table.step(before: time)
      step.count(removed.removedRows, hasMore: removed.hasMore)
    }
    try deleteArchivedEvents.run()
    let removedEvents = Int(try countChanges.first { row in row.integer() } ?? 0)
    step.count(removedEvents, hasMore: removedEvents == Self.rowsPerStep)
    return step
  }
}
