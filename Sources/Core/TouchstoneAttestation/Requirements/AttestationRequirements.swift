/// An application's demands on the proofs of its keys, beyond that they are sound, and the judgement by them.
package struct AttestationRequirements: Sendable, Hashable {
  package var demand: Demand
  /// `nil`: the demand's own.
  package var minimumLevel: AttestationLevel?
  /// Each "TEAMID.bundle"; without one, no proof of App Attest is accepted.
  package var appIDs: Set<String>
  package var environments: Set<AppAttestEnvironment>
  /// Empty: any.
  package var packages: [AndroidPackage]
  /// `nil`: any.
  package var oldestPatchLevel: PatchLevel?
  /// `nil`: passkeys are not served.
  package var passkeys: PasskeyRequirements?
  package var encoding: ProofEncoding
  /// A phone's key may sign the text of its signing input, because the app's framework signs no bytes (R33).
  package var allowsTextSignatures = false

  package enum Demand: String, Sendable, Hashable, CaseIterable {
    /// Proofs are not looked at: every key has the level `none`.
    case none
    /// A key may come without a proof. A proof that comes must hold.
    case accepted
    case required
  }

  package init(
    demand: Demand = .accepted, minimumLevel: AttestationLevel? = nil, appIDs: Set<String> = [],
    environments: Set<AppAttestEnvironment> = [.production], packages: [AndroidPackage] = [],
    oldestPatchLevel: PatchLevel? = nil, passkeys: PasskeyRequirements? = nil, encoding: ProofEncoding = .strict
  ) {
    self.demand = demand
    self.minimumLevel = minimumLevel
    self.appIDs = appIDs
    self.environments = environments
    self.packages = packages
    self.oldestPatchLevel = oldestPatchLevel
    self.passkeys = passkeys
    self.encoding = encoding
  }
}

/// An Android app, and the signers that it may have.
package struct AndroidPackage: Sendable, Hashable {
  package var name: String
  /// SHA-256 of the signing certificates.
  package var signers: Set<[UInt8]>

  package static let signerBytes = 32

  package init(name: String, signers: Set<[UInt8]>) {
    self.name = name
    self.signers = signers
  }
}

package struct PasskeyRequirements: Sendable, Hashable {
  package var rpID: String
  /// "https://example.org", "android:apk-key-hash:…".
  package var origins: Set<String>
  /// The origins of pages that may frame those above.
  package var topOrigins: Set<String> = []
  package var requiresUserVerification: Bool
  package var signCount = SignCountDemand.grows
  /// Refuses credentials that may be copied to other devices.
  package var requiresDeviceBoundKeys: Bool
  /// The models of authenticators that certificates must name; `nil`: any.
  package var aaguids: Set<[UInt8]>?

  package static let aaguidBytes = 16

  /// What follows from a sign count that did not grow.
  package enum SignCountDemand: String, Sendable, Hashable, CaseIterable {
    /// It is refused.
    case grows = "must_grow"
    /// A passkey that may be copied has a count on each device. Its logins succeed, and the events say so.
    case reported = "report"
  }

  package init(
    rpID: String, origins: Set<String>, requiresUserVerification: Bool = true, requiresDeviceBoundKeys: Bool = false,
    aaguids: Set<[UInt8]>? = nil
  ) {
    self.rpID = rpID
    self.origins = origins
    self.requiresUserVerification = requiresUserVerification
    self.requiresDeviceBoundKeys = requiresDeviceBoundKeys
    self.aaguids = aaguids
  }
}

// MARK: - The expectations of a proof

extension AttestationRequirements {
  package func appAttest(clientDataHash: [UInt8], keyID: [UInt8]) -> AppAttestation.Expectation {
    AppAttestation.Expectation(
      appIDs: appIDs, environments: environments, clientDataHash: clientDataHash, keyID: keyID)
  }

  /// - Parameter isConditional: a registration that nobody was asked for (conditional create): the passkey is made
  ///   without the person's presence and verification, which its logins need all the same.
  package func passkey(challenge: [UInt8], isConditional: Bool = false) throws(ProofError) -> PasskeyExpectation {
    guard let passkeys else { throw ProofError(.passkeysNotServed, "the application has no passkeys") }
    var expected = PasskeyExpectation(
      challenge: challenge, rpID: passkeys.rpID, origins: passkeys.origins,
      requiresUserVerification: passkeys.requiresUserVerification && !isConditional, readsStatement: demand != .none)
    expected.topOrigins = passkeys.topOrigins
    expected.requiresUserPresence = !isConditional
    return expected
  }
}

// MARK: - The level that a key gets

extension AttestationRequirements {
  /// Returns the level of a key without a proof.
  package func levelOfBareKey() throws(ProofError) -> AttestationLevel {
    guard demand != .required else { throw ProofError(.attestationRequired, "the key comes without an attestation") }
    return .none
  }

  /// Its app and environment were expected of it.
  package func level(of attestation: AppAttestation) throws(ProofError) -> AttestationLevel {
    try levelOfAppAttestKey()
  }

