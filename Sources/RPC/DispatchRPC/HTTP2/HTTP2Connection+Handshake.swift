// The first part of a connection, before any byte of HTTP/2: the transport's handshake, in turns with those of other
// connections.

extension HTTP2Connection {
  /// Called once the socket is connected. Frames that were submitted before leave after the handshake.
  final func beginHandshake() {
    if transport.isEncrypted { scheduleHandshake() } else { open() }
  }

  /// Not at once, see `HandshakeTurns`; and not watched meanwhile, as it would be reported again and again.
  func scheduleHandshake() {
    guard !handshakeIsDue else { return }
    handshakeIsDue = true
    watch([])
    loop.local(HandshakeScheduler.self).schedule(self)
  }

  final func continueHandshake() {
    handshakeIsDue = false
    guard phase == .handshaking else { return }
    switch transport.handshake() {
    case .done:
      open()
      watch(.readable)
      // The peer's first frames may have come with the end of its handshake.
      receive()
    case .wantsRead: watch(.readable)
    case .wantsWrite: watch(.writable)
    case .failed(let failure): handshakeFailed(failure)
    }
  }

  private func open() {
    phase = .open
    didHandshake()
    scheduleWrite()
  }
}
