// The results of TouchID's calls.

import Foundation

/// How a login, a payment or a binding ended, and what the app does next.
public struct TouchIDResult: Sendable {
  /// Success, failure, cancel, fallback, lockout and others apart.
  public let means: PhoneAnswer.Meaning
  public let next: NextStep
  /// The factors that the service still takes, best first.
  public let factors: [Factor]
  /// The token and the profile in the backend's answer after a success.
  public var token, profile: String?
  /// Attempts left before the factor locks.
  public var attemptsLeft: Int?

  init(_ next: NextStep, _ means: PhoneAnswer.Meaning, factors: [Factor] = []) {
    (self.next, self.means, self.factors) = (next, means, factors)
  }

  public var isSuccess: Bool { next.kind == .done }
}

public struct TouchIDStatus: Sendable {
  public let state: PhoneState
  /// For a button: "Face ID"; `nil`: no sensor.
  public let biometryName: String?
  /// `success`: biometrics work now; otherwise why they do not.
  public let biometry: PhoneAnswer.Meaning
  /// A finger or face was added or removed since the service last knew the set.
  public let haveFingersChanged: Bool
}

extension Answer {
  /// The meaning of the attempt's outcome.
  var means: PhoneAnswer.Meaning {
    switch outcome?.name {
    case "OUTCOME_SUCCEEDED": return .success
    case "OUTCOME_TRY_AGAIN": return .failure
    case "OUTCOME_CANCELED": return .cancel
    case "OUTCOME_FALLBACK": return .fallback
    case "OUTCOME_LOCKED_OUT": return .lockout
    case "OUTCOME_INVALID_CONTEXT": return .retry
    default: break
    }
    switch laError?.name {
    case "LA_ERROR_AUTHENTICATION_FAILED": return .failure
    case "LA_ERROR_PASSCODE_NOT_SET": return .noPasscode
    case "LA_ERROR_BIOMETRY_NOT_ENROLLED": return .notEnrolled
    case "LA_ERROR_BIOMETRY_LOCKOUT": return .lockout
    default: return .unavailable
    }
  }
}

extension Denial {
  /// The service does not have this binding any more.
  var isOfBinding: Bool { reason == "BINDING_UNKNOWN" || reason == "BINDING_REVOKED" }
}
