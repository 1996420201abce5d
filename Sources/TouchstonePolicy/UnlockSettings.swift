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

  /// A profile of which nothing is stored, or no profile at all: no secret is set.
  public static let none = ProfileStanding()
}
