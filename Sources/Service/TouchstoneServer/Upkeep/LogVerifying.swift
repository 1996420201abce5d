// Verifies the whole audit log regularly while the service runs, because a start verifies only its latest part.

internal import Encodings
internal import Logging
internal import TouchstoneStore

/// If several processes share a database, each of them verifies, at its own time.
actor LogVerifying {
  /// The database can be altered while the service runs for months.
  private static let interval = Duration.seconds(24 * 60 * 60)
  /// The time between two pages is many times a page's own, so other work hardly waits: at most 25,000 events a second.
  private static let pause = Duration.milliseconds(20)
  /// The interval while the store is unreachable.
  private static let retryInterval = Duration.seconds(5)
  /// The interval between two log lines about a fault, so that an operator notices it.
  private static let reminderInterval = Duration.seconds(60)

  private let store: any Store
  private let auditKeyring: AuditKeyring
  private let logger: Logger
  private let observer: @Sendable (_ isIntact: Bool) -> Void
  private var start = EventChain.Head.genesis
  /// `nil` between two readings.
  private var reading: EventLogReading?
  /// The fault that only the last reading found.
  private var suspicion: EventChainVerifier.Fault?
  /// The fault that two readings in a row found.
  private var fault: EventChainVerifier.Fault?
  /// The fault that has an event in the log.
  private var toldFault: EventChainVerifier.Fault?
  private var nextReminder = ContinuousClock.now
  private var hasToldOfUnsigned = false

  private init(
    store: any Store, auditKeyring: AuditKeyring, logger: Logger, observer: @escaping @Sendable (Bool) -> Void
  ) {
    (self.store, self.auditKeyring, self.logger, self.observer) = (store, auditKeyring, logger, observer)
  }

  /// A cancelled task ends after the page that is being read.
  ///
  /// - Parameter observer: called after each reading of the whole log.
  static func begin(
    store: any Store, auditKeyring: AuditKeyring, logger: Logger,
    observer: @escaping @Sendable (_ isIntact: Bool) -> Void = { _ in }
  ) -> Task<Void, Never> {
    let verifier = LogVerifying(store: store, auditKeyring: auditKeyring, logger: logger, observer: observer)
    return Task(priority: .utility) { await verifier.run() }
  }

  private func run() async {
    var nextPage = ContinuousClock.now
    while !Task.isCancelled {
      if ContinuousClock.now >= nextPage {
        do throws(StoreError) {
          nextPage = .now + (try await readPage() ? Self.pause : Self.interval)
        } catch {
          nextPage = .now + Self.retryInterval
        }
      }
      if let fault, ContinuousClock.now >= nextReminder {
        nextReminder = .now + Self.reminderInterval
        await remind(of: fault)
      }
      try? await Task.sleep(until: fault == nil ? nextPage : min(nextPage, nextReminder))
    }
  }

  // MARK: Reading

  /// False after the last one.
  private func readPage() async throws(StoreError) -> Bool {
    var reading: EventLogReading
    if let begun = self.reading { reading = begun } else { reading = try await begin() }
    if let position = reading.next { reading.take(try await page(after: position)) }
    guard reading.next == nil else {
      self.reading = reading
      return true
    }
    var mustReadAgain = false
    if let fault = reading.fault { mustReadAgain = try await isNew(fault) }
    self.reading = nil
    if !mustReadAgain { concluded(reading) }
    return mustReadAgain
  }

  /// A reading takes minutes. A database that failed over to a standby meanwhile may have other events at its end than
  /// the database whose head was noted. An altered event is still altered when it is read again.
  private func isNew(_ fault: EventChainVerifier.Fault) async throws(StoreError) -> Bool {
    if try await wasDropped(fault.sequence) { return true }
    defer { suspicion = fault }
    return suspicion != fault
  }

  /// Events that were archived and dropped meanwhile are no loss.
  private func wasDropped(_ sequence: UInt64) async throws(StoreError) -> Bool {
    let now = try await storeResult { store.eventChainStart(completion: $0) }.get()
    return now != start && sequence <= now.sequence
  }

  private func begin() async throws(StoreError) -> EventLogReading {
    start = try await storeResult { store.eventChainStart(completion: $0) }.get()
    let head = try await storeResult { store.eventChainHead(completion: $0) }.get()
    return EventLogReading(keptAfter: start, through: head, accounts: auditKeyring.review)
  }

  /// Reads a page; if that fails, reads it event by event, and returns `nil` for an unreadable event.
  private func page(after position: UInt64) async throws(StoreError) -> [EventRecord?] {
    do throws(StoreError) {
      return try await events(after: position, limit: EventLogReading.eventsPerPage)
    } catch {
      guard error.code == .corrupt else { throw error }
    }
    do throws(StoreError) {
      return try await events(after: position, limit: 1)
    } catch {
      guard error.code == .corrupt else { throw error }
      return [nil]
    }
  }

  private func events(after position: UInt64, limit: Int) async throws(StoreError) -> [EventRecord] {
    try await storeResult {
      store.events(matching: EventFilter(applicationID: ""), afterSequence: position, limit: limit, completion: $0)
    }.get().events
  }

  // MARK: Findings

  /// If nothing is wrong, logs the head: an attacker that can rewrite the audit log may have no access to the process's
  /// log.
  private func concluded(_ reading: EventLogReading) {
    if fault != reading.fault { nextReminder = .now }
    fault = reading.fault
    suspicion = nil
    observer(fault == nil)
    tellOfUnsigned(reading.accounts)
    guard fault == nil else { return }
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
  private func remind(of fault: EventChainVerifier.Fault) async {
    logger.error(
      "the audit log is not as it was written: find out how it was altered, and restore it from a backup",
      metadata: ["finding": "\(fault)"])
    guard toldFault != fault else { return }
    let changeSet = ChangeSet(events: [fault.event(at: systemTime())])
    // If that fails, the next reminder tries again.
    if case .success = await storeResult(of: { store.commit(changeSet, completion: $0) }) { toldFault = fault }
  }
}
