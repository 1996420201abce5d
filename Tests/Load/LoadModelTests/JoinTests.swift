import Foundation
import LoadModel
import TestSupport
import Testing

@Suite("Runs that are joined")
struct JoinTests {
  /// Three runs that began at different times, with all classes of calls.
  private static func runs(seed: UInt64) -> [LoadReport] {
    var generator = SeededGenerator(seed: seed)
    return (0..<3).map { _ in
      var run = SimulatedRun(
        span: .seconds(3), callers: 50, targets: 2, stalls: [.seconds(1)...(.milliseconds(1_400))])
      run.latency = .milliseconds(Int.random(in: 1...9, using: &generator))
      run.grace = .milliseconds(5)
      let startedAt = 1_700_000_000 + Double.random(in: 0..<2, using: &generator)
      return LoadReport(run.books(using: &generator), startedAt: startedAt)
    }
  }

  private static let counts: [any KeyPath<LoadReport, Int> & Sendable] = [
    \.due, \.succeeded, \.wrong, \.failed, \.timedOut, \.unfinished, \.unsent, \.errors, \.warmupDue, \.connections,
    \.callers,
  ]

  @Test("All counts are sums, also of windows, statuses and targets", arguments: seeds(ofAll: 4))
  func sums(seed: UInt64) throws {
    let runs = Self.runs(seed: seed)
    let joined = try LoadReport(joining: runs)
    for count in Self.counts { #expect(joined[keyPath: count] == runs.reduce(0) { $0 + $1[keyPath: count] }) }
    #expect(joined.processes == 3 && joined.targets.count == 2)
    #expect(joined.targets.reduce(0) { $0 + $1.sent } == joined.due - joined.unsent)
    #expect(joined.targets.reduce(0) { $0 + $1.errors } == joined.errors)
    #expect(joined.failedByStatus.values.reduce(0, +) == joined.failed)
    #expect(joined.histogram.count == joined.due)
    let windows = joined.windows
    #expect(windows.reduce(0) { $0 + $1.due } == joined.due && windows.allSatisfy { $0.histogram.count == $0.due })
    #expect(windows.allSatisfy { $0.start < joined.seconds && $0.due == $0.succeeded + $0.errors + $0.unsent })
    #expect(joined.maxUs == runs.map(\.maxUs).max())
  }

  @Test("A window is added to the one that is closest in time", arguments: seeds(ofAll: 4))
  func windows(seed: UInt64) throws {
    let runs = Self.runs(seed: seed)
    let joined = try LoadReport(joining: runs)
    var due: [Int: Int] = [:]
    for run in runs {
      for window in run.windows {
        let start = run.startedAt + window.start - joined.startedAt
        due[Int((start / run.windowSeconds).rounded()), default: 0] += window.due
      }
    }
    #expect(joined.windows.enumerated().allSatisfy { due[$0.offset] ?? 0 == $0.element.due })
    #expect(joined.startedAt == runs.map(\.startedAt).min())
    #expect(joined.startedAt + joined.seconds == runs.map { $0.startedAt + $0.seconds }.max())
  }

  @Test("Times in which an address was away keep their time, and those that overlap are one with all calls")
  func absences() throws {
    func run(away: ClosedRange<Int>, startedAt: Double) throws -> LoadReport {
      var ledger = CallLedger(span: .seconds(3), callers: 1)
      for milliseconds in [away.lowerBound, away.upperBound] {
        let due = Duration.milliseconds(milliseconds)
        let sent = ledger.callIsDue(due, now: due)
        let call = try #require(sent)
        _ = ledger.callEnded(call, .failed(status: "UNAVAILABLE"), now: due)
      }
      ledger.close(now: .seconds(3))
      return LoadReport(ledger, startedAt: startedAt)
    }
    let runs = try [run(away: 1_000...2_000, startedAt: 100), run(away: 1_000...2_500, startedAt: 100.5)]
    let away = try #require(try LoadReport(joining: runs).targets.first?.away)
    #expect(away.map { [$0.start, $0.seconds] } == [[1, 2]] && away.map(\.calls) == [4])
    let later = try [run(away: 0...200, startedAt: 100), run(away: 1_000...1_200, startedAt: 101)]
    #expect(try LoadReport(joining: later).targets.first?.away?.map(\.start) == [0, 2])
  }

  @Test("Stalls keep their time, and those that overlap are one")
  func stalls() throws {
    let ledger = { (stall: ClosedRange<Duration>) in
      var generator = SeededGenerator(seed: 3)
      return SimulatedRun(stalls: [stall]).books(using: &generator)
    }
    let first = LoadReport(ledger(.seconds(2)...(.seconds(3))), startedAt: 100)
    let second = LoadReport(ledger(.seconds(1)...(.seconds(3))), startedAt: 101.5)
    #expect(first.stalls.count == 1 && second.stalls.count == 1)
    let joined = try LoadReport(joining: [second, first])
    #expect(joined.stalls.count == 1)
    let stall = try #require(joined.stalls.first)
    #expect(abs(stall.start - 2) < 0.05 && abs(stall.start + stall.seconds - 4.5) < 0.05)
  }

  @Test("A joined report is judged, written, read and joined again as any other")
  func whole() throws {
    var joined = try LoadReport(joining: Self.runs(seed: 7))
    joined.judge(by: try Objective.list("p99<1us"), allowsErrors: true)
    #expect(joined.verdict == .missed && joined.exitCode == 99)
    #expect(joined.text.contains("joined from 3 processes") && joined.html.contains("joined from 3 processes"))
    let read = try LoadReport.reports(fromJSON: joined.json)
    #expect(read.map(\.json) == [joined.json])
    let alone = try LoadReport(joining: read)
    #expect(alone.processes == 3 && alone.due == joined.due && alone.p99Us == joined.p99Us)
  }

  private static let misfits: [@Sendable (inout LoadReport) -> Void] = [
    { $0.scenario = "preflight" }, { $0.shape = "closed" }, { $0.schemaVersion = 2 }, { $0.windowSeconds = 1 },
    { $0.startedAt += 6 }, { $0.search = LoadReport.SearchEntry(maxRate: nil, trials: []) },
  ]

  @Test("Runs that do not fit together are refused", arguments: misfits)
  func misfit(change: @Sendable (inout LoadReport) -> Void) {
    var generator = SeededGenerator(seed: 9)
    let report = LoadReport(SimulatedRun().books(using: &generator))
    var other = report
    change(&other)
    for pair in [[report, other], [other, report]] {
      #expect(throws: JoinError.self) { try LoadReport(joining: pair) }
    }
  }
}

@Suite("Histograms as text")
struct HistogramTextTests {
  @Test("What is read counts as what was written", arguments: seeds(ofAll: 30))
  func roundTrip(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var histogram = LatencyHistogram()
    for _ in 0..<Int.random(in: 0...3_000, using: &generator) {
      let bits = Int.random(in: 1...32, using: &generator)
      histogram.record(.microseconds(Int.random(in: 0..<(1 << bits), using: &generator)))
    }
    let text = try JSONEncoder().encode(histogram)
    let read = try JSONDecoder().decode(LatencyHistogram.self, from: text)
    #expect(try JSONEncoder().encode(read) == text && read.count == histogram.count)
    for percentile in [0, 50, 90, 99, 99.9, 100] {
      let (before, after) = (histogram.percentile(percentile), read.percentile(percentile))
      #expect(before <= after && after - before <= before / 1_000)
    }
  }

  @Test(
    "Damaged texts are refused, and none ends the process",
    arguments: ["8", "8:", "8:1:1", "-8:1", "8:-1", "8:4294967296", "3600000001:1", "8:1,9:1"])
  func damage(text: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(LatencyHistogram.self, from: Data("\"\(text)\"".utf8))
    }
  }
}
