internal import DispatchRPC

/// One client's connection: a shell around the parser, the router and the deadlines. Confined to its event loop, which
/// holds it until it is closed. It serves one request at a time, and reads nothing meanwhile: what a client sends ahead
/// waits in its socket.
final class HTTPConnection: ReadinessHandler {
  private enum Phase {
    case handshaking
    case receiving
    /// A handler has the request.
    case running
    case sending
    /// Our side is finished; what still arrives is thrown away.
    case lingering
    case closed
  }

  private enum TimerKind {
    static let life: UInt32 = 0
    static let drain: UInt32 = 1
  }

  /// The request that a handler has.
  private struct Running {
    /// Kept by the handler, so that a request without an answer is noticed.
    weak var exchange: HTTPExchange?
    /// Runs at the handler's deadline, if it has one.
    var onDeadline: (() -> Void)?
  }

  private let id: ConnectionSlots.ID
  private let owner: HTTPConnections
  private let loop: EventLoop
  private let transport: any Transport
  private let client: SocketAddress
  private var phase: Phase
  private var parser: RequestParser
  private var life: HTTPConnectionLife
  /// `nil` until the kernel watches the descriptor.
  private var key: UInt64?
  private var watched = Readiness.readable
  private var timer: (handle: EventLoop.TimerHandle, time: MonotonicTime)?
  /// The request that is being received or answered.
  private var head: HTTPRequestHead?
  private var route: HTTPRouter.Route?
  /// Distinguishes answers to this request from late ones to others.
  private var requestNumber = 0
  private var running = Running()
  /// The connection has a place among its caller's.
  private var hasCallersPlace = false
  private var closesAfterAnswer = false
  private var output: [UInt8] = []
  private var sent = 0
  private var lingeringBytes = 0

  private var limits: HTTPServerLimits { owner.configuration.limits }

  init(id: ConnectionSlots.ID, of owner: HTTPConnections, transport: any Transport, client: SocketAddress) {
    let limits = owner.configuration.limits
    self.id = id
    self.owner = owner
    self.transport = transport
    self.client = client
    loop = owner.loop
    phase = transport.isEncrypted ? .handshaking : .receiving
    parser = RequestParser(.init(headBytes: limits.headBytes, headerFields: limits.headerFields))
    life = HTTPConnectionLife(limits, isEncrypted: transport.isEncrypted, acceptedAt: loop.now)
  }

  func start() {
    guard let key = loop.register(self, descriptor: transport.descriptor, for: .readable) else { return close() }
    self.key = key
    setTimer()
  }

  // MARK: Calls from the event loop

  func ready(_ readiness: Readiness) {
    switch phase {
    case .handshaking: handshake()
    case .receiving, .lingering: receive()
    case .running: if !readiness.isDisjoint(with: .broken) { close() }
    case .sending: readiness.isDisjoint(with: .broken) ? flush() : close()
    case .closed: break
    }
  }

  func write() {}

  func timerExpired(_ tag: TimerTag) {
    guard tag.kind == TimerKind.life else { return close() }
    timer = nil
    switch life.timePassed(to: loop.now) {
    case .nothing: setTimer()
    case .answerTooSlow: parser.isWithinRequest ? refuse(.requestTimeout, "the request came too slowly") : close()
    // The answer sets the next timer.
    case .answerForHandler: running.onDeadline?()
    case .close: close()
    }
  }

  private func handshake() {
    switch transport.handshake() {
    case .done:
      phase = .receiving
      begin(.head)
      watch(.readable)
      // The client's first request may have come with the end of its handshake.
      receive()
    case .wantsRead: watch(.readable)
    case .wantsWrite: watch(.writable)
    case .failed(let failure):
      owner.configuration.onHandshakeFailure?(client, failure)
      linger()
    }
  }

  // MARK: Requests

  private func receive() {
    switch transport.receive(into: owner.received) {
    case .bytes(let count):
      // epoll does not report the bytes that the transport holds.
      if transport.hasUnreadInput { LoopConfined(self, on: loop).execute { $0.receiveMore() } }
      guard phase == .receiving else { return discard(count) }
      parser.append(UnsafeRawBufferPointer(rebasing: owner.received[..<count]))
      parse()
    case .wouldBlock: break
    case .ended, .failed: close()
    }
  }

  private func receiveMore() {
    if phase == .receiving || phase == .lingering, transport.hasUnreadInput { receive() }
  }

  private func parse() {
    while phase == .receiving {
      switch parser.next() {
      case .more:
        begin(!parser.isWithinRequest ? .request : parser.isWithinBody ? .body : .head)
        return
      case .head(let head):
        take(head)
        // It was refused, and the next one has to wait for its turn, as after every answer.
        guard route != nil else { return }
      case .body(let body): run(body)
      case .tooLarge:
        refuse(route?.tooLarge ?? .text(.contentTooLarge))
        route = nil
      case .refuse(let status, let reason): refuse(status, reason)
      }
    }
  }

  private func take(_ head: HTTPRequestHead) {
    requestNumber += 1
    self.head = head
    closesAfterAnswer = life.requestCame() || !head.keepsAlive || owner.isStopping
    switch owner.router.match(method: head.method, path: head.path) {
    case .notFound: refuse(.text(.notFound))
    case .notAllowed(let methods):
      var response = HTTPResponse.text(.methodNotAllowed)
      response.fields.append(("Allow", methods.joined(separator: ", ")))
      refuse(response)
    case .route(let route) where head.contentLength > route.maximumBodyBytes:
      refuse(route.tooLarge)
    case .route(let route) where head.isChunked && !route.takesChunks:
      refuse(.text(.lengthRequired, "send the body with a Content-Length"))
    case .route(let route):
      self.route = route
      parser.takeBody(upTo: route.maximumBodyBytes)
      if head.expectsContinue, head.hasBody, !parser.hasBytes { askForBody() }
    }
  }

