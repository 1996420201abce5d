/// Which ways of unlocking a profile has on, and which it prefers (R17).
public struct UnlockSettings: Sendable, Hashable {
  public var isBiometryEnabled: Bool
  public var isGestureEnabled: Bool
  public var isPasscodeEnabled: Bool
  /// Offered first. One of those with a switch, and on; `nil`: the policy's order is right.
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

  /// Only three factors have a switch; biometry's is that of all that biometrics unlock. The others are always on.
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

  /// The first field that cannot be; `nil` for settings that can.
  public func violation() -> FieldViolation? {
    switch preferred {
    case nil: return nil
    case .biometry?, .passcode?, .gesture?: break
    case .deviceOwner?, .passkey?, .primary?:
      return FieldViolation(field: "preferred", reason: "is none of those that have a switch")
    }
    if let preferred, !isEnabled(preferred) { return FieldViolation(field: "preferred", reason: "is switched off") }
    return nil
  }
}

/// What the rules need to know of a profile.
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

  /// - Parameter factor: passcode or gesture; of any other, nothing is ever set.
  public func secret(for factor: Factor) -> SecretStanding {
    switch factor {
    case .passcode: passcode
    case .gesture: gesture
    case .biometry, .deviceOwner, .passkey, .primary: SecretStanding()
    }
  }

  mutating func setSecret(_ standing: SecretStanding, for factor: Factor) {
    switch factor {
    case .passcode: passcode = standing
    case .gesture: gesture = standing
    case .biometry, .deviceOwner, .passkey, .primary: break
    }
  }

  /// A profile of which nothing is stored, or no profile at all: no secret is set.
  public static let none = ProfileStanding()
}

extension ProfileStanding {
  /// After the person changed the settings (R17). Switching the gesture off erases it; a passcode that is off stays, and
  /// serves again when it is switched on.
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
