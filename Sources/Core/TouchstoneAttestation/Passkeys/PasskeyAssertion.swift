internal import Crypto

/// A login by a passkey (WebAuthn Level 3 §7.2).
package struct PasskeyAssertion: Sendable {
  /// To be stored.
  package let signCount: UInt32
  package let isUserVerified: Bool
  package let isBackupEligible: Bool
  /// To be stored.
  package let isBackedUp: Bool

  /// A credential as it was registered.
  package struct Credential: Sendable {
    /// A COSE key.
    package var publicKey: [UInt8]
    package var signCount: UInt32
    /// `nil`: not known.
    package var isBackupEligible: Bool?
    /// `PasskeyRegistration.isProvenByTPM` of its registration.
    package var isProvenByTPM = false

    package init(publicKey: [UInt8], signCount: UInt32, isBackupEligible: Bool?) {
      self.publicKey = publicKey
      self.signCount = signCount
      self.isBackupEligible = isBackupEligible
    }
  }

  package static func verify(
    authenticatorData: [UInt8], clientData: [UInt8], signature: [UInt8], of credential: Credential,
    _ expected: PasskeyExpectation
  ) throws(ProofError) -> PasskeyAssertion {
    let claim = try PasskeyClaim(authenticatorData: authenticatorData, clientData: clientData, expected)
    if let isBackupEligible = credential.isBackupEligible { try claim.checkBackup(isEligible: isBackupEligible) }
    let key = try COSEKey(credential.publicKey)
    if !credential.isProvenByTPM { try key.key.requireRSABits() }
    try claim.verify(signature, by: key)
    try claim.checkGrowth(from: credential.signCount)
    return claim.assertion
  }

  package var facts: [ProofFact] {
    [
      ProofFact("sign_count", "\(signCount)"), ProofFact("user_verified", "\(isUserVerified)"),
      ProofFact("backup_eligible", "\(isBackupEligible)"), ProofFact("backed_up", "\(isBackedUp)"),
    ]
  }
}

/// An assertion as far as it can be judged without its credential: the same for known and unknown ones.
package struct PasskeyClaim: Sendable {
  package let assertion: PasskeyAssertion
  /// The message that the credential's key signed.
  package let message: [UInt8]

  package init(
    authenticatorData: [UInt8], clientData: [UInt8], _ expected: PasskeyExpectation
  ) throws(ProofError) {
    try expected.check(clientData: clientData, of: .authentication)
    let data = try AuthenticatorData(authenticatorData)
    try expected.check(data)
    assertion = PasskeyAssertion(
      signCount: data.signCount, isUserVerified: data.flags.contains(.userVerified),
      isBackupEligible: data.flags.contains(.backupEligible), isBackedUp: data.flags.contains(.backedUp))
    message = authenticatorData + Array(SHA256.hash(data: clientData))
  }

  package func verify(_ signature: [UInt8], by key: COSEKey) throws(ProofError) {
    try key.key.verify(signature, of: message, key.algorithm, "assertion")
  }

  /// - Parameter isEligible: as it was registered.
  package func checkBackup(isEligible: Bool) throws(ProofError) {
    guard isEligible == assertion.isBackupEligible else {
      throw ProofError(.backupFlagsContradict, "BE has changed since the registration")
    }
  }

  /// - Parameter count: the last sign count.
  package func checkGrowth(from count: UInt32) throws(ProofError) {
    // Both are zero with authenticators that do not count, Apple's and Google's among them.
    guard assertion.signCount > count || (assertion.signCount == 0 && count == 0) else {
      throw ProofError(.counterNotGrown, "the sign count is \(assertion.signCount), and was \(count) before")
    }
  }
}