  package func level(of attestation: AndroidAttestation) throws(ProofError) -> AttestationLevel {
    guard demand != .none else { return .none }
    // A chain of a software key proves nothing: the keys of its roots are public.
    let level = try reached(attestation.level, ofAtMost: .strongbox, byDefault: .tee)
    try checkPhone(attestation)
    if !packages.isEmpty { try checkPackage(attestation.description.software.application) }
    try attestation.checkUse()
    guard !attestation.enforced.contains(where: \.needsNoAuthentication) else {
      throw ProofError(.keyUnprotected, "the key signs without authentication")
    }
    return level
  }

  package func level(of registration: PasskeyRegistration) throws(ProofError) -> AttestationLevel {
    if passkeys?.requiresDeviceBoundKeys == true { try Self.checkDeviceBound(registration.isBackupEligible) }
    guard demand != .none else { return .none }
    guard registration.level != .none else { return try accept(registration, at: try levelOfBareKey()) }
    // Other authenticators do not show that they are a chip of their own.
    let highest: AttestationLevel = registration.android == nil ? .tee : .strongbox
    let level = try reached(registration.level, ofAtMost: highest)
    // Its app is the keystore's caller, which is the phone's passkey provider.
    if let android = registration.android { try checkPhone(android) }
    return try accept(registration, at: level)
  }

  /// App and environment may have been taken from the lists since the key was attested.
  ///
  /// - Parameter environment: `nil`: it is not known.
  package func checkAppAttestKey(
    of appID: String, in environment: AppAttestEnvironment?
  ) throws(ProofError) {
    guard demand != .none else { return }
    guard appIDs.contains(appID) else { throw ProofError(.applicationDiffers, "the assertion is of another app") }
    guard environment.map(environments.contains) ?? true else {
      throw ProofError(.environmentDiffers, "the key was attested in another environment")
    }
  }

  /// Returns the level of a key that vouches by an assertion: no more than when it was attested.
  package func levelOfAppAttestKey() throws(ProofError) -> AttestationLevel {
    guard demand != .none else { return .none }
    return try reached(.app, ofAtMost: .app)
  }

  /// Whether a sign count that did not grow is reported, and not refused.
  package func reportsSignCount(isBackupEligible: Bool) -> Bool {
    isBackupEligible && passkeys?.signCount == .reported
  }

  package func check(_ assertion: PasskeyAssertion) throws(ProofError) {
    if passkeys?.requiresDeviceBoundKeys == true { try Self.checkDeviceBound(assertion.isBackupEligible) }
  }
}

// MARK: - One demand each

extension AttestationRequirements {
  /// The minimum of a platform is at most what it can reach: an iPhone's is `app`.
  private func reached(
    _ level: AttestationLevel, ofAtMost highest: AttestationLevel, byDefault usual: AttestationLevel? = nil
  ) throws(ProofError) -> AttestationLevel {
    // `self` may be a software key.
    let least = min(minimumLevel ?? usual ?? (demand == .required ? .app : .none), highest)
    guard level >= least else {
      throw ProofError(.levelTooLow, "the level is \(level.name), and the application demands \(least.name)")
    }
    return level
  }

  private func checkPhone(_ attestation: AndroidAttestation) throws(ProofError) {
    let hardware = attestation.description.hardware
    if let root = hardware.rootOfTrust {
      guard root.bootState == .verified else {
        throw ProofError(.bootNotVerified, "the boot state is \(root.bootState.name)")
      }
      guard root.isLocked else { throw ProofError(.bootloaderUnlocked, "the bootloader is not locked") }
    } else if attestation.level > .selfAttested {
      throw ProofError(.bootNotVerified, "the hardware says nothing of the boot state")
    }
    guard let oldestPatchLevel else { return }
    guard let number = hardware.osPatchLevel else {
      throw ProofError(.patchLevelTooOld, "the hardware names no patch level")
    }
    let patchLevel = PatchLevel(attested: number)
    guard patchLevel >= oldestPatchLevel else {
      throw ProofError(.patchLevelTooOld, "the patch level is \(number), before \(oldestPatchLevel)")
    }
  }

  private func checkPackage(_ application: AttestedApplication?) throws(ProofError) {
    let names = application?.packages ?? []
    let named = packages.filter { names.contains($0.name) }
    guard !named.isEmpty else {
      throw ProofError(.packageDiffers, "the key is of \(names.first.map { "the package \($0)" } ?? "no package")")
    }
    let signers = application?.signers ?? []
    guard !signers.isEmpty, named.contains(where: { $0.signers.isSuperset(of: signers) }) else {
      throw ProofError(.signerDiffers, "the package \(named[0].name) is signed by another certificate")
    }
  }

  private static func checkDeviceBound(_ isBackupEligible: Bool) throws(ProofError) {
    guard !isBackupEligible else { throw ProofError(.keyNotDeviceBound, "the passkey may be copied to other devices") }
  }

  private func accept(
    _ registration: PasskeyRegistration, at level: AttestationLevel
  ) throws(ProofError) -> AttestationLevel {
    guard let aaguids = passkeys?.aaguids else { return level }
    // Without certificates to a trusted root, the client may have made it up.
    guard registration.anchor != nil else {
      throw ProofError(.authenticatorNotAllowed, "no trusted certificate vouches for the authenticator's model")
    }
    guard aaguids.contains(registration.aaguid) else {
      throw ProofError(.authenticatorNotAllowed, "the authenticator's model is not one of the allowed")
    }
    return level
  }
}
