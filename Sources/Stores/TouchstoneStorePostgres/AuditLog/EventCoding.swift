// Committed events that are not in the chain yet ⇄ rows of `unsealed_events`.

internal import Encodings
internal import TouchstonePolicy
internal import TouchstoneStore

/// A row has the events of one commit, or of several that share a transaction: the server then inserts, reads and
/// deletes fewer rows.
struct UnsealedEvents: Sendable {
  /// A row that is longer than PostgreSQL's TOAST_TUPLE_THRESHOLD (2 KB) would be compressed, and stored apart in
  /// several rows.
  private static let maximumBytesInRow = 1_900

  let id: [UInt8]
  let events: [(event: EventDraft, salt: UniqueID)]

  init(_ row: inout Row) throws(PostgresError) {
    id = row.blob()
    var rest = row.blob()[...]
    var events: [(event: EventDraft, salt: UniqueID)] = []
    repeat {
      guard let event = EventDraft.pop(from: &rest) else { throw Self.unreadable(id) }
      events.append(event)
    } while !rest.isEmpty
    self.events = events
  }

  private static func unreadable(_ id: [UInt8]) -> PostgresError {
    .corrupt(
      """
      the table unsealed_events has a row that no service wrote so, with the id \(Hexadecimal.text(Array(id.prefix(32)))), \
      and no event is sealed before it is gone: find out how it was altered, note it, and delete it
      """)
  }

  /// The statement that leaves events for sealing, in their order.
  ///
  /// - Parameter places: gives each row its place among the rows of the process.
  static func insertion(of events: [EventDraft], places: () -> UInt64) -> StatementCall {
    StatementCall(.insertUnsealedEvents).bind(rows(of: events, places: places))
  }

  /// - Parameter places: as for `insertion`.
  static func rows(of events: [EventDraft], places: () -> UInt64) -> RowArrays {
    var rows = RowArrays([.bytea, .bigint, .bytea])
    for row in encoded(events) { rows.append(.row.bind(eventRow: row, places: places)) }
    return rows
  }

  /// The bytes of each row.
  static func encoded(_ events: [EventDraft]) -> [[UInt8]] {
    var rows: [[UInt8]] = []
    for event in events {
      let bytes = event.encoded(salt: .random())
      if let count = rows.last?.count, count + bytes.count <= maximumBytesInRow {
        rows[rows.count - 1] += bytes
      } else {
        rows.append(bytes)
      }
    }
    return rows
  }
}

extension StatementCall {
  /// Three columns.
  consuming func bind(eventRow bytes: [UInt8], places: () -> UInt64) -> StatementCall {
    bind(UniqueID.random()).bind(places()).bind(bytes)
  }
}
