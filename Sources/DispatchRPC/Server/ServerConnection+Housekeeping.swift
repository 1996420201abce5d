// Looks after everything on a connection that may stall for ever, and after its orderly end.

extension ServerConnection {
  var housekeepingInterval: Duration { server.configuration.housekeepingInterval }

  func finishDrainWarning() {
    guard drainState.warningSeen() == .refuseNewStreams else { return }
    cancelTimer(TimerKind.drainWarning)
    session.submitGoaway(.noError)
    scheduleWrite()
  }

  /// A connection without streams sleeps until one of its own times comes.
  func watchStreams() {
    guard !isWatched else { return }
    isWatched = true
    setTimer(TimerKind.housekeeping, after: housekeepingInterval)
  }

  func keepHouse() {
    let now = shard.now
    guard hasHandshake || now < handshakeDue else {
      close("no HTTP/2 preface in time")
      return
    }
    guard hasBegun else {
      setTimer(TimerKind.housekeeping, at: handshakeDue)
      return
    }
    guard isOpen else { return }
    if let blockedSince, blockedSince.advanced(by: server.configuration.responseTimeout) <= now {
      close("the client does not read")
      return
    }
    if let openingStream, openingStream.pointee.since.advanced(by: server.configuration.headerTimeout) <= now {
      terminate(.enhanceYourCalm, "headers_too_slow")
      return
    }
    resetStalledStreams(at: now)
    guard isOpen, let next = keepTimes(at: now) else { return }
    isWatched = firstStream != nil || blockedSince != nil
    let due = isWatched ? min(next, now.advanced(by: housekeepingInterval)) : next
    setTimer(TimerKind.housekeeping, at: hasHandshake ? due : min(due, handshakeDue))
  }

  private var handshakeDue: MonotonicTime { acceptedAt.advanced(by: server.configuration.handshakeTimeout) }

  /// Age, idleness and the keepalive PING. When to look again; `nil` when the connection is closed.
  private func keepTimes(at now: MonotonicTime) -> MonotonicTime? {
    var next: MonotonicTime
    switch term.timerExpired(at: now, idleSince: firstStream == nil ? idleSince : nil) {
    case .wait(let until):
      next = until
    case .drain(let until):
      drain()
      next = until
    case .close:
      close("the connection's grace is over")
      return nil
    }
    switch keepalive.timerExpired(at: now, hasCalls: firstStream != nil) {
    case .wait(let until):
      next = min(next, until)
    case .probe(let until):
      session.submitPing(Self.keepalivePing)
      scheduleWrite()
      next = min(next, until)
    case .giveUp:
      close("the client does not answer a keepalive PING")
      return nil
    }
    return next
  }

  private func resetStalledStreams(at now: MonotonicTime) {
    var current = firstStream
    while let stream = current {
      current = stream.pointee.next
      let limit: Duration
      switch stream.pointee.phase {
      case .receiving: limit = server.configuration.requestTimeout
      case .answered: limit = server.configuration.responseTimeout
      case .ready, .running: continue
      }
      if stream.pointee.since.advanced(by: limit) <= now {
        session.submitReset(.cancel, stream: stream.pointee.id)
        scheduleWrite()
        record(.invalidFrame)
      }
    }
  }
}
