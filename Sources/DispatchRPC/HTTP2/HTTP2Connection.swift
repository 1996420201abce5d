// What both ends of a connection share: bytes from the socket into nghttp2, and its output back in one write per wake-up.

import Glibc

/// An HTTP/2 connection on a shard. Confined to the shard; released when closed.
class HTTP2Connection: ReadinessHandler, HandshakingConnection {
  /// Frames waiting behind a blocked socket before we stop reading what would cause more.
  private static let queuedFrameLimit = 256
  /// Bytes written to one connection before the others get their turn.
  private static let writeBudgetBytes = 1 << 20
  /// The largest piece nghttp2 hands out: a frame of 16 KiB with its header and padding length.
  private static let largestOutputBytes = (16 << 10) + 10
  /// After our last byte the peer's close is awaited: closing on unread bytes would send a TCP reset, and the peer could
  /// lose answers that it has not read yet.
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

  let shard: RPCShard
  let transport: any Transport
  let session: HTTP2Session

  final var phase = Phase.handshaking
  /// `nil` until the kernel watches the descriptor.
  private var key: UInt64?
  private var watched = Readiness.readable
  final var handshakeIsDue = false
  private var writeIsDue = false
  private var hasOutput = false
  /// Of the session's output nothing more is wanted.
  private var lastWordIsSaid = false
  /// What the socket did not take, from `blockedOffset`.
  private var blocked: [UInt8] = []
  private var blockedOffset = 0
  /// Since when the socket takes nothing.
  private(set) var blockedSince: MonotonicTime?
  private var timers: [UInt32: RPCShard.TimerHandle] = [:]

  init(shard: RPCShard, transport: any Transport, session: consuming HTTP2Session) {
    self.shard = shard
    self.transport = transport
    self.session = session
    self.session.setUserData(Unmanaged.passUnretained(self).toOpaque())
  }

  /// False when the kernel cannot watch another descriptor.
  final func register(for readiness: Readiness) -> Bool {
    guard let key = shard.register(self, descriptor: transport.descriptor, for: readiness) else { return false }
    self.key = key
    watched = readiness
    return true
  }

  /// HTTP/2 has begun, or ended already.
  final var hasBegun: Bool { phase != .handshaking }

  /// Calls can still be answered.
  final var isOpen: Bool { phase == .open }

  private var canWrite: Bool { phase == .open || phase == .broken }

  // MARK: For subclasses

  /// The transport is ready for HTTP/2.
  func didHandshake() {}

  /// The peer was told why, as far as that is possible.
  func handshakeFailed(_ reason: String) {
    close(reason)
  }

  /// Before nghttp2 sees the bytes. False when it must not.
  func willReceive(_ bytes: UnsafeRawBufferPointer) -> Bool { true }

  /// The session's first output before it leaves: a server's SETTINGS (RFC 9113 §3.4).
  func willSendFirst(_ output: UnsafeMutableRawBufferPointer) {}

  /// A read went through the callbacks.
  func didReceive() {}

  /// All output is with the kernel.
  func didWrite() {}

  /// What waits for the socket to take it is more or less than before.
  func blockedBytesChanged(by count: Int) {}

  /// Once, when the connection is of no more use; every call that still runs is lost.
  func didClose(_ reason: String) {}

  func timerExpired(_ tag: TimerTag) {
    if tag.kind == Self.lingerTimer { close("finished") }
  }

  // MARK: Timers

  /// At most one of a kind; a new one replaces it.
  final func setTimer(_ kind: UInt32, after duration: Duration) {
    setTimer(kind, at: shard.now.advanced(by: duration))
  }

  final func setTimer(_ kind: UInt32, at time: MonotonicTime) {
    cancelTimer(kind)
    timers[kind] = shard.setTimer(at: time, for: registeredKey, tag: TimerTag(kind: kind))
  }

  final func cancelTimer(_ kind: UInt32) {
    if let timer = timers.removeValue(forKey: kind) { shard.cancelTimer(timer) }
  }

  final func setStreamTimer(_ kind: UInt32, stream: Int32, at time: MonotonicTime) -> RPCShard.TimerHandle {
    shard.setTimer(at: time, for: registeredKey, tag: TimerTag(kind: kind, streamID: stream))
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
    switch transport.receive(into: shard.receiveBuffer) {
    case .bytes(let count):
      if transport.hasUnreadInput { scheduleAnotherRead() }
      let bytes = UnsafeRawBufferPointer(rebasing: shard.receiveBuffer[..<count])
      guard isOpen, willReceive(bytes) else { return }
      let isWhole = session.receive(bytes)
      didReceive()
      if !isWhole {
        phase = .broken
        session.terminate(.protocolError)
        // The peer may never read what is still to be written.
        setTimer(Self.lingerTimer, after: Self.lingerTime)
      }
      if session.wantsWrite || !session.wantsRead { scheduleWrite() }
    case .wouldBlock:
      break
    case .ended:
      close("closed by the peer")
    case .failed(let reason):
      close(reason)
    }
  }

