// The enumerations of types.proto: LocalAuthentication's words on the wire.

extension V1 {
  /// Which sensor a device has. OPTIC_ID is iris; VOICE has no Apple counterpart.
  public struct BiometryType: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    public static let none = Self(rawValue: 1)
    public static let touchID = Self(rawValue: 2)
    public static let faceID = Self(rawValue: 3)
    public static let opticID = Self(rawValue: 4)
    public static let voice = Self(rawValue: 5)
  }

  /// A way for a person to prove presence, in the order in which a device should offer them.
  public struct Factor: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    /// A signature by a key that only the enrolled biometrics unlock.
    public static let biometry = Self(rawValue: 1)
    /// A signature by a key that biometrics or the device passcode unlock.
    public static let deviceOwner = Self(rawValue: 2)
    /// A passcode or digit password that this service verifies.
    public static let passcode = Self(rawValue: 3)
    /// A gesture (pattern) that this service verifies.
    public static let gesture = Self(rawValue: 4)
    /// A WebAuthn assertion.
    public static let passkey = Self(rawValue: 5)
    /// A login that the calling service performed itself and vouches for.
    public static let primary = Self(rawValue: 6)
  }

  /// LocalAuthentication's own codes, number for number, so that a device can send `error.code` as it is.
  public struct LAError: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    public static let authenticationFailed = Self(rawValue: -1)
    public static let userCancel = Self(rawValue: -2)
    public static let userFallback = Self(rawValue: -3)
    public static let systemCancel = Self(rawValue: -4)
    public static let passcodeNotSet = Self(rawValue: -5)
    public static let biometryNotAvailable = Self(rawValue: -6)
    public static let biometryNotEnrolled = Self(rawValue: -7)
    public static let biometryLockout = Self(rawValue: -8)
    public static let appCancel = Self(rawValue: -9)
    public static let invalidContext = Self(rawValue: -10)
    public static let companionNotAvailable = Self(rawValue: -11)
    public static let biometryNotPaired = Self(rawValue: -12)
    public static let biometryDisconnected = Self(rawValue: -13)
    public static let invalidDimensions = Self(rawValue: -14)
    public static let notInteractive = Self(rawValue: -1004)
  }

  /// How the device's biometric database compares with the one recorded for the binding.
  public struct DomainStateVerdict: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    /// No baseline was ever recorded: counts as not changed.
    public static let neverRecorded = Self(rawValue: 1)
    public static let unchanged = Self(rawValue: 2)
    /// The device is locked out and cannot say: counts as not changed.
    public static let unknownWhileLocked = Self(rawValue: 3)
    /// A finger or face was added, removed or replaced.
    public static let changed = Self(rawValue: 4)
    /// It differs, and the device's major OS version differs too: still needs another factor.
    public static let changedWithOS = Self(rawValue: 5)
  }
}
