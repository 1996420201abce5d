// Looks after everything on a connection that may stall for ever, and after its orderly end.

extension ServerConnection {
  var housekeepingInterval: Duration {
    min(server.configuration.housekeepingInterval, server.configuration.handshakeTimeout)
  }

  func finishDrainWarning() {
    guard drainState.warningSeen() == .refuseNewStreams else { return }
    cancelTimer(TimerKind.drainWarning)
    session.submitGoaway(.noError)
    scheduleWrite()
  }

  /// Looks after everything that may stall for ever.
  func keepHouse() {
    let now = shard.now
    setTimer(TimerKind.housekeeping, after: housekeepingInterval)
    if !hasHandshake && acceptedAt.advanced(by: server.configuration.handshakeTimeout) <= now {
      close("no HTTP/2 preface in time")
    } else if let blockedSince, blockedSince.advanced(by: server.configuration.responseTimeout) <= now {
      close("the client does not read")
    } else if firstStream == nil && idleSince.advanced(by: server.configuration.idleTimeout) <= now {
      drain()
    } else {
      resetStalledStreams(at: now)
    }
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
      }
    }
  }
}
