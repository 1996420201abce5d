/// The class of a call that ended.
package enum CallOutcome: Hashable, Sendable {
  case succeeded
  /// Answered, but not as it had to be. The reason is one of few texts, such as "login: FAILED instead of SUCCEEDED".
  case wrong(String)
  /// Refused, or lost. The status is gRPC's name, such as "UNAVAILABLE".
  case failed(status: String)
  case timedOut
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
