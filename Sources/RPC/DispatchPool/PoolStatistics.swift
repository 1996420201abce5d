/// The pool at one moment.
public struct PoolStatistics: Sendable, Hashable {
  public var connecting = 0
  /// Take new leases.
  public var serving = 0
  /// Carry what they have and take no new leases.
  public var goingAway = 0
  /// Told to close, not closed yet.
  public var closing = 0
  /// Leases out, whatever their connections are doing.
  public var leased = 0
  /// Leases that the serving connections can carry together.
  public var capacity = 0
  /// Requests in the queue.
  public var waiting = 0
  /// Attempts that failed since a connection was last known to be good; of the endpoint that is worst off.
  public var consecutiveFailures = 0
}

/// One endpoint of a pool at one moment.
public struct EndpointStatistics: Sendable, Hashable {
  public var endpoint: EndpointID
  /// False: a resolution no longer names it, and its last connections are about to close.
  public var isListed = true
  public var connecting = 0
  /// Connections that take new leases, unless the endpoint is ejected.
  public var serving = 0
  public var goingAway = 0
  public var closing = 0
  public var leased = 0
  public var consecutiveFailures = 0
  /// As an outlier: it takes no new leases.
  public var isEjected = false
  /// Why it was last lost or not connected; `nil` if it is connected, or nothing was tried.
  public var lastFailure: String?

  public init(endpoint: EndpointID) {
    self.endpoint = endpoint
  }
}
