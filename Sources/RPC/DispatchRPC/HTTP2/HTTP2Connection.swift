import Glibc

/// The part that both ends of an HTTP/2 connection share: bytes from the socket into nghttp2, and its output back in
/// one write a round. Confined to its event loop, which holds it until it is closed.
class HTTP2Connection: ReadinessHandler, HandshakingConnection {
  /// After our last byte the peer's close is awaited: closing on unread bytes would send a TCP reset, and the peer
  /// could lose answers that it has not read yet.
  private static let lingerTime = Duration.seconds(1)
  /// Timer tags of the subclasses start above.
  static let lingerTimer: UInt32 = 0

  enum Phase {
    /// The transport's handshake comes first; not a byte of HTTP/2 has passed.
    case handshaking
    case open
    /// nghttp2 gave up on the input, or we on the peer; GOAWAY is on its way out.
    case broken
    /// Our side is finished; what still arrives is thrown away.
    case lingering
    case closed
  }

  let loop: EventLoop
  let buffers: WireBuffers
  let transport: any Transport
  let session: HTTP2Session

  final var phase = Phase.handshaking
  /// `nil` until the kernel watches the descriptor.
  private var key: UInt64?
  private var watched = Readiness.readable
  final var handshakeIsDue = false
  final var writeIsDue = false
  final var hasOutput = false
  /// Nothing more of the session's output is sent.
  final var lastWordIsSaid = false
  final var blocked = BlockedOutput()
  private var timers: [UInt32: EventLoop.TimerHandle] = [:]

  init(loop: EventLoop, transport: any Transport, session: consuming HTTP2Session) {
    self.loop = loop
    buffers = loop.local(WireBuffers.self)
    self.transport = transport
    self.session = session
    self.session.setUserData(Unmanaged.passUnretained(self).toOpaque())
  }

  /// False when the kernel cannot watch another descriptor.
  final func register(for readiness: Readiness) -> Bool {
    guard let key = loop.register(self, descriptor: transport.descriptor, for: readiness) else { return false }
    self.key = key
    watched = readiness
    return true
  }

  /// HTTP/2 has begun, or ended already.
  final var hasBegun: Bool { phase != .handshaking }

  /// Calls can still be answered.
  final var isOpen: Bool { phase == .open }

  final var canWrite: Bool { phase == .open || phase == .broken }

  // MARK: For subclasses

  /// The transport is ready for HTTP/2.
  func didHandshake() {}

  /// The peer gets the reason, as far as that is possible.
  func handshakeFailed(_ failure: RPCHandshakeFailure) {
    close(failure.reason)
  }

  /// Before nghttp2 sees the bytes, which may be changed. False when it must not.
  func willReceive(_ bytes: UnsafeMutableRawBufferPointer) -> Bool { true }

  /// The session's first output before it leaves: a server's SETTINGS (RFC 9113 §3.4).
  func willSendFirst(_ output: UnsafeMutableRawBufferPointer) {}

  /// A read went through the callbacks.
  func didReceive() {}

  /// All output is with the kernel.
  func didWrite() {}

  /// Called when the number of bytes that wait for the socket changes.
  func blockedBytesChanged(by count: Int) {}

  /// Once, when the connection is of no more use; every call that still runs is lost.
  func didClose(_ reason: String) {}

  func timerExpired(_ tag: TimerTag) {
    if tag.kind == Self.lingerTimer { close("finished") }
  }

  // MARK: Timers

  /// At most one of a kind; a new one replaces it.
  final func setTimer(_ kind: UInt32, after duration: Duration) {
    setTimer(kind, at: loop.now.advanced(by: duration))
  }

  final func setTimer(_ kind: UInt32, at time: MonotonicTime) {
    cancelTimer(kind)
    timers[kind] = loop.setTimer(at: time, for: registeredKey, tag: TimerTag(kind: kind))
  }

  final func cancelTimer(_ kind: UInt32) {
    if let timer = timers.removeValue(forKey: kind) { loop.cancelTimer(timer) }
  }

  final func setStreamTimer(_ kind: UInt32, stream: Int32, at time: MonotonicTime) -> EventLoop.TimerHandle {
    loop.setTimer(at: time, for: registeredKey, tag: TimerTag(kind: kind, id: stream))
  }

