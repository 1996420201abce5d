import TestSupport
import Testing
import TouchstoneStore

// R37
struct StandInSharesTests {
  struct Example: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var named: [Int] = []
    var others: [Int] = []
    /// The number of applications that are not among the largest ones.
    var further = 0
    let over: Int
    var lostByNamed: [Int] = []
    var lostByOthers: [Int] = []
    var numberOfOthers = 0
  }

  static let examples = [
    Example(
      testDescription: "no application is named, one has most", others: [900, 90, 10], over: 100,
      lostByOthers: [100, 0, 0], numberOfOthers: 100),
    Example(
      testDescription: "the largest are cut to one level", others: [90, 80, 10], over: 50, lostByOthers: [30, 20, 0],
      numberOfOthers: 50),
    Example(testDescription: "equal ones", others: [5, 5, 5], over: 4, lostByOthers: [2, 2, 0], numberOfOthers: 4),
    Example(
      testDescription: "none loses more than it has", named: [2], others: [1], over: 100, lostByNamed: [2],
      lostByOthers: [1], numberOfOthers: 1),
    Example(testDescription: "nothing is over", named: [2], others: [1], over: 0, lostByNamed: [0], lostByOthers: [0]),
    Example(testDescription: "a lower number", named: [2], others: [1], over: -1, lostByNamed: [0], lostByOthers: [0]),
    Example(testDescription: "there are none", over: 3),
    Example(
      testDescription: "named ones are cut to one level", named: [90, 80, 10], over: 50, lostByNamed: [30, 20, 0]),
    Example(
      testDescription: "a flood over invented applications", named: [2, 40], others: [1, 1, 1], further: 997, over: 100,
      lostByNamed: [0, 0], lostByOthers: [1, 1, 1], numberOfOthers: 100),
    Example(
      testDescription: "the others have less together than a named one", named: [500, 20], others: [60, 40], over: 50,
      lostByNamed: [50, 0], lostByOthers: [0, 0]),
    Example(
      testDescription: "the others together are cut to the level of a named one", named: [100], others: [90, 50],
      over: 60, lostByNamed: [10], lostByOthers: [45, 5], numberOfOthers: 50),
    Example(
      testDescription: "the others lose first what cannot be divided", named: [5], others: [5], over: 1,
      lostByNamed: [0],
      lostByOthers: [1], numberOfOthers: 1),
  ]

  @Test(arguments: examples) func eachShareLosesWhatIsAboveOneLevel(_ example: Example) {
    let excess = Self.excess(example)
    #expect(Self.losses(excess.named, of: example.named) == example.lostByNamed)
    #expect(Self.losses(excess.others, of: example.others) == example.lostByOthers)
    #expect(excess.numberOfOthers == example.numberOfOthers)
    #expect(excess.listsAllOthers == (example.lostByOthers.reduce(0, +) == example.numberOfOthers))
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>)
  func whatHasLessThanItsShareLosesNothing(_ seed: UInt64) {
    var chance = SeededGenerator(seed: seed)
    func numbers() -> [Int] { (0..<Int(1 + chance.next() % 9)).map { _ in Int(chance.next() % 1_000) } }
    let (named, others) = (numbers(), numbers().sorted(by: >))
    let total = (named + others).reduce(0, +)
    let over = Int(chance.next() % UInt64(total + 1))
    let excess = Self.excess(Example(testDescription: "", named: named, others: others, over: over))
    #expect(excess.listsAllOthers)
    #expect((excess.named + excess.others).reduce(0) { $0 + $1.number } == over)
    let share = (total - over) / (named.count + 1)
    for (number, lost) in zip(named, Self.losses(excess.named, of: named)) where number <= share { #expect(lost == 0) }
    let numberOfOthers = others.reduce(0, +)
    if numberOfOthers <= share { #expect(excess.others.isEmpty) }
    let shareOfOther = (numberOfOthers - excess.numberOfOthers) / others.count
    for (number, lost) in zip(others, Self.losses(excess.others, of: others)) where number <= shareOfOther {
      #expect(lost == 0)
    }
  }

  private static func excess(_ example: Example) -> StandInShares.Excess {
    let total = (example.named + example.others).reduce(example.further, +)
    return StandInShares.excess(
      named: shares(example.named), others: shares(example.others), total: total, over: example.over)
  }

  private static func shares(_ numbers: [Int]) -> [StandInShares.Share] {
    numbers.enumerated().map { StandInShares.Share(applicationID: "\($0)", number: $1) }
  }

  private static func losses(_ shares: [StandInShares.Share], of numbers: [Int]) -> [Int] {
    numbers.indices.map { index in shares.first { $0.applicationID == "\(index)" }?.number ?? 0 }
  }
}
