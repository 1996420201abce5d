// Setting, changing and erasing a passcode or a gesture: the required authority (R16), and the result.

/// The authority that a caller shows.
public enum SecretAuthority<OldSecret: Sendable>: Sendable {
  case none
  /// The old secret, not verified yet.
  case oldSecret(OldSecret)
  case primary(PrimaryVerdict)
}

public enum SecretChange<OldSecret: Sendable>: Sendable {
  case allow
  /// Admit, verify and settle it by the ladder: it counts as an attempt. A right one allows the change. If none is set,
  /// nothing is right.
  case verify(OldSecret)
  case refuse(SecretChangeRefusal)

  /// Whether the secret may be set or erased. The first secret needs authority, too: switching a gesture off erases it,
  /// and without this rule a caller could then set another one without the old.
  public static func decide(_ authority: SecretAuthority<OldSecret>) -> SecretChange {
    switch authority {
    case .none: .refuse(.authorityRequired)
    case .oldSecret(let secret): .verify(secret)
    case .primary(.fresh): .allow
    case .primary(.tooOld): .refuse(.primaryTooOld)
    case .primary(.inFuture): .refuse(.primaryInFuture)
    }
  }
}

extension SecretAuthority: Equatable where OldSecret: Equatable {}
extension SecretChange: Equatable where OldSecret: Equatable {}

public enum SecretChangeRefusal: Sendable, Hashable, CaseIterable {
  case authorityRequired
  case primaryTooOld
  case primaryInFuture
}

/// The count of attempts at a secret of a named profile, in an evaluation and as an old secret (`SecretChange.verify`).
/// If no secret is set, the attempts count at the name and none is right, so that they look the same (R37). A secret
/// that is set and switched off counts them itself: otherwise a guess in an evaluation would show by the count of the
/// next old secret.
public struct SecretCount: Sendable, Hashable {
  /// The profile has the secret; otherwise its name counts.
  public let isSet: Bool
  public let standing: SecretStanding

  /// - Parameters:
  ///   - own: the profile's; `nil`: never set.
  ///   - ofName: `nil`: no attempt was counted there.
  public init(own: SecretStanding?, ofName: SecretStanding?) {
    isSet = own?.isSet == true
    standing = own.flatMap { $0.isSet ? $0 : nil } ?? ofName ?? SecretStanding(isSet: true)
  }
}

/// The result of a wrong old secret.
public struct WrongOldSecret: Sendable, Hashable {
  public var standing: SecretStanding
  public var attemptsLeft: UInt32
  /// `nil`: the next attempt may be made now.
  public var lock: Denial?
}

extension SecretRules {
  /// The verdict on an old secret that was admitted and is wrong, or that is tried although none is set: both are
  /// answered alike (R37).
  public func settleWrongOld(
    _ factor: Factor, _ standing: SecretStanding, _ reservation: SecretAdmission.Reservation, at now: UnixTime
  ) -> WrongOldSecret {
    let settled = Self.settle(standing, reservation, isRight: false)
    var wrong = WrongOldSecret(standing: settled, attemptsLeft: attemptsLeft(with: settled, at: now))
    if case .refuse(let lock) = admit(factor, settled, at: now) { wrong.lock = lock }
    return wrong
  }
}

extension ProfileStanding {
  /// The settings after the secret was set, which switches its way to unlock on. That ends failures and lock (R13),
  /// because the caller has shown authority.
  ///
  /// - Parameter factor: passcode or gesture.
  public func settingSecret(_ factor: Factor, at now: UnixTime) -> ProfileStanding {
    var profile = self
    var secret = secret(for: factor)
    secret.clear()
    secret.isSet = true
    profile.setSecret(secret, for: factor)
    profile.settings.setEnabled(true, for: factor)
    profile.settings.updatedAt = now
    return profile
  }

  /// The settings after the secret was erased, which switches its way to unlock off. Failures and lock stay, so erasing
  /// does not evade them.
  ///
  /// - Parameter factor: passcode or gesture.
  public func erasingSecret(_ factor: Factor, at now: UnixTime) -> ProfileStanding {
    var profile = self
    var secret = secret(for: factor)
    // A new generation: an attempt in flight is about another secret.
    secret.inFlight = 0
    secret.inFlightUntil = UnixTime(microseconds: 0)
    secret.generation &+= 1
    secret.isSet = false
    profile.setSecret(secret, for: factor)
    profile.settings.setEnabled(false, for: factor)
    if profile.settings.preferred == factor { profile.settings.preferred = nil }
    profile.settings.updatedAt = now
    return profile
  }
}
