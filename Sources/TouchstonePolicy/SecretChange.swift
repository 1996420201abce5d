// Setting, changing and erasing a passcode or a gesture: what entitles to it (R16), and what it leaves behind.

/// What a caller shows for it.
public enum SecretAuthority<OldSecret: Sendable>: Sendable {
  case none
  /// The secret as it is, yet to be verified.
  case oldSecret(OldSecret)
  case primary(PrimaryVerdict)
}

public enum SecretChange<OldSecret: Sendable>: Sendable {
  case allow
  /// Admit, verify and settle it by the ladder: it counts as an attempt. Right allows the change; where none is set,
  /// nothing is right.
  case verify(OldSecret)
  case refuse(SecretChangeRefusal)

  /// Whether the secret may be set or erased. The first one needs authority like any other: switching a gesture off
  /// erases it, and whoever could set another one then would have changed it without the old.
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

public enum SecretChangeRefusal: Sendable, Hashable {
  case authorityRequired
  case primaryTooOld
  case primaryInFuture
}

extension ProfileStanding {
  /// After the secret was set, and so its way of unlocking switched on. That ends failures and lock (R13): whoever sets
  /// it has shown authority.
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

  /// After the secret was erased, and so its way of unlocking switched off. Failures and lock stay: erasing is no way
  /// round them.
  ///
  /// - Parameter factor: passcode or gesture.
  public func erasingSecret(_ factor: Factor, at now: UnixTime) -> ProfileStanding {
    var profile = self
    var secret = secret(for: factor)
    // Of another generation: what is in flight is about another secret.
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
