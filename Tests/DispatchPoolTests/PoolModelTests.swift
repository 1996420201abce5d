import Testing

@testable import DispatchPool

// Random events, and after each one every promise of the pool checked against a ledger that knows nothing of how the
// pool decides. The argument of a failed case is its seed.

@Suite struct PoolModelTests {
  @Test(arguments: UInt64(1)...60)
  func keepsItsPromises(seed: UInt64) {
    var world = World(seed: seed)
    for _ in 0..<1000 where world.violation == nil { world.step() }
    world.finish()
    #expect(world.violation == nil, "seed \(seed)")
  }
}

/// The pool's surroundings, and the ledger.
private struct World {
  enum Phase { case connecting, serving, goingAway, closing }

  struct Peer {
    var phase: Phase
    var capacity = 0
    var leases = 0
  }

  struct Waiting {
    let id: RequestID
    let deadline: MonotonicInstant?
    let waitsForReady: Bool
  }

  private(set) var violation: String?
  private var random: SplitMix64
  private let configuration: PoolConfiguration
  private var pool: PoolStateMachine
  private var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
  private var timer: MonotonicInstant?
  private var peers: [ConnectionID: Peer] = [:]
  private var closed: Set<ConnectionID> = []
  /// Each lease that is out, also those whose connection has closed since.
  private var leases: [ConnectionID] = []
  private var waiting: [Waiting] = []
  private var drains = 0
  private var isDraining = false

  init(seed: UInt64) {
    random = SplitMix64(state: seed)
    let maximum = Int.random(in: 1...5, using: &random)
    configuration = PoolConfiguration(
      minimumConnections: Int.random(in: 0...maximum, using: &random), maximumConnections: maximum,
      maximumWaiting: Int.random(in: 1...20, using: &random), assumedCapacity: Int.random(in: 1...4, using: &random),
      idleTimeout: .seconds(30))
    pool = PoolStateMachine(configuration: configuration)
  }

  // MARK: Events

