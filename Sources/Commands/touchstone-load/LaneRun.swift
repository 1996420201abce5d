// One thread's share of one run: it sends on time, whether the calls before were answered or not.

internal import LoadModel
internal import MonotonicClock
internal import SimulatedPhone

/// When calls are sent, and by how many callers: the same for all lanes but for their share.
struct LanePlan: Sendable {
  var shape: LoadShape
  /// When the measured part begins.
  var begin: MonotonicTime
  var warmUp: Duration
  var span: Duration
  /// How long to wait after the measured part for calls that are not answered yet.
  var grace: Duration
  var callers: Int
  /// The lane sends every `lanes`-th call, from its own number on.
  var lane: Int
  var lanes: Int
}

// Guard: everything belongs to the lane's thread; `result` and `books` hop onto it.
final class LaneRun: @unchecked Sendable {
  /// In a closed loop nothing is due at a certain time; a tick shows how late the thread is.
  private static let tick = Duration.milliseconds(10)

  private let lane: LoadLane
  private let plan: LanePlan
  /// One for each target.
  private let workloads: [PhoneWorkload]
  /// All workloads of a lane share flows, answers and patience.
  private var workload: PhoneWorkload { workloads[0] }
  private let flows: FlowMix
  /// The workload's, when it was looked at last.
  private var answers: Int
  private var ledger: CallLedger
  private var arrivals: ShiftedArrivals
  private var nextDue: Duration?
  /// When the people of a closed loop have thought and will call again.
  private var thinkers = CallAgenda()
  private var nextTick: Duration
  private var nextCheck = Duration.zero
  private var completion: ((CallLedger) -> Void)?

  init(_ lane: LoadLane, _ plan: LanePlan, _ workloads: [PhoneWorkload]) {
    self.lane = lane
    self.plan = plan
    self.workloads = workloads
    flows = workloads[0].flows
    answers = workloads[0].answers
    ledger = CallLedger(
      span: plan.span, callers: plan.callers, targets: workloads.count, flows: flows.flows.map(\.name))
    arrivals = ShiftedArrivals(plan)
    nextTick = .zero - plan.warmUp
  }

  /// Returns the closed books when all calls have ended, or at the end of the grace.
  func result() async -> CallLedger {
    await withCheckedContinuation { continuation in
      Task(executorPreference: lane) { [self] in
        start { continuation.resume(returning: $0) }
      }
    }
  }

  /// The books as they are now.
  func books() async -> CallLedger {
    await Task(executorPreference: lane) { [self] in ledger }.value
  }

  // MARK: On the lane

  private var now: Duration { MonotonicTime.now() - plan.begin }

  private func start(_ completion: @escaping (CallLedger) -> Void) {
    self.completion = completion
    nextDue = arrivals.next()
    lane.setTimer { [self] in proceed(sends: $0) }
    guard plan.shape.isClosed else { return }
    // People that think are spread over their first pause, as if they had called before.
    for caller in 0..<plan.callers {
      let pause = flows.thinkTime(after: caller) * Double.random(in: 0..<1)
      if let call = nextOfClosedLoop(now, after: pause) { send(call) }
    }
  }

  /// Sends what is due, at most so many calls, and answers when the next one is.
  private func proceed(sends: Int) -> MonotonicTime {
    guard completion != nil else { return .distantFuture }
    var now = now
    if now >= plan.span + plan.grace {
      finish(now)
      return .distantFuture
    }
    noteAnswers(now)
    if plan.shape.isClosed, nextTick <= now {
      if now < plan.span { ledger.senderWoke(for: nextTick, now: now) }
      nextTick = now + Self.tick
    }
    var sends = sends
    while let due = nextSend, due <= now, sends > 0 {
      sends -= 1
      ledger.senderWoke(for: due, now: now)
      if let call = ledger.callIsDue(due, flow: nextFlow, now: now) { send(call) }
      takeNextSend()
      now = self.now
    }
    if !plan.shape.isClosed, let nextDue { return plan.begin + nextDue }
    if now < plan.span || nextSend != nil {
      return plan.begin + min(plan.span, nextSend ?? plan.span, plan.shape.isClosed ? nextTick : plan.span)
    }
    if isDrained(now) {
      finish(now)
      return .distantFuture
    }
    return plan.begin + min(nextCheck, plan.span + plan.grace)
  }

