import CEpoll
import CNGHTTP2
import Glibc

/// The client's end of a connection. Confined to its event loop. `RPCClientConnection` is its handle for other threads.
final class ClientConnection: HTTP2Connection {
  enum TimerKind {
    static let connect: UInt32 = 1
    static let keepalive: UInt32 = 2
    static let streamDeadline: UInt32 = 3
  }

  private enum State {
    case connecting
    /// The socket is up; the server's SETTINGS are awaited.
    case handshaking
    case connected(maxConcurrentStreams: Int)
    case goingAway
    case closed
  }

  /// As the server's: given back at once, so that no stream holds up another.
  private static let connectionWindowBytes: Int32 = 4 << 20
  private static let keepalivePing: UInt64 = 0x6B65_6570_6C69_7665

  let configuration: RPCClientConfiguration
  private let authority: String
  private let events: @Sendable (RPCConnectionEvent) -> Void
  private var state = State.connecting
  var streams: [Int32: ClientStream] = [:]
  /// The budget of all streams together.
  let unread: UnreadBudget
  private var keepalive: KeepaliveStateMachine?

  init(
    loop: EventLoop, transport: any Transport, authority: String, configuration: RPCClientConfiguration,
    events: @escaping @Sendable (RPCConnectionEvent) -> Void
  ) {
    self.configuration = configuration
    self.authority = authority
    self.events = events
    unread = UnreadBudget(limit: configuration.maxUnreadBytesPerConnection)
    super.init(loop: loop, transport: transport, session: .client(callbacks: ClientCallbacks.table))
  }

  /// The socket is connecting; it becomes writable when it is done.
  func start() {
    guard register(for: .writable) else {
      close("the kernel cannot watch another descriptor")
      return
    }
    setTimer(TimerKind.connect, after: configuration.connectTimeout)
  }

  var maxHeaderListBytes: Int { configuration.maxHeaderListBytes }

  override func ready(_ readiness: Readiness) {
    guard case .connecting = state else {
      super.ready(readiness)
      return
    }
    socketConnected()
  }

  override func didReceive() {
    keepalive?.received(at: loop.now)
    guard case .connected(let known) = state else { return }
    let maximum = session.remoteMaxConcurrentStreams
    if maximum != known {
      state = .connected(maxConcurrentStreams: maximum)
      events(.maxConcurrentStreamsChanged(maximum))
    }
  }

  override func didClose(_ reason: String) {
    state = .closed
    let lost = streams
    streams = [:]
    // Before the calls, so that a retry of one of them is not sent here again.
    let closed = RPCError(code: .unavailable, message: reason)
    let events = events
    loop.execute { events(.closed(closed)) }
    for stream in lost.values { connectionLost(stream, reason) }
  }

  override func timerExpired(_ tag: TimerTag) {
    switch tag.kind {
    case TimerKind.connect: close("not connected in time")
    case TimerKind.keepalive: keepAlive()
    case TimerKind.streamDeadline: deadlinePassed(stream: tag.id)
    default: super.timerExpired(tag)
    }
  }
}

// MARK: - Connecting

extension ClientConnection {
  private func socketConnected() {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(transport.descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
    guard code == 0 else {
      close(String(cString: strerror(code)))
      return
    }
    state = .handshaking
    session.submitSettings(
      [
        nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
          value: UInt32(clamping: configuration.streamWindowBytes)),
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
          value: UInt32(clamping: configuration.maxHeaderListBytes)),
      ],
      connectionWindowBytes: Self.connectionWindowBytes)
    beginHandshake()
  }

  func settingsReceived() {
    guard case .handshaking = state else { return }
    cancelTimer(TimerKind.connect)
    let maximum = session.remoteMaxConcurrentStreams
    state = .connected(maxConcurrentStreams: maximum)
    events(.connected(maxConcurrentStreams: maximum))
    guard let settings = configuration.keepalive else { return }
    keepalive = KeepaliveStateMachine(
      interval: settings.interval, timeout: settings.timeout, withoutCalls: settings.withoutCalls, now: loop.now)
    setTimer(TimerKind.keepalive, after: settings.interval)
    // gRFC A18: a peer that is gone is noticed also where something was sent to it.
    setUserTimeout(transport.descriptor, settings.timeout)
  }

  func goawayReceived(isForPings: Bool) {
    switch state {
    case .connected, .handshaking:
      state = .goingAway
      if isForPings { events(.tooManyPings) }
      events(.goingAway)
    case .connecting, .goingAway, .closed:
      break
    }
  }

  private func keepAlive() {
    let next: MonotonicTime
    switch keepalive?.timerExpired(at: loop.now, hasCalls: !streams.isEmpty) {
    case .giveUp:
      close("the server does not answer a keepalive PING")
      return
    case .probe(let until):
      session.submitPing(Self.keepalivePing)
      scheduleWrite()
      next = until
    case .wait(let until):
      next = until
    case nil:
      return
    }
    setTimer(TimerKind.keepalive, after: loop.now.duration(to: next))
  }
}

