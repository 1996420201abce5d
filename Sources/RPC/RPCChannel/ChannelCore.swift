internal import Dispatch
internal import DispatchPool
internal import DispatchRPC
internal import Synchronization

/// The parts that a channel's calls share: the pool, the addresses behind it, the loops below it, the tokens and the
/// counts.
final class ChannelCore: Sendable {
  let configuration: RPCChannelConfiguration
  private let loops: [EventLoop]
  private let timers = DispatchQueue(label: "rpc.channel.timers")
  private let throttle: Mutex<RetryThrottle?>
  private let registry = Mutex(EndpointRegistry())
  private let pacing: Mutex<KeepalivePacing>
  private let made = Atomic(0)
  let counters = CallCounters()

  init(configuration: RPCChannelConfiguration) {
    precondition(configuration.eventLoops > 0, "a channel has at least one event loop")
    self.configuration = configuration
    loops =
      configuration.eventLoop.map { [$0] }
      ?? (0..<configuration.eventLoops).map { EventLoop(label: "rpc.channel.\($0)") }
    pacing = Mutex(KeepalivePacing(configuration.connection.keepalive))
    throttle = Mutex(configuration.throttling.map(RetryThrottle.init))
  }

  // MARK: Connections

  func makeConnection(
    _ id: ConnectionID, report: @escaping @Sendable (PoolConnectionEvent) -> Void
  ) -> ChannelConnection {
    guard let endpoint = registry.withLock({ $0[id.endpoint] }) else {
      preconditionFailure("the pool opens connections to endpoints that it was told of")
    }
    let number = made.add(1, ordering: .relaxed).oldValue
    var connection = configuration.connection
    connection.keepalive = pacing.withLock(\.keepalive)
    let interval = connection.keepalive?.interval ?? .zero
    return ChannelConnection(
      to: endpoint, loop: loops[number % loops.count], configuration: connection,
      onTooManyPings: { [self] in pacing.withLock { $0.tooManyPings(at: interval) } }, report: report)
  }

  /// A resolution's result, for the pool. From one thread at a time.
  func resolved(_ result: Result<[ChannelEndpoint], TargetError>, for pool: ConnectionPool<ChannelConnection>) {
    switch result {
    case .success(let found):
      let ids = registry.withLock { $0.enter(configuration.shufflesEndpoints ? found.shuffled() : found) }
      pool.replaceEndpoints(ids)
      let inUse = Set(pool.endpoints)
      registry.withLock { $0.forgetAll(but: inUse) }
    case .failure(let error):
      pool.endpointsNotFound(reason: error.reason)
    }
  }

  // MARK: Attempts

  /// - Parameter path: `/package.Service/Method`.
  func policy(of path: String) -> RPCMethodPolicy {
    configuration.methods[path] ?? configuration.defaultPolicy
  }

  func after(_ delay: Duration, _ work: @escaping @Sendable () -> Void) {
    let time = MonotonicTime.now() + delay
    timers.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time.nanoseconds), execute: work)
  }

  func withThrottle<Result>(_ body: (inout RetryThrottle?) -> Result) -> Result {
    throttle.withLock { body(&$0) }
  }

  func attemptSucceeded() {
    if configuration.throttling != nil { withThrottle { $0?.attemptSucceeded() } }
  }

  /// A listener on the way would have the caller's key.
  func refusal(of metadata: Metadata, on connection: ChannelConnection) -> RPCError? {
    guard !connection.isPrivate, !configuration.allowsAuthorizationInPlaintext, metadata.carriesCredentials else {
      return nil
    }
    return RPCError(
      code: .unauthenticated, message: "authorization is not sent unencrypted to another machine", progress: .unsent)
  }
}

extension Metadata {
  fileprivate var carriesCredentials: Bool {
    entries.contains { $0.name == "authorization" || $0.name == "proxy-authorization" }
  }

  /// As an attempt sends it (gRFC A6, "Exposed Retry Metadata").
  func withPreviousAttempts(_ count: Int) -> Metadata {
    guard count > 0 else { return self }
    var metadata = self
    metadata.append("grpc-previous-rpc-attempts", "\(count)")
    return metadata
  }
}

extension RPCError {
  static let cancelledHere = RPCError(code: .cancelled, message: "cancelled by the caller")

  init(_ error: PoolError) {
    switch error {
    case .timedOut(let lastFailure?):
      self.init(code: .deadlineExceeded, message: "no connection: \(lastFailure)", progress: .unsent)
    case .timedOut(nil):
      self.init(code: .deadlineExceeded, message: "no stream became free in time", progress: .unsent)
    case .unreachable(let lastFailure):
      self.init(code: .unavailable, message: "no connection: \(lastFailure)", progress: .unsent)
    case .tooManyWaiting:
      self.init(code: .resourceExhausted, message: "too many calls wait for a stream", progress: .unsent)
    case .cancelled:
      self = .cancelledHere
    case .draining:
      self.init(code: .cancelled, message: "the channel is closed", progress: .unsent)
    }
  }

  /// Returns the error with which the call ends. A passed deadline names the failure of the attempt before it, too.
  func after(_ earlier: RPCError?) -> RPCError {
    guard let earlier, code == .deadlineExceeded, progress < .answered else { return self }
    var error = self
    error.message += "; the attempt before: \(earlier)"
    return error
  }
}

/// The counts of a channel's calls, to which all threads add.
final class CallCounters: Sendable {
  let attempts = Atomic(0)
  let retries = Atomic(0)
  let failures = Atomic(0)
}
