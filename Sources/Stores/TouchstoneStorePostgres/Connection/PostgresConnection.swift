// One connection to the database: nonblocking libpq in pipeline mode.

internal import CPostgres
internal import DispatchPool
internal import EventLoops

/// Statements that are done together, or not at all.
struct Transaction: Sendable {
  let calls: [StatementCall]
  /// It commits without the fsync, and a second transaction, which makes it durable, waits for that.
  var freesRowsEarly = false
  /// Runs on the connection's event loop, once; a result for each call.
  let completion: @Sendable (Result<[QueryResult], PostgresError>) -> Void
}

/// Transactions are sent at the end of the event loop's round in which they come. Each ends with a Sync, so it is
/// committed or refused by itself; the answers come in the same order. Waiting transactions share the round trip, and
/// no failure undoes another transaction.
///
/// A call that comes from the connection's own event loop is sent and answered on its thread: no other thread has to be
/// woken for either.
///
/// If an answer takes longer than `answerTimeout`, the connection is closed, because a peer that vanished sends
/// nothing.
///
/// `@unchecked Sendable`: everything is used only on `loop`, which debug builds check.
final class PostgresConnection: PooledConnection, ReadinessHandler, @unchecked Sendable {
  private enum Phase {
    case idle
    case connecting
    /// Prepares its statements.
    case settingUp
    case serving
    case closed
  }

  private struct InFlight {
    let transaction: Transaction
    /// Committed without an fsync: answered after the commit that makes it durable.
    let isUnflushed: Bool
    let deadline: MonotonicTime
    var results: [QueryResult] = []
    var error: PostgresError?
  }

  /// How the event loop watches the socket.
  private struct Watch {
    let key: UInt64
    let socket: Int32
    var isWriting = false
  }

  private let configuration: ConnectionLane.Configuration
  private let target: ConnectionTarget
  private let connectTimeout: Duration
  private let report: @Sendable (PoolConnectionEvent) -> Void
  private let loop: EventLoop
  private var phase = Phase.idle
  private var connectDeadline = MonotonicTime.distantFuture
  /// `nil` before it is connected, and once it has ended.
  private var libpq: LibpqConnection?
  private var watch: Watch?
  /// Not sent yet.
  private var waiting: [Transaction] = []
  /// `write` will be called.
  private var sendsThisRound = false
  private var inFlight: [InFlight] = []
  /// Committed, but perhaps not durable yet.
  private var unflushed: [InFlight] = []
  /// `nil`: it is not set.
  private var timer: (handle: EventLoop.TimerHandle, deadline: MonotonicTime)?

  init(
    to target: ConnectionTarget, within connectTimeout: Duration, _ configuration: ConnectionLane.Configuration,
    on loop: EventLoop, report: @escaping @Sendable (PoolConnectionEvent) -> Void
  ) {
    self.target = target
    self.connectTimeout = connectTimeout
    self.configuration = configuration
    self.loop = loop
    self.report = report
  }

  // MARK: From any thread

  func connect() {
    loop.execute { self.beginConnecting() }
  }

  func close() {
    loop.execute { self.end("closed") }
  }

  /// Completes with `PostgresError.notSent` if the connection has ended.
  func send(_ transaction: Transaction) {
    if loop.isCurrent { enqueue(transaction) } else { loop.execute { self.enqueue(transaction) } }
  }

  /// Another primary has replaced this server.
  func replaced() {
    loop.execute { self.abandon(Self.isReplaced) }
  }

  // MARK: Connecting

  private func beginConnecting() {
    loop.assertIsCurrent()
    guard phase == .idle else { return }
    phase = .connecting
    connectDeadline = .now() + connectTimeout
    LibpqConnection.connect(to: target, until: connectDeadline) { [self] outcome in
      loop.execute { self.setUp(outcome) }
    }
  }

  private func setUp(_ outcome: LibpqConnection.Outcome) {
    guard phase == .connecting else { return }
    switch outcome {
    case .failed(let reason): end(reason)
    case .connected(let libpq): setUp(libpq)
    }
  }

  private func setUp(_ libpq: LibpqConnection) {
    self.libpq = libpq
    let connection = libpq.pointer
    // Nothing calls it after `end`, which closes the connection.
    PQsetNoticeReceiver(
      connection,
      { connection, notice in
        guard let connection, let notice else { return }
        Unmanaged<PostgresConnection>.fromOpaque(connection).takeUnretainedValue().noticed(notice)
      }, Unmanaged.passUnretained(self).toOpaque())
    guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else { return end(failure) }
    phase = .settingUp
    guard let key = loop.register(self, descriptor: libpq.socket, for: .readable) else {
      return end("its socket cannot be watched")
    }
    watch = Watch(key: key, socket: libpq.socket)
    let inspection = configuration.succession == nil ? [] : [Timeline.select.sql]
    for sql in inspection + configuration.setup
    where PQsendQueryParams(connection, sql, 0, nil, nil, nil, nil, 1) == 0 {
      return end(failure)
    }
    for statement in configuration.prepared
    where PQsendPrepare(connection, statement.name, statement.sql, 0, nil) == 0 {
      return end(failure)
    }
    guard PQpipelineSync(connection) == 1 else { return end(failure) }
    let done = Transaction(calls: []) { [unowned self] result in
      switch result {
      case .success(let results): serve(after: results)
      case .failure(let error): end(error.message)
      }
    }
    inFlight.append(InFlight(transaction: done, isUnflushed: false, deadline: connectDeadline))
    setTimer()
    flush()
  }

