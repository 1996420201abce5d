// Opens a connection: libpq's steps, then the session's settings and prepared statements.

internal import CPostgres
internal import Dispatch
internal import DispatchPool

extension PostgresConnection {
  func beginConnecting() {
    guard phase == .idle else { return }
    phase = .connecting
    startTimer(after: connectTimeout)
    // `finish` ends it: nothing runs on a connection that is gone.
    socketWatch = SocketWatch(on: queue, ready: { [unowned self] in socketReady() }, ended: { [self] in finish() })
    let settings = target.settings
    // The 0: `dbname` is not to be read as a connection string again.
    connection = withCStrings(settings.map(\.keyword)) { keywords in
      withCStrings(settings.map(\.value)) { values in PQconnectStartParams(keywords, values, 0) }
    }
    guard let connection, PQstatus(connection) != CONNECTION_BAD else { return end(failure) }
    // Otherwise libpq would write them to stderr.
    PQsetNoticeReceiver(
      connection,
      { connection, notice in
        guard let connection, let notice else { return }
        Unmanaged<PostgresConnection>.fromOpaque(connection).takeUnretainedValue().noticed(notice)
      }, Unmanaged.passUnretained(self).toOpaque())
    // As if PQconnectPoll had returned it (libpq, PQconnectStart).
    waitToStep(PGRES_POLLING_WRITING)
  }

  private func socketReady() {
    if phase == .connecting { step() } else { receive() }
  }

  private func step() {
    guard let connection else { return }
    let polling = PQconnectPoll(connection)
    switch polling {
    case PGRES_POLLING_READING, PGRES_POLLING_WRITING: waitToStep(polling)
    case PGRES_POLLING_OK: setUp()
    default: end(failure)
    }
  }

  /// The socket may be another one after each step.
  private func waitToStep(_ polling: PostgresPollingStatusType) {
    if !watchSocket(for: polling == PGRES_POLLING_READING ? .reading : .writing) { end(socketFailure) }
  }

  private func setUp() {
    guard let connection else { return }
    guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else { return end(failure) }
    phase = .settingUp
    guard watchSocket(for: .reading) else { return end(socketFailure) }
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
    inFlight.append(InFlight(transaction: done, isUnflushed: false, deadline: .now() + configuration.receiveTimeout))
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
    timerDeadline = nil
    report(.connected(capacity: configuration.depth))
    sendWaiting()
  }
}
