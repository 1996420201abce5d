/// The bounds that a server sets its peers, each with its reason. The defaults suit small messages.
public struct RPCServerConfiguration: Sendable {
  /// When a silent client is probed (gRFC A8).
  public struct Keepalive: Hashable, Sendable {
    /// Without a byte from the client. gRPC's default: it finds connections whose other end is gone without a word.
    public var interval = Duration.seconds(2 * 60 * 60)
    /// For the PING's acknowledgement, and for the kernel's of anything sent (TCP_USER_TIMEOUT, gRFC A18).
    public var timeout = Duration.seconds(20)

    public init() {}
  }

  /// When an event loop has more calls than it can serve: as soon as all rounds of its event loop lasted longer than
  /// the target for an interval, calls that do not fit into a round of the target's length are refused. No call waits
  /// much longer than twice the target for its handler then.
  public struct Shedding: Hashable, Sendable {
    /// 250 calls of 100 µs: more than well-meant clients have waiting at one time, and a small part of any deadline.
    public var target = Duration.milliseconds(25)
    /// A burst that is served within this is left alone, and so is a machine that is busy with something else for a
    /// moment.
    public var interval = Duration.milliseconds(500)
    /// The calls of each round that are served however slow the machine or the calls are. All calls that two
    /// connections may have open are no overload. Beyond them, as many are served that are their connection's only
    /// call.
    public var callsAlwaysTaken = 256
    /// The target for handlers that wait for a store or a worker. If no unary call of an interval was answered within
    /// this time, only as many may run as are answered within it, but at least 256. Streams, immediate answers and
    /// calls that waited for a turn (`RPCServerCall.startWaiting`) do not count. `nil`: no limit.
    public var handlerTarget: Duration?

    public init() {}
  }

  /// How often a client may ping (gRFC A8). The third PING too soon ends its connection with `too_many_pings`; none is
  /// too soon after an answer, so that probes of bandwidth are always in order.
  public struct PingEnforcement: Hashable, Sendable {
    /// Between two PINGs without HEADERS or DATA of ours in between. gRPC's default.
    public var minimumInterval = Duration.seconds(5 * 60)
    /// While a client has no calls, too; otherwise once in two hours then.
    public var permitsWithoutCalls = false

    public init() {}
  }

