import LoadModel
import TestSupport
import Testing

@Suite("Flows")
struct FlowTests {
  private static let mix = FlowMix([
    FlowMix.Flow(name: "login", weight: 60), FlowMix.Flow(name: "preflight", weight: 35),
    FlowMix.Flow(name: "lockout", weight: 5, think: .seconds(1) ... .seconds(3)),
  ])

  @Test("Each flow has its part of any hundred calls, also of one lane's", arguments: [1, 2, 3, 7])
  func parts(lanes: Int) {
    for lane in 0..<lanes {
      let flows = (0..<1_000).map { Self.mix.flow(of: $0 * lanes + lane) }
      for start in stride(from: 0, to: 1_000, by: 100) {
        let counts = (0..<3).map { flow in flows[start..<start + 100].count { $0 == flow } }
        for (count, weight) in zip(counts, [60, 35, 5]) {
          #expect((count - weight).magnitude <= 6, "lane \(lane) of \(lanes), from \(start): \(counts)")
        }
      }
    }
  }

  @Test("A single flow is every call's")
  func single() {
    let single = FlowMix([FlowMix.Flow(name: "login")])
    #expect((0..<100).allSatisfy { single.flow(of: $0) == 0 })
    #expect(single.thinkTime(after: 5) == .zero)
  }

  @Test("Think times spread over their range")
  func thinkTimes() {
    let mix = FlowMix([FlowMix.Flow(name: "login", think: .seconds(1) ... .seconds(3))])
    let seconds = (0..<1_000).map { mix.thinkTime(after: $0).inSeconds }
    #expect(seconds.allSatisfy { (1...3).contains($0) })
    for quarter in 0..<4 {
      let start = 1 + Double(quarter) / 2
      #expect((240...260).contains(seconds.count { $0 >= start && $0 < start + 0.5 }))
    }
  }

  @Test("A flow's own think time follows its calls only")
  func ownThinkTime() {
    for number in 0..<200 {
      #expect((Self.mix.thinkTime(after: number) > .zero) == (Self.mix.flow(of: number) == 2))
    }
  }

  @Test("The agenda gives the earliest time first", arguments: seeds(ofAll: 20))
  func agenda(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var agenda = CallAgenda()
    var model: [Duration] = []
    for _ in 0..<500 {
      if Bool.random(using: &generator) {
        let time = Duration.milliseconds(Int.random(in: -100...100, using: &generator))
        agenda.add(time)
        model = (model + [time]).sorted()
      } else {
        #expect(agenda.first == model.first, "seed \(seed)")
        #expect(agenda.removeFirst() == model.first, "seed \(seed)")
        model = Array(model.dropFirst())
      }
    }
  }

  @Test("Each flow's classes add up, and the flows to all calls", arguments: seeds(ofAll: 10))
  func books(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var run = SimulatedRun(stalls: [.seconds(5)...(.seconds(60))])
    run.flows = Self.mix
    run.callers = [50, 10_000].randomElement(using: &generator) ?? 1
    let ledger = run.books(using: &generator)
    let report = LoadReport(ledger)
    let flows = report.flows
    #expect(flows.map(\.name) == ["login", "preflight", "lockout"])
    for flow in flows {
      #expect(flow.due == flow.succeeded + flow.errors + flow.unsent, "seed \(seed)")
      #expect(flow.due > 0 && flow.p99Us >= flow.p50Us, "seed \(seed)")
    }
    #expect(flows.reduce(0) { $0 + $1.due } == report.due, "seed \(seed)")
    #expect(flows.reduce(0) { $0 + $1.unfinished } == report.unfinished, "seed \(seed)")
    #expect(flows.reduce(0) { $0 + $1.unsent } == report.unsent, "seed \(seed)")
    #expect(report.text.contains("\nlockout  "), "seed \(seed)")
    #expect(report.wrongByReason.values.reduce(0, +) == report.wrong, "seed \(seed)")
  }

  @Test("A run of one flow has no table of flows")
  func oneFlow() {
    var generator = SeededGenerator(seed: 1)
    let report = LoadReport(SimulatedRun().books(using: &generator))
    #expect(report.flows.isEmpty)
    #expect(!report.text.contains("\nflow "))
  }

  @Test("The client gives up on a slow flow only after its own median")
  func silence() throws {
    var ledger = CallLedger(span: .seconds(1), callers: 10, flows: ["login", "lockout"])
    func send(_ flow: Int, _ due: Duration) throws -> CallLedger.Call {
      let call = ledger.callIsDue(due, flow: flow, now: due)
      return try #require(call)
    }
    let slow = try send(1, .zero)
    for time in 1...20 {
      let due = Duration.milliseconds(time)
      _ = ledger.callEnded(try send(0, due), .succeeded, now: due + .milliseconds(1))
    }
    _ = ledger.callEnded(slow, .succeeded, now: .milliseconds(500))
    _ = try send(1, .milliseconds(600))
    #expect(!ledger.isSilent(now: .milliseconds(2_500), patience: .milliseconds(300)))
    #expect(ledger.isSilent(now: .milliseconds(2_700), patience: .milliseconds(300)))
    #expect(!ledger.isSilent(now: .milliseconds(2_700), patience: .seconds(3)))
    // A call of many requests goes on as long as some are answered.
    ledger.serviceAnswered(now: .milliseconds(2_600))
    #expect(!ledger.isSilent(now: .milliseconds(4_500), patience: .milliseconds(300)))
  }
}
