// Resolution: which endpoints there are.

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
