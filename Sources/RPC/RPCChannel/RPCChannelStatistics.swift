public import DispatchPool
public import DispatchRPC

/// A channel at one moment.
public struct RPCChannelStatistics: Sendable, Hashable {
  public struct Endpoint: Sendable, Hashable {
    /// `nil`: it was just forgotten.
    public var address: SocketAddress?
    public var connections: EndpointStatistics
  }

  /// Connections and streams, of all addresses together. A lease is a running attempt at a call.
  public var connections: PoolStatistics
  public var endpoints: [Endpoint]
  /// Since the start, as the rest: calls and streams begun.
  public var calls: Int
  /// Those that ended with another status than OK.
  public var failures: Int
  /// Sent, or tried to; more than `calls` by retries, hedges and those that were sent again since they never arrived.
  public var attempts: Int
  public var retries: Int
  public var hedges: Int
  /// The tokens left of `RPCRetryThrottling`'s; `nil` without one.
  public var retryTokens: Double?
}
