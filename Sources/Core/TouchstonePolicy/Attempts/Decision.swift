/// Why an evaluation or a factor is not possible now.
public struct Denial: Sendable, Hashable {
  public var code: LAErrorCode
  public var reason: Reason
  /// Set if waiting helps.
  public var retryAfter: Duration?

  /// Machine-readable; the raw value goes on the wire and does not change.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    case osTooOld = "OS_TOO_OLD"
    case passcodeNotSet = "PASSCODE_NOT_SET"
    case biometryNotAvailable = "BIOMETRY_NOT_AVAILABLE"
    case biometryNotEnrolled = "BIOMETRY_NOT_ENROLLED"
    case biometryLockout = "BIOMETRY_LOCKOUT"
    case domainStateRequired = "DOMAIN_STATE_REQUIRED"
    /// The platform does not have what the policy requires of a device, or the service does not verify it yet (R38).
    case platformNotServed = "PLATFORM_NOT_SERVED"
    /// The binding was made on another platform family (R38).
    case platformDiffers = "PLATFORM_DIFFERS"
    /// The application has no binding of this id (R37).
    case bindingUnknown = "BINDING_UNKNOWN"
    /// The binding was revoked, also if it was after the evaluation began (R37).
    case bindingRevoked = "BINDING_REVOKED"
    case noUsableFactor = "NO_USABLE_FACTOR"
    /// Less is proven of the binding's keys than the policy asks for (R42), or than a payment needs there (R38).
    case levelTooLow = "LEVEL_TOO_LOW"
    /// The proof of the binding's keys was not compared with the application's apps (R38).
    case appNotProven = "APP_NOT_PROVEN"
    /// The passkey may be copied to other devices, and the policy takes none of these (R46).
    case keyNotDeviceBound = "KEY_NOT_DEVICE_BOUND"
    case passcodeLocked = "PASSCODE_LOCKED"
    case gestureLocked = "GESTURE_LOCKED"
    case passcodeDisabled = "PASSCODE_DISABLED"
    case gestureDisabled = "GESTURE_DISABLED"
    /// The factor is switched off or not set: the answer never says which (R17).
    case factorNotOffered = "FACTOR_NOT_OFFERED"
  }

  public init(code: LAErrorCode, reason: Reason, retryAfter: Duration? = nil) {
    self.code = code
    self.reason = reason
    self.retryAfter = retryAfter
  }
}

/// Whether and how a policy can be evaluated now: the answer of `canEvaluatePolicy`.
public struct Preflight: Sendable, Hashable {
  /// `nil`: the policy can be evaluated.
  public var denial: Denial?
  /// `nil`: the request named no binding.
  public var domainState: DomainStateVerdict?
  /// Factors that are usable now, best first.
  public var factors: [Factor]
  /// Attempts left before the device locks.
  public var biometryAttemptsLeft: UInt32
}

/// The outcome of one attempt.
public enum Outcome: UInt8, Sendable, Hashable, CaseIterable {
  case succeeded = 1
  case tryAgain
  case failed
  case canceled
  case fallback
  case lockedOut
  case factorRequired
  case invalidContext
}

/// One attempt, as the rules receive it.
public enum Attempt: Sendable, Hashable {
  /// A signature by one of the binding's keys. `isValid`: it verifies over this evaluation's signing input, by a key of
  /// that factor on an active binding.
  case key(factor: Factor, isValid: Bool)
  /// A ProfileTouchID: of the binding that the evaluation names, or one that identifies the binding.
  case profileTouchID(isValid: Bool)
  /// A passkey's assertion. `refusal`: what is wrong with it; `nil`: it is right, by an active passkey that may speak
  /// for the evaluation's subject.
  case passkey(refusal: PasskeyRefusal?)
  /// Phase two of a passcode or a gesture: its verdict.
  case secret(Factor, SecretAdmission.Reservation, isRight: Bool)
  /// The calling service's own login, by its age.
  case primary(PrimaryVerdict)
  /// LocalAuthentication's error on the device (R11). `nil`: an unknown code.
  case report(LAErrorCode?)
}

/// The answer, the changes to store, and the cause for the audit log.
public struct AttemptDecision: Sendable, Hashable {
  public var outcome: Outcome
  /// `nil` on success.
  public var laError: LAErrorCode?
  public var nextFactors: [Factor]
  /// Attempts left with the factor of this attempt before it locks.
  public var attemptsLeft: UInt32
  public var domainState: DomainStateVerdict?
  public var retryAfter: Duration?
  /// The device may draw the fallback button from now on (R18).
  public var isFallbackVisible: Bool
  /// `nil`: the device's standing stays as it was.
  public var device: BiometryStanding?
  /// `nil`: the evaluation stays as it was.
  public var evaluation: EvaluationStanding?
  /// The standing of the attempt's factor. `nil`: it stays as it was.
  public var secret: SecretStanding?
  /// The baseline to record for the binding (R26). `nil`: it stays as it was.
  public var baseline: DomainStateBaseline?
  /// For the audit log; `nil` on success.
  public var cause: AttemptCause?
  /// The binding is revoked or unknown, and the evaluation has ended with it. The caller is told (R37).
  public var bindingDenial: Denial?
  /// The next failure of this secret disables it until it is set anew, and does not only pause it.
  public var nextFailureDisables = false

  public init(
    outcome: Outcome, laError: LAErrorCode?, nextFactors: [Factor] = [], attemptsLeft: UInt32 = 0,
    domainState: DomainStateVerdict? = nil, retryAfter: Duration? = nil, isFallbackVisible: Bool = false,
    device: BiometryStanding? = nil, evaluation: EvaluationStanding? = nil, secret: SecretStanding? = nil,
    baseline: DomainStateBaseline? = nil, cause: AttemptCause? = nil, bindingDenial: Denial? = nil
  ) {
    self.outcome = outcome
    self.laError = laError
    self.nextFactors = nextFactors
    self.attemptsLeft = attemptsLeft
    self.domainState = domainState
    self.retryAfter = retryAfter
    self.isFallbackVisible = isFallbackVisible
    self.device = device
    self.evaluation = evaluation
    self.secret = secret
    self.baseline = baseline
    self.cause = cause
    self.bindingDenial = bindingDenial
  }
}
