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
  }

  /// A client that never acknowledges the warning is not waited for.
  private static let drainWarningTime = Duration.seconds(1)
  /// Ours among the PINGs.
  static let drainPing: UInt64 = 0x746F_7563_6864_726E
  /// Given back at once, so that no stream holds up another; memory is bounded by the limits on what is buffered.
  private static let connectionWindowBytes: Int32 = 4 << 20

  let server: ServerShard
  let peer: RPCPeer
  /// See `RPCServerContext.connectionNote`.
  var note: (any AnyObject & Sendable)?

  var abuse: AbuseMonitor
  var drainState = DrainStateMachine()
  let acceptedAt: MonotonicTime
  var hasHandshake = false
  var idleSince: MonotonicTime
  /// Metadata of the calls that have not been handed over.
  var bufferedMetadataBytes = 0
  /// Requests received in part, or whole and waiting.
  var bufferedRequestBytes = 0
  /// In this turn.
  var inflatedBytes = 0
  /// Answers that the client has not taken.
  var bufferedResponseBytes = 0
  var firstStream: Stream?
  /// The one whose headers are coming in; the blocks of two streams never mix (RFC 9113 §4.3).
  var openingStream: Stream?
  var firstReady: Stream?
  var lastReady: Stream?

  init(server: ServerShard, transport: any Transport, peer: RPCPeer) {
    self.server = server
    self.peer = peer
    let now = server.shard.now
    acceptedAt = now
    idleSince = now
    abuse = AbuseMonitor(limits: server.configuration.abuseLimits, now: now)
    super.init(
      shard: server.shard, transport: transport, session: .server(callbacks: ServerCallbacks.table))
  }

  /// False when the connection cannot be served.
  func start() -> Bool {
    guard register(for: .readable) else { return false }
    session.submitSettings(
      [
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
          value: UInt32(clamping: server.configuration.maxConcurrentStreams)),
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
    setTimer(TimerKind.housekeeping, after: housekeepingInterval)
    scheduleWrite()
    return true
  }

  func drain() {
    guard drainState.drain() == .warn else { return }
    session.submitShutdownNotice()
    session.submitPing(Self.drainPing)
    setTimer(TimerKind.drainWarning, after: Self.drainWarningTime)
    scheduleWrite()
  }

  /// However many calls still run then.
  func close(after grace: Duration) {
    setTimer(TimerKind.graceEnd, after: grace)
  }

  override func didReceive() {
    dispatchReady()
  }

  override func didWrite() {
    dispatchReady()
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
    case TimerKind.graceEnd: close("the server stopped")
    default: super.timerExpired(tag)
    }
  }
}
