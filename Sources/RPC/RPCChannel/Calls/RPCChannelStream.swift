internal import DispatchPool
public import DispatchRPC
internal import Synchronization

/// A call with several messages as its caller sees it, over the connection that the pool chooses. As
/// `RPCClientStream`, whose rules hold: messages come as they are asked for, and a producer waits while `isWritable` is
/// false. All of it may be called from any thread.
///
/// It is tried once, whatever the policy says of attempts: its caller knows what can be sent again.
public final class RPCChannelStream: Sendable {
  public typealias EventHandler = @Sendable (RPCChannelStream, RPCClientStreamEvent) -> Void

  private enum Phase {
    /// For a stream of the pool.
    case waiting(LeaseRequest?)
    case running(RPCClientStream)
    case over
  }

  /// The caller's wishes while the stream waits.
  private struct Unsent {
    var messages: [[UInt8]] = []
    /// As a stream counts what waits on it.
    var heldBytes = 0
    var isFinished = false
    var demand = 0

    mutating func append(_ message: [UInt8]) {
      guard !isFinished else { return }
      messages.append(message)
      heldBytes += RPCClientStream.cost(of: message)
    }

    mutating func request(_ count: Int) {
      let (sum, overflow) = demand.addingReportingOverflow(count)
      demand = overflow ? .max : sum
    }
  }

  private struct State {
    var phase = Phase.waiting(nil)
    var unsent = Unsent()

    var isWaiting: Bool {
      if case .waiting = phase { true } else { false }
    }

    var stream: RPCClientStream? {
      if case .running(let stream) = phase { stream } else { nil }
    }
  }

  private let core: ChannelCore
  private let pool: ConnectionPool<ChannelConnection>
  private let path: String
  private let metadata: Metadata
  private let deadline: MonotonicTime?
  private let waitForReady: Bool
  private let events: EventHandler
  private let observed: ObservedMethod
  /// `nil`: nothing is measured.
  private let began: MonotonicTime?
  private let state = Mutex(State())

  init(_ channel: RPCChannel, _ path: String, _ options: RPCCallOptions, events: @escaping EventHandler) {
    core = channel.core
    pool = channel.pool
    let policy = core.policy(of: path)
    self.path = path
    metadata = options.metadata
    deadline = options.deadline(policy, now: .now())
    waitForReady = options.waitForReady ?? policy.waitForReady
    self.events = events
    observed = ObservedMethod(path, of: core)
    began = observed.attemptBegan()
  }

  // MARK: For the caller

  /// Asks for that many messages more; `.max` for all. None comes unasked.
  public func request(_ count: Int) {
    onStream({ $0.request(count) }, orLater: { $0.request(count) })
  }

  /// False while so much waits for the server that a producer should wait for `.writable`.
  public var isWritable: Bool {
    state.withLock { state in
      switch state.phase {
      case .waiting: state.unsent.heldBytes < RPCClientStream.highWaterBytes
      case .running(let stream): stream.isWritable
      case .over: true
      }
    }
  }

  /// Does nothing after `finishSending`, and after the call's end. If too much waits already
  /// (`RPCClientConfiguration.maxBufferedRequestBytesPerStream`), the call fails with RESOURCE_EXHAUSTED.
  public func send(_ message: [UInt8]) {
    var isTooMuch = false
    onStream({ $0.send(message) }) { unsent in
      isTooMuch = unsent.heldBytes > core.configuration.connection.maxBufferedRequestBytesPerStream
      if !isTooMuch { unsent.append(message) }
    }
    if isTooMuch {
      abandon(RPCError(code: .resourceExhausted, message: "no server takes the messages", progress: .unsent))
    }
  }

  /// No more will be sent; the answers still come.
  public func finishSending() {
    onStream({ $0.finishSending() }, orLater: { $0.isFinished = true })
  }

  /// Fails the call with CANCELLED, and resets its stream if a server has it. Does nothing after the call's end.
  public func cancel() {
    abandon(.cancelledHere)
    state.withLock(\.stream)?.cancel()
  }

  private func onStream(_ act: (RPCClientStream) -> Void, orLater note: (inout Unsent) -> Void) {
    let stream = state.withLock { state in
      if state.isWaiting { note(&state.unsent) }
      return state.stream
    }
    if let stream { act(stream) }
  }
}

// MARK: - The call

extension RPCChannelStream {
  func start() {
    core.counters.attempts.add(1, ordering: .relaxed)
    let request = pool.lease(deadline: deadline, waitForReady: waitForReady) { [self] result in
      switch result {
      case .success(let lease): open(on: lease)
      case .failure(let error): abandon(RPCError(error))
      }
    }
    state.withLock { if $0.isWaiting { $0.phase = .waiting(request) } }
  }

  private func open(on lease: Lease<ChannelConnection>) {
    if let refusal = core.refusal(of: metadata, on: lease.connection) {
      lease.release()
      return abandon(refusal)
    }
    // Under the lock, so that nothing that is sent meanwhile overtakes what was sent before. Events come later, on the
    // loop.
    let (opened, demand) = state.withLock { state -> (RPCClientStream?, Int) in
      guard state.isWaiting else { return (nil, 0) }
      let stream = lease.connection.connection.openStream(
        path, metadata: metadata, deadline: deadline
      ) { [self] stream, event in
        received(event, of: stream, lease)
      }
      for message in state.unsent.messages { stream.send(message) }
      if state.unsent.isFinished { stream.finishSending() }
      state.phase = .running(stream)
      defer { state.unsent = Unsent() }
      return (stream, state.unsent.demand)
    }
    guard let opened else { return lease.release() }
    if demand > 0 { opened.request(demand) }
  }

  /// On the connection's loop.
  private func received(
    _ event: RPCClientStreamEvent, of stream: RPCClientStream, _ lease: Lease<ChannelConnection>
  ) {
    guard case .end(let result) = event else { return events(self, event) }
    lease.release()
    if case .success = result { core.attemptSucceeded() }
    state.withLock { $0.phase = .over }
    end(result, stream.messageBytes)
  }

  /// Ends a call that waits. One that runs ends by its stream's last event, which comes after all others.
  private func abandon(_ error: RPCError) {
    let phase = state.withLock { state in
      defer { if state.isWaiting { state.phase = .over } }
      return state.phase
    }
    guard case .waiting(let request) = phase else { return }
    request?.cancel()
    end(.failure(error))
  }

  private func end(_ result: Result<Metadata, RPCError>, _ bytes: RPCMessageBytes = RPCMessageBytes()) {
    if case .failure = result { core.counters.failures.add(1, ordering: .relaxed) }
    observed.attemptEnded(result.code, since: began, bytes)
    observed.callEnded(result.code, since: began)
    events(self, .end(result))
  }
}
