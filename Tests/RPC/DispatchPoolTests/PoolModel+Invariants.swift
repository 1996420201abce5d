@testable import DispatchPool

// What must hold after every event.

extension PoolModel {
  func complaints(timer: MonotonicTime?) -> [String] {
    var complaints: [String] = []
    func check(_ holds: Bool, _ complaint: String) {
      if !holds { complaints.append(complaint) }
    }
    check(waiting.isEmpty || !hasRoom, "somebody waits where there is room")
    check(!isUnreachable || waiting.allSatisfy(\.waitsForReady), "waits for nothing")
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
    return waiting.count > count(.connecting) * expectedCapacity && !possible.isEmpty
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
    var alarms = waiting.compactMap(\.deadline)
    guard life == .running else { return alarms }
    alarms += listed.compactMap { distrust[$0]?.waitsUntil }
    if let nextAttempt { alarms.append(nextAttempt) }
    for peer in peers.values where peer.phase == .connecting {
      alarms.append(peer.since + configuration.backoff.connectTimeout)
    }
    return alarms
  }
}
