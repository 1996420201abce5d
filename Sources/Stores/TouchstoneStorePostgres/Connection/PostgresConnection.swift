// One connection to the database: nonblocking libpq in pipeline mode.

internal import CPostgres
internal import Dispatch
internal import DispatchPool
internal import Synchronization

/// Statements that are done together, or not at all.
struct Transaction: Sendable {
  let calls: [StatementCall]
  /// It commits without the fsync, and a second transaction, which makes it durable, waits for that.
  var freesRowsEarly = false
  /// Runs on the connection's queue, once; a result for each call.
  let completion: @Sendable (Result<[QueryResult], PostgresError>) -> Void
}

/// Transactions are sent as they come. Each ends with a Sync, so it is committed or refused by itself; the answers come
/// in the same order. Waiting transactions share the round trip, and no failure undoes another transaction.
///
/// If an answer takes longer than `answerTimeout`, the connection is closed, because a peer that vanished sends
/// nothing.
///
/// `@unchecked Sendable`: everything except `inbox` is used only on `queue`.
final class PostgresConnection: PooledConnection, @unchecked Sendable {
  enum Phase {
    case idle
    case connecting
    /// Prepares its statements.
    case settingUp
    case serving
    case closed
  }

  struct Inbox {
    var transactions: [Transaction] = []
    var isClosed = false
  }

  struct InFlight {
    let transaction: Transaction
    /// Committed without an fsync: answered after the commit that makes it durable.
    let isUnflushed: Bool
    let deadline: MonotonicTime
    var results: [QueryResult] = []
    var error: PostgresError?
  }

  let configuration: ConnectionLane.Configuration
  let target: ConnectionTarget
  let connectTimeout: Duration
  let report: @Sendable (PoolConnectionEvent) -> Void
  let queue = DispatchQueue(label: "touchstone.postgres.connection")
  let inbox = Mutex(Inbox())
  var phase = Phase.idle
  var connection: OpaquePointer?
  var inFlight: [InFlight] = []
  /// Committed, but perhaps not durable yet.
  var unflushed: [InFlight] = []
  /// `nil`: before it connects.
  var socketWatch: SocketWatch?
  /// There are more bytes to write than the socket takes.
  var isWriting = false
  var timer: (any DispatchSourceTimer)?
  /// The time when the timer fires; `nil`: it is not set.
  var timerDeadline: MonotonicTime?
  /// Wakes the server's process after this connection is closed.
  var cancelRequest: CancelRequest?

  init(
    to target: ConnectionTarget, within connectTimeout: Duration, _ configuration: ConnectionLane.Configuration,
    report: @escaping @Sendable (PoolConnectionEvent) -> Void
  ) {
    self.target = target
    self.connectTimeout = connectTimeout
    self.configuration = configuration
    self.report = report
  }

  // MARK: From any thread

  func connect() {
    queue.async { self.beginConnecting() }
  }

  func close() {
    queue.async { self.end("closed") }
  }

  /// Completes with `PostgresError.notSent` if the connection has ended.
  func send(_ transaction: Transaction) {
    let wasEmpty = inbox.withLock { inbox -> Bool? in
      guard !inbox.isClosed else { return nil }
      defer { inbox.transactions.append(transaction) }
      return inbox.transactions.isEmpty
    }
    switch wasEmpty {
    case nil: queue.async { transaction.completion(.failure(.notSent("the connection is closed"))) }
    case true?: queue.async { self.sendWaiting() }
    case false?: break
    }
  }

  // MARK: Sending

