/// How leases are spread over a pool's endpoints.
public enum PoolBalancing: Sendable, Hashable {
  /// All on one: the first in order that can be connected, for as long as it serves (gRPC's pick_first). The rest stand
  /// by.
  case pickFirst
  /// On each in turn; one that is full is passed over.
  case roundRobin
  /// On the one with the fewest (gRFC A48 looks at two at random; few enough are here to look at all); among equals in
  /// turn.
  case leastRequest
}

extension ConnectionGroup {
  /// Leases where `balancing` says. `nil`: all that may be used is full.
  mutating func lease(_ balancing: PoolBalancing) -> ConnectionID? {
    guard let (endpoint, slot) = pick(balancing) else { return nil }
    if listed > 1 { cursor = endpoint + 1 == listed ? 0 : endpoint + 1 }
    endpoints[endpoint].leased += 1
    slots[slot]!.leased += 1
    return slots[slot]!.id
  }

  private func pick(_ balancing: PoolBalancing) -> (endpoint: Int, slot: Int)? {
    switch balancing {
    case .pickFirst:
      guard let chosen, let slot = roomiest(of: chosen) else { return nil }
      return (chosen, slot)
    case .roundRobin:
      return pickInTurn()
    case .leastRequest:
      return pickLeastLoaded()
    }
  }

  private func pickInTurn() -> (endpoint: Int, slot: Int)? {
    for endpoint in inTurn {
      if let slot = roomiest(of: endpoint) { return (endpoint, slot) }
    }
    return nil
  }

  private func pickLeastLoaded() -> (endpoint: Int, slot: Int)? {
    var best: (endpoint: Int, slot: Int)?
    var fewest = Int.max
    for endpoint in inTurn where endpoints[endpoint].leased < fewest {
      guard let slot = roomiest(of: endpoint) else { continue }
      best = (endpoint, slot)
      fewest = endpoints[endpoint].leased
    }
    return best
  }

  /// From the cursor around.
  private var inTurn: some Sequence<Int> {
    (0..<listed).lazy.map { [cursor, listed] in
      let place = cursor + $0
      return place < listed ? place : place - listed
    }
  }

  /// The endpoint's connection with the fewest leases; among equals always the same one, so that those a lull does not
  /// need grow idle. `nil`: all are full.
  private func roomiest(of endpoint: Int) -> Int? {
    var best: Int?
    var fewest = Int.max
    for slot in endpoints[endpoint].serving {
      guard let member = slots[slot], member.leased < fewest, member.hasRoom else { continue }
      best = slot
      fewest = member.leased
    }
    return best
  }
}
