// A call with several messages as its caller sees it, over whichever attempts and connections serve it.

internal import DispatchPool
public import DispatchRPC
internal import Synchronization

/// As `RPCClientStream`, whose rules hold: messages come as they are asked for, and a producer waits while `isWritable` is
/// false. All of it may be called from any thread.
public final class RPCChannelStream: Sendable {
  public typealias EventHandler = @Sendable (RPCChannelStream, RPCClientStreamEvent) -> Void

  private struct State {
    /// Waits for a lease.
    var lease: LeaseRequest?
    var stream: RPCClientStream?
    var isOver = false
    var unsent: [[UInt8]] = []
    var isSendingDone = false
    var demand = 0
  }

  private let channel: RPCChannel
  private let path: String
  private let metadata: Metadata
  private let deadline: MonotonicTime?
  private let waitForReady: Bool
  private let events: EventHandler
  private let state = Mutex(State())

  init(_ channel: RPCChannel, _ path: String, _ options: RPCCallOptions, events: @escaping EventHandler) {
    let policy = channel.configuration.policy(path)
    self.channel = channel
    self.path = path
    metadata = options.metadata
    deadline = options.deadline(policy, now: .now())
    waitForReady = options.waitForReady ?? policy.waitForReady
    self.events = events
  }

  func start() {
    let request = channel.pool.lease(
      deadline: deadline.map { MonotonicInstant(nanoseconds: $0.nanoseconds) }, waitForReady: waitForReady
    ) { [self] result in
      switch result {
      case .success(let lease): open(on: lease)
      case .failure(let error): end(.failure(RPCError(error)))
      }
    }
    let isOver = state.withLock { state in
      if state.stream == nil { state.lease = request }
      return state.isOver
    }
    if isOver { request.cancel() }
  }

  /// Asks for that many messages more; `.max` for all. None comes unasked.
  public func request(_ count: Int) {
    let stream = state.withLock { state in
      if state.stream == nil {
        let (sum, overflow) = state.demand.addingReportingOverflow(count)
        state.demand = overflow ? .max : sum
      }
      return state.stream
    }
    stream?.request(count)
  }

  /// False while so much waits for the server that a producer should wait for `.writable`.
  public var isWritable: Bool {
    state.withLock { $0.stream }?.isWritable ?? true
  }

  /// After `finishSending`, and after the call's end, it does nothing.
  public func send(_ message: [UInt8]) {
    state.withLock { state in
      guard !state.isSendingDone, !state.isOver else { return }
      if let stream = state.stream { stream.send(message) } else { state.unsent.append(message) }
    }
  }

  /// No more will be sent; the answers still come.
  public func finishSending() {
    state.withLock { state in
      state.isSendingDone = true
      state.stream?.finishSending()
    }
  }

  /// The call fails with CANCELLED and the server hears of it, unless it already ended.
  public func cancel() {
    let (lease, stream) = state.withLock { ($0.lease, $0.stream) }
    if let stream { stream.cancel() } else { lease?.cancel() }
  }

  private func open(on lease: Lease<ChannelConnection>) {
    guard let connection = lease.connection.current else {
      lease.release()
      return end(.failure(.connectionClosed))
    }
    let demand = state.withLock { state in
      let stream = connection.openStream(path, metadata: metadata, deadline: deadline) { [self] _, event in
        if case .end = event { lease.release() }
        events(self, event)
      }
      state.stream = stream
      for message in state.unsent { stream.send(message) }
      if state.isSendingDone { stream.finishSending() }
      state.unsent = []
      return state.demand
    }
    if demand > 0 { state.withLock { $0.stream }?.request(demand) }
  }

  private func end(_ result: Result<Metadata, RPCError>) {
    state.withLock { $0.isOver = true }
    events(self, .end(result))
  }
}
