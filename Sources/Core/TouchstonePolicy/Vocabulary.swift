// LocalAuthentication's vocabulary for the rules. docs/RULES.md, "Words".

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

/// Apple's `LAError.Code` with its numbers (LAError.h).
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

/// The sensor of a device.
public enum BiometryType: UInt8, Sendable, Hashable, CaseIterable {
  case unspecified = 0
  case none
  case touchID
  case faceID
  case opticID
  case voice
}

/// The protection of a hardware key on its device (R31).
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

/// The protections of one binding's keys, in one byte, because every preflight passes them on.
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

/// How the device's domain state compares with the binding's baseline (R22).
public enum DomainStateVerdict: UInt8, Sendable, Hashable, CaseIterable {
  case neverRecorded = 1
  case unchanged
  case unknownWhileLocked
  case changed
  case changedWithOS
}

/// The platform that a device reports. Versions are compared for iOS and iPadOS, and with a minimum of its own for
/// visionOS (R2).
public enum Platform: UInt8, Sendable, Hashable, CaseIterable {
  case iOS = 1
  case iPadOS
  case macOS
  case android
  case web
  case visionOS
}

/// Platforms that one app may report for one device. An iPad reports "iOS" before iPadOS 13, and later, too, if the app
/// was built for a phone. A binding's family is fixed when it is made (R38): otherwise the holder of a stolen key could
/// choose the platform whose rules help them.
public enum PlatformFamily: UInt8, Sendable, Hashable, CaseIterable {
  case iOS = 1
  case macOS
  case android
  case web
  case visionOS
}

extension Platform {
  public var family: PlatformFamily {
    switch self {
    case .iOS, .iPadOS: .iOS
    case .macOS: .macOS
    case .android: .android
    case .web: .web
    case .visionOS: .visionOS
    }
  }
}

extension PlatformFamily {
  /// One of the family's platforms. All of them have a domain state, or none has.
  public var platform: Platform {
    switch self {
    case .iOS: .iOS
    case .macOS: .macOS
    case .android: .android
    case .web: .web
    case .visionOS: .visionOS
    }
  }
}

/// A device's report about itself. Never a proof.
public struct DevicePosture: Sendable, Hashable {
  public var platform: Platform
  public var osVersion: OSVersion
  public var biometryType: BiometryType
  public var isBiometryAvailable: Bool
  public var isBiometryEnrolled: Bool
  public var isBiometryLockedOut: Bool
  public var isPasscodeSet: Bool
  /// `evaluatedPolicyDomainState`: opaque; empty if the device gave none.
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
