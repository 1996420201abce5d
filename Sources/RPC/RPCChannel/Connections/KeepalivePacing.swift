// How often a channel's connections are probed: less often once a server has complained. Pure.

internal import DispatchRPC

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
