public import DispatchPool

/// A channel at one moment.
public struct RPCChannelStatistics: Sendable, Hashable {
  /// Connections and streams, of all addresses together. A lease is a running attempt at a call.
  public var connections: PoolStatistics
}