  /// Of what the transport holds epoll knows nothing.
  private func scheduleAnotherRead() {
    let connection = ShardConfined(self)
    shard.execute { connection.value.readAgain() }
  }

  private func readAgain() {
    if phase != .closed, watched.contains(.readable), transport.hasUnreadInput { receive() }
  }

  // MARK: Writing

  /// Output is collected at the end of this wake-up.
  final func scheduleWrite() {
    guard !writeIsDue, canWrite else { return }
    writeIsDue = true
    shard.needsWrite(self)
  }

  final func write() {
    writeIsDue = false
    guard canWrite, sendBlocked(), sendOutput() else { return }
    watch(blocked.isEmpty ? .readable : readinessWhileBlocked)
    guard blocked.isEmpty else { return }
    if lastWordIsSaid || !session.wantsRead && !session.wantsWrite {
      finish()
    } else {
      didWrite()
    }
  }

  private var readinessWhileBlocked: Readiness {
    session.queuedFrameCount > Self.queuedFrameLimit ? .writable : [.readable, .writable]
  }

  final func watch(_ readiness: Readiness) {
    guard readiness != watched else { return }
    watched = readiness
    shard.watch(registeredKey, descriptor: transport.descriptor, for: readiness)
    if readiness.contains(.readable), transport.hasUnreadInput { scheduleAnotherRead() }
  }

  /// What an earlier write left. False when the connection failed.
  private func sendBlocked() -> Bool {
    guard !blocked.isEmpty else { return true }
    let result = blocked.withUnsafeBytes { transport.send(UnsafeRawBufferPointer(rebasing: $0[blockedOffset...])) }
    switch result {
    case .bytes(let count):
      blockedOffset += count
      blockedSince = shard.now
      if blockedOffset == blocked.count { clearBlocked() }
      return true
    case .wouldBlock:
      return true
    case .ended, .failed:
      close("connection lost while writing")
      return false
    }
  }

  private func clearBlocked() {
    blockedBytesChanged(by: -blocked.count)
    blocked = []
    blockedOffset = 0
    blockedSince = nil
  }

  /// Fills the shard's buffer and sends it, until there is no more, the socket is full or others wait for their turn. False
  /// when the connection failed.
  private func sendOutput() -> Bool {
    var budget = Self.writeBudgetBytes
    while blocked.isEmpty {
      guard let count = collectOutput() else {
        close("HTTP/2 session failed")
        return false
      }
      if count == 0 { return true }
      guard send(UnsafeRawBufferPointer(rebasing: shard.sendBuffer[..<count])) else { return false }
      budget -= count
      if budget <= 0 {
        scheduleAnotherTurn()
        return true
      }
    }
    return true
  }

  /// The number of bytes put into the shard's buffer; `nil` when nghttp2 failed.
  private func collectOutput() -> Int? {
    var count = 0
    while !lastWordIsSaid, count + Self.largestOutputBytes <= shard.sendBuffer.count {
      guard let output = session.nextOutput() else { return nil }
      if output.isEmpty { break }
      precondition(output.count <= shard.sendBuffer.count - count, "nghttp2 hands out single frames of 16 KiB")
      let copy = UnsafeMutableRawBufferPointer(rebasing: shard.sendBuffer[count..<count + output.count])
      copy.copyMemory(from: output)
      if !hasOutput {
        hasOutput = true
        willSendFirst(copy)
      }
      count += output.count
    }
    return count
  }

  private func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch transport.send(bytes) {
    case .bytes(bytes.count):
      return true
    case .bytes(let count):
      block(UnsafeRawBufferPointer(rebasing: bytes[count...]))
      return true
    case .wouldBlock:
      block(bytes)
      return true
    case .ended, .failed:
      close("connection lost while writing")
      return false
    }
  }

  private func block(_ rest: UnsafeRawBufferPointer) {
    blocked = Array(rest)
    blockedOffset = 0
    blockedSince = shard.now
    blockedBytesChanged(by: blocked.count)
  }

  /// A later wake-up, so that the other connections are written first.
  private func scheduleAnotherTurn() {
    let connection = ShardConfined(self)
    shard.execute { connection.value.scheduleWrite() }
  }

  // MARK: Closing

  /// Ends the connection for what the peer does: GOAWAY with the reason as its debug data, and nothing is read any more.
  final func terminate(_ code: HTTP2ErrorCode, _ reason: StaticString) {
    guard phase == .open else { return }
    phase = .broken
    session.submitGoaway(code, debugData: UnsafeRawBufferPointer(reason))
    // nghttp2 stops reading at once. Its own GOAWAY is not sent, as `lastWordSent` comes before.
    session.terminate(code)
    scheduleWrite()
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
    guard phase != .closed else { return }
    phase = .closed
    for timer in timers.values { shard.cancelTimer(timer) }
    timers = [:]
    if !blocked.isEmpty { clearBlocked() }
    if let key { shard.unregister(key, descriptor: transport.descriptor) }
    transport.close()
    didClose(reason)
  }
}
