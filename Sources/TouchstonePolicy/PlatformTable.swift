// What came with which version of iOS and iPadOS (R2). Other platforms have no version floor: what they can do, they
// say in the posture.

/// Something that an older system does not have.
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
}

/// Something to know about a device or a profile that refuses nothing. The raw value is stable and machine-readable.
public enum Advisory: String, Sendable, Hashable, CaseIterable {
  /// iOS 10.1 shows the prompt late.
  case slowPrompt = "SLOW_PROMPT"
  /// Five failures or a changed finger leave nothing but to bind the phone anew: see `ofRecovery`.
  case noRecoveryFactor = "NO_RECOVERY_FACTOR"
}

extension Advisory {
  /// What a profile's owner should be told before it is needed: a phone with one key, and no passcode or gesture beside it.
  /// A key of the device's passcode alone has nothing that biometrics could lose.
  ///
  /// - Parameter bindings: the active ones that the answer is about.
  public static func ofRecovery(bindings: [BindingStanding], profile: ProfileStanding) -> [Advisory] {
    if profile.hasUsableSecret { return [] }
    return bindings.contains { !$0.holdsSecondKey } ? [.noRecoveryFactor] : []
  }
}

extension BindingStanding {
  fileprivate var holdsSecondKey: Bool {
    let keys = Array(keyProtections)
    return keys.count > 1 || keys == [.devicePasscode]
  }
}

extension ProfileStanding {
  /// Set and switched on: something that the person can be asked for.
  public var hasUsableSecret: Bool {
    (settings.isPasscodeEnabled && passcode.isSet) || (settings.isGestureEnabled && gesture.isSet)
  }
}

extension DevicePosture {
  public func supports(_ capability: PlatformCapability) -> Bool {
    runs(atLeast: capability.firstVersion)
  }

  /// Whether the system is at least this one. Platforms without a version floor are always new enough.
  public func runs(atLeast version: OSVersion) -> Bool {
    !platform.hasVersionFloor || osVersion >= version
  }

  /// Whether a phone like this gives a domain state while biometrics are enrolled and not locked.
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
    case .macOS, .android, .web: false
    }
  }
}

extension PlatformFamily {
  /// `evaluatedPolicyDomainState` is Apple's. Every Mac with a sensor has it.
  public var hasDomainState: Bool {
    switch self {
    case .iOS, .macOS: true
    case .android, .web: false
    }
  }
}
