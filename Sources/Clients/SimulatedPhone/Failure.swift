// Why a phone refused an app's request: Apple's codes.

extension SimulatedPhone {
  /// Why the phone refused or an evaluation ended without success. The raw values are those of `LAError.Code`
  /// (LAError.h), so `Int32(failure.rawValue)` is what an app sends as `error.code`.
  public enum Failure: Int, Error, Sendable, Hashable, CaseIterable {
    /// The person did not prove to be the owner.
    case authenticationFailed = -1
    /// The person tapped Cancel.
    case userCancel = -2
    /// The person tapped the fallback button.
    case userFallback = -3
    /// The system took the prompt away: another app came to the front.
    case systemCancel = -4
    case passcodeNotSet = -5
    /// The sensor is absent, broken or off, or the OS is too old to use it.
    case biometryNotAvailable = -6
    case biometryNotEnrolled = -7
    /// Too many wrong attempts: the passcode is needed first.
    case biometryLockout = -8
    /// The app invalidated the context while its prompt was open.
    case appCancel = -9
    /// The context was invalidated before.
    case invalidContext = -10
    /// A prompt was needed where the app had forbidden one.
    case notInteractive = -1004
  }
}
