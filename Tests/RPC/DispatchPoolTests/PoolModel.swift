@testable import DispatchPool

/// The behaviour of a pool in the plainest form: everything is looked up anew, nothing is kept for speed.
struct PoolModel {
  enum Phase { case connecting, serving, goingAway, closing }
  enum Life { case dormant, running, draining }

  struct Peer {
    var phase = Phase.connecting
    var capacity = 0
    var leases = 0
    /// When it began to connect, then when it was connected.
    var since: MonotonicTime

    var hasRoom: Bool { phase == .serving && leases < capacity }
  }

  struct Waiting {
    let id: RequestID
    let deadline: MonotonicTime?
    let waitsForReady: Bool
  }

  /// An endpoint's back-off.
  struct Distrust {
    var failures = 0
    var waitsUntil: MonotonicTime?
    /// The latest attempt failed.
    var isProbing = false
    var succeededAt: MonotonicTime?
  }

  let configuration: PoolConfiguration
  let isFixed: Bool
  var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
  var life = Life.dormant
  var listed: [EndpointID]
  /// Something was listed once, or a resolution failed.
  var isResolved: Bool
  var peers: [ConnectionID: Peer] = [:]
  var closed: Set<ConnectionID> = []
  /// Each lease that is out, also those whose connection has closed since.
  var leases: [ConnectionID] = []
  var waiting: [Waiting] = []
  var distrust: [EndpointID: Distrust] = [:]
  /// Whose turn it is, as a place in `listed`.
  var turn = 0
  var chosen: EndpointID?
  var expectedCapacity: Int

  init(_ configuration: PoolConfiguration, endpoints: [EndpointID]?) {
    self.configuration = configuration
    isFixed = endpoints != nil
    isResolved = isFixed
    listed = endpoints ?? []
    expectedCapacity = configuration.assumedCapacity
  }

  // MARK: Questions

  var sortedPeers: [ConnectionID] { peers.keys.sorted { $0.number < $1.number } }
  var isAwaitingEndpoints: Bool { !isResolved }

  func count(_ phase: Phase, of endpoint: EndpointID? = nil) -> Int {
    peers.filter { $1.phase == phase && (endpoint == nil || $0.endpoint == endpoint) }.count
  }

  func open(_ endpoint: EndpointID) -> Int { count(.connecting, of: endpoint) + count(.serving, of: endpoint) }

  func leases(on endpoint: EndpointID) -> Int {
    peers.filter { $0.key.endpoint == endpoint }.map(\.value.leases).reduce(0, +)
  }

  func hasRoom(_ endpoint: EndpointID) -> Bool {
    peers.contains { $0.key.endpoint == endpoint && $0.value.hasRoom }
  }

  /// Endpoints that may take a lease now.
  var roomy: [EndpointID] {
    guard life == .running else { return [] }
    if configuration.balancing == .pickFirst { return chosen.map { hasRoom($0) ? [$0] : [] } ?? [] }
    return listed.filter { hasRoom($0) }
  }

  var hasRoom: Bool { !roomy.isEmpty }

  var isUnreachable: Bool {
    guard count(.serving) == 0, count(.connecting) == 0 else { return false }
    return listed.isEmpty ? isResolved : listed.allSatisfy { distrust[$0]?.waitsUntil != nil }
  }

  /// One more connection could be made to it.
  func canOpen(_ endpoint: EndpointID) -> Bool {
    let (distrust, connecting) = (distrust[endpoint] ?? Distrust(), count(.connecting, of: endpoint))
    let total = peers.keys.filter { $0.endpoint == endpoint }.count
    return distrust.waitsUntil == nil && !(distrust.isProbing && connecting > 0)
      && open(endpoint) < configuration.maximumConnections && total < 2 * configuration.maximumConnections
  }

  var untried: [EndpointID] { listed.filter { count(.connecting, of: $0) == 0 && canOpen($0) } }

  /// An attempt that took too long.
  func hangs(_ id: ConnectionID) -> Bool {
    guard let peer = peers[id], peer.phase == .connecting, listed.contains(id.endpoint) else { return false }
    return peer.since + configuration.backoff.connectTimeout <= now
  }

  // MARK: Leases

