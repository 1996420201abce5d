internal import DispatchPool
internal import DispatchRPC

/// The channel's pooled connection, HTTP/2 to one of the target's addresses: between the pool, which leases its
/// streams, and the connection that carries them.
final class ChannelConnection: PooledConnection {
  let connection: RPCClientConnection
  let loop: EventLoop
  /// No third party can listen on the way: it is encrypted, or does not leave the machine.
  let isPrivate: Bool

  init(
    to endpoint: ChannelEndpoint, loop: EventLoop, configuration: RPCClientConfiguration,
    onTooManyPings: @escaping @Sendable () -> Void = {}, report: @escaping @Sendable (PoolConnectionEvent) -> Void
  ) {
    var configuration = configuration
    configuration.authority = configuration.authority ?? endpoint.authority
    self.loop = loop
    isPrivate = configuration.tls != nil || endpoint.address.isLocal
    connection = RPCClientConnection(address: endpoint.address, loop: loop, configuration: configuration) { event in
      switch event {
      case .connected(let streams): report(.connected(capacity: streams))
      case .maxConcurrentStreamsChanged(let streams): report(.capacityChanged(streams))
      case .tooManyPings: onTooManyPings()
      case .goingAway: report(.goingAway)
      case .closed(let error): report(.closed(reason: error.description))
      }
    }
  }

  func connect() {
    connection.connect()
  }

  func close() {
    connection.close()
  }
}

/// How often a channel's connections are probed: less often once a server has complained. Pure.
struct KeepalivePacing: Equatable {
  /// Longer than any server minds, and than most connections live.
  static let longestInterval = Duration.seconds(2 * 60 * 60)

  private(set) var keepalive: RPCClientConfiguration.Keepalive?

  init(_ keepalive: RPCClientConfiguration.Keepalive?) {
    self.keepalive = keepalive
  }

  /// gRFC A8: GOAWAY with "too_many_pings".
  ///
  /// - Parameter interval: that of the connection that the server ended. If it ended several at once, only one counts.
  mutating func tooManyPings(at interval: Duration) {
    guard let current = keepalive?.interval, interval >= current, current < Self.longestInterval else { return }
    keepalive?.interval = min(current * 2, Self.longestInterval)
  }
}
