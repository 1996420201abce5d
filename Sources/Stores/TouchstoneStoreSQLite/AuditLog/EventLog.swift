// The audit log's table: appended to and erased from by the writer, read in pages.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection.
final class EventLog {
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) {
    self.connection = connection
  }

  private func statement(_ sql: String) -> Statement { Statement(sql, on: connection) }

  private lazy var insert = statement(
    "INSERT INTO events (\(EventRecord.columns)) VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
  private lazy var erase = statement(
    """
    UPDATE events SET digest = ?2, salt = NULL, time = NULL, kind = NULL, application_id = NULL, profile_id = NULL,
      device_id = NULL, binding_id = NULL, caller = NULL, details = NULL
    WHERE sequence = ?1
    """)
  private lazy var setHead = statement("UPDATE event_chain SET sequence = ?, hash = ?")
  private lazy var setStart = statement("UPDATE event_archive SET sequence = ?, hash = ?")
  private lazy var selectHead = statement("SELECT sequence, hash FROM event_chain")
  private lazy var selectStart = statement("SELECT sequence, hash FROM event_archive")
  private lazy var selectErasures = statement(
    "SELECT \(EventRecord.columns) FROM events WHERE sequence > ? AND kind = ?")
  private lazy var selectEnd = statement(
    """
    SELECT sequence, hash, coalesce(
      (SELECT min(sequence) FROM events WHERE sequence > event_chain.sequence),
      (SELECT min(sequence) FROM events WHERE sequence < 1))
    FROM event_chain
    """)
  private lazy var selectOne = statement("SELECT \(EventRecord.columns) FROM events WHERE sequence = ?")
  private lazy var selectHash = statement("SELECT hash FROM events WHERE sequence = ?")
  private lazy var selectLatestArchiving = statement(
    """
    SELECT \(EventRecord.columns) FROM events WHERE sequence > ? AND \(Schema.isArchiving)
    ORDER BY sequence DESC LIMIT 1
    """)
  private lazy var selectSigning = statement(
    """
    SELECT \(EventRecord.columns) FROM events
    WHERE sequence BETWEEN ? AND ? AND application_id = '' AND profile_id = '' AND kind = ?
    ORDER BY sequence LIMIT 1
    """)

  private static let select = "SELECT sequence, kind, \(EventRecord.columns) FROM events"
  /// Rows of dropped events may still be there.
  private static let isAfter = "sequence > max(?, (SELECT sequence FROM event_archive))"
  private static let ofApplication = "WHERE \(isAfter) AND sequence <= ? AND application_id = ?"
  private static let ofProfile = "\(ofApplication) AND profile_id = ? ORDER BY sequence"
  private lazy var selectAll = statement("\(Self.select) WHERE \(Self.isAfter) ORDER BY sequence")
  private lazy var selectOfApplication = statement("\(Self.select) \(Self.ofApplication) ORDER BY sequence")
  private lazy var selectOfProfile = statement("\(Self.select) \(Self.ofProfile)")
  private lazy var selectSequencesOfProfile = statement("SELECT sequence FROM events \(Self.ofProfile)")

  private lazy var selectPlace = statement(EventRecord.placeQuery)

  private lazy var selectNames = statement("SELECT names FROM event_blocks WHERE block = ?")
  private lazy var putNames = statement("INSERT OR REPLACE INTO event_blocks VALUES (?, ?)")
  private lazy var updateNames = statement("UPDATE event_blocks SET names = ?2 WHERE block = ?1")
  private lazy var selectNext = statement("SELECT sequence FROM events WHERE sequence > ? ORDER BY sequence LIMIT 1")
  private lazy var selectNamesOfEvents = statement(
    """
    SELECT sequence, application_id, profile_id FROM events
    WHERE sequence BETWEEN ? AND ? AND application_id IS NOT NULL
    """)

  func append(_ record: EventRecord) throws(SQLiteError) {
    guard case .whole(let event, let salt) = record.content else { preconditionFailure("appended without a content") }
    try insert.bind(record.sequence).bind(record.hash).bind(event, salt: salt).run()
    let block = EventBlock(of: record.sequence)
    if record.sequence == block.last { try writeNames(of: block) }
  }

  // MARK: The end

  /// Stored beside the log, so that events cut off its end are noticed.
  func setHead(_ head: EventChain.Head) throws(SQLiteError) {
    try setHead.bind(head.sequence).bind(head.hash).run()
  }

  func head() throws(SQLiteError) -> EventChain.Head {
    guard let head = try selectHead.first(EventChain.Head.init) else { throw Self.headless }
    return head
  }

  // MARK: The beginning

  /// The event after which the kept ones begin.
  func start() throws(SQLiteError) -> EventChain.Head {
    guard let start = try selectStart.first(EventChain.Head.init) else { throw Self.headless }
    return start
  }

  /// Leaves the rows up to there to the sweeper. Returns false if the log differs from the archived one.
  func drop(_ archived: ArchivedEvents) throws(SQLiteError) -> Bool {
    guard try start() == archived.start, archived.end.sequence > archived.start.sequence,
      try archived.end.sequence <= head().archivableEnd,
      try selectHash.bind(archived.end.sequence).first({ row in row.blob() }) == archived.end.hash
    else { return false }
    guard try !isErasedSince(archived) else { return false }
    try setStart.bind(archived.end.sequence).bind(archived.end.hash).run()
    return true
  }

  private func isErasedSince(_ archived: ArchivedEvents) throws(SQLiteError) -> Bool {
    selectErasures.bind(archived.unerasedThrough).bind(ProfileErasure.eventKind)
    defer { selectErasures.reset() }
    while var row = try selectErasures.next() {
      if let event = try EventRecord(&row).event, archived.isErased(by: event) { return true }
    }
    return false
  }

  // MARK: The end, as a verification needs it

  struct End {
    var head: EventChain.Head
    /// The number of an event after the head, or before the first one.
    var outlier: UInt64?
  }

  /// Reads one moment, also beside a writer.
  func end() throws(SQLiteError) -> End {
    let end = try selectEnd.first { row in
      End(
        head: EventChain.Head(&row), outlier: row.optionalInteger().map { UInt64(truncatingIfNeeded: $0) })
    }
    guard let end else { throw Self.headless }
    return end
  }

  private static let headless = SQLiteError(code: .corrupt, message: "the audit log has no head")

  /// Verifies the whole log or, if it is long, its latest part, for a start. Collects the accounts in it.
  func checkAtStart() throws(SQLiteError) -> (fault: EventChainVerifier.Fault?, accounts: AccountReview) {
    let start = try start()
    let end = try end()
    let reading = try read(
      EventLogReading(
        keptAfter: start, through: end.head, outlier: end.outlier, maximumEvents: EventLogReading.maximumEventsAtStart,
        accounts: .collecting))
    // Indexes find both in a few microseconds for each block. The verification reports an event that cannot be read.
    let archiving = try selectLatestArchiving.bind(start.sequence).first { row in try? EventRecord(&row) }
    // After a fault the head may be any number, and so may be the blocks up to it.
    let isKnown = reading.fault != nil || reading.isOfAll || reading.accounts.firstSigned != nil
    return reading.resultAtStart(
      latestArchiving: archiving ?? nil,
      firstSigning: isKnown ? nil : try firstSigning(after: start, through: end.head))
  }

  /// Reads its pages until it is finished.
  func read(_ reading: EventLogReading) throws(SQLiteError) -> EventLogReading {
    var reading = reading
    while let position = reading.next { reading.take(try records(after: position)) }
    return reading
  }

  private func firstSigning(
    after start: EventChain.Head, through end: EventChain.Head
  ) throws(SQLiteError) -> EventRecord? {
    for block in EventBlock.all(after: start.sequence, through: end.sequence) {
      for range in try ranges(of: block, naming: "", "", through: end.sequence) {
        let signing = try selectSigning.bind(range.lowerBound).bind(range.upperBound).bind(EventDraft.signingKind)
          .first { row in try? EventRecord(&row) }
        if let signing = signing ?? nil, signing.isSignedAccount { return signing }
      }
    }
    return nil
  }

  // MARK: Pages

  /// The events that a read has found so far, and how many more it may look at.
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
    // Events that are appended meanwhile may be in the page, in order and without a gap.
    let head = try head().sequence
    let end = min(head, filter.through)
    var search = Search(filter: filter, limit: limit)
    if filter.applicationID.isEmpty {
      try look(through: selectAll.bind(min(afterSequence, UInt64(Int64.max))), &search)
    } else {
      for block in EventBlock.all(after: max(afterSequence, try start().sequence), through: end)
      where !search.isOver {
        for range in try ranges(of: block, naming: filter.applicationID, filter.profileID, through: end)
        where !search.isOver {
          try look(through: bound(filter, range, afterSequence), &search)
        }
        // Querying a block costs as much as a row. Events after the end were not read.
        let isWhole = !search.isOver
        search.rowsLeft -= 1
        if isWhole { search.through = max(search.through, min(block.last, end)) }
      }
    }
    // Read after the events, so that events dropped meanwhile count as missing.
    let start = try start().sequence
    let found = search.isOver ? search.through : max(search.events.last?.sequence ?? 0, end)
    return EventPage(events: search.events, through: limit > 0 ? found : 0, start: start, end: head)
  }

  /// As `Store.eventPlace`.
  func place(at time: UnixTime) throws(SQLiteError) -> UInt64 {
    guard let place = try selectPlace.bind(time).first({ row in UInt64(truncatingIfNeeded: row.integer()) }) else {
      throw Self.headless
    }
    return place
  }

  /// A page for verification. `nil` stands for a row that cannot be read as an event.
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
      let sequence = UInt64(truncatingIfNeeded: row.integer())
      guard sequence <= search.filter.through else { return }
      search.rowsLeft -= 1
      search.through = sequence
      // First, because most events of a log have other kinds.
      guard search.filter.includes(kind: row.text()) else { continue }
      let record = try EventRecord(&row)
      if search.filter.includes(record) { search.events.append(record) }
    }
  }

  private func bound(_ filter: EventFilter, _ range: ClosedRange<UInt64>, _ afterSequence: UInt64) -> Statement {
    let select = filter.profileID.isEmpty ? selectOfApplication : selectOfProfile
    select.bind(range, after: afterSequence).bind(filter.applicationID)
    return filter.profileID.isEmpty ? select : select.bind(filter.profileID)
  }

  // MARK: Names

  /// The events of a block that may name them, of a log with this end.
  private func ranges(
    of block: EventBlock, naming application: String, _ profile: String, through end: UInt64
  ) throws(SQLiteError) -> [ClosedRange<UInt64>] {
    guard block.last <= end, let names = try names(of: block) else { return [block.first...block.last] }
    return names.events(of: block, naming: application, profile)
  }

  /// `nil`: none are stored, so the events must be read.
  private func names(of block: EventBlock) throws(SQLiteError) -> BlockNames? {
    try selectNames.bind(block.number).first { row in BlockNames(stored: row.blob()) } ?? nil
  }

  private func namesOfEvents(in block: EventBlock) throws(SQLiteError) -> BlockNames {
    var names = BlockNames()
    selectNamesOfEvents.bind(block.first).bind(block.last)
    while var row = try selectNamesOfEvents.next() {
      let sequence = UInt64(truncatingIfNeeded: row.integer())
      names.set(NameDigest(&row), of: sequence)
    }
    return names
  }

  private func writeNames(of block: EventBlock) throws(SQLiteError) {
    try putNames.bind(block.number).bind(namesOfEvents(in: block).bytes).run()
  }

  /// Within a transaction, for a log that an earlier version made. Takes the blocks from the rows: the head may be any
  /// number before the log is verified.
  func writeNames() throws(SQLiteError) {
    let end = try head().sequence
    var position = try start().sequence
    while let next = try selectNext.bind(position).first({ row in UInt64(truncatingIfNeeded: row.integer()) }) {
      let block = EventBlock(of: next)
      guard block.last <= end else { return }
      try writeNames(of: block)
      position = block.last
    }
  }

  /// Finds the first event that its block's names lack, so that a search misses it. Reads one moment of each block,
  /// also beside a writer.
  func firstHidden(through end: UInt64) throws(SQLiteError) -> UInt64? {
    for block in EventBlock.all(after: try start().sequence, through: end) where block.last <= end {
      try connection.execute("BEGIN")
      defer { try? connection.execute("COMMIT") }
      // Rows of dropped events may be gone.
      let start = try start().sequence
      if let names = try names(of: block),
        let hidden = try namesOfEvents(in: block).firstDifference(from: names, in: block, after: start)
      {
        return hidden
      }
    }
    return nil
  }

  // MARK: Erasing

  /// Searches up to the log's present end for each erasure. Archived events are out of reach.
  func find(_ erasures: [ProfileErasure]) throws(SQLiteError) -> [EventErasure] {
    var found: [EventErasure] = []
    for erasure in erasures {
      let end = try head().sequence
      let sequences = try sequences(naming: erasure, after: try start().sequence, through: end)
      found.append(EventErasure(erasure: erasure, sequences: sequences[...], searchedThrough: end))
    }
    return found
  }

  /// The numbers of all events after `start` and up to `end` that name the profile, rising.
  func sequences(
    naming erasure: ProfileErasure, after start: UInt64, through end: UInt64
  ) throws(SQLiteError) -> [UInt64] {
    var sequences: [UInt64] = []
    for block in EventBlock.all(after: start, through: end) {
      for range in try ranges(of: block, naming: erasure.applicationID, erasure.profileID, through: end) {
        selectSequencesOfProfile.bind(range, after: start).bind(erasure.applicationID).bind(erasure.profileID)
        while var row = try selectSequencesOfProfile.next() {
          sequences.append(UInt64(truncatingIfNeeded: row.integer()))
        }
      }
    }
    return sequences
  }

  /// Leaves the event's place in the chain.
  func erase(_ sequence: UInt64, by erasure: ProfileErasure) throws(SQLiteError) -> ProfileErasure.Finding {
    let record = try selectOne.bind(sequence).first { row in try? EventRecord(&row) }
    let finding = erasure.finding(record ?? nil, after: try hash(before: sequence))
    if case .erasable(let event) = finding {
      try erase.bind(event.sequence).bind(event.digest).run()
      let block = EventBlock(of: sequence)
      if var names = try names(of: block) {
        names.clear(sequence)
        try updateNames.bind(block.number).bind(names.bytes).run()
      }
    }
    return finding
  }

  private func hash(before sequence: UInt64) throws(SQLiteError) -> [UInt8]? {
    let start = try start()
    guard sequence > start.sequence + 1 else { return sequence == start.sequence + 1 ? start.hash : nil }
    return try selectHash.bind(sequence - 1).first { row in row.blob() }
  }
}

extension Statement {
  /// An event's number is after the first one, and up to the second one.
  fileprivate func bind(_ range: ClosedRange<UInt64>, after sequence: UInt64) -> Statement {
    bind(max(max(range.lowerBound, 1) - 1, sequence)).bind(range.upperBound)
  }
}
