import LoadModel
import TestSupport
import Testing

@Suite("Comparison of versions")
struct ComparisonTests {
  /// Runs whose latencies are near this many milliseconds.
  private static func runs(_ count: Int, milliseconds: Int, errors: Int = 0, seed: UInt64) -> [LoadReport] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in
      var ledger = CallLedger(span: .seconds(1), callers: 1_000)
      // A run differs from the next by some per cent.
      let factor = Int.random(in: 970...1_030, using: &generator)
      for number in 0..<300 {
        let due = Duration.milliseconds(number * 3)
        guard let call = ledger.callIsDue(due, now: due) else { continue }
        let latency = Duration.microseconds(milliseconds * factor + Int.random(in: 0..<100, using: &generator))
        _ = ledger.callEnded(call, number < errors ? .wrong("denied") : .succeeded, now: due + latency)
      }
      ledger.close(now: .seconds(2))
      return LoadReport(ledger)
    }
  }

  private static func change(_ name: String, _ comparison: Comparison) -> Comparison.Row.Change? {
    comparison.rows.first { $0.name == name }?.change
  }

  @Test("The same version is no regression, whatever the seed", arguments: 1...6 as ClosedRange<UInt64>)
  func same(seed: UInt64) {
    let comparison = Comparison(
      Self.runs(5, milliseconds: 10, seed: seed), Self.runs(5, milliseconds: 10, seed: seed + 100))
    // At 95 %, one of 20 differences is taken for certain that is none; these are small.
    for row in comparison.rows where row.change == .worse { #expect(row.after / row.before < 1.06, "seed \(seed)") }
  }

  @Test("A tenth slower is a regression in five runs, and has an interval")
  func slower() throws {
    let comparison = Comparison(Self.runs(5, milliseconds: 10, seed: 1), Self.runs(5, milliseconds: 11, seed: 2))
    #expect(comparison.hasRegression && Self.change("p50", comparison) == .worse)
    let row = try #require(comparison.rows.first { $0.name == "p50" })
    #expect(try #require(row.interval).lowerBound > 0)
    let reverse = Comparison(Self.runs(5, milliseconds: 11, seed: 2), Self.runs(5, milliseconds: 10, seed: 1))
    #expect(!reverse.hasRegression && Self.change("p50", reverse) == .better)
  }

  @Test("With one run on a side, only a large difference counts")
  func single() {
    let before = Self.runs(1, milliseconds: 10, seed: 1)
    #expect(!Comparison(before, Self.runs(1, milliseconds: 11, seed: 2)).hasRegression)
    #expect(Comparison(before, Self.runs(1, milliseconds: 20, seed: 2)).hasRegression)
    #expect(!Comparison(before, before).hasRegression)
  }

  @Test("More errors are a regression; one more among thousands is none")
  func errors() {
    let before = Self.runs(3, milliseconds: 10, seed: 1)
    let worse = Comparison(before, Self.runs(3, milliseconds: 10, errors: 30, seed: 1))
    #expect(Self.change("errors", worse) == .worse)
    let same = Comparison(before, Self.runs(3, milliseconds: 10, errors: 1, seed: 1))
    #expect(Self.change("errors", same) == .same)
  }
}
