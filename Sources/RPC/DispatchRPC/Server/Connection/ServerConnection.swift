import CNGHTTP2
import Synchronization

/// One client's connection to the server. Confined to its event loop. It receives the events on the wire; the parts,
/// each a value that knows one thing about it, decide, and the extensions act:
///
/// - `ServerCallbacks` brings nghttp2's events, `+Requests` takes them, `+Refusals` answers those that no handler sees;
/// - `+Dispatch`, `+Inflating` and `+Streaming` bring requests to their handlers, `+Answers` takes their answers to
///   nghttp2;
/// - `+Streams` begins and ends streams; `+Life` begins and ends the connection.
final class ServerConnection: HTTP2Connection {
  typealias Stream = UnsafeMutablePointer<ServerStream>

  enum TimerKind {
    static let life: UInt32 = 1
    static let streamDeadline: UInt32 = 2
  }

  /// To nghttp2, which ends a connection that has a stream more than it has announced. We count them ourselves and
  /// refuse the stream alone; `willSendFirst` puts in what the client is told.
  private static let uncountedStreams = UInt32.max
  /// Given back at once, so that no stream holds up another; memory is bounded by the limits on what is buffered.
  private static let connectionWindowBytes: Int32 = 4 << 20

  let id: ConnectionSlots.ID
  let server: ServerLoop
  /// The server's: at hand for each header field.
  let routes: RouteTable
  private(set) var peer: RPCPeer
  /// See `RPCServerContext.connectionNote`.
  var note: (any AnyObject & Sendable)?
  /// True once `firstCaller` was set, which never changes afterwards. Set on the event loop.
  private let hasAdmittedCall = Atomic<Bool>(false)
  private var firstCaller = ""
  /// The connection does not have to make room for strangers.
  private var hasCallersPlace = false

  // The parts. Their methods call nothing that comes back to the connection, and only the event loop uses them: two
  // accesses never overlap. Checking that at run time costs 3 % of a call's instructions.
  @exclusivity(unchecked) var life: ConnectionLife
  @exclusivity(unchecked) var conduct: ClientConduct
  @exclusivity(unchecked) var headerBlocks: HeaderBlockRules
  /// The fields of the request that is coming in; `nil` if nghttp2 checks them.
  @exclusivity(unchecked) var fieldRules: RequestFieldRules?
  @exclusivity(unchecked) var streams = ServerStreamList()
  @exclusivity(unchecked) var ready = ReadyStreams()
  @exclusivity(unchecked) var buffered = BufferedBytes()
  @exclusivity(unchecked) var inflation = InflationBudget()
  /// When the timer of `life` expires.
  var lifeTimerTime: MonotonicTime?

  init(id: ConnectionSlots.ID, server: ServerLoop, transport: any Transport, peer: RPCPeer) {
    self.id = id
    self.server = server
    routes = server.routes
    self.peer = peer
    let (configuration, now) = (server.configuration, server.loop.now)
    life = ConnectionLife(ConnectionLife.Bounds(configuration), acceptedAt: now, jitter: .random())
    conduct = ClientConduct(configuration, now: now)
    headerBlocks = HeaderBlockRules(limitBytes: configuration.maxHeaderListBytes)
    fieldRules = peer.address.isUnix ? RequestFieldRules() : nil
    super.init(
      loop: server.loop, transport: transport,
      session: .server(callbacks: ServerCallbacks.table, checksFields: fieldRules == nil))
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
        // Spares nghttp2 the dependency tree that no client uses any more (RFC 9218 §2.1).
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES.rawValue), value: 1),
      ],
      connectionWindowBytes: Self.connectionWindowBytes)
    beginHandshake()
    reviewLife()
    return true
  }

  /// A call was admitted: the connection is a known caller's, and keeps its place if its caller has no more than
  /// others.
  func callAdmitted(of caller: String) {
    guard !hasCallersPlace else { return }
    if self.caller == nil {
      firstCaller = caller
      hasAdmittedCall.store(true, ordering: .releasing)
    }
    hasCallersPlace = server.register.callAdmitted(id, of: caller)
  }

  /// The caller of the first call that was admitted. From any thread.
  var caller: String? { hasAdmittedCall.load(ordering: .acquiring) ? firstCaller : nil }

  // MARK: Events of the transport

  override func didHandshake() {
    peer.isEncrypted = transport.isEncrypted
    peer.certificate = transport.peerCertificate
    beginLife()
  }

  /// The alert that says why is on its way.
  override func handshakeFailed(_ failure: RPCHandshakeFailure) {
    server.configuration.onHandshakeFailure?(peer.address, failure)
    linger()
  }

  override func willSendFirst(_ output: UnsafeMutableRawBufferPointer) {
    let limit = UInt32(clamping: server.configuration.maxConcurrentStreams)
    HTTP2SettingsFrame.set(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, to: limit, in: output)
  }

  override func willReceive(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
    punish(conduct.received(bytes, at: loop.now, hasCalls: !streams.isEmpty))
    return isOpen
  }

  override func didReceive() {
    life.received(at: loop.now)
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
    while let stream = streams.first {
      close(stream, .connectionLost)
    }
    dispatchReady()
    server.connectionClosed(self)
  }

  override func timerExpired(_ tag: TimerTag) {
    switch tag.kind {
    case TimerKind.life: lifeTimerExpired()
    case TimerKind.streamDeadline: deadlinePassed(stream: tag.id)
    default: super.timerExpired(tag)
    }
  }

  // MARK: Offences of the client

  func record(_ event: AbuseMonitor.Event) {
    punish(conduct.record(event, at: loop.now))
  }

  func punish(_ offence: ClientConduct.Offence?) {
    if let offence { terminate(offence.code, offence.reason) }
  }

  // MARK: Buffered bytes

  func metadataBytesChanged(by count: Int) {
    buffered.metadata += count
    server.metadataBytesChanged(by: count)
  }

  func requestBytesChanged(by count: Int) {
    buffered.requests += count
    server.requestBytesChanged(by: count)
  }

  func responseBytesChanged(by count: Int) {
    buffered.responses += count
    server.responseBytesChanged(by: count)
  }

  /// One request of the largest size always fits.
  var holdsTooManyRequests: Bool {
    buffered.requests
      > max(server.configuration.maxBufferedRequestBytesPerConnection, server.configuration.maxRequestMessageBytes)
  }

  var hasRoomForAnswers: Bool {
    buffered.responses <= server.configuration.maxBufferedResponseBytesPerConnection
  }
}
