/// How many connections, to which of the endpoints, how long to wait for them, and when to let go of them.
public struct PoolConfiguration: Sendable, Hashable {
  /// To each endpoint in use, kept open from `start()` or the first request on. Least-loaded choice spreads the leases
  /// over them.
  public var minimumConnections: Int
  /// To one endpoint, connecting or serving. Those that go away or are closing come on top, so that a replacement need
  /// not wait for them; there are at most twice as many connections to it in all.
  public var maximumConnections: Int
  /// Requests that may wait for a lease; the next one is refused, since waiting longer only adds to the overload.
  public var maximumWaiting: Int
  /// The capacity that the pool assumes for a connection until the first one has reported its own. It decides how many
  /// connections a burst opens.
  public var assumedCapacity: Int
  /// A connection beyond the minimum closes after this long without a lease.
  public var idleTimeout: Duration
  /// Each endpoint has a backoff of its own.
  public var backoff: BackoffConfiguration
  /// How requests are spread over several endpoints.
  public var balancing = PoolBalancing.roundRobin
  /// With `PoolBalancing.pickFirst`: how long to try one endpoint before the next is tried beside it (RFC 8305's
  /// Connection Attempt Delay, as in gRFC A61). `nil`: until it failed.
  public var attemptDelay: Duration? = .milliseconds(250)

  /// - Precondition: `0 <= minimumConnections <= maximumConnections`, and the other counts are positive.
  public init(
    minimumConnections: Int = 1, maximumConnections: Int = 8, maximumWaiting: Int = 1024, assumedCapacity: Int = 1,
    idleTimeout: Duration = .seconds(60), backoff: BackoffConfiguration = BackoffConfiguration()
  ) {
    precondition(minimumConnections >= 0 && maximumConnections >= max(1, minimumConnections))
    precondition(maximumWaiting > 0 && assumedCapacity > 0)
    self.minimumConnections = minimumConnections
    self.maximumConnections = maximumConnections
    self.maximumWaiting = maximumWaiting
    self.assumedCapacity = assumedCapacity
    self.idleTimeout = idleTimeout
    self.backoff = backoff
  }
}

/// gRPC's connection back-off; the defaults are those of grpc's doc/connection-backoff.md.
public struct BackoffConfiguration: Sendable, Hashable {
  /// Wait after the first failure. A connection that does not even live this long counts as a failure too.
  public var initialDelay: Duration
  /// Each wait is this many times the one before.
  public var multiplier: Double
  /// Each wait is longer or shorter by up to this share, so that many clients do not return at the same moment.
  public var jitter: Double
  public var maximumDelay: Duration
  /// An attempt that is not connected after this long has failed.
  public var connectTimeout: Duration

  public init(
    initialDelay: Duration = .seconds(1), multiplier: Double = 1.6, jitter: Double = 0.2,
    maximumDelay: Duration = .seconds(120), connectTimeout: Duration = .seconds(20)
  ) {
    self.initialDelay = initialDelay
    self.multiplier = multiplier
    self.jitter = jitter
    self.maximumDelay = maximumDelay
    self.connectTimeout = connectTimeout
  }

  /// - Parameters:
  ///   - failures: at least 1.
  ///   - jitter: uniform in -1...1.
  package func delay(after failures: Int, jitter: Double) -> Duration {
    var delay = initialDelay
    for _ in 1..<failures where delay < maximumDelay { delay = delay * multiplier }
    return min(delay, maximumDelay) * (1 + self.jitter * jitter)
  }
}
