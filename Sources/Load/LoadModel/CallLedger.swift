/// The books of a load, for one thread: which calls of an open or a closed loop are due, in flight, waiting for a
/// caller or ended. No call is lost from them.
///
/// Times count from the start of the measured part; the warm-up's are negative. A call belongs to the part, and to the
/// window, in which it was due. Its latency counts from when it was due, so a call that had to wait for a caller, or
/// that never ended, is as late as its user saw it.
package struct CallLedger: Sendable {
  package struct Call: Hashable, Sendable {
    /// Counts calls in the order in which they were due, from 0 on.
    package let number: Int
    package let due: Duration
    /// An index of the load's targets, which take turns.
    package let target: Int
    /// An index of `flows`.
    fileprivate let flow: Int
    /// An index of `windows`; of no meaning in the warm-up.
    fileprivate let window: Int
    /// The caller's; -1 while the call waits for one.
    fileprivate var slot = -1
  }

  /// The measured part ends here; later calls are not due.
  package let span: Duration
  package let windowWidth: Duration
  /// The measured part, cut into windows of `windowWidth`.
  package private(set) var windows: [LoadWindow]
  package private(set) var warmUp = CallCounts()
  package private(set) var failures: [String: Int] = [:]
  /// For each target, the calls of the measured part that were sent.
  package private(set) var targets: [CallCounts]
  /// For each target, the times in which all calls that ended there were UNAVAILABLE, as while it restarts.
  package private(set) var absences: [[Absence]]
  /// The last time of each target, which another such call lengthens.
  private var openAbsences: [Absence?]
  /// Why calls were wrong.
  package private(set) var faults: [String: Int] = [:]
  /// The calls of the measured part by flow; empty if there is one flow only.
  package private(set) var flows: [FlowBooks]
  /// How late the client itself sent; large values mean that the client was the limit.
  package private(set) var sendLag = LatencyHistogram()
  /// Calls that found no free caller when they were due.
  package private(set) var callsWithoutCaller = 0

  private let callers: Int
  /// The call of each slot, which is one caller's; `nil`: the caller is free.
  private var inFlight: [Call?] = []
  private var freeSlots: [Int] = []
  private var waiting: ArraySlice<Call> = []
  /// The number of the call that will be due next.
  package private(set) var nextNumber = 0
  /// Most calls are in the same window as the call before, and divisions of times are slow.
  private var recentWindow = (index: 0, range: Duration.zero..<Duration.zero)

  /// When a call ended last, while others were outstanding, and how late the client has sent since.
  private var quietSince: Duration?
  private var quietLag = Duration.zero
  private var serviceStalls: [Stall] = []
  private var clientStalls: [Stall] = []

  /// - Parameter flows: their names.
  package init(span: Duration, callers: Int, targets: Int = 1, flows: [String] = []) {
    self.span = span
    self.callers = callers
    self.targets = Array(repeating: CallCounts(), count: targets)
    absences = Array(repeating: [], count: targets)
    openAbsences = Array(repeating: nil, count: targets)
    self.flows = flows.count > 1 ? flows.map { FlowBooks(name: $0) } : []
    windowWidth = LoadWindow.width(for: span)
    windows = Array(repeating: LoadWindow(), count: max(1, span.bin(of: windowWidth, roundedUp: true)))
  }

  // MARK: Events

  /// The call to send now, or `nil` if it waits for a caller.
  package mutating func callIsDue(_ due: Duration, flow: Int = 0, now: Duration) -> Call? {
    let call = nextCall(due, flow)
    if outstanding == 0 { (quietSince, quietLag) = (now, .zero) }
    if let slot = freeSlots.popLast() { return send(call, slot) }
    guard inFlight.count < callers else {
      callsWithoutCaller += 1
      waiting.append(call)
      return nil
    }
    inFlight.append(nil)
    return send(call, inFlight.count - 1)
  }

  /// The call to send next, if one waits for this caller.
  package mutating func callEnded(_ call: Call, _ outcome: CallOutcome, now: Duration) -> Call? {
    guard inFlight.indices.contains(call.slot), inFlight[call.slot] == call else { return nil }
    inFlight[call.slot] = nil
    freeSlots.append(call.slot)
    book(call) { $0.count(outcome) }
    if call.due >= .zero {
      targets[call.target].due += 1
      targets[call.target].count(outcome)
      noteAbsence(of: call.target, outcome, now)
      switch outcome {
      case .failed(let status): failures[status, default: 0] += 1
      case .wrong(let reason): faults[reason, default: 0] += 1
      case .succeeded, .timedOut: break
      }
      recordLatency(of: call, now)
      if outcome == .succeeded, now >= .zero, now < span { windows[window(of: now)].answered += 1 }
    }
    noteAnswer(now)
    guard let next = waiting.popFirst(), let slot = freeSlots.popLast() else { return nil }
    return send(next, slot)
  }

  /// A busy machine may keep the client itself waiting for less.
  package static let usualPatience = Duration.milliseconds(300)

  /// A request was answered that did not end its call.
  package mutating func serviceAnswered(now: Duration) {
    noteAnswer(now)
  }

  /// The run ended before the client came to send this call.
  package mutating func callWasMissed(_ due: Duration, flow: Int = 0, now: Duration) {
    senderWoke(for: due, now: now)
    bookAge(of: nextCall(due, flow), now) { $0.unsent += 1 }
  }

  /// The sender woke up at `now` for what was due before: a call, or a tick of its own in a closed loop.
  package mutating func senderWoke(for due: Duration, now: Duration) {
    quietLag = max(quietLag, now - due)
    guard due >= .zero else { return }
    sendLag.record(now - due)
    guard now - due > Stall.threshold else { return }
    if let last = clientStalls.last, last.end >= due {
      clientStalls[clientStalls.count - 1].end = now
    } else {
      clientStalls.append(Stall(start: due, end: now))
    }
  }

  /// Whether nothing more is to be expected after the measured part: all calls have ended, or the service has been
  /// silent for much longer than a call of the slowest flow usually takes.
  package func isSilent(now: Duration, patience: Duration = usualPatience) -> Bool {
    guard outstanding > 0, let quietSince else { return true }
    let median = flows.map { $0.latencies.percentile(50) }.max() ?? latencies.percentile(50)
    let usual = Duration.microseconds(median)
    return now - quietSince > max(patience, usual * 4)
  }

  /// The run is over: what is in flight is unfinished, and what waits was not sent. Both are as late as they are old.
  package mutating func close(now: Duration) {
    if let quietSince { noteStall(from: quietSince, to: now) }
    quietSince = nil
    for target in targets.indices { endAbsence(of: target, at: nil) }
    for call in inFlight.compactMap(\.self) {
      bookAge(of: call, now) { $0.unfinished += 1 }
      guard call.due >= .zero else { continue }
      targets[call.target].due += 1
      targets[call.target].unfinished += 1
    }
    for call in waiting { bookAge(of: call, now) { $0.unsent += 1 } }
    inFlight = []
    freeSlots = []
    waiting = []
  }

  /// Adds the closed books of another thread of the same run.
  package mutating func add(_ other: CallLedger) {
    precondition(windows.count == other.windows.count && targets.count == other.targets.count)
    for index in windows.indices { windows[index].add(other.windows[index]) }
    for index in targets.indices {
      targets[index].add(other.targets[index])
      absences[index] += other.absences[index]
    }
    warmUp.add(other.warmUp)
    failures.merge(other.failures, uniquingKeysWith: +)
    faults.merge(other.faults, uniquingKeysWith: +)
    for index in flows.indices { flows[index].add(other.flows[index]) }
    sendLag.add(other.sendLag)
    callsWithoutCaller += other.callsWithoutCaller
    serviceStalls += other.serviceStalls
    clientStalls += other.clientStalls
  }

  // MARK: Sums

  /// Calls that were due and have not ended.
  package var outstanding: Int { inFlight.count - freeSlots.count + waiting.count }

  package var counts: CallCounts {
    windows.reduce(into: CallCounts()) { $0.add($1.counts) }
  }

  package var latencies: LatencyHistogram {
    windows.reduce(into: LatencyHistogram()) { $0.add($1.latencies) }
  }

  /// Successes within the measured part, whenever they were due.
  package var answered: Int { windows.reduce(0) { $0 + $1.answered } }

  /// Times without an answer while calls were outstanding, unless the client itself stood still.
  package var stalls: [Stall] {
    let byClient = Stall.merged(clientStalls)
    return Stall.merged(serviceStalls).filter { stall in
      byClient.reduce(.zero) { $0 + $1.overlap(with: stall) } * 2 < stall.duration
    }
  }

  // MARK: Booking

  private mutating func nextCall(_ due: Duration, _ flow: Int) -> Call {
    let call = Call(
      number: nextNumber, due: due, target: nextNumber % targets.count, flow: flow,
      window: due < .zero ? 0 : window(of: due))
    nextNumber += 1
    book(call) { $0.due += 1 }
    return call
  }

  private mutating func send(_ call: Call, _ slot: Int) -> Call {
    var call = call
    call.slot = slot
    inFlight[slot] = call
    return call
  }

  private mutating func window(of time: Duration) -> Int {
    if recentWindow.range.contains(time) { return recentWindow.index }
    let index = min(time.bin(of: windowWidth), windows.count - 1)
    recentWindow = (index, windowWidth * index..<windowWidth * (index + 1))
    return index
  }

  private mutating func book(_ call: Call, _ change: (inout CallCounts) -> Void) {
    guard call.due >= .zero else { return change(&warmUp) }
    change(&windows[call.window].counts)
    if !flows.isEmpty { change(&flows[call.flow].counts) }
  }

  private mutating func bookAge(of call: Call, _ now: Duration, _ change: (inout CallCounts) -> Void) {
    book(call, change)
    if call.due >= .zero { recordLatency(of: call, now) }
  }

  private mutating func recordLatency(of call: Call, _ now: Duration) {
    let latency = now - call.due
    windows[call.window].latencies.record(latency)
    if !flows.isEmpty { flows[call.flow].latencies.record(latency) }
  }

  private mutating func noteAbsence(of target: Int, _ outcome: CallOutcome, _ now: Duration) {
    guard outcome == .failed(status: Absence.status) else { return endAbsence(of: target, at: now) }
    var absence = openAbsences[target] ?? Absence(start: now, end: now, calls: 0)
    absence.end = now
    absence.calls += 1
    openAbsences[target] = absence
  }

  /// - Parameter now: when a call ended otherwise there; `nil`: none did.
  private mutating func endAbsence(of target: Int, at now: Duration?) {
    guard var absence = openAbsences[target].take() else { return }
    if let now { absence.end = now }
    if absence.end - absence.start > Stall.threshold { absences[target].append(absence) }
  }

  private mutating func noteAnswer(_ now: Duration) {
    if let quietSince { noteStall(from: quietSince, to: now) }
    quietSince = outstanding > 0 ? now : nil
    quietLag = .zero
  }

  private mutating func noteStall(from start: Duration, to end: Duration) {
    guard end > .zero, start < span, end - start > Stall.threshold else { return }
    // A client that sent late meanwhile may have been as late with answers.
    guard quietLag * 4 < end - start else { return }
    serviceStalls.append(Stall(start: max(start, .zero), end: end))
  }
}

