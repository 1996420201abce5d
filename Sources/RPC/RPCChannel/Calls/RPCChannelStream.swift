// A call with several messages as its caller sees it, over whichever attempts and connections serve it.

internal import DispatchPool
public import DispatchRPC
internal import Synchronization

/// As `RPCClientStream`, whose rules hold: messages come as they are asked for, and a producer waits while `isWritable`
/// is false. All of it may be called from any thread.
///
/// Until the server has begun to answer, a failed attempt may be followed by another (`RPCMethodPolicy`), for which
/// what was sent is kept; more than `RPCChannelConfiguration.retryBufferBytesPerStream` is not, and the stream not
/// retried then.
public final class RPCChannelStream: Sendable {
  public typealias EventHandler = @Sendable (RPCChannelStream, RPCClientStreamEvent) -> Void

  private enum Phase {
    /// For a stream of the pool, or for the time of the next attempt.
    case waiting(LeaseRequest?)
    case running(RPCClientStream)
    case over
  }

  /// A stream that ended while it waited.
  private struct Abandoned {
    let request: LeaseRequest?
  }

  private struct State {
    var phase = Phase.waiting(nil)
    var attempts: CallAttempts
    var buffer = StreamBuffer()
    /// Counts attempts, because events of an earlier one mean nothing any more.
    var attempt = 0
    /// The beginnings of the call and of the running attempt; `nil`: no attempt runs, or nothing is measured.
    var began: MonotonicTime?
    var attemptBegan: MonotonicTime?
    /// The server has begun to answer, or more was sent than is kept.
    var isCommitted = false
    /// Whatever the policy says of CANCELLED, there is no other attempt.
    var isCancelled = false

    var isWaiting: Bool {
      if case .waiting = phase { true } else { false }
    }

    var isOver: Bool {
      if case .over = phase { true } else { false }
    }

    var stream: RPCClientStream? {
      if case .running(let stream) = phase { stream } else { nil }
    }

    mutating func commit() {
      guard !isCommitted else { return }
      isCommitted = true
      buffer.drop()
    }

    mutating func end() {
      phase = .over
      commit()
    }

    /// Ends the stream if no attempt runs: a running attempt ends it itself, by its last event and after all others.
    mutating func abandon() -> Abandoned? {
      guard case .waiting(let request) = phase else { return nil }
      end()
      return Abandoned(request: request)
    }
  }

  private let core: ChannelCore
  private let pool: ConnectionPool<ChannelConnection>
  private let path: String
  private let metadata: Metadata
  private let deadline: MonotonicTime?
  private let waitForReady: Bool
  private let compression: RPCCompression
  private let events: EventHandler
  private let observed: ObservedMethod
  private let state: Mutex<State>

  init(_ channel: RPCChannel, _ path: String, _ options: RPCCallOptions, events: @escaping EventHandler) {
    core = channel.core
    pool = channel.pool
    let policy = core.policy(of: path)
    self.path = path
    metadata = options.metadata
    deadline = options.deadline(policy, now: .now())
    waitForReady = options.waitForReady ?? policy.waitForReady
    compression = options.compression
    self.events = events
    observed = ObservedMethod(path, of: core)
    state = Mutex(State(attempts: CallAttempts(options.attempts ?? policy.attempts)))
  }

  // MARK: For the caller

  /// Asks for that many messages more; `.max` for all. None comes unasked.
  public func request(_ count: Int) {
    let stream = state.withLock { state -> RPCClientStream? in
      if !state.isCommitted || state.isWaiting { state.buffer.request(count) }
      return state.stream
    }
    stream?.request(count)
  }

  /// False while so much waits for the server that a producer should wait for `.writable`.
  public var isWritable: Bool {
    state.withLock { state in
      switch state.phase {
      case .waiting: state.buffer.heldBytes < RPCClientStream.highWaterBytes
      case .running(let stream): stream.isWritable
      case .over: true
      }
    }
  }

  /// Whether the message that the handler has been given came compressed. In its event only.
  public var messageWasCompressed: Bool {
    state.withLock(\.stream)?.messageWasCompressed ?? false
  }

  /// Does nothing after `finishSending`, and after the call's end. If too much waits already
  /// (`RPCClientConfiguration.maxBufferedRequestBytesPerStream`), the call fails with RESOURCE_EXHAUSTED.
  ///
  /// - Parameter compressed: false sends the message as it is, whatever compression the stream has.
  public func send(_ message: [UInt8], compressed: Bool = true) {
    let refused = state.withLock { state -> Abandoned? in
      guard !state.buffer.isFinished else { return nil }
      switch state.phase {
      case .over:
        break
      case .waiting:
        guard state.buffer.heldBytes <= core.configuration.connection.maxBufferedRequestBytesPerStream else {
          return state.abandon()
        }
        state.buffer.append(.init(bytes: message, isCompressed: compressed))
      case .running(let stream):
        keep(message, compressed, in: &state)
        stream.send(message, compressed: compressed)
      }
      return nil
    }
    if let refused {
      end(refused, RPCError(code: .resourceExhausted, message: "no server takes the messages", progress: .unsent))
    }
  }

  /// No more will be sent; the answers still come.
  public func finishSending() {
    state.withLock { state in
      state.buffer.finish()
      state.stream?.finishSending()
    }
  }

  /// Fails the call with CANCELLED, and resets its stream if a server has it. Does nothing after the call's end.
  public func cancel() {
    let (running, abandoned) = state.withLock { state in
      state.isCancelled = true
      return (state.stream, state.abandon())
    }
    running?.cancel()
    if let abandoned { end(abandoned, .cancelledHere) }
  }

