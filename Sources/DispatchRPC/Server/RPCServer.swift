// The server: listeners in front, shards behind, and an orderly end.

import Synchronization

/// Why a server cannot listen.
public struct RPCServerError: Error, Hashable, Sendable, CustomStringConvertible {
  public var reason: String

  public var description: String { reason }
}

/// A gRPC server for calls of all four kinds over HTTP/2: with TLS, or without (h2c, prior knowledge).
///
/// A server that is dropped closes its connections at once, unless `shutDown` was called, which keeps it until it is done.
public final class RPCServer: Sendable {
  private struct State: Sendable {
    var acceptors: [ShardConfined<Acceptor>] = []
    var isStopping = false
  }

  /// In the order of their index.
  public let shards: [RPCShard]
  private let parts: [ShardConfined<ServerShard>]
  private let register: ConnectionRegister
  private let state = Mutex(State())

  /// Traps when the process has no descriptors left for the event loops.
  ///
  /// - Parameter onWakeUpEnd: runs on a shard after all requests of one wake-up were dispatched and before the shard
  ///   writes: what is answered in it goes out in the same write. Where the write makes room for requests that waited, it
  ///   runs again after those.
  public init(
    configuration: RPCServerConfiguration, router: RPCRouter, onWakeUpEnd: (@Sendable (RPCShard) -> Void)? = nil
  ) {
    precondition(configuration.shards > 0, "a server has at least one shard")
    let routes = RouteTable(router)
    let register = ConnectionRegister(configuration)
    shards = (0..<configuration.shards).map { RPCShard(label: "rpc.server.\($0)", index: $0) }
    self.register = register
    parts = shards.map { shard in
      shard.onWakeUpEnd = onWakeUpEnd
      return ShardConfined(
        ServerShard(shard: shard, configuration: configuration, routes: routes, register: register))
    }
  }

  deinit {
    stopAccepting()
    for part in parts { part.value.shard.execute { part.value.closeAll() } }
  }

  /// Listens on the first address that the host stands for; may be called for several. Blocks while the name is looked
  /// up, so never call it on a shard.
  ///
  /// - Parameter port: 0 for a free one.
  /// - Parameter tls: plaintext where it is `nil`.
  /// - Returns: the address with the real port. Connections are accepted from now on.
  @discardableResult
  public func listen(host: String, port: UInt16, tls: RPCServerTLS? = nil) throws(RPCServerError) -> SocketAddress {
    try listen(ListeningSocket(host: host, port: port), tls: tls)
  }

  /// Listens on a Unix socket. One that a dead server left is replaced; it is removed when the server stops. May block while
  /// another server of the same directory starts.
  ///
  /// - Parameter path: at most 107 bytes.
  /// - Parameter permissions: of the file, from the moment it is there; by default for processes of the same user only.
  @discardableResult
  public func listen(unixPath path: String, permissions: UInt32 = 0o600) throws(RPCServerError) -> SocketAddress {
    try listen(ListeningSocket(unixPath: path, permissions: permissions), tls: nil)
  }

  private func listen(_ listener: ListeningSocket, tls: RPCServerTLS?) throws(RPCServerError) -> SocketAddress {
    let address = listener.address
    let acceptor = ShardConfined(
      Acceptor(listener: listener, tls: tls, shard: shards[0], parts: parts, register: register))
    guard shards[0].sync({ acceptor.value.start() }) else {
      throw RPCServerError(reason: "the kernel cannot watch another listening socket")
    }
    guard keep(acceptor) else {
      shards[0].execute { acceptor.value.stop() }
      throw RPCServerError(reason: "the server is shutting down")
    }
    tls?.onAuthoritiesChanged { [weak self] in self?.reviewCertificates() }
    return address
  }

  private func reviewCertificates() {
    for part in parts { part.value.shard.execute { part.value.reviewCertificates() } }
  }

  /// Stops accepting, asks the clients to leave, lets running calls end within the grace, closes what is left. Keeps the
  /// server alive until then.
  ///
  /// - Parameter completion: runs once, on some shard, when no connection is left.
  public func shutDown(grace: Duration, completion: @escaping @Sendable () -> Void) {
    stopAccepting()
    let remaining = Countdown(parts.count) { withExtendedLifetime(self, completion) }
    let parts = parts
    // By way of the acceptor's shard: what it handed over before arrives before.
    shards[0].execute {
      for part in parts {
        part.value.shard.execute {
          part.value.drain { remaining.countDown() }
          part.value.closeAll(after: grace)
        }
      }
    }
  }

  /// False when it came too late to be stopped with the others.
  private func keep(_ acceptor: ShardConfined<Acceptor>) -> Bool {
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
    for acceptor in acceptors { shards[0].execute { acceptor.value.stop() } }
  }
}

/// Runs its completion when it was counted down to zero.
private final class Countdown: Sendable {
  private let remaining: Atomic<Int>
  private let completion: @Sendable () -> Void

  init(_ count: Int, completion: @escaping @Sendable () -> Void) {
    remaining = Atomic(count)
    self.completion = completion
  }

  func countDown() {
    if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { completion() }
  }
}
