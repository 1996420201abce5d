// The whole audit log is read, now and then, for as long as the service runs: a start looks at its latest part alone.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// Where several processes have the same database each does so, at its own time.
///
/// `@unchecked Sendable`: all but `isCancelled` is touched on `queue` alone.
final class LogVerifying: @unchecked Sendable {
  /// Whoever may write to the database may do so while the service runs, for months.
  private static let interval = DispatchTimeInterval.seconds(24 * 60 * 60)
  /// Between two pages, many times what one takes: 25,000 events a second at most, and others hardly wait.
  private static let pause = DispatchTimeInterval.milliseconds(20)
  /// Where the store is out of reach.
  private static let retryInterval = DispatchTimeInterval.seconds(5)
  /// What was found is said so often: somebody looks at the log some time.
  private static let reminderInterval = DispatchTimeInterval.seconds(60)

  private let store: any Store
  private let auditKeyring: AuditKeyring
  private let logger: Logger
  private let queue = DispatchQueue(label: "touchstone.log-verifier", qos: .utility)
  private let isCancelled = Atomic<Bool>(false)
  private var start = EventChain.Head.genesis
  /// `nil`: between two readings.
  private var reading: EventLogReading?
  /// What the last reading found, and the one before did not.
  private var suspicion: EventChainVerifier.Fault?
  /// What two readings in a row found.
  private var fault: EventChainVerifier.Fault?
  /// What stands in the log as an event.
  private var toldFault: EventChainVerifier.Fault?
  private var isReminding = false

  init(store: any Store, auditKeyring: AuditKeyring, logger: Logger) {
    self.store = store
    self.auditKeyring = auditKeyring
    self.logger = logger
    queue.async { self.step() }
  }

  /// A page that is on its way is the last one.
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

  /// A reading takes minutes: a database that went over to a standby meanwhile may have other events at its end than the one
  /// whose head was noted. What somebody altered is still so when it is read again.
  private func isNew(_ fault: EventChainVerifier.Fault) throws(StoreError) -> Bool {
    if try wasDropped(fault.sequence) { return true }
    defer { suspicion = fault }
    return suspicion != fault
  }

  /// What was archived and dropped meanwhile is no loss. (Behind it, nothing comes of that; and of a busy log the beginning is
  /// another one at the end of each reading.)
  private func wasDropped(_ sequence: UInt64) throws(StoreError) -> Bool {
    let now = try answer { store.eventChainStart(completion: $0) }
    return now != start && sequence <= now.sequence
  }

  private func begin() throws(StoreError) -> EventLogReading {
    start = try answer { store.eventChainStart(completion: $0) }
    let head = try answer { store.eventChainHead(completion: $0) }
    return EventLogReading(keptAfter: start, through: head, accounts: auditKeyring.review)
  }

  /// A page that cannot be read is read event by event: one of them is `nil`.
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

  /// Nobody else needs the queue's thread.
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

  // MARK: What was found

  /// Where nothing is wrong the head goes into the process's log: who can rewrite all of the one may not reach the other.
  private func concluded(_ reading: EventLogReading) {
    fault = reading.fault
    suspicion = nil
    guard fault == nil else { return isReminding ? () : remind() }
    logger.info(
      "the audit log was read: each event is as it was written",
      metadata: ["sequence": "\(reading.head.sequence)", "hash": "\(Hexadecimal.text(reading.head.hash))"])
  }

  /// The service goes on: what it is asked does not rest on the log, and the log goes on behind the fault.
  private func remind() {
    isReminding = false
    guard let fault, !isCancelled.load(ordering: .relaxed) else { return }
    logger.error(
      "the audit log is not as it was written: find out who altered it, and restore it from a backup",
      metadata: ["finding": "\(fault)"])
    if toldFault != fault { tell(fault) }
    isReminding = true
    later(Self.reminderInterval) { $0.remind() }
  }

  /// Where that fails, the next reminder tries again.
  private func tell(_ fault: EventChainVerifier.Fault) {
    let changeSet = ChangeSet(changes: [], events: [fault.event(at: systemTime())])
    if case .success = blockingAnswer(of: { store.commit(changeSet, completion: $0) }) { toldFault = fault }
  }
}

extension EventChainVerifier.Fault {
  /// For who follows the log, which goes on behind the fault.
  fileprivate func event(at time: UnixTime) -> EventDraft {
    EventDraft(
      time: time, kind: "log.broken", applicationID: "", caller: "operator",
      details: [EventDetail(key: "finding", value: "\(self)"), EventDetail(key: "sequence", value: "\(sequence)")])
  }
}
