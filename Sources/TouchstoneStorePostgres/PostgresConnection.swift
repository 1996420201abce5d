// One connection to the database: libpq, never blocking, in pipeline mode.

internal import CPostgres
internal import Dispatch
internal import DispatchPool
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
    /// Done first, whatever it answers. Not prepared.
    var setup: [String]
    var prepared: [Statement]
  }

  private enum Phase {
    case idle
    case connecting
    /// Prepares its statements.
    case settingUp
    case serving
    case closed
  }

  private struct Inbox {
    var transactions: [Transaction] = []
    var isClosed = false
  }

  private struct InFlight {
    let transaction: Transaction
    var results: [QueryResult] = []
    var error: PostgresError?
    let deadline: MonotonicInstant
  }

  private let configuration: Configuration
  private let report: @Sendable (PoolConnectionEvent) -> Void
  private let queue = DispatchQueue(label: "touchstone.postgres.connection")
  private let inbox = Mutex(Inbox())
  private var phase = Phase.idle
  private var connection: OpaquePointer?
  private var inFlight: [InFlight] = []
  private var readSource: (any DispatchSourceRead)?
  private var writeSource: (any DispatchSourceWrite)?
  private var isWriteSourceActive = false
  /// There is more to write than the socket takes.
  private var isWriting = false
  /// The one that waits for a step of connecting.
  private var stepSource: (any DispatchSourceProtocol)?
  private var timer: (any DispatchSourceTimer)?
  private var isTimerSet = false
  /// Sources that have not let go of the socket yet.
  private var openSources = 0

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

  // MARK: Connecting

  private func beginConnecting() {
    guard phase == .idle else { return }
    phase = .connecting
    startTimer(after: configuration.connectTimeout)
    let settings = configuration.target.settings
    // Of libpq's own: `dbname` is not to be read as a connection string again.
    connection = withCStrings(settings.map(\.keyword)) { keywords in
      withCStrings(settings.map(\.value)) { values in PQconnectStartParams(keywords, values, 0) }
    }
    guard let connection, PQstatus(connection) != CONNECTION_BAD else { return end(failure) }
    // Warnings would go to the standard error.
    PQsetNoticeReceiver(connection, { _, _ in }, nil)
    // As if PQconnectPoll had said so (libpq, PQconnectStart).
    waitToStep(PGRES_POLLING_WRITING)
  }

  private func step() {
    guard phase == .connecting, let connection else { return }
    let polling = PQconnectPoll(connection)
    switch polling {
    case PGRES_POLLING_READING, PGRES_POLLING_WRITING: waitToStep(polling)
    case PGRES_POLLING_OK: setUp()
    default: end(failure)
    }
  }

  /// The socket may be another one at each step: the source lets go of it before the step is taken.
  private func waitToStep(_ polling: PostgresPollingStatusType) {
    let socket = PQsocket(connection)
    guard socket >= 0 else { return end("no socket") }
    let source: any DispatchSourceProtocol =
      polling == PGRES_POLLING_READING
      ? DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
      : DispatchSource.makeWriteSource(fileDescriptor: socket, queue: queue)
    source.setEventHandler { [unowned self] in stepSource?.cancel() }
    openSources += 1
    source.setCancelHandler { [self] in
      stepSource = nil
      sourceEnded()
      step()
    }
    stepSource = source
    source.activate()
  }

  private func setUp() {
    guard let connection else { return }
    guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else { return end(failure) }
    phase = .settingUp
    watchSocket()
    for sql in configuration.setup where PQsendQueryParams(connection, sql, 0, nil, nil, nil, nil, 1) == 0 {
      return end(failure)
    }
    for statement in configuration.prepared
    where PQsendPrepare(connection, statement.name, statement.sql, 0, nil) == 0 {
      return end(failure)
    }
    guard PQpipelineSync(connection) == 1 else { return end(failure) }
    let done = Transaction(calls: []) { [unowned self] result in
      switch result {
      case .success: serve()
      case .failure(let error): end(error.message)
      }
    }
    inFlight.append(InFlight(transaction: done, deadline: .now() + configuration.answerTimeout))
    flush()
  }

  private func serve() {
    phase = .serving
    isTimerSet = false
    report(.connected(capacity: configuration.capacity))
    sendWaiting()
  }

  // MARK: Sending

  private func sendWaiting() {
    guard phase == .serving, let connection else { return }
    let transactions = inbox.withLock { inbox in
      defer { inbox.transactions = [] }
      return inbox.transactions
    }
    guard !transactions.isEmpty else { return }
    let deadline = MonotonicInstant.now() + configuration.answerTimeout
    for transaction in transactions {
      // From here on it may reach the server, whatever libpq says.
      inFlight.append(InFlight(transaction: transaction, deadline: deadline))
      for call in transaction.calls where !call.send(on: connection) { return end(failure) }
      guard PQpipelineSync(connection) == 1 else { return end(failure) }
    }
    flush()
    setTimer()
  }

  private func flush() {
    guard let connection else { return }
    switch PQflush(connection) {
    case 0: suspendWriting()
    case 1: resumeWriting()
    default: end(failure)
    }
  }

  // MARK: Receiving

  private func receive() {
    guard let connection, phase != .closed else { return }
    guard PQconsumeInput(connection) == 1 else {
      takeResults(from: connection)
      return end(failure)
    }
    takeResults(from: connection)
    if phase != .closed { flush() }
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

  /// The server has said Sync: only now is it certain that the transaction is committed, or is not.
  private func finishFirst() {
    let done = inFlight.removeFirst()
    done.transaction.completion(done.error.map { .failure($0) } ?? .success(done.results))
  }

  // MARK: Time

  private func startTimer(after duration: Duration) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [unowned self] in timerFired() }
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: (MonotonicInstant.now() + duration).nanoseconds))
    timer.activate()
    isTimerSet = true
    self.timer = timer
  }

  /// At the first deadline; it may turn out that its transaction was answered.
  private func setTimer() {
    guard !isTimerSet, let first = inFlight.first else { return }
    isTimerSet = true
    timer?.schedule(deadline: DispatchTime(uptimeNanoseconds: first.deadline.nanoseconds))
  }

  private func timerFired() {
    isTimerSet = false
    guard phase == .serving else { return end("not connected in time") }
    guard let first = inFlight.first, first.deadline <= .now() else { return setTimer() }
    end("no answer in time")
  }

  // MARK: Ending

  private func end(_ reason: String) {
    guard phase != .closed else { return }
    phase = .closed
    timer?.cancel()
    timer = nil
    let waiting = inbox.withLock { inbox in
      inbox.isClosed = true
      defer { inbox.transactions = [] }
      return inbox.transactions
    }
    let sent = inFlight
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

  private func sourceEnded() {
    openSources -= 1
    if phase == .closed, openSources == 0 { finish() }
  }

  private func finish() {
    if let connection { PQfinish(connection) }
    connection = nil
  }

  /// Without the connection string, which libpq does not quote.
  private var failure: String {
    guard let connection, let message = PQerrorMessage(connection) else { return "out of memory" }
    let text = String(cString: message).split(separator: "\n").joined(separator: "; ")
    return text.isEmpty ? "the connection was lost" : text
  }

  // MARK: The socket

  private func watchSocket() {
    let socket = PQsocket(connection)
    let read = DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
    read.setEventHandler { [unowned self] in receive() }
    read.setCancelHandler { [self] in sourceEnded() }
    let write = DispatchSource.makeWriteSource(fileDescriptor: socket, queue: queue)
    write.setEventHandler { [unowned self] in flush() }
    write.setCancelHandler { [self] in sourceEnded() }
    openSources += 2
    readSource = read
    writeSource = write
    read.activate()
  }

  private func resumeWriting() {
    guard !isWriting else { return }
    isWriting = true
    if isWriteSourceActive {
      writeSource?.resume()
    } else {
      isWriteSourceActive = true
      writeSource?.activate()
    }
  }

  private func suspendWriting() {
    guard isWriting else { return }
    isWriting = false
    writeSource?.suspend()
  }
}

