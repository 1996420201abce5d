// Handshakes cost a thousand times what a call costs: they take turns with the calls.

/// Steps of handshakes that are due, on one shard. Those of one turn take no longer than `turnTime`, and one step; the rest waits
/// for the next round, behind what the sockets bring until then.
struct HandshakeTurns {
  /// A signature with P-256 takes some 20 µs and one with RSA-2048 some 220, a handshake three to five times the former.
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

  /// What is kept of those that were taken, too: no more than as many as wait.
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

extension RPCShard {
  /// The connection takes its next step soon. Until then it must not ask again.
  func scheduleHandshake(_ connection: any HandshakingConnection) {
    if handshakes.add(connection) { scheduleHandshakeTurn() }
  }

  private func scheduleHandshakeTurn() {
    execute { [weak self] in self?.takeHandshakeTurn() }
  }

  private func takeHandshakeTurn() {
    let start = MonotonicTime.now()
    while let connection = handshakes.next(since: start, at: .now()) { connection.continueHandshake() }
    if !handshakes.isEmpty { scheduleHandshakeTurn() }
  }
}
