// What the pool pools: an HTTP/2 connection to the target, whichever of its addresses answers.

internal import Dispatch
internal import DispatchPool
internal import DispatchRPC
internal import Synchronization

/// Makes the connections of one client; they take turns on its event loops.
final class PeerConnectionFactory: Sendable {
  private let target: String
  private let loops: [RPCShard]
  /// The resolver blocks, so it has a queue of its own.
  private let resolver = DispatchQueue(label: "touchstone.client.resolver")
  private let made = Atomic(0)

  init(target: String, eventLoops: Int) {
    precondition(eventLoops > 0, "a client has at least one event loop")
    self.target = target
    self.loops = (0..<eventLoops).map { RPCShard(label: "touchstone.client.\($0)") }
  }

  func makeConnection(report: @escaping @Sendable (PoolConnectionEvent) -> Void) -> PeerConnection {
    let number = made.add(1, ordering: .relaxed).oldValue
    return PeerConnection(
      target: target, number: number, loop: loops[number % loops.count], resolver: resolver, report: report)
  }
}

/// A connection to the target. It tries the target's addresses one after the other until one is connected.
final class PeerConnection: PooledConnection {
  private struct State {
    /// The attempt under way, later the connection.
    var connection: RPCClientConnection?
    /// Addresses left to try. Empty once one is connected, or nobody wants it to be.
    var untried: ArraySlice<SocketAddress> = []
    var isClosed = false

    /// True the first time.
    mutating func end() -> Bool {
      defer { isClosed = true }
      return !isClosed
    }
  }

  /// For one address, so that the next has its turn within the pool's 20 seconds for a connection.
  private static let addressTimeout = Duration.seconds(5)

  private let target: String
  /// Decides which of the addresses is tried first, so that connections spread over all of them.
  private let number: Int
  private let loop: RPCShard
  private let resolver: DispatchQueue
  private let report: @Sendable (PoolConnectionEvent) -> Void
  private let state = Mutex(State())

  init(
    target: String, number: Int, loop: RPCShard, resolver: DispatchQueue,
    report: @escaping @Sendable (PoolConnectionEvent) -> Void
  ) {
    self.target = target
    self.number = number
    self.loop = loop
    self.resolver = resolver
    self.report = report
  }

  func connect() {
    resolver.async { [self] in
      do throws(TargetError) {
        let addresses = try Target.addresses(of: target)
        let first = number % addresses.count
        state.withLock { $0.untried = addresses[first...] + addresses[..<first] }
        tryNextAddress()
      } catch {
        hasClosed(error.reason)
      }
    }
  }

  func close() {
    let (connection, isOver) = state.withLock { state in
      state.untried = []
      return (state.connection, state.connection == nil && state.end())
    }
    connection?.close()
    if isOver { report(.closed(reason: "closed before it was connected")) }
  }

  /// `nil`: the connection has closed, and the completion was told that nothing was sent.
  func start(
    _ request: RPCClientRequest, completion: @escaping @Sendable (Result<RPCResponse, RPCError>) -> Void
  ) -> RPCClientCall? {
    if let connection = state.withLock({ $0.connection }) {
      return connection.start(request, completion: completion)
    }
    completion(.failure(RPCError(code: .unavailable, message: "the connection has closed", progress: .unsent)))
    return nil
  }

  private func tryNextAddress() {
    state.withLock { state in
      guard !state.isClosed, let address = state.untried.popFirst() else { return }
      let connection = RPCClientConnection(
        address: address, loop: loop, configuration: configuration, events: { [self] in received($0) })
      state.connection = connection
      // Under the lock, so that no `close()` comes before it. It only posts to the loop.
      connection.connect()
    }
  }

  private var configuration: RPCClientConfiguration {
    var configuration = RPCClientConfiguration()
    configuration.authority = target
    configuration.userAgent = "touchstone-client"
    configuration.connectTimeout = Self.addressTimeout
    configuration.keepalive = RPCClientConfiguration.Keepalive()
    return configuration
  }

  private func received(_ event: RPCConnectionEvent) {
    switch event {
    case .connected(let streams):
      state.withLock { $0.untried = [] }
      report(.connected(capacity: streams))
    case .maxConcurrentStreamsChanged(let streams):
      report(.capacityChanged(streams))
    case .goingAway:
      report(.goingAway)
    case .closed(let error):
      let isLast = state.withLock { state in
        state.connection = nil
        return state.untried.isEmpty
      }
      if isLast { hasClosed(error.description) } else { tryNextAddress() }
    }
  }

  private func hasClosed(_ reason: String) {
    if state.withLock({ $0.end() }) { report(.closed(reason: reason)) }
  }
}
