// How a pool begins, how it ends, and what it looks like in between.

extension PoolStateMachine {
  /// Opens the minimum without waiting for a request.
  mutating func started(now: MonotonicTime) -> PoolAction {
    var action = PoolAction()
    guard life == .dormant else { return action }
    begin(into: &action)
    balance(now: now, into: &action)
    return action
  }

  mutating func begin(into action: inout PoolAction) {
    life = .running
    if resolution == .awaited { action.asksForEndpoints = true }
  }

  /// Serves no further request. Connections without a lease close now, the others when their lease returns, all of them
  /// at `deadline`. The earliest of several deadlines counts.
  mutating func drainRequested(deadline: MonotonicTime?, now: MonotonicTime) -> PoolAction {
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
    for connection in group.members { retire(connection, into: &action) }
    balance(now: now, into: &action)
    if let deadline { wake(at: deadline, into: &action) }
    return action
  }

  /// It takes no more leases, and closes as soon as it has none.
  mutating func retire(_ connection: ConnectionGroup.Member, into action: inout PoolAction) {
    switch connection.phase {
    case .connecting: close(connection.id, into: &action)
    case .serving where connection.leased == 0: close(connection.id, into: &action)
    case .serving: group.move(connection.id, to: .goingAway)
    case .goingAway, .closing: break
    }
  }

  /// Closes the connections that a drain could not wait for, and ends the drain before they have closed.
  mutating func closeUndrained(now: MonotonicTime, into action: inout PoolAction) {
    guard case .draining(let deadline?) = life, deadline <= now else { return }
    for connection in group.members where connection.phase == .goingAway { close(connection.id, into: &action) }
    life = .drained
    action.completesDrain = true
  }
}

// MARK: - Statistics

extension PoolStateMachine {
  var statistics: PoolStatistics {
    PoolStatistics(
      connecting: group.counts.connecting, serving: group.counts.serving, goingAway: group.counts.goingAway,
      closing: group.counts.closing, leased: group.endpoints.reduce(0) { $0 + $1.leased },
      capacity: group.members.reduce(0) { $1.phase == .serving ? $0.addingSaturated($1.capacity) : $0 },
      waiting: queue.count)
  }
}

extension Int {
  /// Capacities are the peer's word and may be as large as an integer.
  func addingSaturated(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }

  func multipliedSaturated(_ factor: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}

extension PoolStateMachine {
  /// A resolution's result, in the order to prefer; empty if there are none. Leases on endpoints that are gone last
  /// until they are returned.
  mutating func endpointsReplaced(_ endpoints: [EndpointID], now: MonotonicTime) -> PoolAction {
    var action = PoolAction()
    switch life {
    case .dormant, .running: break
    case .draining, .drained: return action
    }
    group.replaceEndpoints(with: endpoints)
    resolution = group.listed > 0 ? .known : .failed
    if group.listed == 0 { lastFailure = "the target has no endpoints" }
    for connection in group.members where connection.endpoint >= group.listed { retire(connection, into: &action) }
    balance(now: now, into: &action)
    return action
  }

  /// A resolution failed. Known endpoints stay. If there are none, requests that would not wait fail with the reason.
  mutating func endpointsNotFound(reason: String) -> PoolAction {
    var action = PoolAction()
    guard group.listed == 0, resolution != .fixed else { return action }
    resolution = .failed
    lastFailure = reason
    failUnreachable(into: &action)
    return action
  }
}
