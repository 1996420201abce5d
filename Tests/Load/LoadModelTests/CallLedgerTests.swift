import LoadModel
import TestSupport
import Testing

@Suite("Books of a load")
struct CallLedgerTests {
  private static func send(_ due: Duration, _ ledger: inout CallLedger) throws -> CallLedger.Call {
    let call = ledger.callIsDue(due, now: due)
    return try #require(call)
  }

  @Test(
    "Whatever stands still, each call that was due is in exactly one class", arguments: seeds(ofAll: 20))
  func completeness(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    func stalls() -> [ClosedRange<Duration>] {
      (0..<Int.random(in: 0...3, using: &generator)).map { _ in
        let start = Duration.milliseconds(Int.random(in: -1_000...6_500, using: &generator))
        return start...start + .milliseconds(Int.random(in: 1...3_000, using: &generator))
      }
    }
    var run = SimulatedRun(stalls: stalls(), clientStalls: stalls())
    run.shape = LoadShape(.ramp(from: 50, to: 400), isPoisson: seed.isMultiple(of: 2))
    run.callers = [1, 5, 10_000].randomElement(using: &generator) ?? 1
    let ledger = run.books(using: &generator)
    let report = LoadReport(ledger)
    #expect(ledger.outstanding == 0, "seed \(seed)")
    #expect(ledger.counts.isComplete && ledger.warmUp.isComplete, "seed \(seed)")
    #expect(ledger.windows.allSatisfy { $0.counts.isComplete && $0.latencies.count == $0.counts.due }, "seed \(seed)")
    #expect(ledger.latencies.count == report.due, "seed \(seed)")
    #expect(
      report.succeeded + report.wrong + report.failed + report.timedOut + report.unfinished + report.unsent
        == report.due,
      "seed \(seed)")
    #expect(report.failedByStatus.values.reduce(0, +) == report.failed, "seed \(seed)")
  }

  @Test("A call is booked by its class, once, and its second end is ignored")
  func classes() throws {
    var ledger = CallLedger(span: .seconds(1), callers: 2)
    let first = try Self.send(.zero, &ledger)
    let second = try Self.send(.milliseconds(1), &ledger)
    #expect(ledger.callIsDue(.milliseconds(2), now: .milliseconds(2)) == nil)
    #expect(ledger.callIsDue(.milliseconds(3), now: .milliseconds(3)) == nil)
    let next = ledger.callEnded(first, .succeeded, now: .milliseconds(10))
    let third = try #require(next)
    #expect(third.due == .milliseconds(2))
    #expect(ledger.callEnded(first, .succeeded, now: .milliseconds(11)) == nil)
    ledger.close(now: .milliseconds(50))
    #expect(ledger.callEnded(second, .succeeded, now: .milliseconds(60)) == nil)
    let counts = ledger.counts
    #expect((counts.due, counts.succeeded, counts.unfinished, counts.unsent) == (4, 1, 2, 1))
    // Ages count as latencies: 50 - 1 ms for the oldest.
    #expect(ledger.latencies.maximum == 49_000)
    #expect(ledger.callsWithoutCaller == 2)
  }

  @Test("A target is away from its first UNAVAILABLE call to the next that ends otherwise, unless that is brief")
  func absences() throws {
    // Of two targets, which take turns, the second one's calls end so, at times in milliseconds.
    let ends: [(Int, CallOutcome)] = [
      (100, .succeeded), (200, .failed(status: "UNAVAILABLE")), (250, .succeeded),
      (300, .failed(status: "UNAVAILABLE")),
      (500, .failed(status: "UNAVAILABLE")), (700, .wrong("login: no token")), (800, .failed(status: "UNAVAILABLE")),
      (950, .failed(status: "UNAVAILABLE")),
    ]
    var ledger = CallLedger(span: .seconds(1), callers: 2, targets: 2)
    for (end, outcome) in ends {
      let first = try Self.send(.milliseconds(end - 1), &ledger)
      let second = try Self.send(.milliseconds(end - 1), &ledger)
      _ = ledger.callEnded(first, .succeeded, now: .milliseconds(end))
      _ = ledger.callEnded(second, outcome, now: .milliseconds(end))
    }
    ledger.close(now: .seconds(2))
    #expect(ledger.absences[0].isEmpty)
    #expect(
      ledger.absences[1].map { [$0.start, $0.end] } == [
        [.milliseconds(300), .milliseconds(700)], [.milliseconds(800), .milliseconds(950)],
      ])
    #expect(ledger.absences[1].map(\.calls) == [2, 2])
    let report = LoadReport(ledger)
    #expect(report.text.contains("127.0.0.1:7444 was away for 0.40 s from second 0.30 on: 2 calls UNAVAILABLE"))
    #expect(report.html.contains("calls UNAVAILABLE"))
  }

  @Test("A call that the client never came to send is unsent, as late as it is old, and the client was late")
  func missed() {
    var ledger = CallLedger(span: .seconds(1), callers: 1)
    ledger.callWasMissed(.milliseconds(-1), now: .seconds(2))
    ledger.callWasMissed(.milliseconds(500), now: .seconds(2))
    ledger.close(now: .seconds(2))
    #expect((ledger.counts.due, ledger.counts.unsent, ledger.warmUp.unsent) == (1, 1, 1))
    #expect(ledger.latencies.maximum == 1_500_000 && ledger.sendLag.maximum == 1_500_000)
  }

  @Test("Calls of the warm-up count nowhere else, even if they end after it")
  func warmUp() throws {
    var ledger = CallLedger(span: .seconds(1), callers: 2)
    let call = try Self.send(.milliseconds(-1), &ledger)
    _ = ledger.callEnded(call, .failed(status: "INTERNAL"), now: .milliseconds(5))
    ledger.close(now: .seconds(1))
    #expect(ledger.counts.due == 0 && ledger.failures.isEmpty && ledger.latencies.count == 0)
    #expect((ledger.warmUp.due, ledger.warmUp.failed) == (1, 1))
  }

  private static let stalls: [(name: String, start: Int)] = [
    ("start", 0), ("middle", 3_000), ("between two windows", 2_950), ("last second", 5_850), ("across the end", 5_950),
  ]

  @Test("A stall of more than 100 ms shows in p99.9 or max, on the chart and in the list", arguments: stalls)
  func visibility(_: String, start: Int) throws {
    let start = Duration.milliseconds(start)
    let stall = start...start + .milliseconds(120)
    var generator = SeededGenerator(seed: 7)
    let ledger = SimulatedRun(stalls: [stall]).books(using: &generator)
    let report = LoadReport(ledger)
    #expect(max(report.p999Us, report.maxUs) >= 110_000)
    let listed = try #require(ledger.stalls.first)
    #expect(ledger.stalls.count == 1 && listed.duration > .milliseconds(100))
    #expect((listed.start - start).inSeconds.magnitude < 0.02)
    let window = min(Int(start / ledger.windowWidth), ledger.windows.count - 1)
    #expect(report.windows[window...].prefix(2).contains { $0.maxUs >= 100_000 })
  }

  @Test("The stopped service of the issue: 1,200 due, the stalled ones unfinished with their age")
  func stopped() {
    var generator = SeededGenerator(seed: 9)
    var run = SimulatedRun(stalls: [.milliseconds(4_500)...(.seconds(60))])
    run.grace = .milliseconds(300)
    let report = LoadReport(run.books(using: &generator))
    #expect(report.due == 1_200)
    #expect((300...302).contains(report.unfinished))
    #expect(report.maxUs >= 1_400_000)
  }

  @Test("A client that stands still is no stall of the service, and shows in its send lag")
  func clientStall() {
    var generator = SeededGenerator(seed: 3)
    let ledger = SimulatedRun(clientStalls: [.seconds(2)...(.milliseconds(2_500))]).books(using: &generator)
    #expect(ledger.stalls.isEmpty)
    #expect(ledger.sendLag.maximum >= 490_000)
    #expect(ledger.latencies.maximum >= 490_000)
  }

  @Test("A client that sends late all the while has no stall to blame on the service")
  func slowClient() throws {
    var ledger = CallLedger(span: .seconds(10), callers: 100)
    for start in 0..<20 {
      let due = Duration.milliseconds(start * 200)
      let now = due + .milliseconds(90)
      ledger.senderWoke(for: due, now: now)
      let call = try #require({ ledger.callIsDue(due, now: now) }())
      ledger.senderWoke(for: now + .milliseconds(20), now: now + .milliseconds(100))
      _ = ledger.callEnded(call, .succeeded, now: now + .milliseconds(150))
    }
    ledger.close(now: .seconds(10))
    #expect(ledger.stalls.isEmpty && ledger.latencies.maximum >= 240_000)
  }

  @Test("The end is waited for as long as answers come, and no longer")
  func silence() throws {
    var ledger = CallLedger(span: .seconds(1), callers: 10)
    #expect(ledger.isSilent(now: .seconds(1)))
    let calls = try (0..<3).map { _ in try Self.send(.milliseconds(900), &ledger) }
    #expect(!ledger.isSilent(now: .milliseconds(1_100)))
    _ = ledger.callEnded(calls[0], .succeeded, now: .milliseconds(1_150))
    #expect(!ledger.isSilent(now: .milliseconds(1_300)))
    // Four times the median of 250 ms.
    #expect(!ledger.isSilent(now: .milliseconds(2_100)))
    #expect(ledger.isSilent(now: .milliseconds(2_200)))
  }

  @Test("Books of several threads add up")
  func sum() {
    var generator = SeededGenerator(seed: 5)
    var ledger = SimulatedRun().books(using: &generator)
    let other = SimulatedRun(stalls: [.seconds(1)...(.seconds(2))]).books(using: &generator)
    let due = ledger.counts.due + other.counts.due
    ledger.add(other)
    #expect(ledger.counts.due == due && ledger.counts.isComplete)
    #expect(ledger.latencies.maximum == other.latencies.maximum)
    #expect(ledger.stalls.count == 1)
  }

  @Test("A chart has a few hundred windows at most", arguments: [1, 6, 60, 600, 3_600, 86_400])
  func windows(seconds: Int) {
    let ledger = CallLedger(span: .seconds(seconds), callers: 1)
    #expect((1...300).contains(ledger.windows.count))
  }

  @Test("Targets take turns, and have every call that was sent", arguments: 1...5 as ClosedRange<UInt64>)
  func targets(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let run = SimulatedRun(warmUp: .zero, callers: 30, targets: 3, stalls: [.seconds(4)...(.seconds(60))])
    let ledger = run.books(using: &generator)
    let sent = ledger.targets.map(\.due)
    #expect(ledger.counts.unsent > 0 && sent.reduce(0, +) == ledger.counts.due - ledger.counts.unsent)
    #expect((sent.max() ?? 0) - (sent.min() ?? 0) <= 1)
    #expect(ledger.targets.allSatisfy { $0.isComplete })
    #expect(ledger.targets.reduce(0) { $0 + $1.errors } == ledger.counts.errors)
  }
}
