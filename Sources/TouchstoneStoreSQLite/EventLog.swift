// The audit log's table: appended to and erased from by the writer, read in pages.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection.
final class EventLog {
  private let insert: Statement
  private let erase: Statement
  private let setHead: Statement
  private let setStart: Statement
  private let selectHead: Statement
  private let selectStart: Statement
  private let selectErasure: Statement
  private let selectLatestArchiving: Statement
  private let selectEnd: Statement
  private let selectOne: Statement
  private let selectHash: Statement
  private let selectAll: Statement
  private let selectOfApplication: Statement
  private let selectOfProfile: Statement
  private let selectSequencesOfProfile: Statement

  init(on connection: SQLiteConnection) throws(SQLiteError) {
    func prepare(_ sql: String) throws(SQLiteError) -> Statement { try Statement(sql, on: connection) }
    insert = try prepare(
      "INSERT INTO events (\(EventRecord.columns)) VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    erase = try prepare(
      """
      UPDATE events SET digest = ?2, salt = NULL, time = NULL, kind = NULL, application_id = NULL, profile_id = NULL,
        device_id = NULL, binding_id = NULL, caller = NULL, details = NULL
      WHERE sequence = ?1
      """)
    setHead = try prepare("UPDATE event_chain SET sequence = ?, hash = ?")
    setStart = try prepare("UPDATE event_archive SET sequence = ?, hash = ?")
    selectHead = try prepare("SELECT sequence, hash FROM event_chain")
    selectStart = try prepare("SELECT sequence, hash FROM event_archive")
    selectErasure = try prepare("SELECT EXISTS (SELECT 1 FROM events WHERE sequence > ? AND kind = ?)")
    selectEnd = try prepare(
      """
      SELECT sequence, hash, coalesce(
        (SELECT min(sequence) FROM events WHERE sequence > event_chain.sequence),
        (SELECT min(sequence) FROM events WHERE sequence < 1))
      FROM event_chain
      """)
    let select = "SELECT sequence, kind, \(EventRecord.columns) FROM events"
    selectOne = try prepare("SELECT \(EventRecord.columns) FROM events WHERE sequence = ?")
    selectLatestArchiving = try prepare(
      """
      SELECT \(EventRecord.columns) FROM events WHERE sequence > ? AND \(Schema.isArchiving)
      ORDER BY sequence DESC LIMIT 1
      """)
    // Rows of dropped events may still be there.
    let isAfter = "sequence > max(?, (SELECT sequence FROM event_archive))"
    selectHash = try prepare("SELECT hash FROM events WHERE sequence = ?")
    selectAll = try prepare("\(select) WHERE \(isAfter) ORDER BY sequence")
    let ofApplication = "WHERE \(EventBlock.expression) = ? AND application_id = ?"
    selectOfApplication = try prepare("\(select) \(ofApplication) AND \(isAfter) ORDER BY sequence")
    let ofProfile = "\(ofApplication) AND profile_id = ? AND \(isAfter) ORDER BY sequence"
    selectOfProfile = try prepare("\(select) \(ofProfile)")
    selectSequencesOfProfile = try prepare("SELECT sequence FROM events \(ofProfile)")
  }

  func append(_ record: EventRecord) throws(SQLiteError) {
    guard case .whole(let event, let salt) = record.content else { preconditionFailure("appended without a content") }
    try insert.bind(record.sequence).bind(record.hash).bind(salt).bind(event.time).bind(event.kind)
      .bind(event.applicationID).bind(event.profileID).bind(event.deviceID).bind(event.bindingID).bind(event.caller)
      .bind(event.details.encoded).run()
  }

  // MARK: The end

  /// Kept beside the log, so that events which are cut off its end are missed.
  func setHead(_ head: EventChain.Head) throws(SQLiteError) {
    try setHead.bind(head.sequence).bind(head.hash).run()
  }

  func head() throws(SQLiteError) -> EventChain.Head {
    guard let head = try selectHead.first(EventChain.Head.init) else { throw Self.headless }
    return head
  }

  // MARK: The beginning

  /// After which event the kept ones begin.
  func start() throws(SQLiteError) -> EventChain.Head {
    guard let start = try selectStart.first(EventChain.Head.init) else { throw Self.headless }
    return start
  }

  /// The rows up to there are the sweeper's from now on. False where the log is another one than was archived.
  func drop(_ archived: ArchivedEvents) throws(SQLiteError) -> Bool {
    guard try start() == archived.start, archived.end.sequence > archived.start.sequence,
      try archived.end.sequence <= head().archivableEnd,
      try selectHash.bind(archived.end.sequence).first({ row in row.blob() }) == archived.end.hash
    else { return false }
    let isErasedSince = try selectErasure.bind(archived.unerasedThrough).bind(ProfileErasure.eventKind)
      .first { row in row.boolean() }
    guard isErasedSince == false else { return false }
    try setStart.bind(archived.end.sequence).bind(archived.end.hash).run()
    return true
  }

  /// Whether what is missing before the kept events was archived: the latest archiving left the log's beginning here.
  private func hasAccount(of start: EventChain.Head) throws(SQLiteError) -> Bool {
    guard start != .genesis else { return true }
    let latest = try selectLatestArchiving.bind(start.sequence)
      .first { row throws(SQLiteError) in try EventRecord(&row) }
    return latest?.event.map { ArchivedEvents.isAccount(of: start, $0) } ?? false
  }

  // MARK: The end, as a verification needs it

  struct End {
    var head: EventChain.Head
    /// The number of an event that stands beyond the head, or before the first one.
    var outlier: UInt64?
  }