  /// The few bytes fit into the socket of a client that waits for them.
  private func askForBody() {
    let count = ResponseWriter.goOn.count
    guard case .bytes(count) = ResponseWriter.goOn.withUnsafeBytes(transport.send) else { return close() }
  }

  private func run(_ body: [UInt8]) {
    // The client's certificate, or an authority of its chain, may have ended since the handshake.
    let isCertificateGood = transport.isTrusted && transport.certificateValidity != .zero
    guard let head, let route, isCertificateGood else { return close() }
    self.route = nil
    phase = .running
    owner.requestRuns(id, true)
    watch([])
    begin(.handler)
    let exchange = HTTPExchange(LoopConfined(self, on: loop), requestNumber)
    running.exchange = exchange
    route.handler(
      HTTPRequest(
        head: head, body: body, client: client, isEncrypted: transport.isEncrypted,
        certificate: transport.peerCertificate),
      exchange)
  }

  /// By `HTTPExchange`, for the request that runs.
  func setDeadline(_ deadline: MonotonicTime, _ onDeadline: @escaping () -> Void) {
    guard phase == .running else { return }
    running.onDeadline = onDeadline
    life.setHandlersDeadline(deadline)
    setTimer()
  }

  /// By `HTTPExchange`.
  func callAdmitted(of caller: String) {
    guard !hasCallersPlace, phase != .closed else { return }
    hasCallersPlace = owner.callAdmitted(id, of: caller)
  }

  // MARK: Answers

  /// By `HTTPExchange`.
  func answer(_ response: HTTPResponse, to request: Int) {
    guard phase == .running, request == requestNumber else { return }
    running = Running()
    owner.requestRuns(id, false)
    send(response)
  }

  /// A refused request's end is unknown, or its body is not wanted, unless it has none.
  private func refuse(_ response: HTTPResponse) {
    closesAfterAnswer = closesAfterAnswer || head?.hasBody != false
    if !closesAfterAnswer {
      parser.takeBody()
      _ = parser.next()
    }
    send(response)
  }

  private func refuse(_ status: HTTPStatus, _ reason: String) {
    head = nil
    closesAfterAnswer = true
    send(.text(status, reason))
  }

  private func send(_ response: HTTPResponse) {
    closesAfterAnswer = closesAfterAnswer || owner.isStopping
    output = ResponseWriter.bytes(
      of: response, isHead: head?.method == "HEAD", closes: closesAfterAnswer, at: owner.configuration.unixTime())
    sent = 0
    head = nil
    phase = .sending
    begin(.answerTaken)
    flush()
  }

  private func flush() {
    while sent < output.count {
      switch output[sent...].withUnsafeBytes(transport.send) {
      case .bytes(let count): sent += count
      case .wouldBlock: return watch(.writable)
      case .ended, .failed: return close()
      }
    }
    output = []
    if closesAfterAnswer { return linger() }
    phase = .receiving
    begin(.request)
    watch(.readable)
    // Not from here, as a client may have sent a thousand requests ahead.
    if parser.hasBytes || transport.hasUnreadInput { LoopConfined(self, on: loop).execute { $0.goOn() } }
  }

  private func goOn() {
    guard phase == .receiving else { return }
    parse()
    receiveMore()
  }

  // MARK: The end

  func drain(grace: Duration) {
    switch phase {
    case .handshaking, .lingering, .closed: close()
    case .receiving: parser.isWithinRequest ? close(after: grace) : close()
    case .running, .sending: close(after: grace)
    }
  }

  private func close(after grace: Duration) {
    guard let key else { return close() }
    closesAfterAnswer = true
    _ = loop.setTimer(at: loop.now.advanced(by: grace), for: key, tag: TimerTag(kind: TimerKind.drain))
  }

  /// Closing on unread bytes would send a TCP reset, and the client could lose an answer that it has not read yet.
  private func linger() {
    phase = .lingering
    transport.finishSending()
    begin(.end)
    watch(.readable)
  }

  private func discard(_ count: Int) {
    lingeringBytes += count
    if lingeringBytes > limits.lingeringBytes { close() }
  }

  func close() {
    loop.assertIsCurrent()
    guard phase != .closed else { return }
    phase = .closed
    running.exchange?.clientLeft()
    running = Running()
    if let timer { loop.cancelTimer(timer.handle) }
    if let key { loop.unregister(key, descriptor: transport.descriptor) }
    transport.close()
    owner.connectionClosed(id)
  }

  // MARK: Watching and waiting

  private func watch(_ readiness: Readiness) {
    guard readiness != watched, let key else { return }
    watched = readiness
    loop.watch(key, descriptor: transport.descriptor, for: readiness)
  }

  private func begin(_ wait: HTTPConnectionLife.Wait) {
    life.begin(wait, at: loop.now)
    setTimer()
  }

  /// A timer that expires too soon looks again, so that most deadlines need none of their own.
  private func setTimer() {
    guard let key, let deadline = life.deadline else { return }
    if let timer {
      if timer.time <= deadline { return }
      loop.cancelTimer(timer.handle)
    }
    timer = (loop.setTimer(at: deadline, for: key, tag: TimerTag(kind: TimerKind.life)), deadline)
  }
}
