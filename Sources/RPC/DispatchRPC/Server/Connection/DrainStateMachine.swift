// How a connection is asked to leave without losing a call (RFC 9113 §6.8): a warning, its acknowledgement, the last
// word.

/// Pure; its owner sends what it says. nghttp2 ends the connection once the last word is out and no stream is left.
struct DrainStateMachine {
  private enum State {
    case serving
    /// GOAWAY(2^31-1) and a PING are out: what the client sent before it saw them is still taken.
    case warned
    case refusing
  }

  private var state = State.serving

  var isDraining: Bool { state != .serving }
  /// New streams are no longer taken up.
  var isRefusing: Bool { state == .refusing }

  enum OnDrain: Equatable {
    /// Send GOAWAY(2^31-1) and a PING, and wait for its acknowledgement, but not for long.
    case warn
    case nothing
  }

  mutating func drain() -> OnDrain {
    guard state == .serving else { return .nothing }
    state = .warned
    return .warn
  }

  enum OnWarningSeen: Equatable {
    /// Send GOAWAY with the last stream taken up.
    case refuseNewStreams
    case nothing
  }

  /// The PING was acknowledged, or waited for long enough.
  mutating func warningSeen() -> OnWarningSeen {
    guard state == .warned else { return .nothing }
    state = .refusing
    return .refuseNewStreams
  }
}
