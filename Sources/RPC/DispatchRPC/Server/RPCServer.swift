import Synchronization

/// Why a server cannot listen.
public struct RPCServerError: Error, Hashable, Sendable, CustomStringConvertible {
  public var reason: String

  package init(reason: String) {
    self.reason = reason
  }

  public var description: String { reason }
}

/// A gRPC server for calls of all four kinds over HTTP/2: with TLS, or without (h2c, prior knowledge).
///
/// A server that is dropped closes its connections at once, unless `shutDown` was called, which keeps it until it is
/// done.
public final class RPCServer: Sendable {
  private struct State: Sendable {
    var acceptors: [LoopConfined<Acceptor<ServerLoop>>] = []
    var isStopping = false
  }

  /// In the order of their index.
  public let eventLoops: [EventLoop]
  private let loops: [LoopConfined<ServerLoop>]
  private let register: ConnectionRegister
  private let onOutOfDescriptors: (@Sendable () -> Void)?
  private let state = Mutex(State())

  /// Traps when the process has no descriptors left for the event loops.
  ///
  /// - Parameter onRoundEnd: runs on an event loop after it dispatched all requests of one round and before it writes.
  ///   Calls that are answered in it are answered by that write. If the write makes room for requests that waited, it
  ///   runs again after those.
  public convenience init(
    configuration: RPCServerConfiguration, router: RPCRouter, onRoundEnd: (@Sendable (EventLoop) -> Void)? = nil
  ) {
    let eventLoops = EventLoop.group(configuration.eventLoops, label: Self.label)
    self.init(configuration: configuration, on: eventLoops, router: router, onRoundEnd: onRoundEnd)
  }

  /// The label of a server's event loops, which have numbers behind it.
  package static let label = "rpc.server"

  /// As the other `init`, on event loops that others use, too (`EventLoop.group`). It ignores
  /// `RPCServerConfiguration.eventLoops`. Event loops serve one server at a time.
  package init(
    configuration: RPCServerConfiguration, on eventLoops: [EventLoop], router: RPCRouter,
    onRoundEnd: (@Sendable (EventLoop) -> Void)?
  ) {
    precondition(!eventLoops.isEmpty, "a server has at least one event loop")
    let routes = RouteTable(router)
    let register = ConnectionRegister(configuration)
    self.eventLoops = eventLoops
    self.register = register
    onOutOfDescriptors = configuration.onOutOfDescriptors
    loops = eventLoops.map { loop in
      loop.execute {
        assert(loop.onRoundEnd == nil, "the event loop serves another server")
        loop.onRoundEnd = onRoundEnd
      }
      return LoopConfined(
        ServerLoop(loop: loop, configuration: configuration, routes: routes, register: register), on: loop)
    }
    register.onEviction { [weak self] eviction in
      self?.loops[eviction.member].execute { $0.evict(eviction.id) }
    }
  }

  deinit {
    stopAccepting()
    for loop in loops {
      loop.execute { [eventLoop = loop.loop] in
        $0.closeAll()
        eventLoop.onRoundEnd = nil
      }
    }
  }

  /// Listens on the first address that the host stands for; may be called for several. Blocks while the name is looked
  /// up, so never call it on an event loop.
  ///
  /// - Parameter port: 0 for a free one.
  /// - Parameter tls: `nil`: plaintext.
  /// - Returns: the address with the real port. Connections are accepted from now on.
  @discardableResult
  public func listen(host: String, port: UInt16, tls: RPCServerTLS? = nil) throws(RPCServerError) -> SocketAddress {
    try listen(ListeningSocket(host: host, port: port), tls: tls)
  }

  /// Listens on a Unix socket. One that a dead server left is replaced; it is removed when the server stops. May block
  /// while another server of the same directory starts.
  ///
  /// - Parameter path: at most 107 bytes.
  /// - Parameter permissions: the file's mode, from the moment it is there; by default for processes of the same user
  ///   only.
  @discardableResult
  public func listen(unixPath path: String, permissions: UInt32 = 0o600) throws(RPCServerError) -> SocketAddress {
    try listen(ListeningSocket(unixPath: path, permissions: permissions), tls: nil)
  }

  private func listen(_ listener: ListeningSocket, tls: RPCServerTLS?) throws(RPCServerError) -> SocketAddress {
    let address = listener.address
    let acceptor = LoopConfined(
      Acceptor(
        listener: listener, tls: tls, loop: eventLoops[0], loops: loops, register: register,
        onOutOfDescriptors: onOutOfDescriptors),
      on: eventLoops[0])
    guard acceptor.loop.sync({ acceptor.value.start() }) else {
      throw RPCServerError(reason: "the kernel cannot watch another listening socket")
    }
    guard keep(acceptor) else {
      acceptor.execute { $0.stop() }
      throw RPCServerError(reason: "the server is shutting down")
    }
    tls?.onAuthoritiesChanged { [weak self] in self?.reviewCertificates() }
    return address
  }

  /// The connections that have a place now.
  public var connectionCount: Int { register.count }

  private func reviewCertificates() {
    for loop in loops { loop.execute { $0.reviewCertificates() } }
  }

  /// Stops accepting, sends GOAWAY to the clients, lets running calls end within the grace, closes what is left. Keeps
  /// the server alive until then.
  ///
  /// - Parameter completion: runs once, on some event loop, when no connection is left.
  public func shutDown(grace: Duration, completion: @escaping @Sendable () -> Void) {
    stopAccepting()
    let remaining = Countdown(loops.count) { withExtendedLifetime(self, completion) }
    let loops = loops
    // By way of the acceptor's event loop: what it handed over before arrives before.
    eventLoops[0].execute {
      for loop in loops {
        loop.execute {
          // The hook may hold what holds the event loop.
          $0.drain { [eventLoop = $0.loop] in
            eventLoop.onRoundEnd = nil
            remaining.countDown()
          }
          $0.closeAll(after: grace)
        }
      }
    }
  }

  /// False when it came too late to be stopped with the others.
  private func keep(_ acceptor: LoopConfined<Acceptor<ServerLoop>>) -> Bool {
    state.withLock { state in
      if !state.isStopping { state.acceptors.append(acceptor) }
      return !state.isStopping
    }
  }

  private func stopAccepting() {
    let acceptors = state.withLock { state in
      state.isStopping = true
      defer { state.acceptors = [] }
      return state.acceptors
    }
    for acceptor in acceptors { acceptor.execute { $0.stop() } }
  }
}

/// Runs its completion when it was counted down to zero.
package final class Countdown: Sendable {
  private let remaining: Atomic<Int>
  private let completion: @Sendable () -> Void

  package init(_ count: Int, completion: @escaping @Sendable () -> Void) {
    remaining = Atomic(count)
    self.completion = completion
  }

  package func countDown() {
    if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { completion() }
  }
}
