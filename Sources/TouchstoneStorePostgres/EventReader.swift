// Pages of the audit log.

internal import TouchstoneStore

struct EventReader: Sendable {
  let lists: ConnectionLane

  /// What is sealed. Where the page is not full, it reaches to the log's end as it was before.
  func page(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int
  ) async throws(PostgresError) -> EventPage {
    let select = Self.select(filter).bind(Int64(clamping: afterSequence)).bind(array: filter.kindPrefixes).bind(
      max(0, limit))
    // The start last: what is dropped meanwhile counts as missing.
    let calls = [StatementCall(.selectEventChain), select, StatementCall(.selectEventArchive)]
    let results = try await lists.run(calls, isQuestion: true)
    guard results.count == 3 else { throw .corrupt("no audit log") }
    let start = try results[2].only { row in EventChain.Head(&row) }.sequence
    let end = try results[0].only { row in EventChain.Head(&row) }.sequence
    let events = try results[1].map { row throws(PostgresError) in try EventRecord(&row) }
    guard let last = events.last?.sequence else {
      return EventPage(events: [], through: limit > 0 ? end : 0, start: start)
    }
    // What is appended meanwhile may be in the page, in its order and without a gap.
    return EventPage(events: events, through: events.count == limit ? last : max(last, end), start: start)
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

  private static func select(_ filter: EventFilter) -> StatementCall {
    if filter.applicationID.isEmpty { return StatementCall(.selectEvents) }
    if filter.profileID.isEmpty { return StatementCall(.selectEventsOfApplication).bind(filter.applicationID) }
    return StatementCall(.selectEventsOfProfile).bind(filter.applicationID).bind(filter.profileID)
  }
}