  /// Of one moment, beside a writer too.
  func end() throws(SQLiteError) -> End {
    let end = try selectEnd.first { row in
      End(
        head: EventChain.Head(&row), outlier: row.optionalInteger().map { UInt64(truncatingIfNeeded: $0) })
    }
    guard let end else { throw Self.headless }
    return end
  }

  private static let headless = SQLiteError(code: .corrupt, message: "the audit log has no head")

  /// Of the whole log or, where it is long, its latest part: what a start looks at. The accounts in it are collected.
  func checkAtStart() throws(SQLiteError) -> (fault: EventChainVerifier.Fault?, accounts: AccountReview) {
    let start = try start()
    let end = try end()
    var reading = EventLogReading(
      keptAfter: start, through: end.head, outlier: end.outlier, maximumEvents: EventLogReading.maximumEventsAtStart,
      accounts: .collecting)
    while let position = reading.next { reading.take(try records(after: position)) }
    if reading.fault != nil || reading.isOfAll { return (reading.fault, reading.accounts) }
    return (try hasAccount(of: start) ? nil : .dropped(through: start.sequence), reading.accounts)
  }

  // MARK: Pages

  /// What a read has found so far, and how much more it may look at.
  private struct Search {
    let filter: EventFilter
    let limit: Int
    var rowsLeft = EventPage.maximumRows
    var events: [EventRecord] = []
    /// All events up to here were looked at.
    var through: UInt64 = 0

    var isOver: Bool { events.count >= limit || rowsLeft <= 0 }
  }

  func page(matching filter: EventFilter, afterSequence: UInt64, limit: Int) throws(SQLiteError) -> EventPage {
    // What is appended meanwhile may be in the page, in its order and without a gap.
    let end = try head().sequence
    var search = Search(filter: filter, limit: limit)
    if filter.applicationID.isEmpty {
      try look(through: selectAll.bind(min(afterSequence, UInt64(Int64.max))), &search)
    } else {
      for block in EventBlock.numbers(after: max(afterSequence, try start().sequence), through: end)
      where !search.isOver {
        try look(through: bound(filter, block: block, afterSequence), &search)
        // To ask a block costs as much as a row. What comes after the end was not looked at.
        let isWhole = !search.isOver
        search.rowsLeft -= 1
        if isWhole { search.through = max(search.through, min(EventBlock.end(of: block), end)) }
      }
    }
    // After the events: what is dropped meanwhile counts as missing.
    let start = try start().sequence
    let found = search.isOver ? search.through : max(search.events.last?.sequence ?? 0, end)
    return EventPage(events: search.events, through: limit > 0 ? found : 0, start: start, end: end)
  }

  /// A page for who verifies them. `nil`: a row that cannot be read as an event.
  func records(after sequence: UInt64) throws(SQLiteError) -> [EventRecord?] {
    var records: [EventRecord?] = []
    selectAll.bind(min(sequence, UInt64(Int64.max)))
    defer { selectAll.reset() }
    while records.count < EventLogReading.eventsPerPage, var row = try selectAll.next() {
      (_, _) = (row.integer(), row.text())
      records.append(try? EventRecord(&row))
    }
    return records
  }

  private func look(through select: Statement, _ search: inout Search) throws(SQLiteError) {
    defer { select.reset() }
    while !search.isOver, var row = try select.next() {
      search.rowsLeft -= 1
      search.through = UInt64(truncatingIfNeeded: row.integer())
      // First: most of a log is of other kinds than are looked for.
      guard search.filter.includes(kind: row.text()) else { continue }
      search.events.append(try EventRecord(&row))
    }
  }

  private func bound(_ filter: EventFilter, block: UInt64, _ afterSequence: UInt64) -> Statement {
    guard !filter.profileID.isEmpty else {
      return selectOfApplication.bind(block).bind(filter.applicationID).bind(afterSequence)
    }
    return selectOfProfile.bind(block).bind(filter.applicationID).bind(filter.profileID).bind(afterSequence)
  }

  // MARK: Erasing

  /// For each erasure, as far as the log goes now. Archived events are out of reach.
  func find(_ erasures: [ProfileErasure]) throws(SQLiteError) -> [FoundEvents] {
    var found: [FoundEvents] = []
    for erasure in erasures {
      let end = try head().sequence
      found.append(
        FoundEvents(
          sequences: try sequences(naming: erasure, after: try start().sequence, through: end), searchedThrough: end))
    }
    return found
  }

  /// Of all events after `start` and up to `end` that name the profile, rising.
  func sequences(
    naming erasure: ProfileErasure, after start: UInt64, through end: UInt64
  ) throws(SQLiteError) -> [UInt64] {
    var sequences: [UInt64] = []
    for block in EventBlock.numbers(after: start, through: end) {
      selectSequencesOfProfile.bind(block).bind(erasure.applicationID).bind(erasure.profileID).bind(start)
      while var row = try selectSequencesOfProfile.next() {
        sequences.append(UInt64(truncatingIfNeeded: row.integer()))
      }
    }
    return sequences
  }

  /// Leaves the event's place in the chain. False where it was erased before.
  func erase(sequence: UInt64) throws(SQLiteError) -> Bool {
    let digest = try selectOne.bind(sequence).first { row -> [UInt8]? in
      // What cannot be read was altered: it goes too, and verification still names it.
      guard let record = try? EventRecord(&row) else { return [] }
      return record.isErased ? nil : record.content.digest
    }
    guard let digest, let digest else { return false }
    try erase.bind(sequence).bind(digest).run()
    return true
  }
}

extension EventChain.Head {
  fileprivate init(_ row: inout Row) {
    self.init(sequence: UInt64(truncatingIfNeeded: row.integer()), hash: row.blob())
  }
}
