// Which member makes room for another, and which is refused.

import TestSupport
import Testing

@testable import DispatchRPC

@Suite struct EvictingPlacesTests {
  private typealias Places = EvictingPlaces<Int, String, String>

  /// Streams arrive in the given order, each with the number of its place in it. `?a` is a stranger's at the address
  /// `a`, and `a` is a stream of the caller `a`.
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    var all = 100
    var perStranger = 100
    var perCaller = 100
    let arrivals: [(stream: String, outcome: String)]

    var testDescription: String { name }
  }

  static let rows = [
    Row(
      name: "the oldest stranger of an address makes room for its next", perStranger: 2,
      arrivals: [("?a", "in"), ("?b", "in"), ("?a", "in"), ("?a", "ends 0"), ("?a", "ends 2"), ("?b", "in")]),
    Row(
      name: "callers of an address do not count as its strangers", perStranger: 1,
      arrivals: [("a", "in"), ("a", "in"), ("?a", "in"), ("?a", "ends 2"), ("a", "in")]),
    Row(
      name: "if all places are taken, the oldest stranger makes room for callers and strangers", all: 3,
      arrivals: [("?a", "in"), ("b", "in"), ("?c", "in"), ("d", "ends 0"), ("?e", "ends 2"), ("d", "ends 4")]),
    Row(
      name: "strangers take no caller's place", all: 2,
      arrivals: [("a", "in"), ("a", "in"), ("?b", "refused for all")]),
    Row(
      name: "a caller has a limit of its own", perCaller: 2,
      arrivals: [("a", "in"), ("a", "in"), ("a", "refused for owner"), ("b", "in")]),
    Row(
      name: "the caller that has the most gives its newest place to one that has at least two fewer", all: 4,
      arrivals: [
        ("a", "in"), ("a", "in"), ("a", "in"), ("b", "in"), ("b", "ends 2"), ("c", "ends 4"), ("d", "ends 1"),
      ]),
    Row(
      name: "a caller with one fewer, or as many, takes no place", all: 3,
      arrivals: [("a", "in"), ("a", "in"), ("b", "in"), ("b", "refused for all"), ("a", "refused for all")]),
    Row(
      name: "a stranger makes room before any caller, and takes no unfair place", all: 3,
      arrivals: [("a", "in"), ("a", "in"), ("?c", "in"), ("b", "ends 2"), ("?c", "refused for all")]),
  ]

  @Test(arguments: rows) func places(_ row: Row) {
    var places = Places(
      Places.Limits(all: row.all, strangersPerGroup: row.perStranger, perCaller: row.perCaller))
    for (number, arrival) in row.arrivals.enumerated() {
      let owner = arrival.stream.drop { $0 == "?" }
      let isStranger = arrival.stream.hasPrefix("?")
      let outcome = isStranger ? places.arrived(number, in: String(owner)) : places.arrived(number, of: String(owner))
      #expect(Self.text(outcome) == arrival.outcome, "arrival \(number)")
      #expect(places.members.contains(number) == !arrival.outcome.hasPrefix("refused"))
    }
  }

  @Test func aStrangerWhoseCallWasAdmittedKeepsItsPlace() {
    var places = Places(Places.Limits(all: 2, strangersPerGroup: 1))
    _ = places.arrived(0, in: "a")
    places.review { $0 == 0 ? "c" : nil }
    #expect(Self.text(places.arrived(1, in: "a")) == "in")
    #expect(Self.text(places.arrived(2, in: "b")) == "ends 1")
    #expect(places.members.sorted() == [0, 2])
    places.left { $0 == 0 }
    #expect(places.members == [2])
  }

  @Test func aCallersStreamsFromManyAddressesAreCountedTogether() {
    var places = Places(Places.Limits(all: 3))
    for (number, address) in ["?1", "?2", "?3"].enumerated() {
      _ = places.arrived(number, in: address)
    }
    places.review { _ in "a" }
    #expect(Self.text(places.arrived(3, of: "b")) == "ends 2")
    #expect(Self.text(places.arrived(4, of: "b")) == "refused for all")
  }

  /// A caller loses a place only to a caller that then has no more than it.
  @Test(arguments: seeds(ofAll: 20)) func noCallerHurtsAnother(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let limit = Int.random(in: 1...40, using: &generator)
    var places = Places(Places.Limits(all: limit))
    var owners: [Int: String] = [:]
    func count(_ owner: String?) -> Int { owners.values.count { $0 == owner } }
    for number in 0..<1_000 {
      let owner = ["a", "b", "c", "d", "e"][min(4, Int.random(in: 0..<12, using: &generator))]
      switch places.arrived(number, of: owner) {
      case .admit: owners[number] = owner
      case .admitEnding(_, let ended):
        let loser = owners.removeValue(forKey: ended.member)
        owners[number] = owner
        #expect(loser != owner && count(loser) >= count(owner))
      case .refuse:
        #expect(owners.count == limit && owners.values.allSatisfy { count($0) <= count(owner) + 1 })
      }
      if Int.random(in: 0..<4, using: &generator) == 0, let leaving = places.members.randomElement(using: &generator) {
        places.left { $0 == leaving }
        owners[leaving] = nil
      }
      #expect(Set(places.members) == Set(owners.keys) && owners.count <= limit)
    }
  }

  private static func text(_ outcome: Places.OnArrival) -> String {
    switch outcome {
    case .admit: "in"
    case .admitEnding(_, let ended): "ends \(ended.member)"
    case .refuse(let reason): "refused for \(reason)"
    }
  }
}
