// Setting, changing and erasing a passcode or a gesture: what entitles to it (R16), and what it leaves behind.

/// What a caller shows for it.
public enum SecretAuthority: Sendable, Hashable {
  case none
  /// The secret as it is, yet to be verified.
  case oldSecret
  case primary(PrimaryVerdict)
}

public enum SecretChange: Sendable, Hashable {
  case allow
  /// Admit, verify and settle the old one by the ladder: it counts as an attempt. Right allows the change.
  case verifyOldSecret
  case refuse(Refusal)

  public enum Refusal: Sendable, Hashable {
    /// It is set, or was locked when it was erased.
    case authorityRequired
    /// There is no old one to be right.
    case notSet
    case primaryTooOld
    case primaryInFuture
  }

  /// Whether the secret may be set or erased. The first one needs no authority: nobody could show any.
  public static func decide(
    _ standing: SecretStanding, authority: SecretAuthority, ladder: Ladder, now: UnixTime
  ) -> SecretChange {
    switch authority {
    case .none:
      let isOpen = SecretRules(ladder: ladder).state(of: standing, at: now) == .open
      return !standing.isSet && isOpen ? .allow : .refuse(.authorityRequired)
    case .oldSecret: return standing.isSet ? .verifyOldSecret : .refuse(.notSet)
    case .primary(.fresh): return .allow
    case .primary(.tooOld): return .refuse(.primaryTooOld)
    case .primary(.inFuture): return .refuse(.primaryInFuture)
    }
  }
}

extension ProfileStanding {
  /// After the secret was set, and so its way of unlocking switched on.
  ///
  /// - Parameters:
  ///   - factor: passcode or gesture.
  ///   - isProven: by the old one or by primary authentication: that ends failures and lock (R13). A first secret, set
  ///     without, keeps what an erased one left.
  public func settingSecret(_ factor: Factor, isProven: Bool, at now: UnixTime) -> ProfileStanding {
    var profile = self
    var secret = secret(for: factor)
    if isProven { secret.clear() } else { secret.renew() }
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
    secret.renew()
    secret.isSet = false
    profile.setSecret(secret, for: factor)
    profile.settings.setEnabled(false, for: factor)
    if profile.settings.preferred == factor { profile.settings.preferred = nil }
    profile.settings.updatedAt = now
    return profile
  }
}

extension SecretStanding {
  /// Of another generation: what is in flight is about another secret.
  fileprivate mutating func renew() {
    inFlight = 0
    inFlightUntil = UnixTime(microseconds: 0)
    generation &+= 1
  }
}
