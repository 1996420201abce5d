// What is remembered between calls, as the rules see it. The store keeps these values; the rules replace them.

/// A device's biometric failures, shared by all applications and profiles on it (R8).
public struct BiometryStanding: Sendable, Hashable {
  /// Consecutive wrong attempts; zero after a success on an unlocked device (R7).
  public var consecutiveFailures: UInt32
  /// Locked until a success of device owner or passcode (R4).
  public var isLockedOut: Bool

  public init(consecutiveFailures: UInt32 = 0, isLockedOut: Bool = false) {
    self.consecutiveFailures = consecutiveFailures
    self.isLockedOut = isLockedOut
  }
}

/// The domain state a binding was completed with (R24), and the OS it came from (R22).
public struct DomainStateBaseline: Sendable, Hashable {
  /// Never empty (R24).
  public var domainState: [UInt8]
  public var osMajorVersion: UInt32

  public init(domainState: [UInt8], osMajorVersion: UInt32) {
    self.domainState = domainState
    self.osMajorVersion = osMajorVersion
  }
}

/// What the rules need to know of the binding that an evaluation names.
public struct BindingStanding: Sendable, Hashable {
  /// Whom the evaluation named.
  public enum Scope: UInt8, Sendable, Hashable {
    /// A binding, and so a device.
    case device = 1
    /// A profile alone: no device is known whose biometrics could prove anything, or lock.
    case profile
    /// Nobody: a ProfileTouchID is to say who it is.
    case bearer
  }

  public var scope: Scope
  /// False where revoked, or where no such binding exists: every proof then counts as wrong (R37).
  public var isActive: Bool
  /// How its hardware keys are guarded; empty for a ProfileTouchID.
  public var keyProtections: KeyProtections
  public var holdsProfileTouchID: Bool
  public var baseline: DomainStateBaseline?
  /// Of the device that was bound; `nil`: not known, and any posture will do.
  public var platformFamily: PlatformFamily?
  /// The evaluation names nobody, and a ProfileTouchID said who it is: nothing else can be tried in it.
  public var isFoundByProfileTouchID = false

  public init(
    scope: Scope = .device, isActive: Bool, keyProtections: KeyProtections, holdsProfileTouchID: Bool,
    baseline: DomainStateBaseline?, platformFamily: PlatformFamily? = nil
  ) {
    self.scope = scope
    self.isActive = isActive
    self.keyProtections = keyProtections
    self.holdsProfileTouchID = holdsProfileTouchID
    self.baseline = baseline
    self.platformFamily = platformFamily
  }

  /// For the evaluation of a profile alone.
  public static let absent = BindingStanding(
    scope: .profile, isActive: true, keyProtections: [], holdsProfileTouchID: false, baseline: nil)
  /// For an evaluation that names nobody, until a ProfileTouchID does.
  public static let bearer = BindingStanding(
    scope: .bearer, isActive: false, keyProtections: [], holdsProfileTouchID: true, baseline: nil)
}

/// What is stored of an evaluation once an attempt was made in it; before that, nothing is (R34).
public struct EvaluationStanding: Sendable, Hashable {
  /// Wrong attempts in this evaluation, by device owner too unless these are counted apart.
  public var failures: UInt32
  /// Those by device owner where the policy falls back automatically: they have a budget of their own (R9).
  public var deviceOwnerFailures: UInt32
  /// Succeeded, failed for good, or invalidated (R35).
  public var isFinished: Bool

  public init(failures: UInt32 = 0, deviceOwnerFailures: UInt32 = 0, isFinished: Bool = false) {
    self.failures = failures
    self.deviceOwnerFailures = deviceOwnerFailures
    self.isFinished = isFinished
  }
}