  private func keep(_ message: [UInt8], _ compressed: Bool, in state: inout State) {
    guard !state.isCommitted else { return }
    state.buffer.append(.init(bytes: message, isCompressed: compressed))
    if state.buffer.heldBytes > core.configuration.retryBufferBytesPerStream { state.commit() }
  }
}

// MARK: - Attempts

extension RPCChannelStream {
  func start() {
    if let began = observed.began() { state.withLock { $0.began = began } }
    attempt()
  }

  private func attempt() {
    let number = state.withLock { state -> Int? in
      guard state.isWaiting else { return nil }
      state.attempt += 1
      state.attemptBegan = observed.attemptBegan()
      return state.attempt
    }
    guard let number else { return }
    core.counters.attempts.add(1, ordering: .relaxed)
    let request = pool.lease(deadline: deadline, waitForReady: waitForReady) { [self] result in
      switch result {
      case .success(let lease): open(on: lease, number)
      case .failure(let error):
        let error = RPCError(error)
        failed(error, AttemptFailure(code: error.code), number, RPCMessageBytes())
      }
    }
    let isOver = state.withLock { state in
      if state.isWaiting, state.attempt == number { state.phase = .waiting(request) }
      return state.isOver
    }
    if isOver { request.cancel() }
  }

  private func open(on lease: Lease<ChannelConnection>, _ number: Int) {
    if let refusal = core.refusal(of: metadata, on: lease.connection) {
      lease.release()
      return end(.failure(refusal))
    }
    let previous = state.withLock { $0.attempts.previous }
    // Under the lock, so that nothing that is sent meanwhile overtakes what was sent before. Events come later, on the
    // loop.
    let (opened, demand, wasFull) = state.withLock { state -> (RPCClientStream?, Int, Bool) in
      guard state.isWaiting else { return (nil, 0, false) }
      let stream = lease.connection.connection.openStream(
        path, metadata: metadata.withPreviousAttempts(previous), deadline: deadline, compression: compression
      ) { [self] stream, event in
        received(event, of: stream, number, lease)
      }
      let wasFull = state.buffer.heldBytes >= RPCClientStream.highWaterBytes
      for message in state.buffer.messages { stream.send(message.bytes, compressed: message.isCompressed) }
      if state.buffer.isFinished { stream.finishSending() }
      state.phase = .running(stream)
      if state.buffer.heldBytes > core.configuration.retryBufferBytesPerStream { state.commit() }
      return (stream, state.buffer.demand, wasFull)
    }
    guard let opened else { return lease.release() }
    if demand > 0 { opened.request(demand) }
    // Compressed it may count for less, so that the stream knows of no producer that waits.
    if wasFull { lease.connection.loop.execute { [self] in tellWritable(opened) } }
  }

  private func tellWritable(_ stream: RPCClientStream) {
    if state.withLock({ $0.stream === stream }), stream.isWritable { events(self, .writable) }
  }

  /// On the connection's loop.
  private func received(
    _ event: RPCClientStreamEvent, of stream: RPCClientStream, _ number: Int, _ lease: Lease<ChannelConnection>
  ) {
    switch event {
    case .initialMetadata, .message:
      state.withLock { $0.commit() }
      events(self, event)
    case .writable:
      events(self, event)
    case .end(.success):
      lease.release()
      core.attemptSucceeded()
      attemptEnded(.ok, stream.messageBytes, number)
      end(event)
    case .end(.failure(let error)):
      lease.release()
      failed(error, AttemptFailure(error), number, stream.messageBytes)
    }
  }

  private func failed(_ error: RPCError, _ failure: AttemptFailure, _ number: Int, _ bytes: RPCMessageBytes) {
    attemptEnded(error.code, bytes, number)
    let decision = state.withLock { state -> CallAttempts.OnFailure? in
      guard !state.isOver, state.attempt == number else { return nil }
      if state.isCancelled { return .end(error) }
      let decision = state.attempts.failed(
        error, failure, isCommitted: state.isCommitted, before: deadline, in: core)
      if case .retry = decision { state.phase = .waiting(nil) }
      return decision
    }
    switch decision {
    case .none: break
    case .end(let error): end(.failure(error))
    case .retry(after: .zero): attempt()
    case .retry(let delay): core.after(delay) { [self] in attempt() }
    }
  }

  private func end(_ result: Result<Metadata, RPCError>) {
    end(.end(result))
  }

  private func end(_ event: RPCClientStreamEvent) {
    let isFirst = state.withLock { state in
      defer { state.end() }
      return !state.isOver
    }
    if isFirst { tell(event) }
  }

  private func end(_ abandoned: Abandoned, _ error: RPCError) {
    abandoned.request?.cancel()
    tell(.end(.failure(error)))
  }

  private func attemptEnded(_ code: RPCCode, _ bytes: RPCMessageBytes = RPCMessageBytes(), _ number: Int? = nil) {
    guard observed.isWanted else { return }
    let began = state.withLock { state -> MonotonicTime? in
      guard number == nil || number == state.attempt else { return nil }
      defer { state.attemptBegan = nil }
      return state.attemptBegan
    }
    observed.attemptEnded(code, since: began, bytes)
  }

  /// Passes an event to the caller. The call's end is the last one.
  private func tell(_ event: RPCClientStreamEvent) {
    if case .end(.failure) = event { core.counters.failures.add(1, ordering: .relaxed) }
    if case .end(let result) = event, observed.isWanted {
      attemptEnded(result.code)
      observed.callEnded(result.code, since: state.withLock { $0.began })
    }
    events(self, event)
  }
}
