// Binding a device to a profile: when it may begin (R28) and what it replaces (R29).

/// The settings of binding, with their defaults.
public struct EnrolmentPolicy: Sendable, Hashable {
  /// Oldest primary authentication that still allows a binding.
  public var primaryFreshness: Duration = .seconds(5 * 60)
  /// How long a ticket may be completed.
  public var ticketLifetime: Duration = .seconds(2 * 60)
  /// Active bindings of one profile in one application.
  public var maximumBindingsPerProfile = 16
  /// How far the caller's clock may run ahead of ours: servers kept by NTP are well within it.
  public var clockSkewTolerance: Duration = .seconds(30)

  public init() {}

  /// Whether the caller's own login is recent enough.
  ///
  /// - Parameter freshness: what is asked for; `nil`: as for a binding.
  public func primaryVerdict(
    authenticatedAt: UnixTime, now: UnixTime, within freshness: Duration? = nil
  ) -> PrimaryVerdict {
    if authenticatedAt > now + clockSkewTolerance { return .inFuture }
    return authenticatedAt + (freshness ?? primaryFreshness) < now ? .tooOld : .fresh
  }

  /// Why this device cannot be bound now (R1, R2); `nil` where it can. A locked one cannot: it has no domain state to
  /// give as the baseline. One that has a domain state and gives none cannot either (R24): it would stay without a
  /// baseline, and changed fingers would never show.
  public func preflight(posture: DevicePosture) -> Denial? {
    var trace = NoTrace()
    if let obstacle = posture.biometryObstacle(isLockedOut: posture.isBiometryLockedOut, &trace) { return obstacle }
    return posture.hasDomainState && posture.domainState.isEmpty ? .domainStateRequired : nil
  }

  /// What completing the binding does to the bindings that exist (R29), and to the device's lock (R12). Its ticket was
  /// given after a fresh login (R28).
  public func decide(_ facts: EnrolmentFacts) -> EnrolmentDecision {
    if let owner = facts.deviceProfileID {
      // In place of its own binding: their number stays the same.
      if Identifier.areEqual(owner, facts.profileID) {
        return .bind(revokesExisting: true, endsLockout: facts.lock == .afterExistingBinding && facts.isSignedByDevice)
      }
      guard facts.replaceExisting else { return .refuse(.deviceSpeaksForAnotherProfile) }
    }
    guard facts.activeBindingCount < maximumBindingsPerProfile else { return .refuse(.tooManyBindings) }
    return .bind(revokesExisting: facts.deviceProfileID != nil, endsLockout: false)
  }
}

/// How a primary authentication's age compares with what is asked for.
public enum PrimaryVerdict: Sendable, Hashable {
  case fresh
  case tooOld
  /// Beyond the tolerated clock skew: the caller's clock, or its word, is wrong.
  case inFuture
}

extension EvaluationPolicy {
  /// Whether the call that brings the login is refused, rather than decided as an attempt: one that is too old is the
  /// caller's to renew, not the person's failure. Where policy or evaluation takes none at all, the rules say so.
  public func asksForNewLogin(after verdict: PrimaryVerdict, in evaluation: EvaluationStanding) -> Bool {
    verdict == .tooOld && factors.contains(.primary) && !evaluation.isFinished
  }
}

/// What exists when a binding is about to be completed.
public struct EnrolmentFacts: Sendable {
  /// Who is to be bound.
  public var profileID: String
  /// Whom this device's active binding in the application speaks for; `nil`: there is none.
  public var deviceProfileID: String?
  /// The profile's, with the one on this device where that is the profile's own.
  public var activeBindingCount: Int
  /// The caller agreed to take the device from another profile.
  public var replaceExisting: Bool
  public var lock: Lock
  /// The phone's keys signed the ticket. A ProfileTouchID signs nothing: whoever names the device could make one up.
  public var isSignedByDevice: Bool

  /// Of the device's biometrics.
  public enum Lock: Sendable, Hashable {
    case none
    /// It was there when the device's active binding was made, or that is not known.
    case beforeExistingBinding
    /// It began while the device's active binding was active.
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
  /// `revokesExisting`: the device's active binding goes in the same transaction. `endsLockout`: so do the device's
  /// biometric failures and their lock.
  case bind(revokesExisting: Bool, endsLockout: Bool)
  case refuse(Refusal)

  public enum Refusal: Sendable, Hashable {
    case deviceSpeaksForAnotherProfile
    case tooManyBindings
  }
}
