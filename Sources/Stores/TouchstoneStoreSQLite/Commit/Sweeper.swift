// Drops expired records and the rows of archived events, a bounded number at a time, so that commits never wait long
// for it.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection.
final class Sweeper {
  /// The number of rows of each table in one step: about a millisecond in total, for which commits wait.
  static let rowsPerStep = 500

  private struct Expiring {
    /// The key of the first row that one step leaves, if it expired too.
    let selectEnd: Statement
    let deleteBeforeKey: Statement
    let deleteBeforeTime: Statement

    init(table: String, on connection: SQLiteConnection) {
      selectEnd = Statement(
        """
        SELECT expires_at, id FROM \(table) WHERE expires_at < ? ORDER BY expires_at, id
        LIMIT 1 OFFSET \(Sweeper.rowsPerStep)
        """, on: connection)
      deleteBeforeKey = Statement("DELETE FROM \(table) WHERE (expires_at, id) < (?, ?)", on: connection)
      deleteBeforeTime = Statement("DELETE FROM \(table) WHERE expires_at < ?", on: connection)
    }

    /// Returns whether more expired.
    func step(before time: UnixTime) throws(SQLiteError) -> Bool {
      let end = try selectEnd.bind(time).first { row throws(SQLiteError) in try row.key() }
      if let end {
        try deleteBeforeKey.bind(end).run()
      } else {
        try deleteBeforeTime.bind(time).run()
      }
      return end != nil
    }
  }

  private let connection: SQLiteConnection
  private let expiring: [Expiring]
  private lazy var raiseMark = Statement(
    "UPDATE sweep_mark SET swept_before = ?1 WHERE swept_before < ?1", on: connection)
  private lazy var deleteArchivedEvents = Statement(
    """
    DELETE FROM events WHERE sequence IN (
      SELECT sequence FROM events WHERE sequence <= (SELECT sequence FROM event_archive)
      ORDER BY sequence LIMIT \(Self.rowsPerStep))
    """, on: connection)

  /// Deletes the blocks before the first event's. Each step leaves few.
  private lazy var deleteBlocksWithoutEvents = Statement(
    "DELETE FROM event_blocks WHERE block < (SELECT min(sequence) FROM events) / \(EventBlock.size)", on: connection)

  init(on connection: SQLiteConnection) {
    self.connection = connection
    expiring = ["evaluations", "tokens", "used_tickets"].map { Expiring(table: $0, on: connection) }
  }

  /// The mark moves with the first step: every key before it reads as used, whether its
  /// row is gone or not.
  func step(before time: UnixTime) throws(SQLiteError) -> (removedRows: Int, hasMore: Bool) {
    try raiseMark.bind(time).run()
    var removedRows = 0
    var hasMore = false
    for table in expiring {
      if try table.step(before: time) { hasMore = true }
      removedRows += connection.changedRows
    }
    try deleteArchivedEvents.run()
    let removedEvents = connection.changedRows
    if removedEvents > 0 { try deleteBlocksWithoutEvents.run() }
    return (removedRows + removedEvents, hasMore || removedEvents == Self.rowsPerStep)
  }
}
