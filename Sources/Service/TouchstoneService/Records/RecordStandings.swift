// Stored records as the rules see them.

internal import TouchstonePolicy
internal import TouchstoneStore

extension BindingStanding {
  /// Adds the facts that a policy may ask of a known passkey; `nil`: there is none.
  mutating func show(_ passkey: PasskeyRecord?) {
    guard let passkey else { return }
    passkeyLevel = passkey.attestation?.level ?? .none
    isPasskeyDeviceBound = !passkey.isBackupEligible
  }
}

extension BindingRecord {
  var standing: BindingStanding {
    var standing = BindingStanding(
      state: isRevoked ? .revoked : .active, keyProtections: [], holdsProfileTouchID: false, baseline: baseline,
      platformFamily: platformFamily)
    switch credential {
    case .hardwareKeys(let keys):
      for key in keys {
        standing.keyProtections.insert(key.protection)
        if key.kind == .rsa { standing.rsaKeys.insert(key.protection) }
        standing.provenKeys[key.protection] = key.attestation?.level ?? .none
        if key.attestation?.isOfListedApp == true { standing.provenKeys.ofListedApps.insert(key.protection) }
      }
    case .profileTouchID:
      standing.holdsProfileTouchID = true
    case .passkey(let passkey):
      standing.holdsPasskey = true
      standing.show(passkey)
    }
    return standing
  }

  /// The key that serves `factor`, if the binding has one: there is at most one for each.
  func key(for factor: Factor) -> HardwareKeyRecord? {
    guard case .hardwareKeys(let keys) = credential else { return nil }
    return keys.first { $0.protection.factor == factor }
  }

  var profileTouchIDDigest: [UInt8]? {
    if case .profileTouchID(let digest) = credential { digest } else { nil }
  }
}

extension ProfileRecord {
  /// - Parameter kind: passcode or gesture.
  func secret(_ kind: Factor) -> SecretRecord? {
    kind == .gesture ? gesture : passcode
  }

  /// Returns the count of attempts at the secret for a caller that names this profile.
  func secretCount(of kind: Factor, as name: UnknownName?) -> SecretCount {
    SecretCount(own: secret(kind)?.standing, ofName: name?.standing(of: kind))
  }

  mutating func setSecret(_ secret: SecretRecord?, _ kind: Factor) {
    if kind == .gesture { gesture = secret } else { passcode = secret }
  }
}

extension ProfileStanding {
  /// What is shown of a name, with the counts at it, and of the secrets that the profile has and switched off.
  func counting(on profile: ProfileRecord, as name: UnknownName) -> ProfileStanding {
    var standing = self
    for kind in [Factor.passcode, .gesture] where settings.isEnabled(kind) {
      standing.setSecret(profile.secretCount(of: kind, as: name).standing, for: kind)
    }
    return standing
  }
}
