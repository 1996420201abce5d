import LoadModel
import TestSupport
import Testing

@Suite("Objectives and verdicts")
struct ObjectiveTests {
  @Test("The issue's objectives are read")
  func grammar() throws {
    let objectives = try Objective.list(
      "p99<20ms, errors<0.1%,rate>5000,p99.9<=1.5s,p999<1500us,max<2s,mean<1ms,errors<=3")
    #expect(
      objectives.map(\.metric) == [
        .percentile(99), .errorShare, .rate, .percentile(99.9), .percentile(99.9), .maximum, .mean, .errors,
      ])
    #expect(objectives.map(\.limit) == [20_000, 0.001, 5_000, 1_500_000, 1_500, 2_000_000, 1_000, 3])
    #expect(objectives.map(\.comparison) == [.below, .below, .above, .atMost, .below, .below, .below, .atMost])
  }

  @Test(
    "What is no objective is refused with its text",
    arguments: [
      "", "p99", "p99<", "p99<20", "p99=20ms", "q99<20ms", "p0<1ms", "p101<1ms", "rate>5ms", "errors<x%", "p99<-1ms",
    ])
  func refused(text: String) {
    #expect {
      _ = try Objective.list(text)
    } throws: { "\($0)".contains("\"\(text)\"") }
  }

  private static func report(
    _ run: SimulatedRun = SimulatedRun(), cpuShare: Double = 0.1, slo: String = "", allowsErrors: Bool = true
  ) throws -> LoadReport {
    var generator = SeededGenerator(seed: 11)
    let ledger = run.books(using: &generator)
    var report = LoadReport(
      ledger, client: ClientUse(cpuSeconds: 1, cpuShare: cpuShare, threadShare: cpuShare))
    let objectives = slo.isEmpty ? [] : try Objective.list(slo)
    report.judge(by: objectives, allowsErrors: allowsErrors)
    return report
  }

  @Test("A valid run exits with 0, one with errors or a missed objective with 99")
  func exitCodes() throws {
    #expect(try Self.report().exitCode == 0)
    #expect(try Self.report(allowsErrors: false).exitCode == 99)
    #expect(try Self.report(slo: "p99<20ms,rate>100").exitCode == 0)
    #expect(try Self.report(slo: "p99<1us").exitCode == 99)
    #expect(try Self.report(slo: "rate>5000").exitCode == 99)
  }

  @Test("An objective for errors replaces the rule that there are none")
  func allowedErrors() throws {
    #expect(try Self.report(slo: "errors<20%", allowsErrors: false).exitCode == 0)
    #expect(try Self.report(slo: "errors<0.1%", allowsErrors: false).exitCode == 99)
    #expect(try Self.report(slo: "errors<=10000", allowsErrors: false).exitCode == 0)
  }

  @Test("A client that was the limit exits with 70, unless there is worse")
  func clientLimits() throws {
    // Nothing is timed out or unfinished in this run.
    let tired = try Self.calm(cpuShare: 0.99)
    #expect(tired.exitCode == 70 && tired.verdict == .clientLimited)
    #expect(try Self.calm(cpuShare: 0.99, slo: "p99<1us").exitCode == 99)
    #expect(try Self.calm(callers: 1).exitCode == 70)
    #expect(try Self.calm(sendLag: .milliseconds(30)).exitCode == 70)
    #expect(try Self.calm().exitCode == 0)
  }

  @Test("A service that stands still is never the client's limit")
  func stalls() throws {
    let still = try Self.calm(cpuShare: 0.99, callers: 2, stall: true)
    #expect(still.exitCode == 0 && !still.stalls.isEmpty && still.reasons == ["the client's CPU was used up"])
    // It never answers again.
    let run = SimulatedRun(callers: 5, stalls: [.seconds(3)...(.seconds(60))])
    let stopped = try Self.report(run, cpuShare: 0.99, allowsErrors: false)
    #expect(stopped.exitCode == 99 && stopped.unsent > 0 && stopped.unfinished == 5)
  }

  @Test("A run in which nothing succeeds is missed, even if errors are allowed")
  func nothing() throws {
    let run = SimulatedRun(stalls: [.seconds(-2)...(.seconds(60))])
    #expect(try Self.report(run).exitCode == 99)
  }

  /// A run whose calls all succeed.
  private static func calm(
    cpuShare: Double = 0.1, callers: Int = 100, sendLag: Duration = .zero, stall: Bool = false, slo: String = ""
  ) throws -> LoadReport {
    var ledger = CallLedger(span: .seconds(2), callers: callers)
    for start in 0..<100 {
      let due = Duration.milliseconds(start * 20)
      let calls = (0..<2).map { _ in ledger.callIsDue(due, now: due + sendLag) }
      ledger.senderWoke(for: due, now: due + sendLag)
      let end = due + .milliseconds(stall && start == 50 ? 200 : 5)
      for call in calls.compactMap(\.self) {
        if let next = ledger.callEnded(call, .succeeded, now: end) {
          _ = ledger.callEnded(next, .succeeded, now: end + .milliseconds(5))
        }
      }
    }
    ledger.close(now: .seconds(3))
    var report = LoadReport(
      ledger, client: ClientUse(cpuSeconds: 1, cpuShare: cpuShare, threadShare: cpuShare))
    report.judge(
      by: slo.isEmpty ? [] : try Objective.list(slo), allowsErrors: false)
    return report
  }
}

@Suite("Search of the highest rate")
struct RateSearchTests {
  @Test("It comes within 5 % of the knee", arguments: [1, 7, 90, 100, 3_333, 250_000] as [Double])
  func knee(capacity: Double) throws {
    var search = RateSearch(from: 100)
    var trials = 0
    while let rate = search.trial {
      trials += 1
      search.record(rate, isMet: rate <= capacity)
      try #require(trials < 40)
    }
    let found = try #require(search.met)
    #expect(found <= capacity && found >= min(capacity * 0.95, capacity - 1))
  }

  @Test("It ends where no rate is low enough, and at the highest rate there is")
  func bounds() throws {
    for isMet in [false, true] {
      var search = RateSearch(from: 100)
      var trials = 0
      while let rate = search.trial {
        trials += 1
        search.record(rate, isMet: isMet)
        try #require(trials < 40)
      }
      #expect(search.met == (isMet ? LoadShape.maximumRate : nil))
    }
  }
}
