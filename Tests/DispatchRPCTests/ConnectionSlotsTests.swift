// Strangers make room for one another, and never take a caller's place.

import SeededGenerator
import Testing

@testable import DispatchRPC

@Suite struct ConnectionSlotsTests {
  private static func address(_ host: String, port: UInt16 = 1) throws -> SocketAddress {
    try #require(try SocketAddress.resolve(host: host, port: port).first)
  }

  @Test func theOldestStrangerOfAnAddressMakesRoomForItsNext() throws {
    var slots = ConnectionSlots(limit: 100, strangersPerAddress: 2)
    let (one, other) = (try Self.address("192.0.2.1"), try Self.address("192.0.2.2"))
    #expect(slots.arrived(from: other, keeper: 0) == .admit(0))
    #expect(slots.arrived(from: one, keeper: 1) == .admit(1))
    #expect(slots.arrived(from: one, keeper: 2) == .admit(2))
    #expect(slots.arrived(from: one, keeper: 3) == .admitClosing(3, evicted: 1, keeper: 1))
    #expect(slots.arrived(from: one, keeper: 4) == .admitClosing(4, evicted: 2, keeper: 2))
    #expect(slots.count == 3)
  }

  @Test func callersOfOneAddressDoNotCount() throws {
    var slots = ConnectionSlots(limit: 100, strangersPerAddress: 2)
    let proxy = try Self.address("192.0.2.1")
    for id in 0..<50 as Range<UInt64> {
      #expect(slots.arrived(from: proxy, keeper: 0) == .admit(id))
      slots.callAdmitted(id)
    }
    #expect(slots.arrived(from: proxy, keeper: 0) == .admit(50))
    #expect(slots.arrived(from: proxy, keeper: 0) == .admit(51))
    #expect(slots.arrived(from: proxy, keeper: 0) == .admitClosing(52, evicted: 50, keeper: 0))
  }

  @Test func whereAllPlacesAreTakenTheOldestStrangerGoes() throws {
    var slots = ConnectionSlots(limit: 3, strangersPerAddress: 3)
    let hosts = try (1...5).map { try Self.address("192.0.2.\($0)") }
    #expect(slots.arrived(from: hosts[0], keeper: 0) == .admit(0))
    slots.callAdmitted(0)
    #expect(slots.arrived(from: hosts[1], keeper: 1) == .admit(1))
    #expect(slots.arrived(from: hosts[2], keeper: 2) == .admit(2))
    #expect(slots.arrived(from: hosts[3], keeper: 3) == .admitClosing(3, evicted: 1, keeper: 1))
    slots.callAdmitted(2)
    #expect(slots.arrived(from: hosts[4], keeper: 4) == .admitClosing(4, evicted: 3, keeper: 3))
    #expect(slots.count == 3)
  }

  @Test func whereCallersHaveAllPlacesThereIsNone() throws {
    var slots = ConnectionSlots(limit: 2, strangersPerAddress: 2)
    let host = try Self.address("192.0.2.1")
    for id in 0..<2 as Range<UInt64> {
      #expect(slots.arrived(from: host, keeper: 0) == .admit(id))
      slots.callAdmitted(id)
    }
    #expect(slots.arrived(from: host, keeper: 0) == .refuse)
    slots.closed(1)
    #expect(slots.arrived(from: host, keeper: 0) == .admit(2))
  }

  /// 2001:db8::/64 is one, as every subscriber has as many addresses; an IPv4 address in IPv6 is that IPv4 address.
  @Test(arguments: [
    ("2001:db8::1", "2001:db8::2", true), ("2001:db8::1", "2001:db8:0:1::1", false), ("::1", "::2", false),
    ("::ffff:192.0.2.1", "192.0.2.1", true), ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
  ])
  func anAddressIsWhatOneSubscriberHas(_ one: String, _ other: String, isSame: Bool) throws {
    var slots = ConnectionSlots(limit: 10, strangersPerAddress: 1)
    #expect(slots.arrived(from: try Self.address(one, port: 1), keeper: 0) == .admit(0))
    let expected: ConnectionSlots.OnArrival = isSame ? .admitClosing(1, evicted: 0, keeper: 0) : .admit(1)
    #expect(slots.arrived(from: try Self.address(other, port: 2), keeper: 0) == expected)
  }

  @Test func unixSocketsHaveNoAddressButTakePlaces() {
    var slots = ConnectionSlots(limit: 3, strangersPerAddress: 1)
    for id in 0..<3 as Range<UInt64> { #expect(slots.arrived(from: nil, keeper: 0) == .admit(id)) }
    #expect(slots.arrived(from: nil, keeper: 0) == .admitClosing(3, evicted: 0, keeper: 0))
  }

  @Test func oneThatWasClosedToMakeRoomIsGone() throws {
    var slots = ConnectionSlots(limit: 1, strangersPerAddress: 1)
    let host = try Self.address("192.0.2.1")
    _ = slots.arrived(from: host, keeper: 0)
    #expect(slots.arrived(from: host, keeper: 0) == .admitClosing(1, evicted: 0, keeper: 0))
    slots.callAdmitted(0)
    slots.closed(0)
    #expect(!slots.holds(0) && slots.holds(1))
    #expect((slots.count, slots.strangerCount) == (1, 1))
  }

  /// Whatever comes and goes, the limits hold and nothing is remembered of what went.
  @Test(arguments: 0..<20 as Range<UInt64>) func theLimitsHoldWhateverComes(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let (limit, perAddress) = (Int.random(in: 1...40, using: &generator), Int.random(in: 1...10, using: &generator))
    var slots = ConnectionSlots(limit: limit, strangersPerAddress: perAddress)
    let hosts = try (1...6).map { try Self.address("192.0.2.\($0)") }
    var model: [(id: UInt64, host: Int, isStranger: Bool)] = []
    for _ in 0..<2_000 {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0, 1:
        let host = Int.random(in: 0..<hosts.count, using: &generator)
        switch slots.arrived(from: hosts[host], keeper: 0) {
        case .admit(let id):
          model.append((id, host, true))
        case .admitClosing(let id, let evicted, _):
          let index = try #require(model.firstIndex { $0.id == evicted })
          #expect(model[index].isStranger)
          // The first of its kind: of the address if that is what was full, otherwise of all.
          let strangers = model.filter(\.isStranger)
          let isAddressFull = strangers.filter { $0.host == host }.count >= perAddress
          #expect(strangers.first { !isAddressFull || $0.host == host }?.id == evicted)
          model.remove(at: index)
          model.append((id, host, true))
        case .refuse:
          #expect(model.allSatisfy { !$0.isStranger } && model.count == limit)
        }
      case 2:
        guard let index = model.indices.randomElement(using: &generator) else { continue }
        model[index].isStranger = false
        slots.callAdmitted(model[index].id)
      default:
        guard let index = model.indices.randomElement(using: &generator) else { continue }
        slots.closed(model.remove(at: index).id)
      }
      #expect(slots.count == model.count && slots.count <= limit)
      #expect(slots.strangerCount == model.count(where: \.isStranger))
      #expect(slots.addressCount == Set(model.filter(\.isStranger).map(\.host)).count)
    }
  }
}