  /// - Parameter results: those of the session's settings.
  private func serve(after results: [QueryResult]) {
    if let succession = configuration.succession {
      guard let timeline = try? results.first?.only({ row in Timeline(&row) }) else {
        return end("the server does not say which timeline it writes")
      }
      guard succession.enter(ObjectIdentifier(self), on: timeline, replaced: { [self] in replaced() }) else {
        return end(Self.isReplaced)
      }
    }
    phase = .serving
    report(.connected(capacity: configuration.depth))
  }

  // MARK: Sending

  private func enqueue(_ transaction: Transaction) {
    loop.assertIsCurrent()
    guard phase != .closed else {
      // Later, as the caller may be in the midst of `end`.
      return loop.execute { transaction.completion(.failure(.notSent("the connection is closed"))) }
    }
    waiting.append(transaction)
    sendSoon()
  }

  /// Together with what else comes in this round.
  private func sendSoon() {
    guard !sendsThisRound, !waiting.isEmpty else { return }
    sendsThisRound = true
    loop.needsWrite(self)
  }

  func write() {
    sendsThisRound = false
    sendWaiting()
  }

  private func sendWaiting() {
    guard phase == .serving, let connection = libpq?.pointer, !waiting.isEmpty else { return }
    // Transactions that come while others are under way are sent together afterwards. None waits for more to come.
    if configuration.flushing != nil, !inFlight.isEmpty { return }
    let transactions = waiting
    waiting = []
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

  private func flush() {
    guard let libpq else { return }
    switch PQflush(libpq.pointer) {
    case 0: setWriting(false)
    case 1: setWriting(true)
    default: end(failure)
    }
  }

  /// There are more bytes to write than the socket takes.
  private func setWriting(_ isWriting: Bool) {
    guard let watch, isWriting != watch.isWriting else { return }
    self.watch?.isWriting = isWriting
    loop.watch(watch.key, descriptor: watch.socket, for: isWriting ? [.readable, .writable] : .readable)
  }

  // MARK: Receiving

  /// Is called again as long as there is something left.
  func ready(_ readiness: Readiness) {
    guard let connection = libpq?.pointer else { return }
    let isOpen = PQconsumeInput(connection) == 1
    takeResults(from: connection)
    guard isOpen else { return end(failure) }
    flush()
  }

  /// All that have arrived.
  private func takeResults(from connection: OpaquePointer) {
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
  private func noticed(_ notice: OpaquePointer) {
    guard phase == .serving, !inFlight.isEmpty, inFlight[0].error == nil, notice.isPlainWarning else { return }
    inFlight[0].error = .lost("warned: \(PostgresError(notice).message)")
  }

  /// The server has answered Sync: only now is it certain whether the transaction is committed.
  private func finishFirst() {
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
    if inFlight.isEmpty { sendSoon() }
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

  /// Set to the first deadline, whose transaction may have been answered meanwhile.
  private func setTimer() {
    guard let watch, let first = inFlight.first else { return }
    if let timer {
      guard first.deadline < timer.deadline else { return }
      loop.cancelTimer(timer.handle)
    }
    timer = (loop.setTimer(at: first.deadline, for: watch.key, tag: TimerTag(kind: 0)), first.deadline)
  }

  func timerExpired(_ tag: TimerTag) {
    timer = nil
    // After a stall of the event loop an answer may be there that was not taken yet.
    if inFlight.first.map({ $0.deadline <= .now() }) == true { ready(.readable) }
    guard let first = inFlight.first, first.deadline <= .now() else { return setTimer() }
    guard phase == .serving else { return end(LibpqConnection.isLate) }
    abandon("no answer in time")
  }

  // MARK: Ending

  static let isReplaced = "the server is not the primary any more: another server of the cluster was promoted after it"

  /// The server's process may still wait for a standby, and is woken when the connection is closed.
  private func abandon(_ reason: String) {
    guard let connection = libpq?.pointer, !inFlight.isEmpty else { return end(reason) }
    let cancelRequest = CancelRequest(connection: connection, transactions: inFlight.count)
    end(reason)
    cancelRequest?.send()
  }

  private func end(_ reason: String) {
    loop.assertIsCurrent()
    guard phase != .closed else { return }
    phase = .closed
    configuration.succession?.leave(ObjectIdentifier(self))
    if let watch { loop.unregister(watch.key, descriptor: watch.socket) }
    watch = nil
    libpq = nil
    let (sent, unsent) = (unflushed + inFlight, waiting)
    (unflushed, inFlight, waiting) = ([], [], [])
    for entry in sent { entry.transaction.completion(.failure(entry.error.flatMap(\.ofEndedSession) ?? .lost(reason))) }
    for transaction in unsent { transaction.completion(.failure(.notSent(reason))) }
    report(.closed(reason: reason))
  }

  private var failure: String { libpq?.failure ?? "the connection was lost" }
}
