// Which key is in use when, by tables of times.

import Testing

@testable import TouchstoneCrypto

@Suite struct KeySuccessionTests {
  struct Row: Sendable, CustomTestStringConvertible {
    /// Number and time from which it is used, of each key.
    var keys: [(Int, Int64?)]
    /// Time, number in use, and how each stands then.
    var times: [(Int64, Int, [KeySuccession<Int>.Standing])]

    var testDescription: String { keys.map { "\($0)\($1.map { " from \($0)" } ?? "")" }.joined(separator: ", ") }
  }

  @Test(arguments: [
    Row(keys: [(1, nil)], times: [(.min, 1, [.active]), (0, 1, [.active]), (.max, 1, [.active])]),
    Row(
      keys: [(1, nil), (2, 100)],
      times: [
        (0, 1, [.active, .coming(from: 100)]), (99, 1, [.active, .coming(from: 100)]),
        (100, 2, [.retired(since: 100), .active]), (500, 2, [.retired(since: 100), .active]),
      ]),
    Row(
      keys: [(1, nil), (2, 100), (3, 200)],
      times: [
        (99, 1, [.active, .coming(from: 100), .coming(from: 200)]),
        (150, 2, [.retired(since: 100), .active, .coming(from: 200)]),
        (200, 3, [.retired(since: 100), .retired(since: 200), .active]),
      ]),
    // Made in haste while another was still to come: the later one stays.
    Row(
      keys: [(1, nil), (2, 300), (3, 100)],
      times: [
        (99, 1, [.active, .coming(from: 300), .coming(from: 100)]),
        (100, 3, [.retired(since: 100), .coming(from: 300), .active]),
        (300, 3, [.retired(since: 100), .retired(since: 100), .active]),
      ]),
    Row(keys: [(1, nil), (2, nil)], times: [(0, 2, [.retired(since: nil), .active])]),
    // Those before it were pruned: it is used, whatever the clock says.
    Row(keys: [(7, 100)], times: [(99, 7, [.coming(from: 100)]), (100, 7, [.active])]),
    Row(keys: [(7, 200), (8, 100)], times: [(99, 8, [.coming(from: 200), .coming(from: 100)])]),
  ])
  func `the latest key whose time has come is in use`(row: Row) throws {
    let members = row.keys.map { KeySuccession<Int>.Member(number: $0.0, usedFrom: $0.1, key: $0.0) }
    for order in [members, members.reversed()] {
      let succession = try #require(KeySuccession(order))
      for (time, number, standings) in row.times {
        #expect(succession.active(at: time) == number, "at \(time)")
        #expect(standings.indices.map { succession.standing(of: $0, at: time) } == standings, "at \(time)")
      }
      #expect(succession.accepted == row.keys.map(\.0).sorted(by: >))
    }
  }

  @Test func `a succession has a key`() {
    #expect(KeySuccession<Int>([]) == nil)
  }
}
