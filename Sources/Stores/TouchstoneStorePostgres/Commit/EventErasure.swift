// Erases the events that name an erased profile, part by part.

internal import TouchstonePolicy
internal import TouchstoneStore

/// The progress of one erasure: a value, so that a repeated transaction begins with the same one.
struct EventErasure: Sendable {
  let erasure: ProfileErasure
  /// No event is left up to where the log was searched.
  private(set) var isDone = false
  var findings = ErasureFindings()
  /// All events up to here were read.
  private var through: UInt64 = 0

  init(_ erasure: ProfileErasure) {
    self.erasure = erasure
  }

  /// Takes one part, which is all that a transaction takes while more are left.
  mutating func erasePart(in session: ConnectionLane.Session, through end: UInt64) async throws(PostgresError) {
    let limit = ProfileErasure.maximumEventsPerTransaction
    let found = try await find(limit, in: session, through: end)
    isDone = found.count < limit
    through = found.last?.sequence ?? through
    var events: [ErasedEvent] = []
    for (sequence, finding) in found {
      findings.note(finding, of: sequence)
      if case .erasable(let event) = finding { events.append(event) }
    }
    guard !events.isEmpty else { return }
    try await session.run([
      StatementCall(.eraseEvents).bind(array: events.map(\.sequence)).bind(array: events.map(\.digest))
    ])
  }

  /// Takes all that were appended while the transaction ran: few, and with a bound on each round trip.
  mutating func eraseRest(in session: ConnectionLane.Session, through end: UInt64) async throws(PostgresError) {
    repeat { try await erasePart(in: session, through: end) } while !isDone
  }

  private typealias Found = (sequence: UInt64, finding: ProfileErasure.Finding)

  /// The events after the last one that was read.
  private func find(
    _ limit: Int, in session: ConnectionLane.Session, through end: UInt64
  ) async throws(PostgresError) -> [Found] {
    let results = try await session.run([
      StatementCall(.selectEventArchive),
      StatementCall(.selectEventsToErase).bind(erasure.applicationID).bind(erasure.profileID).bind(through).bind(end)
        .bind(limit),
    ])
    let start = try results[0].only { row in EventChain.Head(&row) }
    return try results[1].map { row throws(PostgresError) in
      let sequence = row.version()
      let previousHash = row.optionalBlob()
      return (
        sequence: sequence,
        finding: erasure.finding(
          try? EventRecord(&row), after: sequence == start.sequence + 1 ? start.hash : previousHash)
      )
    }
  }
}
