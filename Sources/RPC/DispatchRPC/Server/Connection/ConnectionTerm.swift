// When a connection has lived or idled for long enough (gRFC A9). Pure; time and chance are arguments.

/// A connection that is over age, or idle for too long, is asked to leave; over age it has a grace for its calls.
struct ConnectionTerm {
  /// Keeps connections that began together, as after a restart, from ending together.
  struct Jitter: Equatable {
    /// Parts of the duration, -0.1 to 0.1 each.
    var age: Double
    var idle: Double

    static let none = Jitter(age: 0, idle: 0)

    /// A9: 10 % either way.
    static func random() -> Jitter {
      Jitter(age: .random(in: -0.1...0.1), idle: .random(in: -0.1...0.1))
    }
  }

  private enum State {
    case serving
    case leaving(until: MonotonicTime)
  }

  private let dueByAge: MonotonicTime
  private let ageGrace: Duration?
  private let idleTimeout: Duration
  private var state = State.serving

  /// Without a `maxAge` it may grow as old as it likes, and without an `ageGrace` its last calls may take as long.
  init(maxAge: Duration?, ageGrace: Duration?, idleTimeout: Duration, acceptedAt: MonotonicTime, jitter: Jitter) {
    dueByAge = maxAge.map { acceptedAt.advanced(by: $0 * (1 + jitter.age)) } ?? .distantFuture
    self.ageGrace = ageGrace
    self.idleTimeout = idleTimeout * (1 + jitter.idle)
  }

  enum OnTimer: Equatable {
    case wait(until: MonotonicTime)
    /// Ask the client to leave, and look again then.
    case drain(until: MonotonicTime)
    /// Whatever calls still run.
    case close
  }

  /// At the time that the last call named, or at any other. `idleSince` is `nil` while there are calls.
  mutating func timerExpired(at now: MonotonicTime, idleSince: MonotonicTime?) -> OnTimer {
    switch state {
    case .leaving(let until):
      return until <= now ? .close : .wait(until: until)
    case .serving:
      let dueByIdling = idleSince?.advanced(by: idleTimeout) ?? .distantFuture
      if dueByAge <= now { return leave(until: ageGrace.map(now.advanced(by:)) ?? .distantFuture) }
      if dueByIdling <= now { return leave(until: .distantFuture) }
      return .wait(until: min(dueByAge, dueByIdling))
    }
  }

  private mutating func leave(until: MonotonicTime) -> OnTimer {
    state = .leaving(until: until)
    return .drain(until: until)
  }
}
