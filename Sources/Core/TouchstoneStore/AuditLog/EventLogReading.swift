/// A reading of the audit log that checks whether each event is as it was written (R41). A value: it takes pages, and
/// returns where the next one begins and what is wrong.
package struct EventLogReading: Sendable {
  /// How many of the latest events of a longer log a start reads: some 0.15 s of this process's time. The service reads
  /// the earlier ones while it runs.
  package static let maximumEventsAtStart: UInt64 = 50_000
  /// Events of one page: a millisecond or two, for which other readers of lists wait.
  package static let eventsPerPage = 512

  /// The end of the log when the reading began.
  package let head: EventChain.Head
  private let start: EventChain.Head
  /// The event before the reading's first one.
  private let beginning: UInt64
  private let isFromStart: Bool
  /// An event that is beyond the head, or before the first one.
  private let outlier: UInt64?
  /// `nil`: the event before the part is read first, as its anchor.
  private var verifier: EventChainVerifier?
  private let review: AccountReview
  private var isHeadReached = false

  /// The first one.
  package private(set) var fault: EventChainVerifier.Fault?
  /// The event before the next page. `nil`: the reading is finished, with or without a fault.
  package private(set) var next: UInt64?

  /// - Parameters:
  ///   - start: the event before the first kept one.
  ///   - maximumEvents: of a longer log, only the latest ones are read.
  ///   - accounts: how to check signatures.
  package init(
    keptAfter start: EventChain.Head, through head: EventChain.Head, outlier: UInt64? = nil,
    maximumEvents: UInt64 = .max, accounts review: AccountReview = .none
  ) {
    self.start = start
    self.head = head
    self.outlier = outlier
    self.review = review
    isFromStart = head.sequence < start.sequence || head.sequence - start.sequence <= maximumEvents
    if isFromStart {
      verifier = EventChainVerifier(continuing: start, accounts: review)
      beginning = start.sequence
    } else {
      beginning = head.sequence - maximumEvents
    }
    next = isFromStart ? beginning : beginning - 1
    attempt { reading throws(EventChainVerifier.Fault) in try reading.endIfComplete() }
  }

  /// Whether it reads everything that is kept. Otherwise an event elsewhere may explain the log's beginning.
  package var isOfAll: Bool { isFromStart }

  /// The events after `next`; an empty list: there are none. `nil`: a row cannot be read as an event.
  package mutating func take(_ page: [EventRecord?]) {
    attempt { reading throws(EventChainVerifier.Fault) in
      for event in page where reading.next != nil { try reading.take(event) }
      if page.isEmpty { try reading.endOfLog() }
    }
  }

  package var accounts: AccountReview { verifier?.accounts ?? review }

  /// The result so far.
  package var verification: AuditLogVerification {
    AuditLogVerification(from: start, through: head, verifier, fault: fault, accounts: accounts)
  }

  /// The result for a start, which has to refuse a log that is not as it was written.
  ///
  /// - Parameters, of a log of which only the latest part was read:
  ///   - latestArchiving: the latest account of an archiving, which moved the log's beginning.
  ///   - firstSigning: the event from which on accounts are signed, if none was read.
  package func resultAtStart(
    latestArchiving: EventRecord?, firstSigning: EventRecord?
  ) -> (fault: EventChainVerifier.Fault?, accounts: AccountReview) {
    guard fault == nil, !isOfAll else { return (fault, accounts) }
    var accounts = accounts
    if accounts.firstSigned == nil {
      for record in [latestArchiving, firstSigning] { if let record { accounts.note(signed: record) } }
    }
    let isWhole =
      start == .genesis || latestArchiving?.event.map { ArchivedEvents.isAccount(of: start, $0) } == true
    return (isWhole ? nil : .dropped(through: start.sequence), accounts)
  }

  private mutating func attempt(_ body: (inout Self) throws(EventChainVerifier.Fault) -> Void) {
    do throws(EventChainVerifier.Fault) {
      try body(&self)
    } catch {
      fault = error
      next = nil
    }
  }

  private mutating func take(_ event: EventRecord?) throws(EventChainVerifier.Fault) {
    guard verifier != nil else { return try takeAnchor(event) }
    // Not even readable as an event.
    guard let event else { throw .altered(sequence: position + 1) }
    if position < head.sequence {
      try verifier?.verify(event)
    } else {
      try verifier?.takeAccounts(of: event)
    }
    next = position
    try endIfComplete()
  }

  private mutating func takeAnchor(_ event: EventRecord?) throws(EventChainVerifier.Fault) {
    guard let event else { throw .altered(sequence: beginning) }
    guard event.sequence == beginning else { throw .missing(sequence: beginning) }
    verifier = EventChainVerifier(
      continuing: EventChain.Head(sequence: event.sequence, hash: event.hash), accounts: review)
    next = beginning
    try endIfComplete()
  }

  private var position: UInt64 { verifier?.head.sequence ?? beginning }

  /// An erasure changes earlier events: one that came during the reading left its account after the head.
  private mutating func endIfComplete() throws(EventChainVerifier.Fault) {
    guard let verifier, position >= head.sequence else { return }
    if !isHeadReached { try reachHead(with: verifier) }
    if !verifier.hasUnaccounted { next = nil }
  }

  private mutating func reachHead(with verifier: EventChainVerifier) throws(EventChainVerifier.Fault) {
    isHeadReached = true
    try verifier.conclude(at: head)
    if isFromStart { try verifier.requireStart() }
    if let outlier { throw .unexpected(sequence: outlier) }
  }

  private mutating func endOfLog() throws(EventChainVerifier.Fault) {
    next = nil
    guard let verifier else { throw .missing(sequence: beginning) }
    if position < head.sequence { try verifier.conclude(at: head) }
    try verifier.requireAccounts()
  }
}
