/// The pool's connections: what each can carry and carries, and which one takes the next lease.
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
    fileprivate(set) var phase = Phase.connecting
    fileprivate(set) var capacity = 0
    fileprivate(set) var leased = 0
    /// When it began to connect or, from then on, became ready.
    fileprivate(set) var began: MonotonicInstant
    /// As `markIdle` was told; means nothing while there are leases.
    fileprivate(set) var idleSince: MonotonicInstant
  }

  /// Indexed by `ConnectionID.slot`; few enough to look at each of them.
  private var slots: [Member?] = []
  private var nextNumber: UInt64 = 0
  private(set) var connecting = 0
  private(set) var serving = 0
  private(set) var goingAway = 0
  private(set) var closing = 0

  var isEmpty: Bool { total == 0 }
  var total: Int { connecting + serving + goingAway + closing }
  var members: some Sequence<Member> { slots.lazy.compactMap(\.self) }

  subscript(_ id: ConnectionID) -> Member? {
    guard slots.indices.contains(id.slot), let member = slots[id.slot], member.id == id else { return nil }
    return member
  }

  mutating func open(at now: MonotonicInstant) -> ConnectionID {
    let slot = slots.firstIndex { $0 == nil } ?? slots.endIndex
    if slot == slots.endIndex { slots.append(nil) }
    let id = ConnectionID(slot: slot, number: nextNumber)
    nextNumber += 1
    slots[slot] = Member(id: id, began: now, idleSince: now)
    connecting += 1
    return id
  }

  mutating func connected(_ id: ConnectionID, capacity: Int, at now: MonotonicInstant) {
    move(id, to: .serving)
    slots[id.slot]?.began = now
    setCapacity(capacity, of: id)
  }

  mutating func setCapacity(_ capacity: Int, of id: ConnectionID) {
    guard self[id] != nil else { return }
    slots[id.slot]?.capacity = max(0, capacity)
  }

  /// Leases on the serving connection with the fewest leases; among equals always the same one, so that those a lull
  /// does not need grow idle. `nil`: all are full.
  mutating func lease() -> ConnectionID? {
    var best: Int?
    var fewest = Int.max
    for slot in slots.indices {
      guard let member = slots[slot], member.phase == .serving else { continue }
      if member.leased < fewest, member.leased < member.capacity {
        best = slot
        fewest = member.leased
      }
    }
    guard let best else { return nil }
    slots[best]?.leased += 1
    return slots[best]?.id
  }

  /// Answers with the connection as it is now; `nil` if it has closed, and the lease with it.
  mutating func leaseReturned(to id: ConnectionID) -> Member? {
    guard let member = self[id] else { return nil }
    precondition(member.leased > 0, "a lease came back that was never given")
    slots[id.slot]?.leased -= 1
    return slots[id.slot]
  }

  mutating func markIdle(_ id: ConnectionID, at now: MonotonicInstant) {
    if self[id] != nil { slots[id.slot]?.idleSince = now }
  }

  mutating func move(_ id: ConnectionID, to phase: Phase) {
    guard let member = self[id] else { return }
    count(member.phase, by: -1)
    count(phase, by: 1)
    slots[id.slot]?.phase = phase
  }

  mutating func remove(_ id: ConnectionID) -> Member? {
    guard let member = self[id] else { return nil }
    count(member.phase, by: -1)
    slots[id.slot] = nil
    return member
  }

  private mutating func count(_ phase: Phase, by change: Int) {
    switch phase {
    case .connecting: connecting += change
    case .serving: serving += change
    case .goingAway: goingAway += change
    case .closing: closing += change
    }
  }
}
