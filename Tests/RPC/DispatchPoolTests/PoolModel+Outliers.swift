@testable import DispatchPool

// Which endpoints are left alone for a while, and what must always hold.

extension PoolModel {
  func mayBeEjected(_ count: Int) -> Bool {
    guard let outliers = configuration.outliers else { return true }
    return count == 0 || Double(count) / Double(listed.count) <= Double(outliers.maximumEjectedPercentage) / 100
  }

  mutating func note(_ outcome: LeaseOutcome, of endpoint: EndpointID) {
    guard let outliers = configuration.outliers, configuration.balancing != .pickFirst, outcome != .unknown,
      listed.contains(endpoint), listed.count > 1
    else { return }
    var record = health[endpoint] ?? Health()
    if outcome == .failed {
      record.failures += 1
      record.inARow += 1
    } else {
      record.successes += 1
      record.inARow = 0
    }
    health[endpoint] = record
    if intervalEnd == nil { intervalEnd = now + outliers.interval }
    if outcome == .failed, let most = outliers.consecutiveFailures, record.inARow >= most { eject(endpoint, outliers) }
  }

  private mutating func eject(_ endpoint: EndpointID, _ outliers: OutlierConfiguration) {
    let others = listed.filter { $0 != endpoint && ejectedUntil[$0] == nil && open($0) > 0 }
    guard ejectedUntil[endpoint] == nil, mayBeEjected(ejectedUntil.count + 1), !others.isEmpty else { return }
    health[endpoint]!.ejections += 1
    health[endpoint]!.inARow = 0
    let time = min(outliers.baseEjectionTime * health[endpoint]!.ejections, outliers.maximumEjectionTime)
    ejectedUntil[endpoint] = now + time
  }

  mutating func readmitWhereNoneIsLeft() {
    // A pool looks at this when connections change; by then the model's peers have changed, too.
    if !listed.contains(where: { ejectedUntil[$0] == nil && open($0) > 0 }) { ejectedUntil = [:] }
  }

  /// Applies the changes that time alone makes.
  mutating func timerFires() {
    for endpoint in listed {
      if let end = distrust[endpoint]?.waitsUntil, end <= now { distrust[endpoint]!.waitsUntil = nil }
    }
    ejectedUntil = ejectedUntil.filter { $0.value > now }
    guard let outliers = configuration.outliers, let end = intervalEnd, end <= now else { return }
    for endpoint in listed {
      guard let record = health[endpoint], let percentage = outliers.failurePercentage else { continue }
      let all = record.successes + record.failures
      guard all >= outliers.minimumLeases, record.failures > 0 else { continue }
      if Double(record.failures) / Double(all) * 100 >= Double(percentage) - 1e-9 { eject(endpoint, outliers) }
    }
    for endpoint in listed where health[endpoint] != nil {
      if ejectedUntil[endpoint] == nil { health[endpoint]!.ejections = max(0, health[endpoint]!.ejections - 1) }
      health[endpoint]!.successes = 0
      health[endpoint]!.failures = 0
    }
    let isAnythingLeft = listed.contains { health[$0]?.ejections ?? 0 > 0 }
    intervalEnd = isAnythingLeft ? now + outliers.interval : nil
  }
}

// MARK: - Invariants after every event

extension PoolModel {
  func complaints(timer: MonotonicTime?) -> [String] {
    var complaints: [String] = []
    func check(_ holds: Bool, _ complaint: String) {
      if !holds { complaints.append(complaint) }
    }
    check(waiting.isEmpty || !hasRoom, "somebody waits where there is room")
    check(!isUnreachable || waiting.allSatisfy(\.waitsForReady), "waits for nothing")
    check(mayBeEjected(ejectedUntil.count), "too many are ejected")
    for endpoint in Set(peers.keys.map(\.endpoint)) {
      check(open(endpoint) <= configuration.maximumConnections, "too many connections")
      let total = peers.keys.filter { $0.endpoint == endpoint }.count
      check(total <= 2 * configuration.maximumConnections, "too many connections in all")
    }
    if life == .running {
      check(!isAnotherWanted, "does not open what is wanted")
      check(!isAnAttemptDue, "does not try the next one")
    }
    for alarm in alarms {
      let latest = max(alarm, now + PoolStateMachine.timerResolution)
      check(timer.map { $0 <= latest } ?? false, "nothing will wake the pool")
    }
    return complaints
  }

  private var isAnotherWanted: Bool {
    switch (configuration.balancing, chosen) {
    case (.pickFirst, nil):
      let wants = configuration.minimumConnections > 0 || !waiting.isEmpty
      return wants && count(.connecting) == 0 && !untried.isEmpty
    case (.pickFirst, let chosen?):
      return isAnotherWanted(of: [chosen])
    case (.roundRobin, _), (.leastRequest, _):
      return isAnotherWanted(of: listed)
    }
  }

  private func isAnotherWanted(of endpoints: [EndpointID]) -> Bool {
    let possible = endpoints.filter(canOpen)
    if possible.contains(where: { open($0) < configuration.minimumConnections }) { return true }
    return waiting.count > count(.connecting) * expectedCapacity && possible.contains { ejectedUntil[$0] == nil }
  }

  private var isAnAttemptDue: Bool {
    nextAttempt.map { $0 + PoolStateMachine.timerResolution < now } ?? false
  }

  private var nextAttempt: MonotonicTime? {
    guard configuration.balancing == .pickFirst, chosen == nil, let delay = configuration.attemptDelay,
      configuration.minimumConnections > 0 || !waiting.isEmpty, !untried.isEmpty
    else { return nil }
    return peers.values.filter { $0.phase == .connecting }.map(\.since).max().map { $0 + delay }
  }

  private var alarms: [MonotonicTime] {
    var alarms = waiting.compactMap(\.deadline) + ejectedUntil.values
    if let intervalEnd { alarms.append(intervalEnd) }
    guard life == .running else { return alarms }
    alarms += listed.compactMap { distrust[$0]?.waitsUntil }
    if let nextAttempt { alarms.append(nextAttempt) }
    for peer in peers.values where peer.phase == .connecting {
      alarms.append(peer.since + configuration.backoff.connectTimeout)
    }
    return alarms
  }
}
