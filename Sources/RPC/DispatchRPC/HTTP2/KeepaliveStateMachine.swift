/// When to probe a silent connection, and when to give it up (gRFC A8). Pure; time is an argument.
struct KeepaliveStateMachine {
  private enum State {
    case listening(since: MonotonicTime)
    case probing(since: MonotonicTime)
  }

  private let interval: Duration
  private let timeout: Duration
  private let withoutCalls: Bool
  private var state: State

  init(interval: Duration, timeout: Duration, withoutCalls: Bool, now: MonotonicTime) {
    self.interval = interval
    self.timeout = timeout
    self.withoutCalls = withoutCalls
    state = .listening(since: now)
  }

  /// Bytes came: whatever they say, the peer lives.
  mutating func received(at now: MonotonicTime) {
    state = .listening(since: now)
  }

  enum OnTimer: Equatable {
    case wait(until: MonotonicTime)
    /// Send a PING.
    case probe(until: MonotonicTime)
    /// The PING was not acknowledged in time.
    case giveUp
  }

  /// At the time that the last call named, or at any other.
  mutating func timerExpired(at now: MonotonicTime, hasCalls: Bool) -> OnTimer {
    switch state {
    case .listening(let since):
      let due = since.advanced(by: interval)
      guard due <= now else { return .wait(until: due) }
      guard hasCalls || withoutCalls else {
        return .wait(until: now.advanced(by: interval))
      }
      state = .probing(since: now)
      return .probe(until: now.advanced(by: timeout))
    case .probing(let since):
      let due = since.advanced(by: timeout)
      return due <= now ? .giveUp : .wait(until: due)
    }
  }
}