// MARK: - Calls

extension ClientConnection {
  func start(_ request: RPCClientRequest, call: RPCClientCall, completion: @escaping CallCompletion) {
    let stream = ClientStream(
      request: OutgoingMessage(request.message), deadline: request.deadline, completion: completion)
    call.streamID = start(stream, request, body: ClientCallbacks.readRequest)
  }

  func open(_ streaming: RPCClientStream, _ request: RPCClientRequest) {
    let stream = ClientStream(streaming, deadline: request.deadline)
    streaming.attach(self)
    if let id = start(stream, request, body: ClientCallbacks.readMessages) { streaming.hasStarted(id) }
  }

  /// The stream's identifier; `nil` when the call has failed at once.
  private func start(
    _ stream: ClientStream, _ request: RPCClientRequest, body: @escaping nghttp2_data_source_read_callback
  ) -> Int32? {
    if let refusal = refusal() {
      stream.fail(refusal, on: loop)
      return nil
    }
    if let deadline = request.deadline, deadline <= .now() {
      stream.fail(Self.deadlineExceeded, on: loop)
      return nil
    }
    guard let id = submit(request, stream, body: body) else {
      stream.fail(.unsent("the connection's stream identifiers are used up"), on: loop)
      return nil
    }
    streams[id] = stream
    if let deadline = request.deadline {
      stream.timer = setStreamTimer(TimerKind.streamDeadline, stream: id, at: deadline)
    }
    scheduleWrite()
    return id
  }

  func cancel(_ call: RPCClientCall) {
    if let id = call.streamID { fail(stream: id, .cancelled) }
  }

  /// Ends a call here, if it still runs, and resets its stream.
  func fail(stream id: Int32, _ error: RPCError) {
    if let stream = streams[id] { fail(stream, id, error) }
  }

  /// Why no call can start now.
  private func refusal() -> RPCError? {
    switch state {
    case .connected(let maximum):
      streams.count < maximum ? nil : .unsent("the connection has \(streams.count) calls, as many as allowed")
    case .connecting, .handshaking: .unsent("the connection is not established")
    case .goingAway: .unsent("the server is going away")
    case .closed: .unsent("the connection is closed")
    }
  }

  private func submit(
    _ request: RPCClientRequest, _ stream: ClientStream, body read: @escaping nghttp2_data_source_read_callback
  ) -> Int32? {
    buffers.headerBlock.removeAll()
    buffers.headerBlock.add(":method", "POST")
    buffers.headerBlock.add(":scheme", transport.isEncrypted ? "https" : "http")
    buffers.headerBlock.add(":path", request.path)
    buffers.headerBlock.add(":authority", authority)
    if let deadline = request.deadline {
      let now = MonotonicTime.now()
      let left = deadline > now ? deadline.nanoseconds - now.nanoseconds : 0
      buffers.headerBlock.add("grpc-timeout") { GRPCTimeout.write(nanoseconds: left, into: &$0) }
    }
    buffers.headerBlock.add("te", "trailers")
    buffers.headerBlock.add("content-type", "application/grpc")
    buffers.headerBlock.add("user-agent", configuration.userAgent)
    buffers.headerBlock.add(request.metadata)
    let pointer = Unmanaged.passUnretained(stream).toOpaque()
    let body = nghttp2_data_provider(
      source: nghttp2_data_source(ptr: pointer), read_callback: read)
    return buffers.headerBlock.withFields { session.submitRequest($0, $1, body: body, userData: pointer) }
  }

  static var deadlineExceeded: RPCError {
    RPCError(code: .deadlineExceeded, message: "the deadline passed")
  }

  private func deadlinePassed(stream id: Int32) {
    guard let stream = streams[id] else { return }
    stream.timer = nil
    fail(stream, id, Self.deadlineExceeded)
  }

  /// Ends the call here and resets its stream.
  func fail(_ stream: ClientStream, _ id: Int32, _ error: RPCError) {
    guard !stream.isComplete else { return }
    stream.endsReceiving(unread)
    stream.fail(error, on: loop)
    session.submitReset(.cancel, stream: id)
    scheduleWrite()
  }

  /// Its headers exceed what nghttp2 sends (64 KiB): they would nowhere else fare better.
  func requestTooLarge(_ stream: ClientStream) {
    stream.fail(
      RPCError(code: .resourceExhausted, message: "the request's headers are too large to be sent"), on: loop)
  }

  private func connectionLost(_ stream: ClientStream, _ reason: String) {
    stream.endsReceiving(unread)
    if let timer = stream.timer { loop.cancelTimer(timer) }
    let error = RPCError(code: .unavailable, message: reason, progress: stream.isSent ? .sent : .unsent)
    stream.fail(error, on: loop)
  }
}

extension RPCError {
  static let cancelled = RPCError(code: .cancelled, message: "cancelled by the caller")

  /// The call never left, so it may be tried elsewhere.
  static func unsent(_ message: String) -> RPCError {
    RPCError(code: .unavailable, message: message, progress: .unsent)
  }
}
