public import DispatchPool

/// A channel at one moment.
public struct RPCChannelStatistics: Sendable, Hashable {
  /// Connections and streams, of all addresses together. A lease is a running attempt at a call.
  public var connections: PoolStatistics
  /// Calls and streams since the start that ended with another status than OK.
  public var failures: Int
  /// Sent since the start, or tried to; with retries and with calls that were sent again since they never arrived.
  public var attempts: Int
  public var retries: Int
}