  /// Event loops; connections are handed to them in turn. One per core that the server may use.
  public var eventLoops = 1
  /// 4 MiB is gRPC's default. Larger requests fail with RESOURCE_EXHAUSTED.
  public var maxRequestMessageBytes = 4 << 20
  /// A larger answer is replaced by RESOURCE_EXHAUSTED: gRPC clients refuse it anyway.
  public var maxResponseMessageBytes = 4 << 20
  /// Per connection, announced in SETTINGS. A stream more is reset with REFUSED_STREAM, which lets the client send that
  /// call again; `abuseLimits.refusedStreams` of them end the connection. gRPC clients open another connection.
  public var maxConcurrentStreams = 128
  /// The bytes that a client may send on one stream before we take them. For a stream whose handler requests no
  /// messages, this is all that is held. Room for several requests of the usual size before a WINDOW_UPDATE.
  public var streamWindowBytes = 256 << 10
  /// Names, values and 32 bytes for each field (RFC 9113 §6.5.2), announced in SETTINGS and enforced per field, so that
  /// HPACK cannot inflate a few bytes into megabytes. 16 KiB leaves room for a token and tracing headers.
  public var maxHeaderListBytes = 16 << 10
  /// The maximum of all connections. At the limit, the oldest connection without an admitted call closes. Callers have
  /// all places but a sixteenth for themselves; if those are taken, the caller with the most gives one to a caller that
  /// has at least two fewer. Further connections of callers make room as those without an admitted call do. Idle
  /// connections take 9 KB each, over TLS 24 KB: 240 MB.
  public var maxConnections = 10_000
  /// From one address, or one IPv6 /64: connections on which no call was ever admitted. The oldest of them makes room
  /// for the next. Callers behind a proxy share its address, so that those with admitted calls do not count. `nil`: an
  /// eighth of `maxConnections`, so that it takes eight addresses to fill all, and a proxy's clients have room to
  /// connect at once.
  public var maxStrangersPerAddress: Int?
  /// Handlers say which calls they admit (`RPCServerContext.admitted`). Otherwise every call that a handler gets is.
  public var handlersAdmitCalls = false
  /// Per event loop: handlers that have not answered yet, whether or not their streams are still open, so that
  /// resetting streams does not buy more work, and what waits for a store or a worker counts, unless it waits for its
  /// turn (`RPCServerCall.startWaiting`). More calls get `overloadError` at once.
  public var maxRunningCallsPerLoop = 4_096
  /// Calls are refused early rather than served late. `nil`: all are taken up, to the limit above.
  public var shedding: Shedding? = Shedding()
  /// The answer to calls for which there is no room, except those of `grpc.health.v1`, which are always served. Its
  /// metadata may bring details with RetryInfo.
  public var overloadError = RPCError(code: .unavailable, message: "the server has too many calls; try again later")
  /// `grpc-retry-pushback-ms` beside that error (gRFC A6): gRPC's clients wait as long before they try again.
  public var retryPushback: Duration? = .seconds(1)
  /// Per connection: metadata of requests that wait for their end or their turn. Beyond it its own calls fail with
  /// RESOURCE_EXHAUSTED. 2 KiB for each of its streams: a token and tracing headers.
  public var maxBufferedMetadataBytesPerConnection = 256 << 10
  /// Per connection: requests received in part, or whole and waiting, and messages of streams that their handlers have
  /// not asked for. Beyond it its own calls fail with RESOURCE_EXHAUSTED; one request of `maxRequestMessageBytes` is
  /// always allowed.
  public var maxBufferedRequestBytesPerConnection = 1 << 20
  /// Per event loop: both of the above, over all connections. Beyond it the connections that hold most are closed.
  public var maxBufferedRequestBytesPerLoop = 64 << 20
  /// Per connection: answers that the peer has not taken yet, and what its socket has not. Beyond it its requests wait,
  /// and the answers to those that run are replaced by RESOURCE_EXHAUSTED. One answer may go over it.
  public var maxBufferedResponseBytesPerConnection = 8 << 20
  /// Per stream: messages that the peer has not taken yet; beyond it the call fails with RESOURCE_EXHAUSTED. One
  /// message may go over it. Only handlers that send whatever `isWritable` says get there.
  public var maxBufferedResponseBytesPerStream = 1 << 20
  /// Per event loop: as above, over all connections. Beyond it the connections that hold most are closed.
  public var maxBufferedResponseBytesPerLoop = 128 << 20
  /// From accepting to the client's first SETTINGS.
  public var handshakeTimeout = Duration.seconds(10)
  /// From a stream's first header to its last, during which the client can say nothing else: its connection is ended.
  public var headerTimeout = Duration.seconds(10)
  /// From a stream's first header to its whole request.
  public var requestTimeout = Duration.seconds(30)
  /// From an answer to the peer having taken it, or from a stream's end to the peer taking some of what was sent
  /// before; also how long a socket may take nothing. A stream that has not ended may be read as slowly as its handler
  /// allows.
  public var responseTimeout = Duration.seconds(30)
  /// After this time without a call, 10 % more or less, the client is told to leave: the connection may have stalled in
  /// the middle of a frame.
  public var idleTimeout = Duration.seconds(15 * 60)
  /// At this age, 10 % more or less, the client is told to leave, so that clients come to use new servers (gRFC A9).
  /// `nil`: never.
  public var maxConnectionAge: Duration?
  /// From then to its end, whatever calls still run. `nil`: as long as they take.
  public var maxConnectionAgeGrace: Duration?
  /// From the end of a client's certificate, or of the trust in it, to the end of its connection, for the calls that
  /// run.
  public var certificateGrace = Duration.seconds(10)
  /// A client that does not acknowledge in this time that it is asked to leave is not waited for. Tests wait for
  /// longer.
  var drainWarningTime = Duration.seconds(1)
  /// How often a connection with calls looks after the times above, but the handshake's; they are exact to this.
  public var housekeepingInterval = Duration.seconds(5)
  public var keepalive = Keepalive()
  public var pingEnforcement = PingEnforcement()
  /// Limits on frames that cost us more than the peer.
  public var abuseLimits = AbuseLimits()
  /// A client did not get through the TLS handshake: its address, and why. Runs on the connection's event loop, as
  /// often as clients like to fail: it must not block, and its owner limits what it writes.
  public var onHandshakeFailure: (@Sendable (_ client: SocketAddress, _ failure: RPCHandshakeFailure) -> Void)?

  /// A connection could not be accepted, because the process or the machine has no free descriptors or memory. Runs on
  /// an event loop, as often as clients like to connect: as for `onHandshakeFailure`.
  public var onOutOfDescriptors: (@Sendable () -> Void)?

  /// Makes the observer of an event loop's calls, before the event loop has connections.
  ///
  /// - Parameter eventLoop: the event loop's index.
  public var observer: (@Sendable (_ eventLoop: Int) -> any RPCServerObserver)?

  public init() {}

  public init(eventLoops: Int) {
    self.eventLoops = eventLoops
  }

  private static let strangersDivisor = 8

  var strangersPerAddress: Int { maxStrangersPerAddress ?? max(1, maxConnections / Self.strangersDivisor) }
}
