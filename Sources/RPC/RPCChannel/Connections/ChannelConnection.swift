// The channel's pooled connection: HTTP/2 to one of the target's addresses.

internal import DispatchPool
internal import DispatchRPC

/// Between the pool, which leases its streams, and the connection that carries them.
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
