// Pages of the audit log.

internal import TouchstoneStore

struct EventReader: Sendable {
  let lists: ConnectionLane

  /// What is sealed. A profile's events are found by their index, all others by looking at every one: in each case at a
  /// bounded number.
  func page(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int
  ) async throws(PostgresError) -> EventPage {
    let limit = min(max(0, limit), EventPage.maximumRows)
    let isOfProfile = !filter.applicationID.isEmpty && !filter.profileID.isEmpty
    let select = Self.select(filter, afterSequence: afterSequence, limit: limit, isOfProfile: isOfProfile)
    // The start before, so that the page goes no further than was looked; and after: what is dropped meanwhile counts as
    // missing.
    let calls = [
      StatementCall(.selectEventChain), StatementCall(.selectEventArchive), select, StatementCall(.selectEventArchive),
    ]
    let results = try await lists.run(calls, isQuestion: true)
    guard results.count == calls.count else { throw .corrupt("no audit log") }
    let starts = [
      try results[1].only { row in EventChain.Head(&row) }.sequence,
      try results[3].only { row in EventChain.Head(&row) }.sequence,
    ]
    let end = try results[0].only { row in EventChain.Head(&row) }.sequence
    let rows = try results[2].map { row throws(PostgresError) in try EventRecord(&row) }
    let events = isOfProfile ? Array(rows.lazy.filter(filter.includes).prefix(limit)) : rows
    // What is appended meanwhile may be in the page, in its order and without a gap.
    var through = max(events.last?.sequence ?? 0, end)
    if limit == 0 {
      through = 0
    } else if events.count == limit, let last = events.last?.sequence {
      through = last
    } else if isOfProfile {
      if rows.count == EventPage.maximumRows, let last = rows.last?.sequence { through = last }
    } else if !filter.applicationID.isEmpty || !filter.kindPrefixes.isEmpty {
      let last = max(afterSequence, starts[0]).addingReportingOverflow(UInt64(EventPage.maximumRows))
      if !last.overflow { through = min(through, last.partialValue) }
    }
    return EventPage(events: events, through: through, start: starts[1], end: end)
  }

  func head() async throws(PostgresError) -> EventChain.Head {
    try await head(.selectEventChain)
  }

  func start() async throws(PostgresError) -> EventChain.Head {
    try await head(.selectEventArchive)
  }

  private func head(_ statement: Statement) async throws(PostgresError) -> EventChain.Head {
    let results = try await lists.run([StatementCall(statement)], isQuestion: true)
    guard let result = results.first else { throw .corrupt("no audit log") }
    return try result.only { row in EventChain.Head(&row) }
  }

  private static func select(
    _ filter: EventFilter, afterSequence: UInt64, limit: Int, isOfProfile: Bool
  ) -> StatementCall {
    // No event has such a number, and what is added to it in SQL must not overflow.
    let after = min(Int64(clamping: afterSequence), .max - Int64(EventPage.maximumRows))
    guard !isOfProfile else {
      // Of other kinds, too: so that what was looked at can be told.
      let rows = filter.kindPrefixes.isEmpty ? min(limit, EventPage.maximumRows) : EventPage.maximumRows
      return StatementCall(.selectEventsOfProfile).bind(filter.applicationID).bind(filter.profileID).bind(after)
        .bind(limit == 0 ? 0 : rows)
    }
    let select =
      filter.applicationID.isEmpty
      ? StatementCall(.selectEvents) : StatementCall(.selectEventsOfApplication).bind(filter.applicationID)
    return select.bind(after).bind(array: filter.kindPrefixes).bind(limit)
  }
}
