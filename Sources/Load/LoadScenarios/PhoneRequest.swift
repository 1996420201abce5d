// The requests of a simulated phone's backend, and their answers: without messages, so that a test can play both.

package enum PhoneRequest: Hashable, Sendable {
  package enum Purpose: String, Hashable, Sendable {
    case login
    case payment
  }

  package enum Proof: String, Hashable, Sendable {
    /// A signature by the phone's key.
    case finger
    /// A signature by another key.
    case wrongFinger = "a wrong finger"
    /// The phone's own report that the finger did not match: it opened no key.
    case mismatch = "a reported mismatch"
    case passcode = "the passcode"
    case gesture = "the gesture"
  }

  /// BeginBinding and CompleteBinding, for a new phone.
  case bind
  case preflight
  case begin(Purpose)
  /// Submits in the evaluation that was begun last.
  case submit(Proof)
  /// ConsumeToken, for the token of the attempt before.
  case consume
  case introspect
}

package enum PhoneAnswer: Hashable, Sendable {
  case bound
  case preflight(canEvaluate: Bool)
  /// An open evaluation.
  case begun(DomainState)
  /// A denial with this reason.
  case denied(String)
  /// - Parameter fault: the defect of the token; `nil` if it is right, or if the attempt did not succeed.
  case attempt(AttemptOutcome, fault: String?)
  /// - Parameter fault: the defect of the answer, such as "ALREADY_CONSUMED".
  case consumed(fault: String?)
  case introspected(fault: String?)
}

/// An outcome, under the service's name.
package enum AttemptOutcome: String, Hashable, Sendable {
  case succeeded = "SUCCEEDED"
  case tryAgain = "TRY_AGAIN"
  case failed = "FAILED"
  case canceled = "CANCELED"
  case fallback = "FALLBACK"
  case lockedOut = "LOCKED_OUT"
  case factorRequired = "FACTOR_REQUIRED"
  case invalidContext = "INVALID_CONTEXT"
  case unknown = "an unknown outcome"

  /// Whether a wrong attempt leaves the evaluation open for another one.
  var staysOpen: Bool { self == .tryAgain || self == .factorRequired }
}

package enum DomainState: String, Hashable, Sendable {
  case unchanged = "UNCHANGED"
  case changed = "CHANGED"
  case other = "another verdict"
}
