/// Steps of handshakes that are due, on one event loop. Handshakes cost a thousand times what a call costs, so they
/// take turns with the calls: those of one turn take no longer than `turnTime`, and one step; the rest waits for the
/// next round, behind what the sockets bring until then. Pure; time is an argument.
struct HandshakeTurns {
  /// A signature with P-256 takes some 20 µs and one with RSA-2048 some 220, a handshake three to five times the
  /// former.
  private static let turnTime = Duration.microseconds(500)

  /// `nil` once it was taken: a connection that is closed meanwhile is not kept.
  private var waiting: [(any HandshakingConnection)?] = []
  private var first = 0

  /// True when a turn is to be scheduled: it is the first.
  mutating func add(_ connection: any HandshakingConnection) -> Bool {
    waiting.append(connection)
    return waiting.count - first == 1
  }

  /// The next one, if there is time: `start` is when the turn began.
  mutating func next(since start: MonotonicTime, at now: MonotonicTime) -> (any HandshakingConnection)? {
    guard !isEmpty, now < start.advanced(by: Self.turnTime) else { return nil }
    return removeFirst()
  }

  var isEmpty: Bool { first == waiting.count }

  /// Includes the places of connections that were taken, which are at most as many as those that wait.
  var storedCount: Int { waiting.count }

  private mutating func removeFirst() -> (any HandshakingConnection)? {
    let connection = waiting[first]
    waiting[first] = nil
    first += 1
    // Each is moved once on average: the flood that fills this need not ever end.
    if first > waiting.count / 2 {
      waiting.removeFirst(first)
      first = 0
    }
    return connection
  }
}

/// A connection whose next step is due.
protocol HandshakingConnection: AnyObject {
  func continueHandshake()
}

/// Gives the handshakes of one event loop their turns.
final class HandshakeScheduler: LoopLocal {
  private unowned let loop: EventLoop
  private var turns = HandshakeTurns()

  init(on loop: EventLoop) {
    self.loop = loop
  }

  /// The connection takes its next step soon. Until then it must not ask again.
  func schedule(_ connection: any HandshakingConnection) {
    if turns.add(connection) { scheduleTurn() }
  }

  private func scheduleTurn() {
    LoopConfined(self, on: loop).execute { $0.takeTurn() }
  }

  private func takeTurn() {
    let start = MonotonicTime.now()
    while let connection = turns.next(since: start, at: .now()) { connection.continueHandshake() }
    if !turns.isEmpty { scheduleTurn() }
  }
}
