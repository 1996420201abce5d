// One client's connection: its streams from their first header to their last byte, and its own end.

import CNGHTTP2

/// Confined to its shard.
final class ServerConnection: HTTP2Connection {
  typealias Stream = UnsafeMutablePointer<ServerStream>

  enum TimerKind {
    static let housekeeping: UInt32 = 1
    static let drainWarning: UInt32 = 2
    static let streamDeadline: UInt32 = 3
    static let graceEnd: UInt32 = 4
    static let certificate: UInt32 = 5
  }

  /// A header list this many times the announced limit is a bomb: it ends the connection, and with it the decoding.
  static let headerBombFactor = 4
  /// The least DATA that a window is worth opening for, but for the end of a message.
  static let tinyWindowBytes = 256
  /// DATA frames from here on make up for tiny ones.
  static let decentFrameBytes = 1_024
  /// A client that never acknowledges the warning is not waited for.
  private static let drainWarningTime = Duration.seconds(1)
  /// Ours among the PINGs.
  static let drainPing: UInt64 = 0x746F_7563_6864_726E
  static let keepalivePing: UInt64 = 0x6B65_6570_6C69_7665
  /// To nghttp2, which ends a connection that has a stream more than it has announced. We count them ourselves and refuse the stream
  /// alone; `willSendFirst` puts in what the client is told.
  private static let uncountedStreams = UInt32.max
  /// Given back at once, so that no stream holds up another; memory is bounded by the limits on what is buffered.
  private static let connectionWindowBytes: Int32 = 4 << 20

  let id: ConnectionSlots.ID
  let server: ServerShard
  /// The server's: at hand for each header field.
  let routes: RouteTable
  let maxHeaderListBytes: Int
  private(set) var peer: RPCPeer
  /// See `RPCServerContext.connectionNote`.
  var note: (any AnyObject & Sendable)?

  var scanner = FrameScanner()
  var abuse: AbuseMonitor
  var pings: PingStrikes
  var keepalive: KeepaliveStateMachine
  var term: ConnectionTerm
  var drainState = DrainStateMachine()
  let acceptedAt: MonotonicTime
  var hasHandshake = false
  private var hasAdmittedCall = false
  /// The client's certificate has expired, or nobody vouches for it any more: no call begins.
  var isCertificateOver = false
  var idleSince: MonotonicTime
  /// The housekeeping timer is set to the next check of what may stall; otherwise to the next of the connection's own times.
  var isWatched = false
  /// The highest that came.
  var lastStreamID: Int32 = 0
  /// Closed by the highest without ever having been open (RFC 9113 §5.1.1): nghttp2 takes HEADERS of theirs for trailers of a stream
  /// that it no longer knows. The latest ones are enough, as clients leave out none.
  var skippedStreams: Range<Int32> = 0..<0
  /// Of the header block that is coming in, as RFC 9113 §6.5.2 counts them.
  var headerBlockBytes = 0
  /// Metadata of the calls that have not been handed over.
  var bufferedMetadataBytes = 0
  /// Requests received in part, or whole and waiting.
  var bufferedRequestBytes = 0
  /// In this turn.
  var inflatedBytes = 0
  /// Answers that the client has not taken.
  var bufferedResponseBytes = 0
  var firstStream: Stream?
  var openStreamCount = 0
  /// The one whose headers are coming in; the blocks of two streams never mix (RFC 9113 §4.3).
  var openingStream: Stream?
  var firstReady: Stream?
  var lastReady: Stream?