  func sendWaiting() {
    guard phase == .serving, let connection else { return }
    // Transactions that come while others are under way are sent together afterwards. None waits for more to come.
    if configuration.flushing != nil, !inFlight.isEmpty { return }
    let transactions = inbox.withLock { inbox in
      defer { inbox.transactions = [] }
      return inbox.transactions
    }
    guard !transactions.isEmpty else { return }
    let deadline = MonotonicTime.now() + configuration.receiveTimeout
    let isGroup = configuration.flushing != nil && (transactions.count > 1 || transactions[0].freesRowsEarly)
    for (index, transaction) in transactions.enumerated() {
      let isUnflushed = isGroup && transaction.isCommit
      let isAlive = askForSignOfLife(on: connection)
      // From here on it may reach the server, even if libpq returns an error.
      inFlight.append(InFlight(transaction: transaction, isUnflushed: isUnflushed, deadline: deadline))
      guard isAlive, (isUnflushed ? transaction.unflushed : transaction).send(on: connection) else {
        let reason = failure
        end(reason)
        for unsent in transactions[(index + 1)...] { unsent.completion(.failure(.notSent(reason))) }
        return
      }
    }
    if isGroup, !sendFlush(on: connection, deadline: deadline) { return end(failure) }
    flush()
    setTimer()
  }

  /// Detects a vanished peer soon, however long the following statements may take. It adds no round trip.
  private func askForSignOfLife(on connection: OpaquePointer) -> Bool {
    guard let timeout = configuration.signOfLifeTimeout else { return true }
    let question = Transaction(calls: []) { _ in }
    inFlight.append(InFlight(transaction: question, isUnflushed: false, deadline: .now() + timeout))
    return question.send(on: connection)
  }

  private func sendFlush(on connection: OpaquePointer, deadline: MonotonicTime) -> Bool {
    guard let flushing = configuration.flushing else { return true }
    let transaction = Transaction(calls: [flushing()]) { [unowned self] result in flushed(result) }
    inFlight.append(InFlight(transaction: transaction, isUnflushed: false, deadline: deadline))
    return transaction.send(on: connection)
  }

  func flush() {
    guard let connection else { return }
    switch PQflush(connection) {
    case 0: setWriting(false)
    case 1: setWriting(true)
    default: end(failure)
    }
  }

  private func setWriting(_ isWriting: Bool) {
    guard isWriting != self.isWriting else { return }
    self.isWriting = isWriting
    if !watchSocket(for: isWriting ? .both : .reading) { end(socketFailure) }
  }

  /// libpq closes its socket as soon as it finds it dead.
  func watchSocket(for interest: SocketWatch.Interest) -> Bool {
    socketWatch?.watch(PQsocket(connection), for: interest) == true
  }

  // MARK: Receiving

  /// Runs again as long as there is something left.
  func receive() {
    guard let connection, phase != .closed else { return }
    let isOpen = PQconsumeInput(connection) == 1
    takeResults(from: connection)
    guard isOpen else { return end(failure) }
    if phase != .closed { flush() }
  }

  /// All that have arrived.
  func takeResults(from connection: OpaquePointer) {
    while !inFlight.isEmpty, phase != .closed, PQisBusy(connection) == 0 {
      guard let result = PQgetResult(connection) else {
        if PQstatus(connection) == CONNECTION_BAD { return end(failure) }
        continue  // between two statements
      }
      switch PQresultStatus(result) {
      case PGRES_PIPELINE_SYNC:
        PQclear(result)
        finishFirst()
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
        inFlight[0].results.append(QueryResult(owning: result))
      case PGRES_PIPELINE_ABORTED:
        PQclear(result)
      default:
        let error = PostgresError(result)
        PQclear(result)
        if inFlight[0].error == nil { inFlight[0].error = error }
        if PQstatus(connection) == CONNECTION_BAD { return end(error.message) }
      }
    }
  }

  /// If a commit's wait for a standby is cancelled, the server still answers COMMIT, with a warning before it: the
  /// commit is done on this server, and may be lost in a failover.
  func noticed(_ notice: OpaquePointer) {
    guard phase == .serving, !inFlight.isEmpty, inFlight[0].error == nil, notice.isPlainWarning else { return }
    inFlight[0].error = .lost("warned: \(PostgresError(notice).message)")
  }

