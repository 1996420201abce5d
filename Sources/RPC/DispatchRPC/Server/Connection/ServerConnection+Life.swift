// The life of a server's connection: it performs the steps that `ConnectionLife` names, and ends.

extension ServerConnection {
  /// Ours among the PINGs.
  static let drainPing: UInt64 = 0x746F_7563_6864_726E
  private static let keepalivePing: UInt64 = 0x6B65_6570_6C69_7665

  // MARK: Time

  /// After a change that may bring the next deadline forward: it is asked for again in this round.
  func reviewLife() {
    setLifeTimer(to: loop.now)
  }

  func lifeTimerExpired() {
    lifeTimerTime = nil
    while phase == .open || phase == .handshaking {
      switch life.timePassed(to: loop.now, isBlocked: !blocked.isEmpty) {
      case .step(let step): take(step)
      case .wait(let until):
        setLifeTimer(to: until)
        return
      }
    }
  }

  private func setLifeTimer(to time: MonotonicTime) {
    guard time != lifeTimerTime else { return }
    lifeTimerTime = time
    setTimer(TimerKind.life, at: time)
  }

  private func take(_ step: ConnectionLife.Step?) {
    switch step {
    case .look:
      endWhatStalls()
      if isOpen, streams.isEmpty, blocked.isEmpty { session.giveIdleMemoryBack() }
    case .warn:
      session.submitShutdownNotice()
      session.submitPing(Self.drainPing)
      scheduleWrite()
    case .refuseNewStreams:
      session.submitGoaway(.noError)
      scheduleWrite()
      var current = streams.first
      while let stream = current {
        current = stream.pointee.next
        stream.pointee.streaming?.connectionIsLeaving()
      }
    case .probe:
      session.submitPing(Self.keepalivePing)
      scheduleWrite()
    case .checkCertificate: checkCertificate()
    case .close(let ending): close(ending.rawValue)
    case nil: break
    }
  }

  // MARK: Beginning and end

  func beginLife() {
    life.begin()
    // The authorities may have changed during the handshake.
    reviewCertificate()
    checkCertificate()
    reviewLife()
  }

  func settingsReceived() {
    life.settingsReceived()
  }

  func pingAcknowledged(_ payload: UInt64) {
    if payload == Self.drainPing { take(life.warningSeen()) }
  }

  /// Asks the client to leave, once its calls have ended.
  func drain() {
    take(life.leave(at: loop.now))
    if phase != .closed { reviewLife() }
  }

  /// Then it ends, however many calls still run.
  func close(after grace: Duration) {
    life.end(at: loop.now.advanced(by: grace))
    reviewLife()
  }

  /// At once, as the place is given away; a client that reads learns that it may come again.
  func evict() {
    if isOpen {
      session.submitGoaway(.noError)
      write()
    }
    close("another connection needs the place")
  }

  // MARK: The client's certificate

  /// After the authorities changed.
  func reviewCertificate() {
    guard life.canCertificateEnd, !transport.isTrusted else { return }
    take(life.certificateEnded(at: loop.now))
    reviewLife()
  }

  private func checkCertificate() {
    guard let validity = transport.certificateValidity else { return }
    take(life.certificateIsValid(for: validity, at: loop.now))
  }

  // MARK: Stalls

  private func endWhatStalls() {
    let (configuration, now) = (server.configuration, loop.now)
    if let since = blocked.since, since.advanced(by: configuration.responseTimeout) <= now {
      close("the client does not read")
      return
    }
    if let opening = streams.opening, opening.pointee.since.advanced(by: configuration.headerTimeout) <= now {
      terminate(.enhanceYourCalm, "headers_too_slow")
      return
    }
    var current = streams.first
    while let stream = current {
      current = stream.pointee.next
      if stream.pointee.isStalled(at: now, configuration) {
        session.submitReset(.cancel, stream: stream.pointee.id)
        scheduleWrite()
        record(.invalidFrame)
      }
    }
  }
}

extension ServerStream {
  /// It waits for its client for too long.
  fileprivate func isStalled(at now: MonotonicTime, _ configuration: RPCServerConfiguration) -> Bool {
    switch phase {
    case .receiving: since.advanced(by: configuration.requestTimeout) <= now
    case .answered: since.advanced(by: configuration.responseTimeout) <= now
    case .ready, .running: false
    }
  }
}
