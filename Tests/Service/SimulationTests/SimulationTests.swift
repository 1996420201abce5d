import FoundationEssentials
import TestSupport
import Testing

/// TOUCHSTONE_ALL_SEEDS=1 runs a thousand seeds instead of 125, TOUCHSTONE_SEEDS=100000 runs so many; TOUCHSTONE_SEED=7
/// runs one, and shows its whole trace where it fails.
struct SimulationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let allSeeds: ClosedRange<UInt64> = 1...1_000
  /// The last ones of a failure's trace.
  private static let shownLines = 60

  private static var seeds: ClosedRange<UInt64> {
    func number(_ name: String) -> UInt64? { environment[name].flatMap { UInt64($0) } }
    if let only = number("TOUCHSTONE_SEED") { return only...only }
    if let count = number("TOUCHSTONE_SEEDS"), count > 0 { return 1...count }
    return TestSupport.seeds(ofAll: allSeeds.upperBound)
  }

  // All rules.
  @Test func inNoWorldIsARuleBroken() async {
    guard let failure = await Seeds(range: Self.seeds).firstFailure() else { return }
    Issue.record(Self.comment(on: failure))
  }

  private static func comment(on failure: Seeds.Failure) -> Comment {
    let replay = World(seed: failure.seed, isTracing: true)
    _ = replay.run()
    let lines = replay.trace.lines
    let trace = (seeds.count == 1 ? lines[...] : lines.suffix(shownLines)).joined(separator: "\n")
    return """
      seed \(failure.seed): \(failure.violation)
      To see it again: TOUCHSTONE_SEED=\(failure.seed) swift test --filter SimulationTests
      \(trace)
      """
  }

  @Test(arguments: 1...3 as ClosedRange<UInt64>) func aSeedReplaysExactly(_ seed: UInt64) {
    let traces = (0..<2).map { _ in
      let world = World(seed: seed, isTracing: true)
      _ = world.run()
      return world.trace.lines
    }
    #expect(traces[0].count > 100)
    #expect(traces[0] == traces[1])
  }

  /// A simulation that cannot fail proves nothing.
  @Test(arguments: Mutation.allCases) func aFaultInWhatAServiceStandsOnIsFound(_ mutation: Mutation) async {
    let known = mutation.seed
    if await Seeds(range: known...known, mutation: mutation).firstFailure() != nil { return }
    let failure = await Seeds(range: Self.allSeeds, mutation: mutation).firstFailure()
    #expect(failure != nil)
    // The next run need not search then.
    if let failure { print("change Mutation.seed: \(mutation) is found by \(failure.seed), and not by \(known)") }
  }
}