extension PostgresError {
  init(_ result: OpaquePointer) {
    let state = cpostgres_sqlstate(result).map { String(cString: $0) }
    let message = cpostgres_primary_message(result).map { String(cString: $0) } ?? "the connection was lost"
    // Without a code it is libpq's own finding, of the connection.
    self = state.map { .server(SQLState(rawValue: $0), message: message) } ?? .lost(message)
  }

  /// What an error says that came before the connection ended, without a Sync after it. A refusal of the statement
  /// stands; that the session is ended may have come after the commit.
  fileprivate var ofEndedSession: PostgresError? {
    if case .server(let state, _) = self, !state.isOfTheMoment { self } else { nil }
  }
}

extension StatementCall {
  /// False where libpq would not take it.
  fileprivate func send(on connection: OpaquePointer) -> Bool {
    let count = lengths.count
    return bytes.withUnsafeBytes { bytes in
      withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: max(1, count)) { values in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: max(1, count)) { formats in
          // An empty value has an address too: without one it would be NULL.
          var next = bytes.baseAddress ?? UnsafeRawPointer(Self.somewhere)
          for (index, length) in lengths.enumerated() {
            values[index] = length == Self.nullLength ? nil : next.assumingMemoryBound(to: CChar.self)
            formats[index] = 1
            if length > 0 { next += Int(length) }
          }
          return lengths.withUnsafeBufferPointer { lengths in
            let parameters = (Int32(count), values.baseAddress, lengths.baseAddress, formats.baseAddress)
            guard let name = statement.name else {
              return PQsendQueryParams(
                connection, statement.sql, parameters.0, nil, parameters.1, parameters.2, parameters.3, 1) == 1
            }
            return PQsendQueryPrepared(
              connection, name, parameters.0, parameters.1, parameters.2, parameters.3, 1) == 1
          }
        }
      }
    }
  }

  private static var somewhere: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 1)! }
}

/// A null-terminated array of C strings.
private func withCStrings<Value>(
  _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
) -> Value {
  var bytes: [CChar] = []
  var offsets: [Int] = []
  for string in strings {
    offsets.append(bytes.count)
    bytes.append(contentsOf: string.utf8CString)
  }
  return bytes.withUnsafeBufferPointer { bytes in
    var pointers: [UnsafePointer<CChar>?] = offsets.map { bytes.baseAddress! + $0 }
    pointers.append(nil)
    return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}
