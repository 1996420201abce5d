/// The pool's decisions. Every event is a function and answers with what to do about it.
///
/// A value without clock, chance, I/O or lock: `now` and `jitter` (uniform in -1...1, spreads the back-off) are told.
/// Between events this holds: while a request waits, no serving connection has room; so nobody is overtaken.
///
/// Events of a connection that has closed are ignored: they were under way when it did.
struct PoolStateMachine {
  private enum Life: Equatable {
    /// Nothing is opened before the first request or `started`.
    case dormant
    case running
    case draining(deadline: MonotonicInstant?)
    case drained
  }

  /// The timer asks for no more precision than this, so that many deadlines close together cost one look at the queue.
  static let timerResolution = Duration.milliseconds(1)

  private let configuration: PoolConfiguration
  private var life = Life.dormant
  private var group = ConnectionGroup()
  private var queue = RequestQueue()
  private var backoff: Backoff
  private var lastFailure = "never connected"
  /// What a connection that is not ready is taken to carry: as much as the latest one that is.
  private var expectedCapacity: Int
  /// When the timer is set to fire. It may turn out to be early; it is never late.
  private var wakeUp: MonotonicInstant?

  init(configuration: PoolConfiguration) {
    self.configuration = configuration
    self.backoff = Backoff(configuration: configuration.backoff)
    self.expectedCapacity = configuration.assumedCapacity
  }

  // MARK: Requests and leases

  mutating func leaseRequested(
    deadline: MonotonicInstant?, waitForReady: Bool, now: @autoclosure () -> MonotonicInstant
  ) -> PoolAction {
    if let connection = leaseNow() {
      return PoolAction(request: .grant(connection))
    }
    let now = now()
    if let refusal = refusal(deadline: deadline, waitForReady: waitForReady, now: now) {
      return PoolAction(request: .refuse(refusal))
    }
    if life == .dormant { life = .running }
    let id = queue.append(deadline: deadline, waitsForReady: waitForReady)
    var action = PoolAction(request: .enqueue(id))
    openWanted(now: now, into: &action)
    if let deadline { wake(at: deadline, into: &action) }
    return action
  }

  /// Answers nothing if the request has its answer already.
  mutating func requestCancelled(_ id: RequestID) -> PoolAction {
    guard queue.remove(id) else { return PoolAction() }
    return PoolAction(answers: [.init(request: id, result: .failure(.cancelled))])
  }

