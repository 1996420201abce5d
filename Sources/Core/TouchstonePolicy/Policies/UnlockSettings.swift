/// The ways to unlock that a profile has switched on, and the preferred one (R17).
public struct UnlockSettings: Sendable, Hashable {
  public var isBiometryEnabled: Bool
  public var isGestureEnabled: Bool
  public var isPasscodeEnabled: Bool
  /// The factor to offer first. It has a switch, and is on; `nil`: the policy's order.
  public var preferred: Factor?
  /// `nil`: never changed.
  public var updatedAt: UnixTime?

  public init(
    isBiometryEnabled: Bool = true, isGestureEnabled: Bool = false, isPasscodeEnabled: Bool = false,
    preferred: Factor? = nil, updatedAt: UnixTime? = nil
  ) {
    self.isBiometryEnabled = isBiometryEnabled
    self.isGestureEnabled = isGestureEnabled
    self.isPasscodeEnabled = isPasscodeEnabled
    self.preferred = preferred
    self.updatedAt = updatedAt
  }

  /// Whatever the times of their changes are.
  public func hasSwitches(of other: UnlockSettings) -> Bool {
    var other = other
    other.updatedAt = updatedAt
    return other == self
  }

  /// Only three factors have a switch. Biometry's applies to everything that biometrics unlock. The others are always
  /// on.
  public func isEnabled(_ factor: Factor) -> Bool {
    switch factor {
    case .biometry: isBiometryEnabled
    case .passcode: isPasscodeEnabled
    case .gesture: isGestureEnabled
    case .deviceOwner, .passkey, .primary: true
    }
  }

  mutating func setEnabled(_ isEnabled: Bool, for factor: Factor) {
    switch factor {
    case .biometry: isBiometryEnabled = isEnabled
    case .passcode: isPasscodeEnabled = isEnabled
    case .gesture: isGestureEnabled = isEnabled
    case .deviceOwner, .passkey, .primary: break
    }
  }

  /// The first wrong field; `nil` if all are right.
  public func violation() -> FieldViolation? {
    switch preferred {
    case nil: return nil
    case .biometry?, .passcode?, .gesture?: break
    case .deviceOwner?, .passkey?, .primary?:
      return FieldViolation(field: "preferred", reason: "is not a factor with a switch")
    }
    if let preferred, !isEnabled(preferred) { return FieldViolation(field: "preferred", reason: "is switched off") }
    return nil
  }
}

/// The facts about a profile that the rules need.
public struct ProfileStanding: Sendable, Hashable {
  public var settings: UnlockSettings
  public var passcode: SecretStanding
  public var gesture: SecretStanding

  public init(
    settings: UnlockSettings = UnlockSettings(), passcode: SecretStanding = SecretStanding(),
    gesture: SecretStanding = SecretStanding()
  ) {
    self.settings = settings
    self.passcode = passcode
    self.gesture = gesture
  }

  /// - Parameter factor: passcode or gesture; no other factor is ever set.
  public func secret(for factor: Factor) -> SecretStanding {
    switch factor {
    case .passcode: passcode
    case .gesture: gesture
    case .biometry, .deviceOwner, .passkey, .primary: SecretStanding()
    }
  }

  package mutating func setSecret(_ standing: SecretStanding, for factor: Factor) {
    switch factor {
    case .passcode: passcode = standing
    case .gesture: gesture = standing
    case .biometry, .deviceOwner, .passkey, .primary: break
    }
  }

  /// A profile without a record, or no profile: no secret is set.
  public static let none = ProfileStanding()
}

extension ProfileStanding {
  /// The settings after the person changed them (R17). Switching the gesture off erases it. A passcode that is switched
  /// off stays, and serves again when it is switched on.
  ///
  /// - Precondition: the settings have no violation.
  public func changing(_ settings: UnlockSettings, at now: UnixTime) -> ProfileStanding {
    let erasesGesture = self.settings.isGestureEnabled && !settings.isGestureEnabled
    var profile = erasesGesture ? erasingSecret(.gesture, at: now) : self
    profile.settings = settings
    profile.settings.updatedAt = now
    return profile
  }
}
