public import DispatchPool
public import DispatchRPC

/// The settings of a channel, fixed when it is made.
public struct RPCChannelConfiguration: Sendable {
  /// How calls are spread over the target's addresses.
  public var balancing = PoolBalancing.pickFirst
  /// Shuffles the addresses of each resolution, so that many clients do not all begin with the same one.
  public var shufflesEndpoints = false
  /// Names are looked up at the first call and whenever a connection is lost, but no more often than this.
  public var resolutionInterval = Duration.seconds(30)
  /// To each address in use, kept open from the first call on.
  public var minimumConnections = 1
  /// To each address. The channel opens more when every stream is taken; idle connections beyond the minimum close
  /// again.
  public var maximumConnections = 8
  /// Without a call, for a connection beyond the minimum.
  public var idleTimeout = Duration.seconds(60)
  /// Calls that may wait for a stream. The next one fails with RESOURCE_EXHAUSTED.
  public var maximumWaitingCalls = 1024
  /// Between attempts to connect to an address, and between look-ups that fail.
  public var backoff = BackoffConfiguration()
  /// Threads' worth of work with sockets; connections take turns.
  public var eventLoops = 1
  /// Serves all connections instead of event loops of the channel's own. Calls that are made on it change no thread.
  public var eventLoop: EventLoop?
  /// The settings of each connection. An `authority` of `nil` becomes the name in the target that the address was found
  /// by; with TLS it is what the server has to prove.
  public var connection = RPCClientConfiguration()
  /// For methods that `methods` does not name.
  public var defaultPolicy = RPCMethodPolicy()
  /// By path, `/package.Service/Method`.
  public var methods: [String: RPCMethodPolicy] = [:]
  /// `nil`: retries are bounded by their policies alone.
  public var throttling: RPCRetryThrottling?
  /// Is told of each call and each attempt. `nil`: nothing is measured.
  public var observer: (any RPCChannelObserver)?
  /// Lets `authorization` travel unencrypted to other machines. A listener on the way has the key then.
  public var allowsAuthorizationInPlaintext = false

  public init() {}

  /// The least that RFC 9113 §6.5.2 recommends a server to allow.
  private static let assumedStreamsPerConnection = 100

  var pool: PoolConfiguration {
    var pool = PoolConfiguration(
      minimumConnections: minimumConnections, maximumConnections: maximumConnections,
      maximumWaiting: maximumWaitingCalls, assumedCapacity: Self.assumedStreamsPerConnection, idleTimeout: idleTimeout,
      backoff: backoff)
    pool.balancing = balancing
    return pool
  }
}
