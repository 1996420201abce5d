/// Whether a person can log in now by a binding, or by the profile alone, and why not: the answer for support staff.
/// Nothing decides by it.
public struct LoginDiagnosis: Sendable, Hashable {
  public enum Answer: UInt8, Sendable, Hashable, CaseIterable {
    /// By at least one factor, if the person gives the right proof.
    case yes = 1
    case no
    /// The records fit devices on which a login succeeds, and others on which it fails.
    case unknown
  }

  public var answer: Answer
  /// The factors that serve now, best first. Empty unless the answer is yes.
  public var factors: [Factor]
  /// When the device reported the state on which the answer rests; `nil`: it rests on the service's own records.
  public var reportedAt: UnixTime?
  /// Why the other factors do not serve. If there are other obstacles, factors that were never set up are left out.
  public var obstacles: [LoginObstacle]

  public init(
    answer: Answer, factors: [Factor] = [], reportedAt: UnixTime? = nil, obstacles: [LoginObstacle] = []
  ) {
    (self.answer, self.factors, self.reportedAt, self.obstacles) = (answer, factors, reportedAt, obstacles)
  }
}

/// One reason why factors do not serve.
public struct LoginObstacle: Sendable, Hashable {
  /// The factors that it blocks, in the policy's order. Empty: the whole binding or profile.
  public var factors: [Factor]
  public var cause: Cause
  /// When the device reported it. `nil`: it follows from the service's own records, which do not say since when.
  public var since: UnixTime?
  /// When it ends by itself.
  public var until: UnixTime?
  /// The remedies that are open to this person, the easiest first.
  public var remedies: [Remedy]

  public init(
    factors: [Factor], cause: Cause, since: UnixTime? = nil, until: UnixTime? = nil, remedies: [Remedy] = []
  ) {
    (self.factors, self.cause, self.since, self.until, self.remedies) = (factors, cause, since, until, remedies)
  }

  /// The raw value goes on the wire and does not change. A cause that is also a denial's reason has its name.
  public enum Cause: String, Sendable, Hashable, CaseIterable {
    /// In events alone: a diagnosis is about bindings that are there.
    case bindingUnknown = "BINDING_UNKNOWN"
    case bindingRevoked = "BINDING_REVOKED"
    /// The answer depends on the device's state, which the service does not know.
    case notSeen = "NOT_SEEN"
    case osTooOld = "OS_TOO_OLD"
    case passcodeNotSet = "PASSCODE_NOT_SET"
    case biometryNotAvailable = "BIOMETRY_NOT_AVAILABLE"
    case biometryNotEnrolled = "BIOMETRY_NOT_ENROLLED"
    /// The service's count of failures locked it.
    case biometryLockout = "BIOMETRY_LOCKOUT"
    /// The device reported that it is locked.
    case biometryLockedByDevice = "BIOMETRY_LOCKED_BY_DEVICE"
    case domainStateNeverRecorded = "DOMAIN_STATE_NEVER_RECORDED"
    case domainStateUnknownWhileLocked = "DOMAIN_STATE_UNKNOWN_WHILE_LOCKED"
    case domainStateChanged = "DOMAIN_STATE_CHANGED"
    case domainStateChangedWithOS = "DOMAIN_STATE_CHANGED_WITH_OS"
    /// No verdict is known.
    case domainStateUnknown = "DOMAIN_STATE_UNKNOWN"
    case domainStateRequired = "DOMAIN_STATE_REQUIRED"
    case platformNotServed = "PLATFORM_NOT_SERVED"
    case platformDiffers = "PLATFORM_DIFFERS"
    case noUsableFactor = "NO_USABLE_FACTOR"
    case levelTooLow = "LEVEL_TOO_LOW"
    case appNotProven = "APP_NOT_PROVEN"
    case keyNotDeviceBound = "KEY_NOT_DEVICE_BOUND"
    case passcodeLocked = "PASSCODE_LOCKED"
    case gestureLocked = "GESTURE_LOCKED"
    case passcodeDisabled = "PASSCODE_DISABLED"
    case gestureDisabled = "GESTURE_DISABLED"
    /// The policy requires the app's word beside a key's signature (R43), and the binding has no App Attest key.
    case appAssertionRequired = "APP_ASSERTION_REQUIRED"
    case switchedOff = "SWITCHED_OFF"
    case notSet = "NOT_SET"
  }

  /// The raw value goes on the wire and does not change.
  public enum Remedy: String, Sendable, Hashable, CaseIterable {
    /// One login by this factor ends it.
    case logInByDeviceOwner = "LOG_IN_BY_DEVICE_OWNER"
    case logInByPasscode = "LOG_IN_BY_PASSCODE"
    case logInByGesture = "LOG_IN_BY_GESTURE"
    case logInByPrimary = "LOG_IN_BY_PRIMARY"
    /// The application calls AcceptDomainState after its own login of the person (R26).
    case acceptDomainState = "ACCEPT_DOMAIN_STATE"
    /// The person enters the device's own passcode on the device.
    case unlockOnDevice = "UNLOCK_ON_DEVICE"
    case wait = "WAIT"
    /// UnlockDevice, by an operator.
    case unlockDevice = "UNLOCK_DEVICE"
    /// UnlockSecret, by an operator.
    case unlockSecret = "UNLOCK_SECRET"
    case setSecret = "SET_SECRET"
    case switchOn = "SWITCH_ON"
    case updateSystem = "UPDATE_SYSTEM"
    case setDevicePasscode = "SET_DEVICE_PASSCODE"
    case enrolBiometry = "ENROL_BIOMETRY"
    case bindDevice = "BIND_DEVICE"
    case bindPasskey = "BIND_PASSKEY"
  }
}
