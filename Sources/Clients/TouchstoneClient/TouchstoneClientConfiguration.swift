// The settings of a client, and the options of each call.

public import CoreMetrics
public import DispatchPool
public import DispatchRPC
internal import RPCChannel

public struct TouchstoneClientConfiguration: Sendable {
  /// "host:port", "[IPv6 address]:port" or "unix:path", or a list of the first two with commas between them. Names are
  /// resolved again whenever a connection is lost.
  public var target: String
  /// How calls are spread over the target's addresses: all to one that works, or over all of them.
  public var balancing = PoolBalancing.pickFirst
  /// Connections to each address in use, open from the first call on. A call uses the connection with the fewest calls:
  /// as many connections as the service has event loops let the client use all of them.
  public var minimumConnections: Int
  /// More are opened when all streams of the open ones are in use.
  public var maximumConnections: Int
  /// Threads for the sockets' work; connections share them.
  public var eventLoops: Int
  /// Does the sockets' work instead of threads of the client's own.
  package var eventLoop: EventLoop?
  /// Calls that may wait for a stream. A further call fails with RESOURCE_EXHAUSTED.
  public var maximumWaitingCalls = 1024
  /// From the call to its answer, including waits and retries, if the call does not set its own.
  public var defaultTimeout = Duration.seconds(10)
  /// Sent with each call: `authorization` and so on.
  public var metadata: Metadata
  /// `nil`: plaintext, for a service on this machine or behind something that encrypts.
  public var tls: RPCClientTLS?
  /// Sends `authorization` unencrypted to other machines. Otherwise such calls fail with UNAUTHENTICATED.
  public var allowsAuthorizationInPlaintext = false
  /// The backend that counts the client's calls (docs/METRICS.md). `nil`: the one that was bootstrapped before the
  /// client was made.
  public var metrics: (any MetricsFactory)?
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
    channel.eventLoop = eventLoop
    channel.maximumWaitingCalls = maximumWaitingCalls
    channel.backoff = backoff
    channel.connection.userAgent = "touchstone-client"
    channel.connection.keepalive = RPCClientConfiguration.Keepalive()
    channel.connection.tls = tls
    channel.methods = RepeatedCalls.policies
    channel.defaultPolicy = RepeatedCalls.defaultPolicy
    channel.throttling = RPCRetryThrottling()
    channel.observer = ClientMeters(metrics ?? MetricsSystem.factory, target: target)
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
  /// The language of texts in the answer, as in Accept-Language (RFC 9110 §12.5.4): "zh-Hans, en;q=0.5".
  public var languages: String?
  /// Sent in addition to the client's.
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
