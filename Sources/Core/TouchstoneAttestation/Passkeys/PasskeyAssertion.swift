// A login by a passkey (WebAuthn Level 3 §7.2).

internal import Crypto

package struct PasskeyAssertion: Sendable {
  /// To be stored.
  package let signCount: UInt32
  package let isUserVerified: Bool
  package let isBackupEligible: Bool

  /// A credential as it was registered.
  package struct Credential: Sendable {
    /// A COSE key.
    package var publicKey: [UInt8]
    package var signCount: UInt32
    /// `nil`: not known.
    package var isBackupEligible: Bool?

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
    try expected.check(clientData: clientData, of: .authentication)
    let data = try AuthenticatorData(authenticatorData)
    try expected.check(data)
    let isBackupEligible = data.flags.contains(.backupEligible)
    guard credential.isBackupEligible.map({ $0 == isBackupEligible }) ?? true else {
      throw ProofError(.backupFlagsContradict, "BE has changed since the registration")
    }
    let key = try COSEKey(credential.publicKey)
    let message = authenticatorData + Array(SHA256.hash(data: clientData))
    try key.key.verify(signature, of: message, key.algorithm, "assertion")
    // Both are zero with authenticators that do not count, Apple's and Google's among them.
    guard data.signCount > credential.signCount || (data.signCount == 0 && credential.signCount == 0) else {
      throw ProofError(
        .counterNotGrown, "the sign count is \(data.signCount), and was \(credential.signCount) before")
    }
    return PasskeyAssertion(
      signCount: data.signCount, isUserVerified: data.flags.contains(.userVerified), isBackupEligible: isBackupEligible)
  }

  package var facts: [ProofFact] {
    [
      ProofFact("sign_count", "\(signCount)"), ProofFact("user_verified", "\(isUserVerified)"),
      ProofFact("backup_eligible", "\(isBackupEligible)"),
    ]
  }
}