  private func noteAnswers(_ now: Duration) {
    guard workload.answers != answers else { return }
    answers = workload.answers
    ledger.serviceAnswered(now: now)
  }

  /// It looks once a tick, because it adds up all latencies.
  private func isDrained(_ now: Duration) -> Bool {
    guard ledger.outstanding > 0 else { return true }
    guard nextCheck <= now else { return false }
    // Answers that came while this thread had no core are read after its timer: that silence was not the service's.
    let isLate = now - nextCheck > workload.patience / 2
    nextCheck = now + Self.tick
    return !isLate && ledger.isSilent(now: now, patience: workload.patience)
  }

  private func finish(_ now: Duration) {
    while let due = nextSend {
      ledger.callWasMissed(due, flow: nextFlow, now: now)
      takeNextSend()
    }
    ledger.close(now: now)
    lane.removeTimer()
    completion?(ledger)
    completion = nil
  }

  // MARK: Calls that are due

  private var nextSend: Duration? { plan.shape.isClosed ? thinkers.first : nextDue }

  private func takeNextSend() {
    if plan.shape.isClosed { _ = thinkers.removeFirst() } else { nextDue = arrivals.next() }
  }

  /// The number of a call among those of all lanes.
  private func number(_ number: Int) -> Int { number * plan.lanes + plan.lane }

  private var nextFlow: Int { flows.flow(of: number(ledger.nextNumber)) }

  /// One task for as many calls as follow each other: a new one would cost more than all bookkeeping.
  private func send(_ call: CallLedger.Call) {
    Task(executorPreference: lane) { [self] in
      var next: CallLedger.Call? = call
      while let call = next {
        let number = number(call.number)
        let outcome = await workloads[call.target].perform(number)
        assert(lane.isCurrent)
        let now = now
        next = ledger.callEnded(call, outcome, now: now) ?? nextOfClosedLoop(now, after: flows.thinkTime(after: number))
      }
    }
  }

  /// The call to send now; `nil` if its person thinks first, or at the end.
  private func nextOfClosedLoop(_ now: Duration, after pause: Duration) -> CallLedger.Call? {
    guard plan.shape.isClosed, now + pause < plan.span, completion != nil else { return nil }
    if pause > .zero {
      thinkers.add(now + pause)
      return nil
    }
    return ledger.callIsDue(now, flow: nextFlow, now: now)
  }
}

/// One lane's share of the calls: the warm-up's before zero, then the measured part's.
private struct ShiftedArrivals {
  private var warmUp: ArrivalSchedule<PhoneRandomness>
  private var measured: ArrivalSchedule<PhoneRandomness>
  private let shift: Duration
  private let lanes: Int
  private var skipped: Int

  /// Any will do: the same gaps in each run make runs comparable.
  private static let seed: UInt64 = 0x6C6F_6164

  init(_ plan: LanePlan) {
    let shape = plan.shape
    let generator = PhoneRandomness.seeded(Self.seed)
    warmUp = ArrivalSchedule(
      shape.warmUpSegments(over: plan.warmUp), isPoisson: shape.isPoisson, using: generator)
    measured = ArrivalSchedule(shape.segments(over: plan.span), isPoisson: shape.isPoisson, using: generator)
    shift = plan.warmUp
    lanes = plan.lanes
    skipped = plan.lanes - 1 - plan.lane
  }

  mutating func next() -> Duration? {
    while let due = warmUp.next().map({ $0 - shift }) ?? measured.next() {
      skipped += 1
      if skipped == lanes {
        skipped = 0
        return due
      }
    }
    return nil
  }
}