  /// The server has answered Sync: only now is it certain whether the transaction is committed.
  func finishFirst() {
    var done = inFlight.removeFirst()
    if done.error == nil, done.results.count < done.transaction.calls.count {
      done.error = .lost("an answer is missing")
    }
    if done.error == nil, done.transaction.foundConflict(done.results) { done.error = .conflict }
    if done.isUnflushed, done.error == nil {
      unflushed.append(done)
    } else {
      done.transaction.completion(done.error.map { .failure($0) } ?? .success(done.results))
    }
    // A primary that became a standby refuses every commit. Another host may be the primary.
    if case .server(.readOnlyTransaction, let message) = done.error { return end(message) }
    if inFlight.isEmpty { sendWaiting() }
  }

  /// If it failed, the earlier ones are committed, but perhaps not durable.
  private func flushed(_ result: Result<[QueryResult], PostgresError>) {
    let done = unflushed
    unflushed = []
    for entry in done {
      entry.transaction.completion(
        result.map { _ in entry.results }.mapError { error in .lost("not flushed: \(error.message)") })
    }
  }

  // MARK: Time

  func startTimer(after duration: Duration) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [unowned self] in timerFired() }
    let deadline = MonotonicTime.now() + duration
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: deadline.nanoseconds))
    timer.activate()
    timerDeadline = deadline
    self.timer = timer
  }

  /// Set to the first deadline, whose transaction may have been answered meanwhile.
  func setTimer() {
    guard let first = inFlight.first else { return }
    if let timerDeadline, timerDeadline <= first.deadline { return }
    timerDeadline = first.deadline
    timer?.schedule(deadline: DispatchTime(uptimeNanoseconds: first.deadline.nanoseconds))
  }

  func timerFired() {
    timerDeadline = nil
    guard phase == .serving else { return end("not connected in time") }
    guard let first = inFlight.first, first.deadline <= .now() else { return setTimer() }
    abandon("no answer in time")
  }

  // MARK: Ending

  /// Another primary has replaced this server.
  func replaced() {
    queue.async { self.abandon(Self.isReplaced) }
  }

  static let isReplaced = "the server is not the primary any more: another server of the cluster was promoted after it"

  /// The server's process may still wait for a standby.
  private func abandon(_ reason: String) {
    if let connection, !inFlight.isEmpty {
      cancelRequest = CancelRequest(connection: connection, transactions: inFlight.count)
    }
    end(reason)
  }

  func end(_ reason: String) {
    guard phase != .closed else { return }
    phase = .closed
    configuration.succession?.leave(ObjectIdentifier(self))
    timer?.cancel()
    timer = nil
    let waiting = inbox.withLock { inbox in
      inbox.isClosed = true
      defer { inbox.transactions = [] }
      return inbox.transactions
    }
    let sent = unflushed + inFlight
    unflushed = []
    inFlight = []
    if let socketWatch { socketWatch.cancel() } else { finish() }
    for entry in sent { entry.transaction.completion(.failure(entry.error.flatMap(\.ofEndedSession) ?? .lost(reason))) }
    for transaction in waiting { transaction.completion(.failure(.notSent(reason))) }
    report(.closed(reason: reason))
  }

  /// Nothing uses the socket any more.
  func finish() {
    socketWatch = nil
    if let connection { PQfinish(connection) }
    connection = nil
    cancelRequest?.send()
    cancelRequest = nil
  }

  /// Without the connection string, which libpq does not quote.
  var failure: String {
    guard let connection else { return "out of memory" }
    return report(of: connection) ?? "the connection was lost"
  }

  /// The failure of a socket that cannot be watched: libpq closed it, and has the reason, or the kernel has no room for
  /// it.
  var socketFailure: String {
    connection.flatMap(report) ?? "its socket cannot be watched"
  }

  private func report(of connection: OpaquePointer) -> String? {
    guard let message = PQerrorMessage(connection) else { return "out of memory" }
    // One line, and perhaps a hint on a second line, after a tab.
    let text = String(cString: message).split { $0 == "\n" || $0 == "\t" }.joined(separator: "; ")
    return text.isEmpty ? nil : text
  }
}
