// Binding a device to a profile: when it may begin (R28) and what it replaces (R29).

/// The settings of binding, with their defaults.
public struct EnrolmentPolicy: Sendable, Hashable {
  /// Oldest primary authentication that still allows a binding.
  public var primaryFreshness: Duration = .seconds(5 * 60)
  /// How long a ticket may be completed.
  public var ticketLifetime: Duration = .seconds(2 * 60)
  /// Active bindings of one profile in one application.
  public var maximumBindingsPerProfile = 16
  /// How far the caller's clock may run ahead of ours. Servers with NTP stay well within it.
  public var clockSkewTolerance: Duration = .seconds(30)

  public init() {}

  /// Whether the caller's own login is recent enough.
  ///
  /// - Parameter freshness: the required freshness; `nil`: as for a binding.
  public func primaryVerdict(
    authenticatedAt: UnixTime, now: UnixTime, within freshness: Duration? = nil
  ) -> PrimaryVerdict {
    if authenticatedAt > now + clockSkewTolerance { return .inFuture }
    return authenticatedAt + (freshness ?? primaryFreshness) < now ? .tooOld : .fresh
  }

  /// Why this device cannot be bound now (R1, R2); `nil` if it can. A locked device cannot, because it has no domain
  /// state for the baseline. A device that has a domain state and gives none cannot either (R24): without a baseline,
  /// changed fingers would never show.
  public func preflight(posture: DevicePosture) -> Denial? {
    var trace = NoTrace()
    if let obstacle = posture.biometryObstacle(isLockedOut: posture.isBiometryLockedOut, &trace) { return obstacle }
    return posture.hasDomainState && posture.domainState.isEmpty ? .domainStateRequired : nil
  }

  /// Decides what completing the binding does to existing bindings (R29) and to the device's lock (R12). The ticket
  /// came after a fresh login (R28).
  public func decide(_ facts: EnrolmentFacts) -> EnrolmentDecision {
    if let owner = facts.deviceProfileID {
      // The new binding replaces the profile's own: the number of bindings stays the same.
      if Identifier.areEqual(owner, facts.profileID) {
        return .bind(revokesExisting: true, endsLockout: facts.lock == .afterExistingBinding && facts.isSignedByDevice)
      }
      guard facts.replaceExisting else { return .refuse(.deviceSpeaksForAnotherProfile) }
    }
    guard facts.activeBindingCount < maximumBindingsPerProfile else { return .refuse(.tooManyBindings) }
    return .bind(revokesExisting: facts.deviceProfileID != nil, endsLockout: false)
  }
}

/// How a primary authentication's age compares with the required freshness.
public enum PrimaryVerdict: Sendable, Hashable {
  case fresh
  case tooOld
  /// Beyond the tolerated clock skew: the caller's clock or its claim is wrong.
  case inFuture
}

extension EvaluationPolicy {
  /// Whether the service refuses the call instead of deciding an attempt: an old login is for the caller to renew and
  /// is not the person's failure. If the policy or the evaluation accepts no primary login, the rules say so.
  public func asksForNewLogin(after verdict: PrimaryVerdict, in evaluation: EvaluationStanding) -> Bool {
    verdict == .tooOld && factors.contains(.primary) && !evaluation.isFinished
  }
}

/// The existing state before a binding is completed.
public struct EnrolmentFacts: Sendable {
  /// The profile to bind.
  public var profileID: String
  /// The profile of this device's active binding in the application; `nil`: there is none.
  public var deviceProfileID: String?
  /// The profile's active bindings, including the one on this device if it is the profile's own.
  public var activeBindingCount: Int
  /// The caller agreed to replace another profile's binding of the device.
  public var replaceExisting: Bool
  public var lock: Lock
  /// The phone's keys signed the ticket. A ProfileTouchID signs nothing: any caller that names the device could invent
  /// one.
  public var isSignedByDevice: Bool

  /// The lock of the device's biometrics.
  public enum Lock: Sendable, Hashable {
    case none
    /// The lock existed when the device's active binding was made, or that is unknown.
    case beforeExistingBinding
    /// The lock began while the device's active binding was active, or a binding of the same profile that it replaced.
    case afterExistingBinding
  }

  public init(
    profileID: String, deviceProfileID: String?, activeBindingCount: Int, replaceExisting: Bool, lock: Lock = .none,
    isSignedByDevice: Bool = true
  ) {
    self.lock = lock
    self.isSignedByDevice = isSignedByDevice
    self.profileID = profileID
    self.deviceProfileID = deviceProfileID
    self.activeBindingCount = activeBindingCount
    self.replaceExisting = replaceExisting
  }
}

public enum EnrolmentDecision: Sendable, Hashable {
  /// `revokesExisting`: the same transaction revokes the device's active binding. `endsLockout`: it also clears the
  /// device's biometric failures and lock.
  case bind(revokesExisting: Bool, endsLockout: Bool)
  case refuse(Refusal)

  public enum Refusal: Sendable, Hashable {
    case deviceSpeaksForAnotherProfile
    case tooManyBindings
  }
}
