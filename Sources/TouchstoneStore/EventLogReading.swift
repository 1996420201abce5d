// A reading of the audit log, page by page: is each event as it was written (R41)?

/// A value: pages in, where the next one begins and what is wrong out.
package struct EventLogReading: Sendable {
  /// Of a log that is longer, a start reads so many of its latest events: some 0.15 s of this process's time. What is before
  /// them is read beside the service.
  package static let maximumEventsAtStart: UInt64 = 50_000
  /// In one page: a millisecond or two, for which others wait who read lists.
  package static let eventsPerPage = 512

  /// Where the log ended when the reading began.
  package let head: EventChain.Head
  /// After which event the reading begins.
  private let beginning: UInt64
  private let isFromStart: Bool
  /// An event that stands beyond the head, or before the first one.
  private let outlier: UInt64?
  /// `nil`: the event that the part follows from comes first, as its anchor.
  private var verifier: EventChainVerifier?
  private let review: AccountReview
  private var isHeadReached = false

  /// The first one.
  package private(set) var fault: EventChainVerifier.Fault?
  /// After which event the next page is to begin. `nil`: what is wrong is known, or that nothing is.
  package private(set) var next: UInt64?

  /// - Parameters:
  ///   - start: after which the kept log begins.
  ///   - maximumEvents: of a log that is longer, the latest ones.
  ///   - accounts: how their signatures are looked at.
  package init(
    keptAfter start: EventChain.Head, through head: EventChain.Head, outlier: UInt64? = nil,
    maximumEvents: UInt64 = .max, accounts review: AccountReview = .none
  ) {
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

  /// Whether it reads all that is kept. Otherwise an event elsewhere may say why the log begins where it does.
  package var isOfAll: Bool { isFromStart }

  /// The events after `next`; none: there are none. `nil`: a row that cannot be read as an event.
  package mutating func take(_ page: [EventRecord?]) {
    attempt { reading throws(EventChainVerifier.Fault) in
      for event in page where reading.next != nil { try reading.take(event) }
      if page.isEmpty { try reading.endOfLog() }
    }
  }

  package var accounts: AccountReview { verifier?.accounts ?? review }

  /// What the verifier came to.
  package func count(in verification: inout AuditLogVerification) {
    verification.fault = fault
    verification.accounts = accounts
    if let verifier { verification.count(verifier) }
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

  /// An erasure changes what stands before it: one that came while the log was read left its account behind the head.
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