  private var registeredKey: UInt64 {
    guard let key else { preconditionFailure("a connection has timers only once it is registered") }
    return key
  }

  // MARK: Reading

  /// The stream's; the connection's is given back when the bytes come.
  final func giveWindowBack(_ count: Int, ofStream id: Int32) {
    session.consumeStream(count, ofStream: id)
    if session.wantsWrite { scheduleWrite() }
  }

  func ready(_ readiness: Readiness) {
    guard hasBegun else {
      scheduleHandshake()
      return
    }
    if readiness.contains(.writable) { scheduleWrite() }
    if !readiness.isDisjoint(with: [.readable, .broken]) {
      if watched.contains(.readable) {
        receive()
      } else if !readiness.isDisjoint(with: .broken) {
        close("connection reset")
      }
    }
  }

  final func receive() {
    switch transport.receive(into: buffers.received) {
    case .bytes(let count):
      if transport.hasUnreadInput { scheduleAnotherRead() }
      let bytes = UnsafeMutableRawBufferPointer(rebasing: buffers.received[..<count])
      guard isOpen, willReceive(bytes) else { return }
      let failure = session.receive(UnsafeRawBufferPointer(bytes))
      didReceive()
      if let failure { terminate(.protocolError, debugData: failure) }
      if session.wantsWrite || !session.wantsRead { scheduleWrite() }
    case .wouldBlock:
      break
    case .ended:
      close("closed by the peer")
    case .failed(let reason):
      close(reason)
    }
  }

  final func watch(_ readiness: Readiness) {
    guard readiness != watched else { return }
    watched = readiness
    loop.watch(registeredKey, descriptor: transport.descriptor, for: readiness)
    if readiness.contains(.readable), transport.hasUnreadInput { scheduleAnotherRead() }
  }

  /// epoll does not report bytes that the transport holds.
  private func scheduleAnotherRead() {
    LoopConfined(self, on: loop).execute { $0.readAgain() }
  }

  private func readAgain() {
    if phase != .closed, watched.contains(.readable), transport.hasUnreadInput { receive() }
  }

  // MARK: Closing

  /// Ends the connection for what the peer does: GOAWAY with the reason as its debug data, and nothing is read any
  /// more.
  final func terminate(_ code: HTTP2ErrorCode, _ reason: StaticString) {
    terminate(code, debugData: UnsafeRawBufferPointer(reason))
  }

  private func terminate(_ code: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer) {
    guard phase == .open else { return }
    phase = .broken
    session.submitGoaway(code, debugData: debugData)
    // nghttp2 stops reading at once. A server's second GOAWAY is not sent, because `lastWordSent` comes before it.
    session.terminate(code)
    scheduleWrite()
    // The peer may never read what is still to be written.
    setTimer(Self.lingerTimer, after: Self.lingerTime)
  }

  /// The GOAWAY of `terminate` is in the output.
  final func lastWordSent() {
    lastWordIsSaid = true
  }

  /// Says that nothing follows, and waits a moment for the peer to close.
  final func finish() {
    if canWrite { linger() }
  }

  /// As `finish`, before HTTP/2 began too.
  final func linger() {
    phase = .lingering
    transport.finishSending()
    watch(.readable)
    setTimer(Self.lingerTimer, after: Self.lingerTime)
  }

  final func close(_ reason: String) {
    loop.assertIsCurrent()
    guard phase != .closed else { return }
    phase = .closed
    for timer in timers.values { loop.cancelTimer(timer) }
    timers = [:]
    dropBlocked()
    if let key { loop.unregister(key, descriptor: transport.descriptor) }
    transport.close()
    didClose(reason)
  }
}

/// Memory that the connections of one event loop take turns with, as each of them uses it for a moment. Large buffers
/// and zlib's state would be too much for each connection.
final class WireBuffers: LoopLocal {
  /// For one read(2) or send(2) each.
  private static let ioBytes = 128 << 10

  let received = UnsafeMutableRawBufferPointer.allocate(byteCount: ioBytes, alignment: 16)
  let sending = UnsafeMutableRawBufferPointer.allocate(byteCount: ioBytes, alignment: 16)
  /// Header fields on their way into nghttp2.
  var headerBlock = HeaderBlock()
  let gzip = Gzip()

  init(on loop: EventLoop) {}

  deinit {
    received.deallocate()
    sending.deallocate()
  }
}
