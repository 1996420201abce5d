// State between calls, in the rules' terms. The store keeps these values; the rules replace them.

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

/// The facts about the binding that an evaluation names, as far as the rules need them.
public struct BindingStanding: Sendable, Hashable {
  /// The subject that the evaluation names.
  public enum Scope: UInt8, Sendable, Hashable {
    /// A binding, and with it a device.
    case device = 1
    /// Only a profile: without a known device no biometrics can prove anything, or lock.
    case profile
    /// None: a ProfileTouchID or a passkey will identify the profile.
    case bearer
  }

  /// Whether the store has the subject.
  public enum State: UInt8, Sendable, Hashable {
    case active = 1
    /// A binding that was revoked.
    case revoked
    /// No such binding in the application, no such profile, or no subject yet.
    case unknown
  }

  public var scope: Scope
  /// A binding that is not active says so and ends its evaluation; on every other subject, all proofs are wrong (R37).
  public var state: State
  /// The protections of its hardware keys; empty for a ProfileTouchID or a passkey.
  public var keyProtections: KeyProtections
  /// The protections of those keys that are RSA keys (R31).
  public var rsaKeys: KeyProtections = []
  public var provenKeys: ProvenKeys
  public var holdsProfileTouchID: Bool
  /// The binding is a passkey (R46).
  public var holdsPasskey = false
  /// The level that is proven of the passkey (R42), also if an evaluation for a profile, or without a subject, found
  /// it.
  public var passkeyLevel = ProofLevel.none
  /// Whether the passkey cannot be copied to other devices; likewise of one that was found.
  public var isPasskeyDeviceBound = false
  public var baseline: DomainStateBaseline?
  /// The platform of the bound device; `nil`: unknown, and any posture is accepted.
  public var platformFamily: PlatformFamily?
  /// The evaluation names no subject, and a ProfileTouchID identified one: it accepts no other proof.
  public var isFoundByProfileTouchID = false

  public var isActive: Bool { state == .active }

  public init(
    scope: Scope = .device, state: State = .active, keyProtections: KeyProtections, holdsProfileTouchID: Bool,
    baseline: DomainStateBaseline?, platformFamily: PlatformFamily? = nil, provenKeys: ProvenKeys = ProvenKeys()
  ) {
    self.scope = scope
    self.state = state
    self.keyProtections = keyProtections
    self.provenKeys = provenKeys
    self.holdsProfileTouchID = holdsProfileTouchID
    self.baseline = baseline
    self.platformFamily = platformFamily
  }

  /// For the evaluation of a profile without a device.
  public static let absent = BindingStanding(
    scope: .profile, keyProtections: [], holdsProfileTouchID: false, baseline: nil)
  /// The application has no such binding. Its id is random, so nothing else of it is shown (R37).
  public static let unknown = BindingStanding(
    state: .unknown, keyProtections: [], holdsProfileTouchID: false, baseline: nil)
  /// For an evaluation without a subject, until a ProfileTouchID or a passkey identifies one.
  public static let bearer = BindingStanding(
    scope: .bearer, state: .unknown, keyProtections: [], holdsProfileTouchID: true, baseline: nil)
}

/// The state of an evaluation that the store keeps from its first attempt on; before that, it keeps nothing (R34).
public struct EvaluationStanding: Sendable, Hashable {
  /// Wrong attempts in this evaluation, including those by device owner unless they have their own budget.
  public var failures: UInt32
  /// Wrong attempts by device owner, if the policy falls back automatically: they have their own budget (R9).
  public var deviceOwnerFailures: UInt32
  /// Succeeded, failed for good, or invalidated (R35).
  public var isFinished: Bool

  public init(failures: UInt32 = 0, deviceOwnerFailures: UInt32 = 0, isFinished: Bool = false) {
    self.failures = failures
    self.deviceOwnerFailures = deviceOwnerFailures
    self.isFinished = isFinished
  }
}
