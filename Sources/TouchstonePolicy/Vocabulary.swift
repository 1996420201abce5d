// LocalAuthentication's vocabulary, as the rules use it. DOMAIN.md, "Words".

/// A way for a person to prove presence.
public enum Factor: UInt8, Sendable, Hashable, CaseIterable {
  /// A signature by a key that only the enrolled biometrics unlock.
  case biometry = 1
  /// A signature by a key that biometrics or the device passcode unlock.
  case deviceOwner
  /// A passcode that the service verifies.
  case passcode
  /// A gesture that the service verifies.
  case gesture
  /// A WebAuthn assertion.
  case passkey
  /// A login that the calling service performed itself and vouches for.
  case primary
}

/// Apple's `LAError.Code`, number for number (LAError.h).
public enum LAErrorCode: Int32, Sendable, Hashable, CaseIterable {
  case authenticationFailed = -1
  case userCancel = -2
  case userFallback = -3
  case systemCancel = -4
  case passcodeNotSet = -5
  case biometryNotAvailable = -6
  case biometryNotEnrolled = -7
  case biometryLockout = -8
  case appCancel = -9
  case invalidContext = -10
  case companionNotAvailable = -11
  case biometryNotPaired = -12
  case biometryDisconnected = -13
  case invalidDimensions = -14
  case notInteractive = -1004
}

/// Which sensor a device has.
public enum BiometryType: UInt8, Sendable, Hashable, CaseIterable {
  case unspecified = 0
  case none
  case touchID
  case faceID
  case opticID
  case voice
}

/// What guards a hardware key on its device (R31).
public enum KeyProtection: UInt8, Sendable, Hashable, CaseIterable {
  case biometryCurrentSet = 1
  case biometryAny
  case userPresence
  case devicePasscode

  /// The factor that a proof by such a key serves (R31).
  public var factor: Factor {
    switch self {
    case .biometryCurrentSet, .biometryAny: .biometry
    case .userPresence, .devicePasscode: .deviceOwner
    }
  }
}

/// What guards the keys of one binding, in one byte: every preflight passes it on.
public struct KeyProtections: Sendable, Hashable, ExpressibleByArrayLiteral, Sequence, IteratorProtocol {
  private var bits: UInt8 = 0

  public init(arrayLiteral protections: KeyProtection...) {
    for protection in protections { insert(protection) }
  }

  public var isEmpty: Bool { bits == 0 }

  public mutating func insert(_ protection: KeyProtection) {
    bits |= 1 << protection.rawValue
  }

  /// In the order of their raw values.
  public mutating func next() -> KeyProtection? {
    guard let next = KeyProtection(rawValue: UInt8(bits.trailingZeroBitCount)) else { return nil }
    bits &= bits - 1
    return next
  }
}

/// How the device's biometric database compares with the binding's baseline (R22).
public enum DomainStateVerdict: UInt8, Sendable, Hashable, CaseIterable {
  case neverRecorded = 1
  case unchanged
  case unknownWhileLocked
  case changed
  case changedWithOS
}

/// The platform a device says it runs. Versions are compared for iOS and iPadOS alone (R2).
public enum Platform: UInt8, Sendable, Hashable, CaseIterable {
  case iOS = 1
  case iPadOS
  case macOS
  case android
  case web
}

/// Platforms that one app may name alike for one device: an iPad's says "iOS" before iPadOS 13, and after it, too, where
/// the app was built for a phone. What a binding may be of is fixed when it is made (R38): otherwise a stolen key's holder
/// chose the platform with the rules that suit them.
public enum PlatformFamily: UInt8, Sendable, Hashable, CaseIterable {
  case iOS = 1
  case macOS
  case android
  case web
}

extension Platform {
  public var family: PlatformFamily {
    switch self {
    case .iOS, .iPadOS: .iOS
    case .macOS: .macOS
    case .android: .android
    case .web: .web
    }
  }
}

/// What a device says of itself. Never proof of anything.
public struct DevicePosture: Sendable, Hashable {
  public var platform: Platform
  public var osVersion: OSVersion
  public var biometryType: BiometryType
  public var isBiometryAvailable: Bool
  public var isBiometryEnrolled: Bool
  public var isBiometryLockedOut: Bool
  public var isPasscodeSet: Bool
  /// `evaluatedPolicyDomainState`: opaque; empty where the device gave none.
  public var domainState: [UInt8]

  public init(
    platform: Platform, osVersion: OSVersion, biometryType: BiometryType, isBiometryAvailable: Bool,
    isBiometryEnrolled: Bool, isBiometryLockedOut: Bool, isPasscodeSet: Bool, domainState: [UInt8]
  ) {
    self.platform = platform
    self.osVersion = osVersion
    self.biometryType = biometryType
    self.isBiometryAvailable = isBiometryAvailable
    self.isBiometryEnrolled = isBiometryEnrolled
    self.isBiometryLockedOut = isBiometryLockedOut
    self.isPasscodeSet = isPasscodeSet
    self.domainState = domainState
  }
}
