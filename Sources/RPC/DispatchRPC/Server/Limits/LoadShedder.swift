/// Decides which calls an event loop serves if there are more than it can serve. Pure; time is an argument. An event
/// loop's queue is its round: calls that come during one wait for the next, and the calls of a round wait for each
/// other. The length of a round is therefore the age of its calls when they are served. As CoDel does (RFC 8289), this
/// leaves bursts alone, and acts when all rounds of an interval were longer than the target: from then on a round takes
/// up as many calls as fit into the target and refuses the others, which costs a fraction of serving them, until for an
/// interval none had to be refused.
struct LoadShedder {
  /// Between two looks at the clock.
  private static let callsPerLook = 16
  /// Calls of a round from which on its cost per call counts.
  private static let tellingCalls = 8

  private let target: UInt64
  private let interval: UInt64
  private let callsAlwaysTaken: Int

  /// Nanoseconds, as all below.
  private var costPerCall: UInt64 = 0
  private var roundBegan: UInt64 = 0
  /// Time of the round, when the clock was last read.
  private var elapsed: UInt64 = 0
  private var taken = 0
  private var refused = 0
  /// Connections' only calls that were taken where others are refused.
  private var onlyCallsTaken = 0
  /// When it was seen that a round is longer than the target, as all since. Not when that round began: a process that
  /// is held up once has one long round, and then needs time to catch up.
  private var lateSince: UInt64?
  private(set) var isShedding = false
  /// When a call was refused, or taken only because it was its connection's only one.
  private var lastRefused: UInt64 = 0

  init(_ configuration: RPCServerConfiguration.Shedding) {
    target = UInt64(clamping: configuration.target.wholeNanoseconds)
    interval = UInt64(clamping: configuration.interval.wholeNanoseconds)
    callsAlwaysTaken = configuration.callsAlwaysTaken
  }

  /// Returns true if the next call of the round is to be served. Not every call of this function reads `now`.
  mutating func takes(
    _ isConnectionsOnlyCall: Bool, roundBegan began: MonotonicTime, now: @autoclosure () -> MonotonicTime
  ) -> Bool {
    if began.nanoseconds != roundBegan { beginRound(at: began.nanoseconds) }
    guard taken >= callsAlwaysTaken else {
      taken += 1
      return true
    }
    if taken.isMultiple(of: Self.callsPerLook) { elapsed = now().nanoseconds - roundBegan }
    let expected = max(elapsed, costPerCall &* UInt64(taken))
    guard expected > target, sheds() else {
      taken += 1
      return true
    }
    if isConnectionsOnlyCall, onlyCallsTaken < callsAlwaysTaken {
      onlyCallsTaken += 1
      taken += 1
      lastRefused = roundBegan + elapsed
      return true
    }
    refused += 1
    lastRefused = roundBegan + elapsed
    return false
  }

  /// After the last call of a round.
  mutating func roundEnded(at now: MonotonicTime) {
    let duration = now.nanoseconds - roundBegan
    if taken >= Self.tellingCalls {
      let cost = duration / UInt64(taken)
      costPerCall = costPerCall == 0 ? cost : (costPerCall * 3 + cost) / 4
    }
    guard refused == 0, onlyCallsTaken == 0 else { return }
    lateSince = duration <= target ? nil : lateSince ?? now.nanoseconds
    if isShedding && now.nanoseconds - lastRefused >= interval {
      isShedding = false
      lateSince = nil
    }
  }

  private mutating func beginRound(at began: UInt64) {
    roundBegan = began
    elapsed = 0
    taken = 0
    refused = 0
    onlyCallsTaken = 0
  }

  /// The round is longer than the target, or will be. How late it is counts by the clock alone: a cost per call may be
  /// that of a stall.
  private mutating func sheds() -> Bool {
    if isShedding { return true }
    let seen = roundBegan + elapsed
    let since = lateSince ?? seen
    lateSince = since
    isShedding = seen - since >= interval
    return isShedding
  }
}