  /// Returns the fault of a lease there, or `nil`.
  mutating func lease(_ id: ConnectionID) -> String? {
    guard let peer = peers[id], peer.hasRoom else { return "a lease where there is no room" }
    let expected = roomy
    guard expected.contains(id.endpoint) else { return "a lease on an endpoint that takes none" }
    let siblings = peers.filter { $0.key.endpoint == id.endpoint && $0.value.hasRoom }
    guard peer.leases == siblings.values.map(\.leases).min() else { return "not the least loaded connection" }
    switch configuration.balancing {
    case .pickFirst: break
    case .roundRobin:
      let inTurn = listed[turn...] + listed[..<turn]
      guard inTurn.first(where: expected.contains) == id.endpoint else { return "out of turn" }
    case .leastRequest:
      guard leases(on: id.endpoint) == expected.map(leases(on:)).min() else { return "not the least loaded endpoint" }
    }
    turn = (listed.firstIndex(of: id.endpoint)! + 1) % listed.count
    peers[id]!.leases += 1
    leases.append(id)
    return nil
  }

  // MARK: Connections

  /// Returns the fault of a connection to there, or `nil`.
  mutating func open(_ id: ConnectionID) -> String? {
    guard peers[id] == nil, !closed.contains(id) else { return "opened twice" }
    guard life == .running else { return "opened while not running" }
    guard listed.contains(id.endpoint) else { return "opened to an unknown endpoint" }
    guard canOpen(id.endpoint) else { return "opened too many, or too early" }
    if configuration.balancing == .pickFirst {
      if let chosen, chosen != id.endpoint { return "opened beside the chosen one" }
      if chosen == nil, untried.first != id.endpoint { return "tried out of order" }
    }
    peers[id] = Peer(since: now)
    return nil
  }

  mutating func connects(_ id: ConnectionID, capacity: Int) {
    peers[id]!.phase = .serving
    peers[id]!.capacity = capacity
    peers[id]!.since = now
    expectedCapacity = max(1, capacity)
    distrust[id.endpoint, default: Distrust()].waitsUntil = nil
    distrust[id.endpoint]!.isProbing = false
    distrust[id.endpoint]!.succeededAt = now
    if configuration.balancing == .pickFirst, chosen == nil { chosen = id.endpoint }
  }

  /// The pool should look for endpoints anew.
  func isLoss(of id: ConnectionID) -> Bool {
    guard let peer = peers[id] else { return false }
    return life == .running && !isFixed && (peer.phase == .connecting || peer.phase == .serving)
  }

  /// It is lost, or as good as lost: too early a loss has the next attempt wait.
  mutating func losesTrust(in id: ConnectionID) {
    guard let peer = peers[id] else { return }
    let backoff = configuration.backoff
    switch peer.phase {
    case .connecting: break
    case .serving where now - peer.since < backoff.initialDelay: break
    case .serving, .goingAway, .closing: return
    }
    var distrust = distrust[id.endpoint] ?? Distrust()
    guard distrust.waitsUntil == nil else { return }
    if let succeededAt = distrust.succeededAt, now - succeededAt >= backoff.initialDelay { distrust.failures = 0 }
    distrust.succeededAt = nil
    distrust.isProbing = true
    distrust.failures += 1
    var delay = backoff.initialDelay
    for _ in 1..<distrust.failures { delay = min(delay * backoff.multiplier, backoff.maximumDelay) }
    distrust.waitsUntil = now + delay
    self.distrust[id.endpoint] = distrust
  }

  mutating func closes(_ id: ConnectionID) {
    peers[id] = nil
    closed.insert(id)
    chooseAnew()
    if !listed.contains(id.endpoint), !peers.keys.contains(where: { $0.endpoint == id.endpoint }) {
      forget(id.endpoint)
    }
  }

  mutating func chooseAnew() {
    if let endpoint = chosen, count(.serving, of: endpoint) == 0 { chosen = nil }
  }

  // MARK: Resolution

  mutating func resolutionFails() {
    if listed.isEmpty { isResolved = true }
  }

  mutating func resolves(_ endpoints: [EndpointID]) {
    var once: [EndpointID] = []
    for endpoint in endpoints where !once.contains(endpoint) { once.append(endpoint) }
    let gone = listed.filter { !once.contains($0) }
    listed = once
    isResolved = true
    for endpoint in gone {
      for (id, peer) in peers where id.endpoint == endpoint && peer.phase == .serving && peer.leases > 0 {
        peers[id]!.phase = .goingAway
      }
      // Nothing is remembered of it but what its connections need.
      if !peers.keys.contains(where: { $0.endpoint == endpoint }) { forget(endpoint) }
    }
    if let chosen, !listed.contains(chosen) { self.chosen = nil }
    if turn >= listed.count { turn = 0 }
  }

  mutating func forget(_ endpoint: EndpointID) {
    distrust[endpoint] = nil
  }

  /// Applies the changes that time alone makes.
  mutating func timerFires() {
    for endpoint in listed {
      if let end = distrust[endpoint]?.waitsUntil, end <= now { distrust[endpoint]!.waitsUntil = nil }
    }
  }
}
