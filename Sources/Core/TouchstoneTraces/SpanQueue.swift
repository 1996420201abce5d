/// The traced calls that wait for the collector, and when they are sent: one batch at a time. A batch that the
/// collector did not take for now stays, and is sent again after a while. Pure.
package struct SpanQueue: Sendable {
  /// Calls that wait. Some 3 MB; two seconds at the sampler's bound.
  package static let maximumCalls = 2_048
  /// Calls in one message, which then has some 400 KB.
  package static let callsPerBatch = 256
  /// A batch that is not full waits so long.
  package static let interval = Duration.seconds(1)
  /// After a failure; doubled with each further one.
  private static let firstPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(30)

  package enum Step: Equatable, Sendable {
    case nothing
    /// Call `timerFired` after this time.
    case wait(Duration)
    case send([TracedCall])
  }

  package enum Outcome: Equatable, Sendable {
    case taken
    /// The collector is down or busy: the batch is worth another try.
    case unavailable
    /// It would refuse the batch again.
    case refused
  }

  private var waiting: [TracedCall] = []
  private var sent: [TracedCall] = []
  private var isTimerSet = false
  private var pause: Duration?
  /// Spans of calls that found no room, since the start.
  package private(set) var overflow = 0

  package init() {}

  package var isEmpty: Bool { waiting.isEmpty && sent.isEmpty }

  package mutating func add(_ call: TracedCall) -> Step {
    guard waiting.count + sent.count < Self.maximumCalls else {
      overflow += call.spanCount
      return .nothing
    }
    waiting.append(call)
    if pause == nil, sent.isEmpty, waiting.count >= Self.callsPerBatch { return send() }
    return setTimer(Self.interval)
  }

  package mutating func timerFired() -> Step {
    isTimerSet = false
    return send()
  }

  /// Takes the result of the last batch.
  ///
  /// - Parameter jitter: from -1 to 1, so that many services do not come back at one time.
  package mutating func ended(_ outcome: Outcome, jitter: Double) -> Step {
    switch outcome {
    case .taken, .refused:
      sent = []
      pause = nil
      guard !waiting.isEmpty else { return .nothing }
      return waiting.count >= Self.callsPerBatch ? send() : setTimer(Self.interval)
    case .unavailable:
      waiting.insert(contentsOf: sent, at: 0)
      sent = []
      let next = min(pause.map { $0 * 2 } ?? Self.firstPause, Self.longestPause)
      pause = next
      return setTimer(next * (1 + jitter * 0.2))
    }
  }

  /// Before the process ends: all that waits, as far as one message goes. Nothing is sent after it.
  package mutating func last() -> [TracedCall] {
    let calls = Array((sent + waiting).prefix(Self.maximumCalls))
    (sent, waiting) = ([], [])
    return calls
  }

  private mutating func send() -> Step {
    guard sent.isEmpty, !waiting.isEmpty else { return .nothing }
    sent = Array(waiting.prefix(Self.callsPerBatch))
    waiting.removeFirst(sent.count)
    return .send(sent)
  }

  private mutating func setTimer(_ delay: Duration) -> Step {
    guard !isTimerSet, sent.isEmpty else { return .nothing }
    isTimerSet = true
    return .wait(delay)
  }
}
