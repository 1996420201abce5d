/// The pool's decisions. Every event is a function and answers with what to do about it.
///
/// A value without clock, chance, I/O or lock: `now` and `jitter` (uniform in -1...1, spreads the back-off) are
/// arguments. Between events this holds: while a request waits, no connection that may be used has room. No request is
/// overtaken.
///
/// Events of a connection that has closed are ignored: they were under way when it did.
struct PoolStateMachine {
  enum Life: Equatable {
    /// Nothing is opened before the first request or `started`.
    case dormant
    case running
    case draining(deadline: MonotonicTime?)
    case drained
  }

  /// How far the endpoints are known.
  enum Resolution: Equatable {
    /// They are given once and for all.
    case fixed
    case awaited
    case known
    /// Nothing was ever found.
    case failed
  }

  /// The timer asks for no more precision than this, so that many deadlines close together cost one look at the queue.
  static let timerResolution = Duration.milliseconds(1)

  let configuration: PoolConfiguration
  var life = Life.dormant
  var resolution: Resolution
  var group: ConnectionGroup
  var queue = RequestQueue()
  var lastFailure = "never connected"
  /// The capacity that is assumed for a connection that is not ready: that of the latest one that became ready.
  var expectedCapacity: Int
  /// When the timer is set to fire. It may turn out to be early; it is never late.
  var wakeUp: MonotonicTime?

  /// - Parameter endpoints: in order; `nil` if they come by `endpointsReplaced`.
  init(configuration: PoolConfiguration, endpoints: [EndpointID]? = [.only]) {
    self.configuration = configuration
    self.group = ConnectionGroup(endpoints: endpoints ?? [], backoff: configuration.backoff)
    self.resolution = endpoints == nil ? .awaited : .fixed
    self.expectedCapacity = configuration.assumedCapacity
  }

  // MARK: Requests and leases

  mutating func leaseRequested(
    deadline: MonotonicTime?, waitForReady: Bool, now: @autoclosure () -> MonotonicTime
  ) -> PoolAction {
    if let connection = leaseNow() {
      return PoolAction(request: .grant(connection))
    }
    let now = now()
    if let refusal = refusal(deadline: deadline, waitForReady: waitForReady, now: now) {
      return PoolAction(request: .refuse(refusal))
    }
    let id = queue.append(deadline: deadline, waitsForReady: waitForReady)
    var action = PoolAction(request: .enqueue(id))
    if life == .dormant { begin(into: &action) }
    openWanted(now: now, into: &action)
    if let deadline { wake(at: deadline, into: &action) }
    return action
  }

  /// Answers nothing if the request has its answer already.
  mutating func requestCancelled(_ id: RequestID) -> PoolAction {
    guard queue.remove(id) else { return PoolAction() }
    return PoolAction(answers: [.init(request: id, result: .failure(.cancelled))])
  }

  mutating func leaseReturned(to id: ConnectionID, now: @autoclosure () -> MonotonicTime) -> PoolAction {
    var action = PoolAction()
    guard let connection = group.leaseReturned(to: id) else { return action }
    switch connection.phase {
    case .serving:
      if !queue.isEmpty {
        serveWaiting(now: now(), into: &action)
      } else if connection.leased == 0, isAboveMinimum(connection.endpoint) {
        startIdleClock(of: id, now: now(), into: &action)
      }
    case .goingAway:
      if connection.leased == 0 { close(id, into: &action) }
    case .connecting, .closing:
      break
    }
    return action
  }

  // MARK: Connections

  mutating func connected(_ id: ConnectionID, capacity: Int, now: MonotonicTime) -> PoolAction {
    var action = PoolAction()
    guard let connection = group[id], connection.phase == .connecting else { return action }
    group.connected(id, capacity: capacity, at: now)
    group.endpoints[connection.endpoint].backoff.succeeded(at: now)
    expectedCapacity = max(1, capacity)
    choose(connection.endpoint, into: &action)
    balance(now: now, into: &action)
    if isAboveMinimum(connection.endpoint) { startIdleClocks(afterConnecting: id, now: now, into: &action) }
    return action
  }

  mutating func capacityChanged(_ id: ConnectionID, capacity: Int, now: MonotonicTime) -> PoolAction {
    var action = PoolAction()
    group.setCapacity(capacity, of: id)
    balance(now: now, into: &action)
    return action
  }

  mutating func goingAway(_ id: ConnectionID, now: MonotonicTime, jitter: Double) -> PoolAction {
    var action = PoolAction()
    guard let connection = group[id], connection.phase == .serving else { return action }
    noteLoss(of: connection, reason: "the peer is going away", now: now, jitter: jitter, into: &action)
    group.move(id, to: .goingAway)
    if connection.leased == 0 { close(id, into: &action) }
    balance(now: now, into: &action)
    return action
  }

  mutating func closed(_ id: ConnectionID, reason: String, now: MonotonicTime, jitter: Double) -> PoolAction {
    var action = PoolAction()
    guard let connection = group.remove(id) else { return action }
    noteLoss(of: connection, reason: reason, now: now, jitter: jitter, into: &action)
    group.forgetGoneEndpoints()
    balance(now: now, into: &action)
    return action
  }

  // MARK: Time

  mutating func timerFired(now: MonotonicTime, jitter: Double) -> PoolAction {
    var action = PoolAction()
    wakeUp = nil
    for endpoint in group.listedEndpoints { group.endpoints[endpoint].backoff.timePassed(to: now) }
    failExpired(now: now, into: &action)
    closeUnconnected(now: now, jitter: jitter, into: &action)
    closeIdle(now: now, into: &action)
    closeUndrained(now: now, into: &action)
    balance(now: now, into: &action)
    if let next = nextWakeUp { wake(at: max(next, now + Self.timerResolution), into: &action) }
    return action
  }
}
