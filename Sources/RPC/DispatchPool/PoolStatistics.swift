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
}
