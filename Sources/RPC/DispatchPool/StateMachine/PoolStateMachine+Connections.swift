// Connections: how many are wanted, to which endpoint, and when they have served.

extension PoolStateMachine {
  /// Draws the conclusions from a change: leases, refusals, connections to open, the end of a drain.
  mutating func balance(now: MonotonicTime, into action: inout PoolAction) {
    serveWaiting(now: now, into: &action)
    openWanted(now: now, into: &action)
    failUnreachable(into: &action)
    if case .draining = life, group.isEmpty {
      life = .drained
      action.completesDrain = true
    }
  }

  // MARK: Opening

  mutating func openWanted(now: MonotonicTime, into action: inout PoolAction) {
    guard life == .running else { return }
    while let endpoint = wantedEndpoint(now: now) {
      action.open.append(group.open(for: endpoint, at: now))
      wake(at: now + configuration.backoff.connectTimeout, into: &action)
    }
    if let due = nextRetry { wake(at: due, into: &action) }
    if let due = nextAttempt { wake(at: due, into: &action) }
  }

  /// Returns the endpoint for one more connection; `nil` if there are enough, or if none can be opened now.
  private func wantedEndpoint(now: MonotonicTime) -> Int? {
    guard configuration.balancing == .pickFirst else { return growing(group.listedEndpoints) }
    if let chosen = group.chosen { return growing(chosen..<chosen + 1) }
    guard configuration.minimumConnections > 0 || !queue.isEmpty, let next = untried.first else { return nil }
    if let nextAttempt { return nextAttempt <= now ? next : nil }
    return group.counts.connecting == 0 ? next : nil
  }

  /// Returns an endpoint below its minimum or, if more requests wait than will soon be served, the one with the fewest
  /// connections.
  private func growing(_ endpoints: Range<Int>) -> Int? {
    let possible = endpoints.filter(canOpen)
    if let needy = possible.first(where: { group.endpoints[$0].open < configuration.minimumConnections }) {
      return needy
    }
    guard queue.count > group.counts.connecting.multipliedSaturated(expectedCapacity) else { return nil }
    return possible.min { group.endpoints[$0].open < group.endpoints[$1].open }
  }

  private func canOpen(_ place: Int) -> Bool {
    let endpoint = group.endpoints[place]
    return !endpoint.backoff.isWaiting && !(endpoint.backoff.isProbing && endpoint.counts.connecting > 0)
      && endpoint.open < configuration.maximumConnections
      && endpoint.counts.total < 2 * configuration.maximumConnections
  }

  /// With pick_first, while nothing is connected: what may be tried and is not being tried.
  private var untried: [Int] {
    group.listedEndpoints.filter { group.endpoints[$0].counts.connecting == 0 && canOpen($0) }
  }

  /// When the next endpoint is tried beside the ones that do not answer.
  var nextAttempt: MonotonicTime? {
    guard let delay = configuration.attemptDelay, configuration.balancing == .pickFirst, group.chosen == nil,
      group.counts.connecting > 0, !untried.isEmpty
    else { return nil }
    return group.members.filter { $0.phase == .connecting }.map(\.began).max().map { $0 + delay }
  }

  /// When an endpoint may be tried again.
  var nextRetry: MonotonicTime? {
    group.listedEndpoints.compactMap { group.endpoints[$0].backoff.retryAt }.min()
  }

  /// With pick_first: the first to connect is kept, and the others are not waited for.
  mutating func choose(_ endpoint: Int, into action: inout PoolAction) {
    guard configuration.balancing == .pickFirst, group.chosen == nil else { return }
    group.chosen = endpoint
    for connection in group.members where connection.phase == .connecting && connection.endpoint != endpoint {
      close(connection.id, into: &action)
    }
  }

  // MARK: Losing and closing

  /// A connection was lost. If it never served, or hardly, the next one to its endpoint must wait.
  mutating func noteLoss(
    of connection: ConnectionGroup.Member, reason: String, now: MonotonicTime, jitter: Double,
    into action: inout PoolAction
  ) {
    let place = connection.endpoint
    switch connection.phase {
    case .connecting, .serving: if resolution != .fixed, life == .running { action.asksForEndpoints = true }
    case .goingAway, .closing: return
    }
    if connection.phase == .serving, !group.endpoints[place].backoff.isFailure(lifetime: now - connection.began) {
      return
    }
    lastFailure = reason
    group.endpoints[place].backoff.failed(at: now, jitter: jitter)
  }

  mutating func close(_ id: ConnectionID, into action: inout PoolAction) {
    group.move(id, to: .closing)
    action.close.append(id)
  }

  mutating func closeUnconnected(now: MonotonicTime, jitter: Double, into action: inout PoolAction) {
    let timeout = configuration.backoff.connectTimeout
    for connection in group.members where connection.phase == .connecting && connection.began + timeout <= now {
      noteLoss(
        of: connection, reason: "not connected after \(timeout)", now: now, jitter: jitter, into: &action)
      close(connection.id, into: &action)
    }
  }

  // MARK: Idleness

  func isAboveMinimum(_ endpoint: Int) -> Bool {
    group.endpoints[endpoint].counts.serving > configuration.minimumConnections
  }

  /// While the endpoint had no connection too many, the clock was not read when one became idle.
  mutating func startIdleClocks(
    afterConnecting id: ConnectionID, now: MonotonicTime, into action: inout PoolAction
  ) {
    guard let place = group[id]?.endpoint else { return }
    let isFirstTooMany = group.endpoints[place].counts.serving == configuration.minimumConnections + 1
    for connection in group.members where connection.endpoint == place && isIdle(connection) {
      if isFirstTooMany || connection.id == id { startIdleClock(of: connection.id, now: now, into: &action) }
    }
  }

  mutating func startIdleClock(of id: ConnectionID, now: MonotonicTime, into action: inout PoolAction) {
    group.markIdle(id, at: now)
    wake(at: now + configuration.idleTimeout, into: &action)
  }

  mutating func closeIdle(now: MonotonicTime, into action: inout PoolAction) {
    for connection in group.members where isIdle(connection) && isAboveMinimum(connection.endpoint) {
      if connection.idleSince + configuration.idleTimeout <= now { close(connection.id, into: &action) }
    }
  }

  private func isIdle(_ connection: ConnectionGroup.Member) -> Bool {
    connection.phase == .serving && connection.leased == 0
  }
}

// MARK: - Time

extension PoolStateMachine {
  mutating func wake(at time: MonotonicTime, into action: inout PoolAction) {
    if let wakeUp, wakeUp <= time { return }
    wakeUp = time
    action.timer = .set(time)
  }

  var nextWakeUp: MonotonicTime? {
    var times = [queue.earliestDeadline].compactMap(\.self)
    if life == .running { times += [nextRetry, nextAttempt].compactMap(\.self) }
    if case .draining(let deadline?) = life { times.append(deadline) }
    for connection in group.members {
      if connection.phase == .connecting { times.append(connection.began + configuration.backoff.connectTimeout) }
      if isIdle(connection), isAboveMinimum(connection.endpoint) {
        times.append(connection.idleSince + configuration.idleTimeout)
      }
    }
    return times.min()
  }
}
