// Strangers make room for one another, and never take a caller's place.

import TestSupport
import Testing

@testable import DispatchRPC

extension ConnectionSlots {
  fileprivate mutating func arrived(from address: SocketAddress?, keeper: Int) -> OnArrival {
    arrived(keeper, in: address?.subscriber)
  }
}

@Suite struct ConnectionSlotsTests {
  private static func address(_ host: String, port: UInt16 = 1) throws -> SocketAddress {
    try #require(try SocketAddress.resolve(host: host, port: port).first)
  }

  @Test func aStrangerWithARunningRequestIsTheLastToMakeRoom() throws {
    var slots = ConnectionSlots(limit: 3, strangersPerAddress: 3)
    let hosts = try (1...6).map { try Self.address("192.0.2.\($0)") }
    for id in 0..<3 { #expect(slots.arrived(from: hosts[id], keeper: id) == .admit(UInt64(id))) }
    slots.setRunning(0, true)
    #expect(slots.arrived(from: hosts[3], keeper: 3) == .admitEnding(3, .init(id: 1, member: 1)))
    slots.setRunning(2, true)
    slots.setRunning(3, true)
    // All run one: the oldest goes, and the next comer before those that are left.
    #expect(slots.arrived(from: hosts[4], keeper: 4) == .admitEnding(4, .init(id: 0, member: 0)))
    #expect(slots.arrived(from: hosts[5], keeper: 5) == .admitEnding(5, .init(id: 4, member: 4)))
    slots.setRunning(2, false)
    #expect(slots.makeRoom() == .init(id: 2, member: 2))
  }

  /// As many as it may have, from addresses of their own: no address has too many strangers.
  private static func full(of owner: String, limit: Int) throws -> ConnectionSlots {
    var slots = ConnectionSlots(limit: limit, strangersPerAddress: limit)
    for id in 0..<UInt64(limit) {
      #expect(slots.arrived(from: try Self.address("192.0.2.\(id)"), keeper: Int(id)) == .admit(id))
      #expect(slots.callAdmitted(id, of: owner) == (id < limit - limit / 16 ? .keep : .share))
    }
    return slots
  }

  @Test func aCallerMakesRoomForOneWithFewerButKeepsAsMany() throws {
    var slots = try Self.full(of: "game", limit: 32)
    let host = try Self.address("198.51.100.1")
    var evicted: [UInt64] = []
    for id in 32..<64 as Range<UInt64> {
      switch slots.arrived(from: host, keeper: 0) {
      case .admit(id), .admitEnding(id, _): break
      default: #expect(Bool(false), "a sixteenth of the places is for those that come")
      }
      switch slots.callAdmitted(id, of: "bank") {
      case .keepEnding(let eviction): evicted.append(eviction.id)
      case .share: #expect(id >= 32 + 15)
      case .keep: #expect(Bool(false), "the caller with most makes room")
      }
    }
    // The newest went first, and the two callers have as many.
    #expect(evicted == (15..<30).reversed())
    #expect((slots.count, slots.strangerCount, slots.ownerCount) == (32, 2, 2))
  }

  @Test func aCallersFurtherConnectionsMakeRoomAsStrangersDo() throws {
    var slots = try Self.full(of: "game", limit: 32)
    let host = try Self.address("198.51.100.1")
    #expect(slots.arrived(from: host, keeper: 0) == .admitEnding(32, .init(id: 30, member: 30)))
    // A place of its own is there for it as soon as one of the others goes.
    #expect(slots.callAdmitted(31, of: "game") == .share)
    slots.left(3)
    #expect(slots.callAdmitted(31, of: "game") == .keep)
    #expect(slots.callAdmitted(31, of: "game") == .keep)
    #expect((slots.count, slots.strangerCount) == (31, 1))
  }

  /// 2001:db8::/64 is one, as every subscriber has as many addresses; an IPv4 address in IPv6 is that IPv4 address.
  @Test(arguments: [
    ("2001:db8::1", "2001:db8::2", true), ("2001:db8::1", "2001:db8:0:1::1", false), ("::1", "::2", false),
    ("::ffff:192.0.2.1", "192.0.2.1", true), ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
  ])
  func anAddressIsWhatOneSubscriberHas(_ one: String, _ other: String, isSame: Bool) throws {
    var slots = ConnectionSlots(limit: 10, strangersPerAddress: 1)
    #expect(slots.arrived(from: try Self.address(one, port: 1), keeper: 0) == .admit(0))
    let expected: ConnectionSlots.OnArrival = isSame ? .admitEnding(1, .init(id: 0, member: 0)) : .admit(1)
    #expect(slots.arrived(from: try Self.address(other, port: 2), keeper: 0) == expected)
  }

  @Test func unixSocketsHaveNoAddressButTakePlaces() {
    var slots = ConnectionSlots(limit: 3, strangersPerAddress: 1)
    for id in 0..<3 as Range<UInt64> { #expect(slots.arrived(from: nil, keeper: 0) == .admit(id)) }
    #expect(slots.arrived(from: nil, keeper: 0) == .admitEnding(3, .init(id: 0, member: 0)))
  }

  @Test func ifDescriptorsRunOutTheOldestStrangerGoesAndCallersStay() throws {
    var slots = ConnectionSlots(limit: 100, strangersPerAddress: 100)
    let host = try Self.address("192.0.2.1")
    for keeper in 0..<3 { _ = slots.arrived(from: host, keeper: keeper) }
    _ = slots.callAdmitted(0, of: "caller")
    #expect(slots.makeRoom() == .init(id: 1, member: 1))
    #expect(slots.makeRoom() == .init(id: 2, member: 2))
    #expect(slots.makeRoom() == nil)
    #expect((slots.count, slots.strangerCount, slots.groupCount) == (1, 0, 0))
  }

  @Test func oneThatWasClosedToMakeRoomIsGone() throws {
    var slots = ConnectionSlots(limit: 1, strangersPerAddress: 1)
    let host = try Self.address("192.0.2.1")
    _ = slots.arrived(from: host, keeper: 0)
    #expect(slots.arrived(from: host, keeper: 0) == .admitEnding(1, .init(id: 0, member: 0)))
    _ = slots.callAdmitted(0, of: "caller")
    slots.left(0)
    #expect(!slots.holds(0) && slots.holds(1))
    #expect((slots.count, slots.strangerCount) == (1, 1))
  }

  /// Whatever comes and goes, the limits hold and nothing is remembered of what went.
  @Test(arguments: seeds(ofAll: 20)) func theLimitsHoldWhateverComes(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let (limit, perAddress) = (Int.random(in: 1...40, using: &generator), Int.random(in: 1...10, using: &generator))
    var slots = ConnectionSlots(limit: limit, strangersPerAddress: perAddress)
    let hosts = try (1...6).map { try Self.address("192.0.2.\($0)") }
    var model: [(id: UInt64, host: Int, owner: String?)] = []
    for _ in 0..<2_000 {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0, 1:
        let host = Int.random(in: 0..<hosts.count, using: &generator)
        switch slots.arrived(from: hosts[host], keeper: 0) {
        case .admit(let id):
          model.append((id, host, nil))
        case .admitEnding(let id, let eviction):
          let index = try #require(model.firstIndex { $0.id == eviction.id })
          #expect(model[index].owner == nil)
          // The first of its kind: of the address if that is what was full, otherwise of all.
          let strangers = model.filter { $0.owner == nil }
          let isAddressFull = strangers.filter { $0.host == host }.count >= perAddress
          #expect(strangers.first { !isAddressFull || $0.host == host }?.id == eviction.id)
          model.remove(at: index)
          model.append((id, host, nil))
        case .refuse:
          #expect(model.allSatisfy { $0.owner != nil } && model.count == limit)
        }
      case 2:
        guard let index = model.indices.randomElement(using: &generator) else { continue }
        let owner = ["shop", "bank", "game"][Int.random(in: 0..<3, using: &generator)]
        let counts = Dictionary(model.compactMap { slot in slot.owner.map { ($0, 1) } }, uniquingKeysWith: +)
        let isFull = counts.values.reduce(0, +) >= limit - limit / 16
        let isFair = (counts.values.max() ?? 0) < (counts[owner] ?? 0) + 2
        let wasStranger = model[index].owner == nil
        switch slots.callAdmitted(model[index].id, of: owner) {
        case .keep:
          #expect(!wasStranger || !isFull)
          model[index].owner = model[index].owner ?? owner
        case .share:
          #expect(wasStranger && isFull && isFair)
        case .keepEnding(let eviction):
          #expect(wasStranger && isFull && !isFair)
          model[index].owner = owner
          let closed = try #require(model.firstIndex { $0.id == eviction.id })
          #expect(counts[model[closed].owner ?? ""] == counts.values.max())
          model.remove(at: closed)
        }
      default:
        guard let index = model.indices.randomElement(using: &generator) else { continue }
        slots.left(model.remove(at: index).id)
      }
      #expect(slots.count == model.count && slots.count <= limit)
      #expect(slots.strangerCount == model.count { $0.owner == nil })
      #expect(slots.groupCount == Set(model.filter { $0.owner == nil }.map(\.host)).count)
      #expect(slots.ownerCount == Set(model.compactMap(\.owner)).count)
    }
  }
}