  init(id: ConnectionSlots.ID, server: ServerShard, transport: any Transport, peer: RPCPeer) {
    self.id = id
    self.server = server
    routes = server.routes
    maxHeaderListBytes = server.configuration.maxHeaderListBytes
    self.peer = peer
    let now = server.shard.now
    acceptedAt = now
    idleSince = now
    let configuration = server.configuration
    abuse = AbuseMonitor(limits: configuration.abuseLimits, now: now)
    pings = PingStrikes(configuration.pingEnforcement)
    keepalive = KeepaliveStateMachine(
      interval: configuration.keepalive.interval, timeout: configuration.keepalive.timeout, withoutCalls: true, now: now
    )
    term = ConnectionTerm(
      maxAge: configuration.maxConnectionAge, ageGrace: configuration.maxConnectionAgeGrace,
      idleTimeout: configuration.idleTimeout, acceptedAt: now, jitter: .random())
    super.init(
      shard: server.shard, transport: transport, session: .server(callbacks: ServerCallbacks.table))
  }

  /// False when the connection cannot be served.
  func start() -> Bool {
    guard register(for: .readable) else { return false }
    setUserTimeout(transport.descriptor, server.configuration.keepalive.timeout)
    session.submitSettings(
      [
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: Self.uncountedStreams),
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
          value: UInt32(clamping: server.configuration.streamWindowBytes)),
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
          value: UInt32(clamping: server.configuration.maxHeaderListBytes)),
        // Spares nghttp2 the dependency tree that nobody uses any more (RFC 9218 §2.1).
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES.rawValue), value: 1),
      ],
      connectionWindowBytes: Self.connectionWindowBytes)
    setTimer(TimerKind.housekeeping, after: min(server.configuration.handshakeTimeout, housekeepingInterval))
    beginHandshake()
    return true
  }

  func drain() {
    guard hasBegun else {
      close("the server is going away")
      return
    }
    guard drainState.drain() == .warn else { return }
    session.submitShutdownNotice()
    session.submitPing(Self.drainPing)
    setTimer(TimerKind.drainWarning, after: Self.drainWarningTime)
    scheduleWrite()
  }

  /// A call was admitted: it is a caller's connection, whose place is nobody else's.
  func callAdmitted() {
    guard !hasAdmittedCall else { return }
    hasAdmittedCall = true
    server.register.callAdmitted(id)
  }

  /// At once, as the place is given away; a client that reads learns that it may come again.
  func evict() {
    if isOpen {
      session.submitGoaway(.noError)
      write()
    }
    close("another connection needs the place")
  }

  /// However many calls still run then.
  func close(after grace: Duration) {
    setTimer(TimerKind.graceEnd, after: grace)
  }

  override func didHandshake() {
    peer.isEncrypted = transport.isEncrypted
    peer.certificate = transport.peerCertificate
    // The authorities may have changed during the handshake.
    reviewCertificate()
    watchCertificate()
  }

  /// The alert that says why is on its way.
  override func handshakeFailed(_ reason: String) {
    server.configuration.onHandshakeFailure?(peer.address, reason)
    linger()
  }

  override func willSendFirst(_ output: UnsafeMutableRawBufferPointer) {
    let limit = UInt32(clamping: server.configuration.maxConcurrentStreams)
    HTTP2SettingsFrame.set(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, to: limit, in: output)
  }

  override func willReceive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    count(bytes)
  }

  override func didReceive() {
    keepalive.received(at: shard.now)
    guard isOpen else { return }
    dispatchReady()
  }

  override func didWrite() {
    dispatchReady()
  }

  override func blockedBytesChanged(by count: Int) {
    responseBytesChanged(by: count)
  }

  override func didClose(_ reason: String) {
    while let stream = firstStream {
      close(stream, .connectionLost)
    }
    dispatchReady()
    server.connectionClosed(self)
  }

  override func timerExpired(_ tag: TimerTag) {
    switch tag.kind {
    case TimerKind.housekeeping: keepHouse()
    case TimerKind.drainWarning: finishDrainWarning()
    case TimerKind.streamDeadline: deadlinePassed(stream: tag.streamID)
    case TimerKind.graceEnd: close("the grace for its calls is over")
    case TimerKind.certificate: watchCertificate()
    default: super.timerExpired(tag)
    }
  }
}
