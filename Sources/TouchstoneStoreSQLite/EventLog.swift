// The audit log's table: appended to by the writer, read in pages.

internal import TouchstoneStore

/// Confined like its connection.
final class EventLog {
  private let insert: Statement
  private let setHead: Statement
  private let selectHead: Statement
  private let selectAll: Statement
  private let selectOfApplication: Statement
  private let selectOfProfile: Statement

  init(on connection: SQLiteConnection) throws(SQLiteError) {
    insert = try Statement(
      "INSERT INTO events (\(EventRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", on: connection)
    setHead = try Statement("UPDATE event_chain SET sequence = ?, hash = ?", on: connection)
    selectHead = try Statement("SELECT sequence, hash FROM event_chain", on: connection)
    let select = "SELECT \(EventRecord.columns) FROM events WHERE sequence > ?"
    selectAll = try Statement("\(select) ORDER BY sequence", on: connection)
    selectOfApplication = try Statement("\(select) AND application_id = ? ORDER BY sequence", on: connection)
    selectOfProfile = try Statement(
      "\(select) AND application_id = ? AND profile_id = ? ORDER BY sequence", on: connection)
  }

  func append(_ record: EventRecord) throws(SQLiteError) {
    let event = record.event
    try insert.bind(record.sequence).bind(event.time).bind(event.kind).bind(event.applicationID).bind(event.profileID)
      .bind(event.deviceID).bind(event.bindingID).bind(event.caller).bind(event.details.encoded).bind(record.hash)
      .run()
  }

  /// Kept beside the log, so that events which are cut off its end are missed.
  func setHead(_ head: EventChain.Head) throws(SQLiteError) {
    try setHead.bind(head.sequence).bind(head.hash).run()
  }

  func head() throws(SQLiteError) -> EventChain.Head {
    let head = try selectHead.first { row in
      EventChain.Head(sequence: UInt64(truncatingIfNeeded: row.integer()), hash: row.blob())
    }
    guard let head else { throw SQLiteError(code: .corrupt, message: "the audit log has no head") }
    return head
  }

  /// Whether the last event is the one that the head names, and follows from the event before it.
  func endsAtHead() throws(SQLiteError) -> Bool {
    let head = try head()
    let afterSequence = head.sequence < 2 ? 0 : head.sequence - 2
    var last = try events(matching: EventFilter(applicationID: ""), afterSequence: afterSequence, limit: 3)
    guard head.sequence > 0 else { return last.isEmpty && head == .genesis }
    var start = EventChain.Head.genesis
    if head.sequence > 1 {
      guard let previous = last.first else { return false }
      start = EventChain.Head(sequence: previous.sequence, hash: previous.hash)
      last.removeFirst()
    }
    guard last.count == 1 else { return false }
    var verifier = EventChainVerifier(continuing: start)
    do throws(EventChainVerifier.Fault) {
      try verifier.verify(last[0])
      try verifier.conclude(at: head)
      return true
    } catch {
      return false
    }
  }

  func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int
  ) throws(SQLiteError) -> [EventRecord] {
    let select = bound(filter, afterSequence: min(afterSequence, UInt64(Int64.max)))
    defer { select.reset() }
    var events: [EventRecord] = []
    while events.count < limit, var row = try select.next() {
      let event = try EventRecord(&row)
      if filter.includes(kind: event.event.kind) { events.append(event) }
    }
    return events
  }

  private func bound(_ filter: EventFilter, afterSequence: UInt64) -> Statement {
    switch (filter.applicationID, filter.profileID) {
    case ("", _): selectAll.bind(afterSequence)
    case (let application, ""): selectOfApplication.bind(afterSequence).bind(application)
    case (let application, let profile): selectOfProfile.bind(afterSequence).bind(application).bind(profile)
    }
  }
}

extension EventFilter {
  func includes(kind: String) -> Bool {
    kindPrefixes.isEmpty || kindPrefixes.contains { kind.hasPrefix($0) }
  }
}
