// Verifies the whole audit log regularly while the service runs, because a start verifies only its latest part.

internal import Dispatch
internal import Encodings
internal import Logging
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// If several processes share a database, each of them verifies, at its own time.
///
/// `@unchecked Sendable`: everything except `isCancelled` is used only on `queue`.
final class LogVerifying: @unchecked Sendable {
  /// The database can be altered while the service runs for months.
  private static let interval = DispatchTimeInterval.seconds(24 * 60 * 60)
  /// The time between two pages is many times a page's own, so other work hardly waits: at most 25,000 events a second.
  private static let pause = DispatchTimeInterval.milliseconds(20)
  /// The interval while the store is unreachable.
  private static let retryInterval = DispatchTimeInterval.seconds(5)
  /// The interval between two log lines about a fault, so that an operator notices it.
  private static let reminderInterval = DispatchTimeInterval.seconds(60)

  private let store: any Store
  private let auditKeyring: AuditKeyring
  private let logger: Logger
  private let observer: @Sendable (_ isIntact: Bool) -> Void
  private let queue = DispatchQueue(label: "touchstone.log-verifier", qos: .utility)
  private let isCancelled = Atomic<Bool>(false)
  private var start = EventChain.Head.genesis
  /// `nil` between two readings.
  private var reading: EventLogReading?
  /// The fault that only the last reading found.
  private var suspicion: EventChainVerifier.Fault?
  /// The fault that two readings in a row found.
  private var fault: EventChainVerifier.Fault?
  /// The fault that has an event in the log.
  private var toldFault: EventChainVerifier.Fault?
  private var isReminding = false
  private var hasToldOfUnsigned = false

  /// - Parameter observer: called after each reading of the whole log.
  init(
    store: any Store, auditKeyring: AuditKeyring, logger: Logger,
    observer: @escaping @Sendable (_ isIntact: Bool) -> Void = { _ in }
  ) {
    self.store = store
    self.observer = observer
    self.auditKeyring = auditKeyring
    self.logger = logger
    queue.async { self.step() }
  }

  /// Ends after the page that is being read.
  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
  }

  // MARK: Reading

  private func step() {
    guard !isCancelled.load(ordering: .relaxed) else { return }
    do throws(StoreError) {
      later(try readPage() ? Self.pause : Self.interval) { $0.step() }
    } catch {
      later(Self.retryInterval) { $0.step() }
    }
  }

  /// False after the last one.
  private func readPage() throws(StoreError) -> Bool {
    var reading: EventLogReading
    if let begun = self.reading { reading = begun } else { reading = try begin() }
    if let position = reading.next { reading.take(try page(after: position)) }
    guard reading.next == nil else {
      self.reading = reading
      return true
    }
    let mustReadAgain = try reading.fault.map { fault throws(StoreError) in try isNew(fault) } ?? false
    self.reading = nil
    if !mustReadAgain { concluded(reading) }
    return mustReadAgain
  }

  /// A reading takes minutes. A database that failed over to a standby meanwhile may have other events at its end than
  /// the database whose head was noted. An altered event is still altered when it is read again.
  private func isNew(_ fault: EventChainVerifier.Fault) throws(StoreError) -> Bool {
    if try wasDropped(fault.sequence) { return true }
    defer { suspicion = fault }
    return suspicion != fault
  }

  /// Events that were archived and dropped meanwhile are no loss.
  private func wasDropped(_ sequence: UInt64) throws(StoreError) -> Bool {
    let now = try answer { store.eventChainStart(completion: $0) }
    return now != start && sequence <= now.sequence
  }

  private func begin() throws(StoreError) -> EventLogReading {
    start = try answer { store.eventChainStart(completion: $0) }
    let head = try answer { store.eventChainHead(completion: $0) }
    return EventLogReading(keptAfter: start, through: head, accounts: auditKeyring.review)
  }

  /// Reads a page; if that fails, reads it event by event, and returns `nil` for an unreadable event.
  private func page(after position: UInt64) throws(StoreError) -> [EventRecord?] {
    do throws(StoreError) {
      return try events(after: position, limit: EventLogReading.eventsPerPage)
    } catch {
      guard error.code == .corrupt else { throw error }
    }
    do throws(StoreError) {
      return try events(after: position, limit: 1)
    } catch {
      guard error.code == .corrupt else { throw error }
      return [nil]
    }
  }

  private func events(after position: UInt64, limit: Int) throws(StoreError) -> [EventRecord] {
    try answer {
      store.events(matching: EventFilter(applicationID: ""), afterSequence: position, limit: limit, completion: $0)
    }.events
  }

  /// Blocks the queue's thread, which has no other work.
  private func answer<Value: Sendable>(
    of call: (@escaping @Sendable (Result<Value, StoreError>) -> Void) -> Void
  ) throws(StoreError) -> Value {
    try blockingAnswer(of: call).get()
  }

  private func later(_ interval: DispatchTimeInterval, _ body: @escaping @Sendable (LogVerifying) -> Void) {
    queue.asyncAfter(deadline: .now() + interval) { [weak self] in
      if let self { body(self) }
    }
  }

  // MARK: Findings

  /// If nothing is wrong, logs the head: an attacker that can rewrite the audit log may have no access to the process's
  /// log.
  private func concluded(_ reading: EventLogReading) {
    fault = reading.fault
    suspicion = nil
    observer(fault == nil)
    tellOfUnsigned(reading.accounts)
    guard fault == nil else { return isReminding ? () : remind() }
    logger.info(
      "the audit log was read: each event is as it was written",
      metadata: ["sequence": "\(reading.head.sequence)", "hash": "\(Hexadecimal.text(reading.head.hash))"])
  }

  /// Logs it once, because unsigned accounts stay in a log that is older than its first audit key.
  private func tellOfUnsigned(_ accounts: AccountReview) {
    guard !hasToldOfUnsigned, let unsigned = accounts.firstUnsigned, let signed = accounts.firstSigned else { return }
    hasToldOfUnsigned = true
    logger.warning(
      """
      the audit log has unsigned accounts of removed content before the first signed one: if that is not the event that was \
      noted when this log was first signed, an attacker removed content (touchstone audit verify --signed-from)
      """,
      metadata: ["unsigned": "\(accounts.unsignedCount)", "first_unsigned": "\(unsigned)", "first_signed": "\(signed)"])
  }

  /// The service goes on, because its answers do not depend on the log, and the log goes on after the fault.
  private func remind() {
    isReminding = false
    guard let fault, !isCancelled.load(ordering: .relaxed) else { return }
    logger.error(
      "the audit log is not as it was written: find out how it was altered, and restore it from a backup",
      metadata: ["finding": "\(fault)"])
    if toldFault != fault { tell(fault) }
    isReminding = true
    later(Self.reminderInterval) { $0.remind() }
  }

  /// If that fails, the next reminder tries again.
  private func tell(_ fault: EventChainVerifier.Fault) {
    let changeSet = ChangeSet(changes: [], events: [fault.event(at: systemTime())])
    if case .success = blockingAnswer(of: { store.commit(changeSet, completion: $0) }) { toldFault = fault }
  }
}
