// How a call ended, and what does calls.

/// The class of a call that ended.
package enum CallOutcome: Hashable, Sendable {
  case succeeded
  /// Answered, but not as it had to be. The reason is one of few texts, such as "login: FAILED instead of SUCCEEDED".
  case wrong(String)
  /// Refused, or lost. The status is gRPC's name, such as "UNAVAILABLE".
  case failed(status: String)
  case timedOut
}

/// The calls that the callers of a load make, again and again.
package protocol Workload: Sendable {
  /// One call, from its first request to its last answer. A call may be several requests, such as a login.
  ///
  /// - Parameter number: counts the calls of the run, so that calls can spread over phones.
  func perform(_ number: Int) async -> CallOutcome

  /// The kinds of calls, which are booked apart.
  var flows: FlowMix { get }

  /// The requests that were answered so far. A service is not silent while it answers some of a call's requests.
  var answers: Int { get }

  /// How long an answer may take at least before the service counts as silent at the end of a run.
  var patience: Duration { get }
}

extension Workload {
  package var flows: FlowMix { .single }
  package var answers: Int { 0 }
  package var patience: Duration { CallLedger.usualPatience }
}

/// Calls by class. Each call that was due is in exactly one.
package struct CallCounts: Hashable, Sendable {
  package var due = 0
  package var succeeded = 0
  package var wrong = 0
  package var failed = 0
  package var timedOut = 0
  /// Sent, but not ended by the end of the run.
  package var unfinished = 0
  /// Due, but not sent by the end of the run.
  package var unsent = 0

  package init() {}

  fileprivate init(_ entry: some CountedByClass) {
    (due, succeeded, wrong, failed) = (entry.due, entry.succeeded, entry.wrong, entry.failed)
    (timedOut, unfinished, unsent) = (entry.timedOut, entry.unfinished, entry.unsent)
  }

  package mutating func count(_ outcome: CallOutcome) {
    switch outcome {
    case .succeeded: succeeded += 1
    case .wrong: wrong += 1
    case .failed: failed += 1
    case .timedOut: timedOut += 1
    }
  }

  package mutating func add(_ other: CallCounts) {
    due += other.due
    succeeded += other.succeeded
    wrong += other.wrong
    failed += other.failed
    timedOut += other.timedOut
    unfinished += other.unfinished
    unsent += other.unsent
  }

  /// Calls that the service answered wrongly or not at all.
  package var errors: Int { wrong + failed + timedOut + unfinished }
  package var isComplete: Bool { due == succeeded + errors + unsent }
}

/// A part of a report that has a key for each class.
package protocol CountedByClass {
  var due: Int { get set }
  var succeeded: Int { get set }
  var wrong: Int { get set }
  var failed: Int { get set }
  var timedOut: Int { get set }
  var unfinished: Int { get set }
  var unsent: Int { get set }
}

extension CountedByClass {
  package var counts: CallCounts {
    get { CallCounts(self) }
    set {
      (due, succeeded, wrong, failed) = (newValue.due, newValue.succeeded, newValue.wrong, newValue.failed)
      (timedOut, unfinished, unsent) = (newValue.timedOut, newValue.unfinished, newValue.unsent)
    }
  }
}
