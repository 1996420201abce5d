// Pages of the audit log.

internal import TouchstoneStore

struct EventReader: Sendable {
  let lists: ConnectionLane

  /// Reads sealed events. An index finds a profile's events; all others are found by reading every event. Each read
  /// looks at a bounded number.
  func page(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int
  ) async throws(PostgresError) -> EventPage {
    let limit = min(max(0, limit), EventPage.maximumRows)
    let isOfProfile = !filter.applicationID.isEmpty && !filter.profileID.isEmpty
    let select = Self.select(filter, afterSequence: afterSequence, limit: limit, isOfProfile: isOfProfile)
    // The start is read before the page, so that the page ends where the reading did, and after it, so that events
    // dropped meanwhile count as missing.
    let calls = [
      StatementCall(.selectEventChain), StatementCall(.selectEventArchive), select, StatementCall(.selectEventArchive),
    ]
    let results = try await lists.run(calls, isQuestion: true)
    let starts = [
      try results[1].only { row in EventChain.Head(&row) }.sequence,
      try results[3].only { row in EventChain.Head(&row) }.sequence,
    ]
    let end = try results[0].only { row in EventChain.Head(&row) }.sequence
    let rows = try results[2].map { row throws(PostgresError) in try EventRecord(&row) }
    let events = isOfProfile ? Array(rows.lazy.filter(filter.includes).prefix(limit)) : rows
    // Events that are appended meanwhile may be in the page, in order and without a gap.
    var through = max(events.last?.sequence ?? 0, end)
    if limit == 0 {
      through = 0
    } else if events.count == limit, let last = events.last?.sequence {
      through = last
    } else if isOfProfile {
      if rows.count == EventPage.maximumRows, let last = rows.last?.sequence { through = last }
    } else if filter.isOfSome {
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
    try await lists.run([StatementCall(statement)], isQuestion: true)[0].only { row in EventChain.Head(&row) }
  }

  private static func select(
    _ filter: EventFilter, afterSequence: UInt64, limit: Int, isOfProfile: Bool
  ) -> StatementCall {
    // No event has such a number, and an addition to it in SQL must not overflow.
    let after = min(Int64(clamping: afterSequence), .max - Int64(EventPage.maximumRows))
    guard !isOfProfile else {
      // Also events of other kinds, to know how far was read.
      let rows = filter.kindPrefixes.isEmpty ? min(limit, EventPage.maximumRows) : EventPage.maximumRows
      return StatementCall(.selectEventsOfProfile).bind(filter.applicationID).bind(filter.profileID).bind(after)
        .bind(limit == 0 ? 0 : rows)
    }
    guard filter.isOfSome else { return StatementCall(.selectEvents).bind(after).bind(limit) }
    return StatementCall(.selectMatchingEvents).bind(filter.applicationID).bind(after).bind(array: filter.kindPrefixes)
      .bind(limit)
  }
}

extension EventFilter {
  /// Other events are left out.
  fileprivate var isOfSome: Bool { !applicationID.isEmpty || !kindPrefixes.isEmpty }
}
