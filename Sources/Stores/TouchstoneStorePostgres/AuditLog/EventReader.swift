// Pages of the audit log.

internal import TouchstonePolicy
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
    let (select, rowLimit) = Self.select(filter, afterSequence: afterSequence, limit: limit, isOfProfile: isOfProfile)
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
    let events = Array(rows.lazy.filter(filter.includes).prefix(limit))
    // Events that are appended meanwhile may be in the page, in order and without a gap.
    var through = max(events.last?.sequence ?? 0, min(end, filter.through))
    if limit == 0 {
      through = 0
    } else if events.count == limit, let last = events.last?.sequence {
      through = last
    } else if rows.count == rowLimit, let last = rows.last?.sequence {
      through = last
    } else if !isOfProfile, filter.hasConditions {
      let last = max(afterSequence, starts[0]).addingReportingOverflow(UInt64(EventPage.maximumRows))
      if !last.overflow { through = min(through, last.partialValue) }
    }
    return EventPage(events: events, through: through, start: starts[1], end: end)
  }

  func place(at time: UnixTime) async throws(PostgresError) -> UInt64 {
    try await lists.run([StatementCall(.selectEventPlace).bind(time)], isQuestion: true)[0].only { row in row.version()
    }
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

  /// Returns the statement, and how many rows it answers at most.
  private static func select(
    _ filter: EventFilter, afterSequence: UInt64, limit: Int, isOfProfile: Bool
  ) -> (StatementCall, rowLimit: Int) {
    // No event has such a number, and an addition to it in SQL must not overflow.
    let after = min(Int64(clamping: afterSequence), .max - Int64(EventPage.maximumRows))
    let through = Int64(clamping: filter.through)
    guard !isOfProfile else {
      var ofAll = EventFilter(applicationID: filter.applicationID, profileID: filter.profileID)
      ofAll.through = filter.through
      // Also events that the filter leaves out, to know how far was read.
      let rows = filter == ofAll || limit == 0 ? limit : EventPage.maximumRows
      let select = StatementCall(.selectEventsOfProfile).bind(filter.applicationID).bind(filter.profileID).bind(after)
      return (select.bind(rows).bind(through), rows)
    }
    guard filter.hasConditions else {
      return (StatementCall(.selectEvents).bind(after).bind(limit).bind(through), limit)
    }
    let reason = filter.reason.isEmpty ? [] : [EventDetail(key: "reason", value: filter.reason)].encoded
    let select = StatementCall(.selectMatchingEvents).bind(filter.applicationID).bind(after)
      .bind(array: filter.kindPrefixes).bind(limit).bind(through).bind(filter.deviceID).bind(filter.bindingID)
      .bind(filter.caller).bind(reason).bind(filter.times?.lowerBound.microseconds ?? .min)
      .bind(filter.times?.upperBound.microseconds ?? .max)
    return (select, limit)
  }
}
