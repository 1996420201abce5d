// One connection to the database: libpq, never blocking, in pipeline mode.

internal import CPostgres
internal import Dispatch
internal import DispatchPool
internal import Glibc
internal import Synchronization

/// Statements that are done together, or not at all.
struct Transaction: Sendable {
  let calls: [StatementCall]
  /// Runs on the connection's queue, once; a result for each call.
  let completion: @Sendable (Result<[QueryResult], PostgresError>) -> Void
}

/// Transactions are sent as they come, each ended by a Sync and so committed or refused by itself; the answers follow in
/// their order. So those that wait share the way to the server and back, and none is undone by another's failure.
///
/// What runs while it waits for an answer is bounded by `answerTimeout`: then the connection is given up, for a peer
/// that vanished says nothing.
///
/// `@unchecked Sendable`: all but `inbox` is touched on `queue` alone.
final class PostgresConnection: PooledConnection, @unchecked Sendable {
  struct Configuration: Sendable {
    var target: ConnectionTarget
    /// Transactions at a time.
    var capacity: Int
    var connectTimeout: Duration
    var answerTimeout: Duration
    /// Where answers may take long: each transaction has a Sync before it, whose answer has less time.
    var signOfLifeTimeout: Duration?
    /// Done first, and not prepared.
    var setup: [String]
    var prepared: [Statement]
    /// A transaction whose commit makes all before it durable: with it, commits that wait share one fsync.
    var flushing: (@Sendable () -> StatementCall)?
  }

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
    /// Committed without an fsync: answered after the one that makes it durable.
    let isUnflushed: Bool
    let deadline: MonotonicInstant
    var results: [QueryResult] = []
    var error: PostgresError?
  }

  let configuration: Configuration
  let report: @Sendable (PoolConnectionEvent) -> Void
  let queue = DispatchQueue(label: "touchstone.postgres.connection")
  let inbox = Mutex(Inbox())
  var phase = Phase.idle
  var connection: OpaquePointer?
  var inFlight: [InFlight] = []
  /// Done, but maybe not durable yet.
  var unflushed: [InFlight] = []
  var readSource: (any DispatchSourceRead)?
  var writeSource: (any DispatchSourceWrite)?
  var isWriteSourceActive = false
  /// There is more to write than the socket takes.
  var isWriting = false
  /// The one that waits for a step of connecting.
  var stepSource: (any DispatchSourceProtocol)?
  var timer: (any DispatchSourceTimer)?
  /// When the timer fires; `nil`: it is not set.
  var timerDeadline: MonotonicInstant?
  /// Sources that have not let go of their socket yet.
  var openSources = 0
  var watchedSocket: Int32?
  /// For the server's process, when nothing of ours is left that it could answer.
  var cancelRequest: CancelRequest?

  init(configuration: Configuration, report: @escaping @Sendable (PoolConnectionEvent) -> Void) {
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

  /// Answered with `PostgresError.notSent` where the connection has ended.
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
    // Those that come while others are under way go together afterwards; nothing waits for more to come.
    if configuration.flushing != nil, !inFlight.isEmpty { return }
    let transactions = inbox.withLock { inbox in
      defer { inbox.transactions = [] }
      return inbox.transactions
    }
    guard !transactions.isEmpty else { return }
    let deadline = MonotonicInstant.now() + configuration.answerTimeout
    let isGroup = configuration.flushing != nil && transactions.count > 1
    for (index, transaction) in transactions.enumerated() {
      let isUnflushed = isGroup && transaction.isCommit
      let isAlive = askForSignOfLife(on: connection)
      // From here on it may reach the server, whatever libpq says.
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

  /// A peer that vanished without a word is found out soon, however long the statements behind this may take. It costs no
  /// round trip of its own.
  private func askForSignOfLife(on connection: OpaquePointer) -> Bool {
    guard let timeout = configuration.signOfLifeTimeout else { return true }
    let question = Transaction(calls: []) { _ in }
    inFlight.append(InFlight(transaction: question, isUnflushed: false, deadline: .now() + timeout))
    return question.send(on: connection)
  }

  private func sendFlush(on connection: OpaquePointer, deadline: MonotonicInstant) -> Bool {
    guard let flushing = configuration.flushing else { return true }
    let transaction = Transaction(calls: [flushing()]) { [unowned self] result in flushed(result) }
    inFlight.append(InFlight(transaction: transaction, isUnflushed: false, deadline: deadline))
    return transaction.send(on: connection)
  }

  func flush() {
    guard let connection else { return }
    switch PQflush(connection) {
    case 0: suspendWriting()
    case 1: resumeWriting()
    default: end(failure)
    }
  }

  // MARK: Receiving

  /// Until nothing is left: of a peer that has hung up Dispatch tells once, and one call of libpq's may take what it said
  /// last (why it ends the session) without meeting the end behind it.
  func receive() {
    repeat {
      guard let connection, phase != .closed else { return }
      guard PQconsumeInput(connection) == 1 else {
        takeResults(from: connection)
        return end(failure)
      }
      takeResults(from: connection)
    } while hasInput
    if phase != .closed { flush() }
  }

  /// On the socket itself, an end among it; what libpq has buffered is taken.
  private var hasInput: Bool {
    guard let watchedSocket, phase != .closed else { return false }
    var descriptor = pollfd(fd: watchedSocket, events: Int16(POLLIN), revents: 0)
    return poll(&descriptor, 1, 0) == 1
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

  /// Where somebody cancels a commit that waits for a standby, the server says COMMIT all the same, and a warning before:
  /// it is done here, and maybe lost in a failover.
  func noticed(_ notice: OpaquePointer) {
    guard phase == .serving, !inFlight.isEmpty, inFlight[0].error == nil, notice.isPlainWarning else { return }
    inFlight[0].error = .lost("warned: \(PostgresError(notice).message)")
  }

  /// The server has said Sync: only now is it certain that the transaction is committed, or is not.
  func finishFirst() {
    let done = inFlight.removeFirst()
    if done.isUnflushed, done.error == nil {
      unflushed.append(done)
    } else {
      done.transaction.completion(done.error.map { .failure($0) } ?? .success(done.results))
    }
    // A primary that became a standby refuses every commit from now on; another host may be the primary.
    if case .server(.readOnlyTransaction, let message) = done.error { return end(message) }
    if inFlight.isEmpty { sendWaiting() }
  }

  /// Where that failed, those before it are committed, and maybe not durable.
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
    let deadline = MonotonicInstant.now() + duration
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: deadline.nanoseconds))
    timer.activate()
    timerDeadline = deadline
    self.timer = timer
  }

  /// At the first deadline; it may turn out that its transaction was answered.
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
    if let connection { cancelRequest = CancelRequest(connection: connection, transactions: inFlight.count) }
    end("no answer in time")
  }

  // MARK: Ending

  func end(_ reason: String) {
    guard phase != .closed else { return }
    phase = .closed
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
    if let stepSource {
      stepSource.cancel()
    } else if readSource != nil {
      readSource?.cancel()
      writeSource?.cancel()
      resumeWriting()  // one that is suspended would never end
    } else {
      finish()
    }
    for entry in sent { entry.transaction.completion(.failure(entry.error.flatMap(\.ofEndedSession) ?? .lost(reason))) }
    for transaction in waiting { transaction.completion(.failure(.notSent(reason))) }
    report(.closed(reason: reason))
  }

  func sourceEnded() {
    openSources -= 1
    guard openSources == 0 else { return }
    if let watchedSocket { Glibc.close(watchedSocket) }
    watchedSocket = nil
    if phase == .closed { finish() }
  }

  func finish() {
    if let connection { PQfinish(connection) }
    connection = nil
    cancelRequest?.send()
    cancelRequest = nil
  }

  /// Without the connection string, which libpq does not quote.
  var failure: String {
    guard let connection, let message = PQerrorMessage(connection) else { return "out of memory" }
    // A line, and perhaps advice on one of its own, behind a tab.
    let text = String(cString: message).split { $0 == "\n" || $0 == "\t" }.joined(separator: "; ")
    return text.isEmpty ? "the connection was lost" : text
  }
}
