// A load on a service that stands still at times, in simulated time.

import LoadModel

struct SimulatedRun {
  var shape = LoadShape(.constant(200))
  var warmUp = Duration.seconds(1)
  var span = Duration.seconds(6)
  var grace = Duration.seconds(1)
  var callers = 10_000
  var targets = 1
  var flows = FlowMix([FlowMix.Flow(name: "all")])
  var latency = Duration.milliseconds(2)
  /// When the service answers nothing.
  var stalls: [ClosedRange<Duration>] = []
  /// When the client sends nothing.
  var clientStalls: [ClosedRange<Duration>] = []

  private struct Answer {
    var at: Duration
    var call: CallLedger.Call
    var outcome: CallOutcome
  }

  /// The closed books of the run.
  func books(using generator: inout some RandomNumberGenerator) -> CallLedger {
    var ledger = CallLedger(
      span: span, callers: callers, targets: targets, flows: flows.flows.map(\.name))
    var answers: [Answer] = []
    func send(_ call: CallLedger.Call, _ now: Duration) {
      let answer = Answer(
        at: Self.after(stalls, now + latency * Int.random(in: 1...3, using: &generator)), call: call,
        outcome: Self.outcome(using: &generator))
      // From the end, because those of a stall all come at its end.
      answers.insert(answer, at: answers.lastIndex { $0.at <= answer.at }.map { $0 + 1 } ?? 0)
    }
    func receive(until now: Duration) {
      while let answer = answers.first, answer.at <= now {
        answers.removeFirst()
        if let next = ledger.callEnded(answer.call, answer.outcome, now: answer.at) { send(next, answer.at) }
      }
    }
    let warmUpCalls = ArrivalSchedule(shape.warmUpSegments(over: warmUp), isPoisson: false, using: generator)
    let calls = ArrivalSchedule(shape.segments(over: span), isPoisson: shape.isPoisson, using: generator)
    for due in warmUpCalls.map({ $0 - warmUp }) + Array(calls) {
      let now = Self.after(clientStalls, due)
      receive(until: now)
      ledger.senderWoke(for: due, now: now)
      let flow = flows.flow(of: ledger.nextNumber)
      if let call = ledger.callIsDue(due, flow: flow, now: now) { send(call, now) }
    }
    receive(until: span + grace)
    ledger.close(now: span + grace)
    return ledger
  }

  private static func after(_ stalls: [ClosedRange<Duration>], _ time: Duration) -> Duration {
    stalls.first { $0.contains(time) }?.upperBound ?? time
  }

  private static func outcome(using generator: inout some RandomNumberGenerator) -> CallOutcome {
    switch Int.random(in: 0..<100, using: &generator) {
    case 0: .wrong("login: FAILED")
    case 1: .timedOut
    case 2: .failed(status: "UNAVAILABLE")
    case 3: .failed(status: "INTERNAL")
    default: .succeeded
    }
  }
}

extension LoadReport {
  init(
    _ ledger: CallLedger, client: ClientUse = ClientUse(cpuSeconds: 1, cpuShare: 0.1, threadShare: 0.2),
    startedAt: Double = 1_700_000_000
  ) {
    let targets = ledger.targets.indices.map { (name: "127.0.0.1:\(7443 + $0)", connections: 8) }
    self.init(
      Run(
        scenario: "login", shape: LoadShape(.constant(200)), targets: targets, startedAt: startedAt, callers: 100),
      ledger, client)
  }
}
