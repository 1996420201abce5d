/// The pool's connections and their endpoints: what each connection can carry and carries, and what is counted of them.
struct ConnectionGroup {
  enum Phase: Hashable {
    /// Opened, not ready.
    case connecting
    /// Takes leases.
    case serving
    /// Keeps its leases, takes none.
    case goingAway
    /// Told to close.
    case closing
  }

  struct Member {
    let id: ConnectionID
    /// Its place in `endpoints`.
    var endpoint: Int
    fileprivate(set) var phase = Phase.connecting
    fileprivate(set) var capacity = 0
    var leased = 0
    /// When it began to connect or, from then on, became ready.
    fileprivate(set) var began: MonotonicTime
    /// The time of `markIdle`; means nothing while there are leases.
    fileprivate(set) var idleSince: MonotonicTime

    var hasRoom: Bool { leased < capacity }
  }

  /// Indexed by `ConnectionID.slot`.
  var slots: [Member?] = []
  /// The endpoints of the latest resolution in its order, then those that are gone and still have connections.
  var endpoints: [Endpoint]
  /// How many endpoints the latest resolution named.
  var listed: Int
  /// The place among the listed endpoints at which the next pick begins to look.
  var cursor = 0
  /// With `PoolBalancing.pickFirst`: the endpoint that leases are taken from; `nil` while none is connected.
  var chosen: Int?
  private(set) var counts = PhaseCounts()
  private var nextNumber: UInt64 = 0
  private let backoff: BackoffConfiguration

  init(endpoints: [EndpointID], backoff: BackoffConfiguration) {
    self.endpoints = endpoints.map { Endpoint($0, backoff: backoff) }
    self.listed = endpoints.count
    self.backoff = backoff
  }

  var isEmpty: Bool { counts.total == 0 }
  var members: some Sequence<Member> { slots.lazy.compactMap(\.self) }

  subscript(_ id: ConnectionID) -> Member? {
    guard slots.indices.contains(id.slot), let member = slots[id.slot], member.id == id else { return nil }
    return member
  }

  func makeEndpoint(_ id: EndpointID) -> Endpoint {
    Endpoint(id, backoff: backoff)
  }

  mutating func open(for endpoint: Int, at now: MonotonicTime) -> ConnectionID {
    let slot = slots.firstIndex { $0 == nil } ?? slots.endIndex
    if slot == slots.endIndex { slots.append(nil) }
    let id = ConnectionID(slot: slot, number: nextNumber, endpoint: endpoints[endpoint].id)
    nextNumber += 1
    slots[slot] = Member(id: id, endpoint: endpoint, began: now, idleSince: now)
    count(.connecting, of: endpoint, by: 1)
    return id
  }

  mutating func connected(_ id: ConnectionID, capacity: Int, at now: MonotonicTime) {
    move(id, to: .serving)
    slots[id.slot]?.began = now
    setCapacity(capacity, of: id)
  }

  mutating func setCapacity(_ capacity: Int, of id: ConnectionID) {
    guard self[id] != nil else { return }
    slots[id.slot]?.capacity = max(0, capacity)
  }

  /// Answers with the connection as it is now; `nil` if it has closed, and the lease with it.
  mutating func leaseReturned(to id: ConnectionID) -> Member? {
    guard let member = self[id] else { return nil }
    precondition(member.leased > 0, "a lease came back that was never given")
    slots[id.slot]?.leased -= 1
    endpoints[member.endpoint].leased -= 1
    return slots[id.slot]
  }

  mutating func markIdle(_ id: ConnectionID, at now: MonotonicTime) {
    if self[id] != nil { slots[id.slot]?.idleSince = now }
  }

  mutating func move(_ id: ConnectionID, to phase: Phase) {
    guard let member = self[id] else { return }
    leave(member)
    count(phase, of: member.endpoint, by: 1)
    if phase == .serving { endpoints[member.endpoint].serving.append(id.slot) }
    slots[id.slot]?.phase = phase
  }

  mutating func remove(_ id: ConnectionID) -> Member? {
    guard let member = self[id] else { return nil }
    leave(member)
    endpoints[member.endpoint].leased -= member.leased
    slots[id.slot] = nil
    return member
  }

  private mutating func leave(_ member: Member) {
    count(member.phase, of: member.endpoint, by: -1)
    guard member.phase == .serving else { return }
    endpoints[member.endpoint].serving.removeAll { $0 == member.id.slot }
    if chosen == member.endpoint, endpoints[member.endpoint].serving.isEmpty { chosen = nil }
  }

  private mutating func count(_ phase: Phase, of endpoint: Int, by change: Int) {
    counts.count(phase, by: change)
    endpoints[endpoint].counts.count(phase, by: change)
  }
}
