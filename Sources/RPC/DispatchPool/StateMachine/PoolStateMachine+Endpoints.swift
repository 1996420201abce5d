// Endpoints: which there are, and which of them are left alone for a while.

extension PoolStateMachine {
  // MARK: Resolution

  /// A resolution's result, in the order to prefer; empty if there are none. Leases on endpoints that are gone last until
  /// they are returned.
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
    keepEjectionsWithinBounds()
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

  // MARK: Outliers

  private var ejectedEndpoints: [Int] {
    group.listedEndpoints.filter { group.endpoints[$0].health.isEjected }
  }

  private func mayBeEjected(_ count: Int, _ outliers: OutlierConfiguration) -> Bool {
    count * 100 <= outliers.maximumEjectedPercentage * group.listed
  }

  mutating func note(
    _ outcome: LeaseOutcome, of id: EndpointID, now: @autoclosure () -> MonotonicTime,
    into action: inout PoolAction
  ) {
    guard let outliers = configuration.outliers, configuration.balancing != .pickFirst, group.listed > 1,
      let place = group.listedEndpoints.first(where: { group.endpoints[$0].id == id })
    else { return }
    group.endpoints[place].health.note(outcome)
    if intervalEnd == nil {
      let end = now() + outliers.interval
      intervalEnd = end
      wake(at: end, into: &action)
    }
    if outcome == .failed, group.endpoints[place].health.failsInARow(outliers) {
      eject(place, outliers, now: now(), into: &action)
    }
  }

  private mutating func eject(
    _ place: Int, _ outliers: OutlierConfiguration, now: MonotonicTime, into action: inout PoolAction
  ) {
    let ejected = ejectedEndpoints
    guard !ejected.contains(place), mayBeEjected(ejected.count + 1, outliers), isAnotherOpen(than: place) else {
      return
    }
    group.endpoints[place].health.eject(outliers, at: now)
    if let end = group.endpoints[place].health.ejectedUntil { wake(at: end, into: &action) }
  }

  /// An endpoint that may be used is connected or about to be.
  private func isAnotherOpen(than place: Int?) -> Bool {
    group.listedEndpoints.contains {
      $0 != place && !group.endpoints[$0].health.isEjected && group.endpoints[$0].open > 0
    }
  }

  /// The timer fired: ejections end, and an interval.
  mutating func judgeOutliers(now: MonotonicTime, into action: inout PoolAction) {
    guard let outliers = configuration.outliers else { return }
    for place in ejectedEndpoints {
      if let end = group.endpoints[place].health.ejectedUntil, end <= now { group.endpoints[place].health.readmit() }
    }
    guard let end = intervalEnd, end <= now else { return }
    for place in group.listedEndpoints where group.endpoints[place].health.failsTooOften(outliers) {
      eject(place, outliers, now: now, into: &action)
    }
    for place in group.listedEndpoints { group.endpoints[place].health.beginInterval() }
    let isAnythingLeft = group.listedEndpoints.contains { group.endpoints[$0].health.ejections > 0 }
    intervalEnd = isAnythingLeft ? now + outliers.interval : nil
  }

  /// A bad endpoint is better than none.
  mutating func readmitWhereNoneIsLeft() {
    let ejected = ejectedEndpoints
    guard !ejected.isEmpty, !isAnotherOpen(than: nil) else { return }
    for place in ejected { group.endpoints[place].health.readmit() }
  }

  /// With fewer endpoints, fewer may be ejected. Those whose time is nearly over come back first.
  private mutating func keepEjectionsWithinBounds() {
    guard let outliers = configuration.outliers else { return }
    while case let ejected = ejectedEndpoints, !mayBeEjected(ejected.count, outliers) {
      let ends = ejected.compactMap { place in group.endpoints[place].health.ejectedUntil.map { (place, $0) } }
      guard let soonest = ends.min(by: { $0.1 < $1.1 }) else { return }
      group.endpoints[soonest.0].health.readmit()
    }
  }

  var nextReadmission: MonotonicTime? {
    group.listedEndpoints.compactMap { group.endpoints[$0].health.ejectedUntil }.min()
  }
}
