// What a client is told once, and what each call may say otherwise.

public import DispatchPool
public import DispatchRPC
internal import RPCChannel

public struct TouchstoneClientConfiguration: Sendable {
  /// "host:port", "[IPv6 address]:port" or "unix:path", or a list of the first two with commas between. Names are looked up
  /// anew whenever a connection is lost.
  public var target: String
  /// How calls are spread over the target's addresses: all to one that works, or over all of them.
  public var balancing = PoolBalancing.pickFirst
  /// Kept open from the first call on, to each address in use. Calls go to the connection with the fewest: as many as the
  /// service has shards let it use all of them.
  public var minimumConnections: Int
  /// More are opened when every stream of those that are there is taken.
  public var maximumConnections: Int
  /// Threads' worth of work with sockets; connections take turns.
  public var eventLoops: Int
  /// Calls that may wait for a stream. The next one fails with RESOURCE_EXHAUSTED.
  public var maximumWaitingCalls = 1024
  /// From the call to its answer, waits and retries included, where the call does not say.
  public var defaultTimeout = Duration.seconds(10)
  /// Sent with each call: `authorization` and the like.
  public var metadata: Metadata
  /// `nil`: plaintext, for a service on this machine or behind something that encrypts.
  public var tls: RPCClientTLS?
  /// Lets `authorization` travel unencrypted to another machine. Otherwise such calls fail with UNAUTHENTICATED.
  public var allowsAuthorizationInPlaintext = false
  var backoff = BackoffConfiguration()

  public init(
    target: String, minimumConnections: Int = 1, maximumConnections: Int = 8, eventLoops: Int = 1,
    metadata: Metadata = []
  ) {
    self.target = target
    self.minimumConnections = minimumConnections
    self.maximumConnections = maximumConnections
    self.eventLoops = eventLoops
    self.metadata = metadata
  }

  var channel: RPCChannelConfiguration {
    var channel = RPCChannelConfiguration()
    channel.balancing = balancing
    channel.shufflesEndpoints = balancing != .pickFirst
    channel.minimumConnections = minimumConnections
    channel.maximumConnections = maximumConnections
    channel.eventLoops = eventLoops
    channel.maximumWaitingCalls = maximumWaitingCalls
    channel.backoff = backoff
    channel.connection.userAgent = "touchstone-client"
    channel.connection.keepalive = RPCClientConfiguration.Keepalive()
    channel.connection.tls = tls
    channel.methods = RepeatableMethods.policies
    channel.defaultPolicy = RepeatableMethods.defaultPolicy
    channel.throttling = RPCRetryThrottling()
    channel.allowsAuthorizationInPlaintext = allowsAuthorizationInPlaintext
    return channel
  }
}

public struct CallOptions: Sendable {
  public static let `default` = CallOptions()

  /// `nil`: the client's default.
  public var timeout: Duration?
  /// Wait for a connection while the service is out of reach, instead of failing with UNAVAILABLE
  /// (grpc/grpc doc/wait-for-ready.md).
  public var waitForReady: Bool
  /// For the texts in the answer, as in Accept-Language (RFC 9110 §12.5.4): "zh-Hans, en;q=0.5".
  public var languages: String?
  /// Beside the client's.
  public var metadata: Metadata

  public init(
    timeout: Duration? = nil, waitForReady: Bool = false, languages: String? = nil, metadata: Metadata = []
  ) {
    self.timeout = timeout
    self.waitForReady = waitForReady
    self.languages = languages
    self.metadata = metadata
  }
}
