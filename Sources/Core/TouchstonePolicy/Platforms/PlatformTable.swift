// Which features came with which version of iOS and iPadOS (R2). visionOS has them all from its first version on. Other
// platforms have no version floor; their posture says what they can do.

/// A feature that older systems lack.
public enum PlatformCapability: Sendable, Hashable, CaseIterable {
  case touchID
  case faceID
  /// `LAPolicy.deviceOwnerAuthentication`.
  case deviceOwnerAuthentication
  /// `LAContext.evaluatedPolicyDomainState`.
  case domainState
  /// `LAContext.invalidate()`.
  case invalidation
  /// -8; before it, a locked device answers -1 (R3).
  case lockoutCode
  /// `LAContext.localizedCancelTitle`.
  case customCancelTitle

  /// The first version of iOS and iPadOS that has it.
  public var firstVersion: OSVersion {
    switch self {
    case .touchID: OSVersion(8)
    case .deviceOwnerAuthentication, .domainState, .invalidation, .lockoutCode: OSVersion(9)
    case .customCancelTitle: OSVersion(10)
    case .faceID: OSVersion(11)
    }
  }

  /// For traces: "9.0".
  func neededText(on platform: Platform) -> String { (firstVersion(on: platform) ?? firstVersion).text }

  /// `nil` if versions of the platform are not compared.
  public func firstVersion(on platform: Platform) -> OSVersion? {
    switch platform {
    case .iOS, .iPadOS: firstVersion
    case .visionOS: OSVersion(1)
    case .macOS, .android, .web: nil
    }
  }
}

/// Information about a device or a profile that refuses nothing. The raw value is machine-readable and does not change.
public enum Advisory: String, Sendable, Hashable, CaseIterable {
  /// iOS 10.1 shows the prompt late.
  case slowPrompt = "SLOW_PROMPT"
  /// After five failures or a changed finger the person could only bind the phone anew: see `ofRecovery`.
  case noRecoveryFactor = "NO_RECOVERY_FACTOR"
  /// The binding took the place of one that evidently was another phone's: the person may have two phones with one
  /// device id.
  case deviceReplaced = "DEVICE_REPLACED"
}

extension Advisory {
  /// Returns the advisory that a device id came along to another phone, by a keychain that is synchronised or a
  /// restored backup (R29). A phone stays of its model, platform and sensor; models that no app reports are equal.
  public static func ofReplacement(
    of old: DevicePosture, model oldModel: String, by new: DevicePosture, model newModel: String
  ) -> [Advisory] {
    let isSame =
      Identifier.areEqual(oldModel, newModel) && old.platform.family == new.platform.family
      && old.biometryType == new.biometryType
    return isSame ? [] : [.deviceReplaced]
  }
}

extension Advisory {
  /// Returns the advisory that a profile's owner needs in time (R12): on one of the phones, a biometric lockout or a
  /// changed finger would leave only a new binding. Each phone is judged alone, because another phone's keys neither
  /// end a lockout here nor replace a key. A lost phone does not count: its replacement is bound in any case. Nor does
  /// a passkey, which has neither a lockout nor a domain state here.
  ///
  /// - Parameter bindings: the active bindings that the answer is about.
  public static func ofRecovery(bindings: [BindingStanding], profile: ProfileStanding) -> [Advisory] {
    if profile.hasRecoverySecret { return [] }
    return bindings.allSatisfy { $0.holdsPasskey || $0.hasRecoveryKey(of: profile.settings) } ? [] : [.noRecoveryFactor]
  }
}

extension BindingStanding {
  /// A credential that serves both during a lockout and after a changed finger. A key of user presence serves if no
  /// baseline shows the change (R25); otherwise the new finger may have unlocked it.
  fileprivate func hasRecoveryKey(of settings: UnlockSettings) -> Bool {
    keyProtections.contains(.devicePasscode)
      || (keyProtections.contains(.userPresence) && baseline == nil && settings.isBiometryEnabled)
  }
}

extension ProfileStanding {
  /// Set and switched on, so that the service can offer it.
  public var hasUsableSecret: Bool {
    (settings.isPasscodeEnabled && passcode.isSet) || (settings.isGestureEnabled && gesture.isSet)
  }

  /// A secret that failures did not disable: a disabled one is only set anew with the caller's own login (R13).
  fileprivate var hasRecoverySecret: Bool {
    (settings.isPasscodeEnabled && passcode.isRecovery) || (settings.isGestureEnabled && gesture.isRecovery)
  }
}

extension SecretStanding {
  fileprivate var isRecovery: Bool { isSet && lock != .untilSetAnew }
}

extension DevicePosture {
  public func supports(_ capability: PlatformCapability) -> Bool {
    guard let first = capability.firstVersion(on: platform) else { return true }
    return osVersion >= first
  }

  /// Whether the system is at least this version of iOS or iPadOS. Other platforms are always new enough.
  public func runs(atLeast version: OSVersion) -> Bool {
    !platform.hasVersionFloor || osVersion >= version
  }

  /// Whether such a phone gives a domain state while biometrics are enrolled and not locked.
  var hasDomainState: Bool {
    platform.family.hasDomainState && supports(.domainState)
  }

  public var advisories: [Advisory] {
    guard platform.hasVersionFloor, (osVersion.major, osVersion.minor) == (10, 1) else { return [] }
    return [.slowPrompt]
  }
}

extension Platform {
  var hasVersionFloor: Bool {
    switch self {
    case .iOS, .iPadOS: true
    case .macOS, .visionOS, .android, .web: false
    }
  }
}

extension PlatformFamily {
  /// `evaluatedPolicyDomainState` is Apple's. Every Mac with a sensor has it.
  public var hasDomainState: Bool {
    switch self {
    case .iOS, .macOS, .visionOS: true
    case .android, .web: false
    }
  }
}