/// A part of the measured time, for charts.
package struct LoadWindow: Sendable {
  /// The calls that were due in it.
  package fileprivate(set) var counts = CallCounts()
  package fileprivate(set) var latencies = LatencyHistogram()
  /// Successes in it, whenever they were due.
  package fileprivate(set) var answered = 0

  private static let widths: [Duration] =
    [.milliseconds(100), .milliseconds(200), .milliseconds(500)]
    + [1, 2, 5, 10, 30, 60, 300, 600, 3_600].map { Duration.seconds($0) }
  /// As many as a chart can show.
  private static let maximumCount = 300

  static func width(for span: Duration) -> Duration {
    widths.first { span / $0 <= Double(maximumCount) } ?? span / maximumCount
  }

  fileprivate mutating func add(_ other: LoadWindow) {
    counts.add(other.counts)
    latencies.add(other.latencies)
    answered += other.answered
  }
}

/// The calls of one flow.
package struct FlowBooks: Sendable {
  package let name: String
  package fileprivate(set) var counts = CallCounts()
  package fileprivate(set) var latencies = LatencyHistogram()

  fileprivate mutating func add(_ other: FlowBooks) {
    counts.add(other.counts)
    latencies.add(other.latencies)
  }
}

/// A time in which a target refused all calls, from the end of the first one to the next that ended otherwise. A
/// shorter one than `Stall.threshold` is not listed: its calls may have been refused one by one.
package struct Absence: Hashable, Sendable {
  package var start: Duration
  package var end: Duration
  /// The calls that it refused.
  package var calls: Int

  fileprivate static let status = "UNAVAILABLE"
}

/// A time without any answer while calls were outstanding.
package struct Stall: Hashable, Sendable {
  package var start: Duration
  package var end: Duration

  /// A shorter one is not listed. It still is in the latencies.
  package static let threshold = Duration.milliseconds(100)

  package var duration: Duration { end - start }

  fileprivate func overlap(with other: Stall) -> Duration {
    max(.zero, min(end, other.end) - max(start, other.start))
  }

  fileprivate static func merged(_ stalls: [Stall]) -> [Stall] {
    stalls.sorted { $0.start < $1.start }.reduce(into: []) { merged, stall in
      if let last = merged.last, stall.start <= last.end {
        merged[merged.count - 1].end = max(last.end, stall.end)
      } else {
        merged.append(stall)
      }
    }
  }
}