  mutating func leaseReturned(to id: ConnectionID, now: @autoclosure () -> MonotonicInstant) -> PoolAction {
    var action = PoolAction()
    guard let connection = group.leaseReturned(to: id) else { return action }
    switch connection.phase {
    case .serving:
      if !queue.isEmpty {
        serveWaiting(now: now(), into: &action)
      } else if connection.leased == 0, isAboveMinimum {
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

  mutating func connected(_ id: ConnectionID, capacity: Int, now: MonotonicInstant) -> PoolAction {
    var action = PoolAction()
    guard group[id]?.phase == .connecting else { return action }
    group.connected(id, capacity: capacity, at: now)
    backoff.succeeded(at: now)
    expectedCapacity = max(1, capacity)
    balance(now: now, into: &action)
    if isAboveMinimum { startIdleClocks(afterConnecting: id, now: now, into: &action) }
    return action
  }

  mutating func capacityChanged(_ id: ConnectionID, capacity: Int, now: MonotonicInstant) -> PoolAction {
    var action = PoolAction()
    group.setCapacity(capacity, of: id)
    balance(now: now, into: &action)
    return action
  }

  mutating func goingAway(_ id: ConnectionID, now: MonotonicInstant, jitter: Double) -> PoolAction {
    var action = PoolAction()
    guard let connection = group[id], connection.phase == .serving else { return action }
    noteLoss(of: connection, reason: "the peer is going away", now: now, jitter: jitter)
    group.move(id, to: .goingAway)
    if connection.leased == 0 { close(id, into: &action) }
    balance(now: now, into: &action)
    return action
  }

  mutating func closed(_ id: ConnectionID, reason: String, now: MonotonicInstant, jitter: Double) -> PoolAction {
    var action = PoolAction()
    guard let connection = group.remove(id) else { return action }
    noteLoss(of: connection, reason: reason, now: now, jitter: jitter)
    balance(now: now, into: &action)
    return action
  }

  // MARK: Life

  /// Opens the minimum without waiting for a request.
  mutating func started(now: MonotonicInstant) -> PoolAction {
    var action = PoolAction()
    guard life == .dormant else { return action }
    life = .running
    balance(now: now, into: &action)
    return action
  }

  mutating func timerFired(now: MonotonicInstant, jitter: Double) -> PoolAction {
    var action = PoolAction()
    wakeUp = nil
    backoff.timePassed(to: now)
    failExpired(now: now, into: &action)
    closeUnconnected(now: now, jitter: jitter, into: &action)
    closeIdle(now: now, into: &action)
    closeUndrained(now: now, into: &action)
    balance(now: now, into: &action)
    if let next = nextWakeUp { wake(at: max(next, now + Self.timerResolution), into: &action) }
    return action
  }

  /// No request is served from here on. What has no lease closes now, what has one when it returns, all at `deadline`.
  /// Of several deadlines the earliest counts.
  mutating func drainRequested(deadline: MonotonicInstant?, now: MonotonicInstant) -> PoolAction {
    var action = PoolAction()
    switch life {
    case .drained:
      action.completesDrain = true
      return action
    case .draining(let earlier):
      life = .draining(deadline: [earlier, deadline].compactMap(\.self).min())
    case .dormant, .running:
      life = .draining(deadline: deadline)
    }
    answer(queue.removeAll { _ in true }, with: .draining, into: &action)
    for connection in group.members {
      switch connection.phase {
      case .connecting: close(connection.id, into: &action)
      case .serving where connection.leased == 0: close(connection.id, into: &action)
      case .serving: group.move(connection.id, to: .goingAway)
      case .goingAway, .closing: break
      }
    }
    balance(now: now, into: &action)
    if let deadline { wake(at: deadline, into: &action) }
    return action
  }

  var statistics: PoolStatistics {
    PoolStatistics(
      connecting: group.connecting, serving: group.serving, goingAway: group.goingAway, closing: group.closing,
      leased: group.members.reduce(0) { $0 + $1.leased },
      capacity: group.members.reduce(0) { $1.phase == .serving ? $0.addingSaturated($1.capacity) : $0 },
      waiting: queue.count, consecutiveFailures: backoff.consecutiveFailures)
  }
}

// MARK: - Requests

extension PoolStateMachine {
  /// Nothing can be leased now and nothing is about to be.
  private var isUnreachable: Bool {
    backoff.isWaiting && group.serving == 0 && group.connecting == 0
  }

  private var failureWhileDisconnected: String? {
    group.serving == 0 && backoff.consecutiveFailures > 0 ? lastFailure : nil
  }

  private mutating func leaseNow() -> ConnectionID? {
    life == .running ? group.lease() : nil
  }

  private func refusal(deadline: MonotonicInstant?, waitForReady: Bool, now: MonotonicInstant) -> PoolError? {
    switch life {
    case .draining, .drained: return .draining
    case .dormant, .running: break
    }
    if let deadline, deadline <= now { return .timedOut(lastFailure: failureWhileDisconnected) }
    if isUnreachable, !waitForReady { return .unreachable(lastFailure: lastFailure) }
    return queue.count < configuration.maximumWaiting ? nil : .tooManyWaiting
  }

  /// Gives what is free to those who came first. Who is late already gets no lease only to waste it.
  private mutating func serveWaiting(now: MonotonicInstant, into action: inout PoolAction) {
    while let request = queue.first {
      if let deadline = request.deadline, deadline <= now {
        answer([request], with: .timedOut(lastFailure: failureWhileDisconnected), into: &action)
      } else if let connection = group.lease() {
        action.answers.append(.init(request: request.id, result: .success(connection)))
      } else {
        return
      }
      queue.remove(request.id)
    }
  }

  private mutating func failExpired(now: MonotonicInstant, into action: inout PoolAction) {
    let expired = queue.removeAll { $0.deadline.map { $0 <= now } ?? false }
    answer(expired, with: .timedOut(lastFailure: failureWhileDisconnected), into: &action)
  }

  private func answer(_ requests: [RequestQueue.Request], with error: PoolError, into action: inout PoolAction) {
    action.answers += requests.map { .init(request: $0.id, result: .failure(error)) }
  }
}

// MARK: - Connections

extension PoolStateMachine {
  private var isAboveMinimum: Bool { group.serving > configuration.minimumConnections }

  /// Draws the conclusions from a change: leases, refusals, connections to open, the end of a drain.
  private mutating func balance(now: MonotonicInstant, into action: inout PoolAction) {
    serveWaiting(now: now, into: &action)
    openWanted(now: now, into: &action)
    if isUnreachable {
      answer(queue.removeAll { !$0.waitsForReady }, with: .unreachable(lastFailure: lastFailure), into: &action)
    }
    if case .draining = life, group.isEmpty {
      life = .drained
      action.completesDrain = true
    }
  }

  private mutating func openWanted(now: MonotonicInstant, into action: inout PoolAction) {
    guard life == .running else { return }
    if let retryAt = backoff.retryAt {
      wake(at: retryAt, into: &action)
      return
    }
    while wantsAnother, hasPlaceForAnother {
      action.open.append(group.open(at: now))
      wake(at: now + configuration.backoff.connectTimeout, into: &action)
    }
  }

  private var wantsAnother: Bool {
    if backoff.isProbing, group.connecting > 0 { return false }
    return group.serving + group.connecting < configuration.minimumConnections
      || queue.count > group.connecting.multipliedSaturated(expectedCapacity)
  }

  private var hasPlaceForAnother: Bool {
    group.connecting + group.serving < configuration.maximumConnections
      && group.total < 2 * configuration.maximumConnections
  }

  /// A connection was lost. If it never served, or hardly, the next one must wait.
  private mutating func noteLoss(
    of connection: ConnectionGroup.Member, reason: String, now: MonotonicInstant, jitter: Double
  ) {
    switch connection.phase {
    case .connecting: break
    case .serving where backoff.isFailure(lifetime: now - connection.began): break
    case .serving, .goingAway, .closing: return
    }
    lastFailure = reason
    backoff.failed(at: now, jitter: jitter)
  }

  private mutating func close(_ id: ConnectionID, into action: inout PoolAction) {
    group.move(id, to: .closing)
    action.close.append(id)
  }

  private mutating func closeUnconnected(now: MonotonicInstant, jitter: Double, into action: inout PoolAction) {
    let timeout = configuration.backoff.connectTimeout
    for connection in group.members where connection.phase == .connecting && connection.began + timeout <= now {
      noteLoss(of: connection, reason: "not connected after \(timeout)", now: now, jitter: jitter)
      close(connection.id, into: &action)
    }
  }

  /// While there was no connection too many, nobody looked at the clock when one became idle.
  private mutating func startIdleClocks(
    afterConnecting id: ConnectionID, now: MonotonicInstant, into action: inout PoolAction
  ) {
    let isFirstTooMany = group.serving == configuration.minimumConnections + 1
    for connection in group.members where isIdle(connection) && (isFirstTooMany || connection.id == id) {
      startIdleClock(of: connection.id, now: now, into: &action)
    }
  }

  private mutating func startIdleClock(of id: ConnectionID, now: MonotonicInstant, into action: inout PoolAction) {
    group.markIdle(id, at: now)
    wake(at: now + configuration.idleTimeout, into: &action)
  }

  private mutating func closeIdle(now: MonotonicInstant, into action: inout PoolAction) {
    for connection in group.members where isIdle(connection) && isAboveMinimum {
      if connection.idleSince + configuration.idleTimeout <= now { close(connection.id, into: &action) }
    }
  }

  private func isIdle(_ connection: ConnectionGroup.Member) -> Bool {
    connection.phase == .serving && connection.leased == 0
  }

  /// Closes what a drain could not wait for, and does not wait for it to have closed.
  private mutating func closeUndrained(now: MonotonicInstant, into action: inout PoolAction) {
    guard case .draining(let deadline?) = life, deadline <= now else { return }
    for connection in group.members where connection.phase == .goingAway { close(connection.id, into: &action) }
    life = .drained
    action.completesDrain = true
  }
}

// MARK: - Time

extension PoolStateMachine {
  private mutating func wake(at time: MonotonicInstant, into action: inout PoolAction) {
    if let wakeUp, wakeUp <= time { return }
    wakeUp = time
    action.timer = .set(time)
  }

  private var nextWakeUp: MonotonicInstant? {
    var times = [queue.earliestDeadline, life == .running ? backoff.retryAt : nil].compactMap(\.self)
    if case .draining(let deadline?) = life { times.append(deadline) }
    for connection in group.members {
      if connection.phase == .connecting { times.append(connection.began + configuration.backoff.connectTimeout) }
      if isIdle(connection), isAboveMinimum { times.append(connection.idleSince + configuration.idleTimeout) }
    }
    return times.min()
  }
}

extension Int {
  /// Capacities are the peer's word and may be as large as an integer.
  fileprivate func addingSaturated(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }

  fileprivate func multipliedSaturated(_ factor: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