  mutating func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<40: ask()
    case 40..<62: returnLease()
    case 62..<66: cancel()
    case 66..<80: letTimePass()
    case 80..<99: peerActs()
    default: perform(pool.started(now: now))
    }
  }

  /// Drains: everyone is answered, everything closes, and the drain completes once.
  mutating func finish() {
    isDraining = true
    perform(pool.drainRequested(deadline: nil, now: now))
    while let lease = leases.popLast() { giveBack(lease) }
    for id in peers.keys.sorted(by: { $0.number < $1.number }) { loses(id) }
    check(peers.isEmpty && waiting.isEmpty, "something is left after the drain")
    check(drains == 1, "the drain completed \(drains) times")
    check(pool.statistics == PoolStatistics(consecutiveFailures: pool.statistics.consecutiveFailures), "not empty")
  }

  private mutating func ask() {
    let deadline = Bool.random(using: &random) ? now + .milliseconds(Int.random(in: -1...5000, using: &random)) : nil
    let waitsForReady = Bool.random(using: &random)
    let action = pool.leaseRequested(deadline: deadline, waitForReady: waitsForReady, now: now)
    let roomBefore = roomiest
    switch action.request {
    case .none: fail("no answer")
    case .grant(let id):
      check(waiting.isEmpty, "overtook")
      lease(id)
    case .enqueue(let id):
      check(roomBefore == nil, "waits where there is room")
      waiting.append(Waiting(id: id, deadline: deadline, waitsForReady: waitsForReady))
      check(waiting.count <= configuration.maximumWaiting, "too many wait")
    case .refuse(let error):
      check(roomBefore == nil, "refused where there is room")
      switch error {
      case .timedOut: check(deadline.map { $0 <= now } ?? false, "timed out too early")
      case .unreachable: check(!waitsForReady && count(.serving) + count(.connecting) == 0, "reachable")
      case .tooManyWaiting: check(waiting.count == configuration.maximumWaiting, "not too many")
      case .cancelled, .draining: fail("refused for nothing")
      }
    }
    perform(action)
  }

  private mutating func returnLease() {
    guard let index = leases.indices.randomElement(using: &random) else { return }
    giveBack(leases.remove(at: index))
  }

  private mutating func giveBack(_ id: ConnectionID) {
    if peers[id] != nil { peers[id]!.leases -= 1 }
    perform(pool.leaseReturned(to: id, now: now))
    if let peer = peers[id], peer.phase == .goingAway { check(peer.leases > 0, "kept without a lease") }
  }

  private mutating func cancel() {
    guard let one = waiting.randomElement(using: &random) else { return }
    let action = pool.requestCancelled(one.id)
    check(action.answers == [.init(request: one.id, result: .failure(.cancelled))], "not cancelled")
    waiting.removeAll { $0.id == one.id }
    check(pool.requestCancelled(one.id) == PoolAction(), "cancelled twice")
  }

  /// To a random moment, but never past the timer: it fires when it is due.
  private mutating func letTimePass() {
    let target = now + .milliseconds(Int.random(in: 0...3000, using: &random))
    guard let timer, timer <= target else {
      now = target
      return
    }
    now = max(now, timer)
    self.timer = nil
    perform(pool.timerFired(now: now, jitter: Double.random(in: -1...1, using: &random)))
    let late = waiting.filter { $0.deadline.map { $0 <= now } ?? false }
    check(late.isEmpty, "still waits after its deadline")
  }

  private mutating func peerActs() {
    guard let id = peers.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else { return }
    switch (peers[id]!.phase, Int.random(in: 0..<4, using: &random)) {
    case (.connecting, 0...2): connects(id)
    case (.serving, 0...1): changesCapacity(id)
    case (.serving, 2): goesAway(id)
    default: loses(id)
    }
  }

  private mutating func connects(_ id: ConnectionID) {
    let capacity = Int.random(in: 0...4, using: &random)
    peers[id]!.phase = .serving
    peers[id]!.capacity = capacity
    perform(pool.connected(id, capacity: capacity, now: now))
  }

  private mutating func changesCapacity(_ id: ConnectionID) {
    let capacity = Int.random(in: 0...4, using: &random)
    peers[id]!.capacity = capacity
    perform(pool.capacityChanged(id, capacity: capacity, now: now))
  }

  private mutating func goesAway(_ id: ConnectionID) {
    peers[id]!.phase = .goingAway
    perform(pool.goingAway(id, now: now, jitter: 0))
  }

  private mutating func loses(_ id: ConnectionID) {
    peers[id] = nil
    closed.insert(id)
    perform(pool.closed(id, reason: "lost", now: now, jitter: 0))
    check(pool.closed(id, reason: "again", now: now, jitter: 0) == PoolAction(), "an old event had an effect")
  }

  // MARK: The ledger

  /// The fewest leases on a serving connection that has room; `nil`: there is no room.
  private var roomiest: Int? {
    peers.values.filter { $0.phase == .serving && $0.leases < $0.capacity }.map(\.leases).min()
  }

  private func count(_ phase: Phase) -> Int {
    peers.values.filter { $0.phase == phase }.count
  }

  private mutating func lease(_ id: ConnectionID) {
    check(peers[id]?.phase == .serving, "a lease on what does not serve")
    check(peers[id].map { $0.leases < $0.capacity } ?? false, "more leases than capacity")
    check(peers[id]?.leases == roomiest, "not the least loaded")
    peers[id]?.leases += 1
    leases.append(id)
  }

  private mutating func perform(_ action: PoolAction) {
    for answer in action.answers { settle(answer) }
    for id in action.close { beginClosing(id) }
    for id in action.open {
      check(peers[id] == nil && !closed.contains(id), "opened twice")
      check(!isDraining, "opened while draining")
      peers[id] = Peer(phase: .connecting)
    }
    if case .set(let time) = action.timer { timer = time }
    if action.completesDrain { drains += 1 }
    if isDraining { waitNoLonger() }
    checkBalance()
  }

  private mutating func settle(_ answer: PoolAction.Answer) {
    guard let index = waiting.firstIndex(where: { $0.id == answer.request }) else {
      return fail("an answer to who does not wait")
    }
    let request = waiting.remove(at: index)
    switch answer.result {
    case .success(let id):
      check(index == 0, "not first come, first served")
      lease(id)
    case .failure(.timedOut): check(request.deadline.map { $0 <= now } ?? false, "timed out too early")
    case .failure(.unreachable): check(!request.waitsForReady && roomiest == nil, "would have waited")
    case .failure(.draining): check(isDraining, "not draining")
    case .failure(.tooManyWaiting), .failure(.cancelled): fail("refused after it was let wait")
    }
  }

  private mutating func beginClosing(_ id: ConnectionID) {
    check(peers[id] != nil && peers[id]?.phase != .closing, "closed twice")
    if peers[id]?.phase == .serving { check(peers[id]?.leases == 0, "closed under a lease") }
    peers[id]?.phase = .closing
  }

  private mutating func waitNoLonger() {
    check(waiting.isEmpty, "waits for a pool that drains")
    for (id, peer) in peers where peer.phase == .serving { peers[id]?.phase = peer.leases > 0 ? .goingAway : .closing }
  }

  private mutating func checkBalance() {
    check(waiting.isEmpty || roomiest == nil, "somebody waits where there is room")
    check(count(.connecting) + count(.serving) <= configuration.maximumConnections, "too many connections")
    check(peers.count <= 2 * configuration.maximumConnections, "too many connections in all")
    for deadline in waiting.compactMap(\.deadline) {
      let alarm = max(deadline, now + PoolStateMachine.timerResolution)
      check(timer.map { $0 <= alarm } ?? false, "nothing will end a wait")
    }
    let hopeful = waiting.allSatisfy { $0.deadline == nil } && peers.isEmpty && !waiting.isEmpty
    check(!hopeful || timer != nil, "waits for a connection that nobody will open")
    let statistics = pool.statistics
    check(statistics.waiting == waiting.count, "miscounts those who wait")
    check(statistics.serving == count(.serving) && statistics.closing == count(.closing), "miscounts connections")
    check(statistics.leased == peers.values.map(\.leases).reduce(0, +), "miscounts leases")
  }

  private mutating func check(_ holds: Bool, _ complaint: String) {
    if !holds { fail(complaint) }
  }

  private mutating func fail(_ complaint: String) {
    if violation == nil { violation = complaint }
  }
}

/// Sebastiano Vigna's generator: one word of state, so that a seed is a whole run.
private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
