// What a channel is told once.

public import DispatchPool
public import DispatchRPC

public struct RPCChannelConfiguration: Sendable {
  /// Kept open from the first call on.
  public var minimumConnections = 1
  /// More are opened when every stream of those that are there is taken; what is idle beyond the minimum closes again.
  public var maximumConnections = 8
  /// Without a call, for a connection beyond the minimum.
  public var idleTimeout = Duration.seconds(60)
  /// Calls that may wait for a stream. The next one fails with RESOURCE_EXHAUSTED.
  public var maximumWaitingCalls = 1024
  /// Between attempts to connect.
  public var backoff = BackoffConfiguration()
  /// Threads' worth of work with sockets; connections take turns.
  public var eventLoops = 1
  /// Of each connection. `authority` is the target's host and port where it is `nil`.
  public var connection = RPCClientConfiguration()
  /// For methods that `methods` does not name.
  public var defaultPolicy = RPCMethodPolicy()
  /// By path, `/package.Service/Method`, or for all of a service's by `/package.Service/`.
  public var methods: [String: RPCMethodPolicy] = [:]
  /// `nil`: retries and hedges are bounded by their policies alone.
  public var throttling: RPCRetryThrottling?
  /// Of a stream that may be retried: what it has sent is kept to be sent again, up to this. Beyond it the stream is not
  /// retried. 256 KiB is what other gRPC clients keep.
  public var retryBufferBytesPerStream = 256 << 10
  /// Lets `authorization` travel unencrypted to other machines. Whoever listens has the key then.
  public var allowsAuthorizationInPlaintext = false

  public init() {}

  func policy(_ path: String) -> RPCMethodPolicy {
    guard !methods.isEmpty else { return defaultPolicy }
    if let policy = methods[path] { return policy }
    guard let slash = path.lastIndex(of: "/") else { return defaultPolicy }
    return methods[String(path[...slash])] ?? defaultPolicy
  }

  /// The least that RFC 9113 §6.5.2 recommends a server to allow.
  private static let assumedStreamsPerConnection = 100

  var pool: PoolConfiguration {
    PoolConfiguration(
      minimumConnections: minimumConnections, maximumConnections: maximumConnections,
      maximumWaiting: maximumWaitingCalls, assumedCapacity: Self.assumedStreamsPerConnection, idleTimeout: idleTimeout,
      backoff: backoff)
  }
}
