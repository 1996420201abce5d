import TestSupport
import Testing

@testable import DispatchPool

// Random events, and after each one every promise of the pool checked against a model that knows nothing of how the
// pool decides. The argument of a failed case is its seed.

@Suite struct PoolModelTests {
  @Test(arguments: seeds(ofAll: 120))
  func keepsItsPromises(seed: UInt64) {
    var world = PoolWorld(seed: seed)
    for _ in 0..<1000 where world.violation == nil { world.step() }
    world.finish()
    #expect(world.violation == nil, "seed \(seed)")
  }
}

/// The pool's surroundings: callers, peers, a resolver, a clock, and chance that decides what happens next.
struct PoolWorld {
  var model: PoolModel
  private(set) var violation: String?
  private var random: SeededGenerator
  private var pool: PoolStateMachine
  private var timer: MonotonicTime?
  private var drains = 0

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    let maximum = Int.random(in: 1...4, using: &random)
    var configuration = PoolConfiguration(
      minimumConnections: Int.random(in: 0...min(2, maximum), using: &random), maximumConnections: maximum,
      maximumWaiting: Int.random(in: 1...20, using: &random), assumedCapacity: Int.random(in: 1...4, using: &random),
      idleTimeout: .seconds(30))
    configuration.balancing = [.pickFirst, .roundRobin, .leastRequest].randomElement(using: &random)!
    if Bool.random(using: &random) { configuration.attemptDelay = nil }
    // One in three knows its endpoints from the beginning; the others are told, or not.
    let count = Int.random(in: 1...4, using: &random)
    let fixed = Int.random(in: 0..<3, using: &random) == 0 ? (0..<count).map(EndpointID.init) : nil
    pool = PoolStateMachine(configuration: configuration, endpoints: fixed)
    model = PoolModel(configuration, endpoints: fixed)
  }

  mutating func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<38: ask()
    case 38..<60: returnLease()
    case 60..<64: cancel()
    case 64..<76: letTimePass()
    case 76..<95: peerActs()
    case 95..<98: resolve()
    default: perform(pool.started(now: model.now), begins: true)
    }
  }

  /// Drains: everyone is answered, everything closes, and the drain completes once.
  mutating func finish() {
    model.life = .draining
    perform(pool.drainRequested(deadline: nil, now: model.now))
    while !model.leases.isEmpty { returnLease() }
    for id in model.sortedPeers { loses(id) }
    check(model.peers.isEmpty && model.waiting.isEmpty, "something is left after the drain")
    check(drains == 1, "the drain completed \(drains) times")
    check(pool.statistics == PoolStatistics(), "not empty")
  }

  // MARK: Callers

  private mutating func ask() {
    let deadline =
      Bool.random(using: &random) ? model.now + .milliseconds(Int.random(in: -1...5000, using: &random)) : nil
    let waitsForReady = Bool.random(using: &random)
    let hadRoom = model.hasRoom
    let wasUnreachable = model.isUnreachable
    let action = pool.leaseRequested(deadline: deadline, waitForReady: waitsForReady, now: model.now)
    switch action.request {
    case .none: fail("no answer")
    case .grant(let id):
      check(model.waiting.isEmpty, "overtook")
      lease(id)
      perform(action)
    case .enqueue(let id):
      check(!hadRoom, "waits where there is room")
      check(!wasUnreachable || waitsForReady, "waits for nothing")
      model.waiting.append(.init(id: id, deadline: deadline, waitsForReady: waitsForReady))
      check(model.waiting.count <= model.configuration.maximumWaiting, "too many wait")
      perform(action, begins: true)
    case .refuse(let error):
      check(!hadRoom, "refused where there is room")
      switch error {
      case .timedOut: check(deadline.map { $0 <= model.now } ?? false, "timed out too early")
      case .unreachable: check(!waitsForReady && wasUnreachable, "reachable")
      case .tooManyWaiting: check(model.waiting.count == model.configuration.maximumWaiting, "not too many")
      case .cancelled, .draining: fail("refused for nothing")
      }
      perform(action)
    }
  }

  private mutating func returnLease() {
    guard let index = model.leases.indices.randomElement(using: &random) else { return }
    let id = model.leases.remove(at: index)
    if model.peers[id] != nil { model.peers[id]!.leases -= 1 }
    perform(pool.leaseReturned(to: id, now: model.now))
    if let peer = model.peers[id], peer.phase == .goingAway { check(peer.leases > 0, "kept without a lease") }
  }

  private mutating func cancel() {
    guard let one = model.waiting.randomElement(using: &random) else { return }
    let action = pool.requestCancelled(one.id)
    check(action.answers == [.init(request: one.id, result: .failure(.cancelled))], "not cancelled")
    model.waiting.removeAll { $0.id == one.id }
    check(pool.requestCancelled(one.id) == PoolAction(), "cancelled twice")
  }

  // MARK: Time

  /// To a random moment, but never past the timer: it fires when it is due.
  private mutating func letTimePass() {
    let target = model.now + .milliseconds(Int.random(in: 0...3000, using: &random))
    guard let timer, timer <= target else {
      model.now = target
      return
    }
    model.now = max(model.now, timer)
    self.timer = nil
    model.timerFires()
    perform(pool.timerFired(now: model.now, jitter: 0))
    let late = model.waiting.filter { $0.deadline.map { $0 <= model.now } ?? false }
    check(late.isEmpty, "still waits after its deadline")
  }

  // MARK: Peers and the resolver

  private mutating func peerActs() {
    guard let id = model.sortedPeers.randomElement(using: &random) else { return }
    switch (model.peers[id]!.phase, Int.random(in: 0..<4, using: &random)) {
    case (.connecting, 0...2): connects(id)
    case (.serving, 0...1): changesCapacity(id)
    case (.serving, 2): goesAway(id)
    default: loses(id)
    }
  }

  private mutating func connects(_ id: ConnectionID) {
    let capacity = Int.random(in: 0...4, using: &random)
    model.connects(id, capacity: capacity)
    perform(pool.connected(id, capacity: capacity, now: model.now))
  }

  private mutating func changesCapacity(_ id: ConnectionID) {
    let capacity = Int.random(in: 0...4, using: &random)
    model.peers[id]!.capacity = capacity
    perform(pool.capacityChanged(id, capacity: capacity, now: model.now))
  }

  private mutating func goesAway(_ id: ConnectionID) {
    let asks = model.isLoss(of: id)
    model.losesTrust(in: id)
    model.peers[id]!.phase = .goingAway
    model.chooseAnew()
    let action = pool.goingAway(id, now: model.now, jitter: 0)
    check(action.asksForEndpoints == asks, "asks for endpoints at the wrong time")
    perform(action)
  }

  private mutating func loses(_ id: ConnectionID) {
    let asks = model.isLoss(of: id)
    model.losesTrust(in: id)
    model.closes(id)
    let action = pool.closed(id, reason: "lost", now: model.now, jitter: 0)
    check(action.asksForEndpoints == asks, "asks for endpoints at the wrong time")
    perform(action)
    check(
      pool.closed(id, reason: "again", now: model.now, jitter: 0) == PoolAction(), "an old event had an effect")
  }

  private mutating func resolve() {
    guard !model.isFixed else { return }
    if Int.random(in: 0..<4, using: &random) == 0 {
      model.resolutionFails()
      perform(pool.endpointsNotFound(reason: "no such name"))
      return
    }
    // Some of six, in any order; now and then none, or one twice.
    var endpoints = (0..<6).map(EndpointID.init).shuffled(using: &random)
    endpoints.removeFirst(Int.random(in: 2...6, using: &random))
    if let twice = endpoints.randomElement(using: &random), Bool.random(using: &random) { endpoints.append(twice) }
    model.resolves(endpoints)
    perform(pool.endpointsReplaced(endpoints, now: model.now))
    for (id, peer) in model.peers where !model.listed.contains(id.endpoint) {
      check(peer.phase == .goingAway || peer.phase == .closing, "a gone endpoint is kept")
    }
  }

  // MARK: Actions

  private mutating func perform(_ action: PoolAction, begins: Bool = false) {
    if begins, model.life == .dormant {
      model.life = .running
      check(action.asksForEndpoints == model.isAwaitingEndpoints, "does not ask for endpoints")
    }
    // In the order that things happen in: who waited is served by what there is left, then more is opened.
    for id in action.close { beginClosing(id) }
    for answer in action.answers { settle(answer) }
    for id in action.open { open(id) }
    if case .set(let time) = action.timer { timer = time }
    if action.completesDrain { drains += 1 }
    if model.life == .draining { drain() }
    for complaint in model.complaints(timer: timer) { fail(complaint) }
    compareStatistics()
  }

  private mutating func settle(_ answer: PoolAction.Answer) {
    guard let index = model.waiting.firstIndex(where: { $0.id == answer.request }) else {
      return fail("an answer to who does not wait")
    }
    let request = model.waiting.remove(at: index)
    switch answer.result {
    case .success(let id):
      check(index == 0, "not first come, first served")
      lease(id)
    case .failure(.timedOut): check(request.deadline.map { $0 <= model.now } ?? false, "timed out too early")
    case .failure(.unreachable): check(!request.waitsForReady && !model.hasRoom, "would have waited")
    case .failure(.draining): check(model.life == .draining, "not draining")
    case .failure(.tooManyWaiting), .failure(.cancelled): fail("refused after it was let wait")
    }
  }

  private mutating func lease(_ id: ConnectionID) {
    if let complaint = model.lease(id) { fail(complaint) }
  }

  private mutating func open(_ id: ConnectionID) {
    if let complaint = model.open(id) { fail(complaint) }
  }

  private mutating func beginClosing(_ id: ConnectionID) {
    check(model.peers[id] != nil && model.peers[id]?.phase != .closing, "closed twice")
    if model.peers[id]?.phase == .serving { check(model.peers[id]?.leases == 0, "closed under a lease") }
    // An attempt that was given up because it hung, and not because another was quicker or its endpoint is gone.
    if model.hangs(id) { model.losesTrust(in: id) }
    model.peers[id]?.phase = .closing
  }

  private mutating func drain() {
    check(model.waiting.isEmpty, "waits for a pool that drains")
    for (id, peer) in model.peers where peer.phase == .serving {
      model.peers[id]?.phase = peer.leases > 0 ? .goingAway : .closing
    }
  }

  private mutating func compareStatistics() {
    let statistics = pool.statistics
    check(statistics.waiting == model.waiting.count, "miscounts those who wait")
    check(statistics.serving == model.count(.serving), "miscounts those that serve")
    check(statistics.closing == model.count(.closing), "miscounts those that close")
    check(statistics.leased == model.peers.values.map(\.leases).reduce(0, +), "miscounts leases")
    let endpoints = pool.group.endpoints
    check(endpoints.filter(\.isListed).map(\.id) == model.listed, "lists other endpoints")
    let gone = Set(model.peers.keys.map(\.endpoint)).subtracting(model.listed)
    check(Set(endpoints.filter { !$0.isListed }.map(\.id)) == gone, "remembers the wrong endpoints")
    for endpoint in endpoints {
      check(endpoint.leased == model.leases(on: endpoint.id), "miscounts an endpoint's leases")
    }
  }

  private mutating func check(_ holds: Bool, _ complaint: String) {
    if !holds { fail(complaint) }
  }

  private mutating func fail(_ complaint: String) {
    if violation == nil { violation = complaint }
  }
}
