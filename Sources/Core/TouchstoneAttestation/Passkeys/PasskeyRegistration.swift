internal import Crypto
internal import Encodings

/// The registration of a passkey (WebAuthn Level 3 §7.1).
package struct PasskeyRegistration: Sendable {
  package let level: AttestationLevel
  package let format: String
  /// The root that the statement's certificates lead to; `nil`: none was asked for, or there are no certificates.
  package let anchor: String?
  /// The content of an android-key's chain.
  package let android: AndroidAttestation?
  package let credentialID: [UInt8]
  /// A COSE key, to be stored.
  package let publicKey: [UInt8]
  package let algorithm: Int
  /// X9.63 of an ES256 key; `nil` for others.
  package let p256Point: [UInt8]?
  /// The authenticator's model; zeros, where nothing signs it.
  package let aaguid: [UInt8]
  package let signCount: UInt32
  package let isBackupEligible: Bool
  package let isBackedUp: Bool
  /// The authenticator's name by the metadata, whose certificates lead to one of its model's roots; `nil`: none is
  /// proven.
  package var model: String?

  /// Whether its level rests on roots of authenticators, from the metadata or beside it.
  package var restsOnAuthenticatorRoots: Bool { anchor != nil && Self.formatsOfAuthenticators.contains(format) }

  private static let formatsOfAuthenticators: Set<String> = ["packed", "fido-u2f", "tpm"]

  package static let maximumBytes = AttestationObject.maximumBytes

  /// - Parameters:
  ///   - revoked: serial numbers of Android's certificates, in lower-case hexadecimal digits.
  ///   - time: seconds since 1970.
  package static func verify(
    attestationObject: [UInt8], clientData: [UInt8], _ expected: PasskeyExpectation, anchors: TrustAnchors,
    revoked: Set<String>, at time: Int
  ) throws(ProofError) -> PasskeyRegistration {
    try expected.check(clientData: clientData, of: .registration)
    let object = try AttestationObject(attestationObject)
    let data = try AuthenticatorData(object.authenticatorData)
    try expected.check(data)
    guard let credential = data.credential else {
      throw ProofError(.malformedAuthenticatorData, "AT is not set")
    }
    let key = try COSEKey(credential.publicKey)
    let statement = AttestationStatement(
      fields: object.statement, data: data, credential: credential, key: key,
      clientDataHash: Array(SHA256.hash(data: clientData)), anchors: anchors, revoked: revoked, time: time)
    let trust =
      expected.readsStatement
      ? try statement.trust(format: object.format) : AttestationStatement.Trust(level: .none)
    let registration = PasskeyRegistration(
      level: trust.level, format: object.format, anchor: trust.anchor?.subject, android: trust.android,
      credentialID: credential.id,
      publicKey: credential.publicKey, algorithm: key.algorithmNumber,
      p256Point: key.p256Point,
      // U2F's signature leaves it out.
      aaguid: object.format == "fido-u2f" ? [UInt8](repeating: 0, count: 16) : credential.aaguid,
      signCount: data.signCount, isBackupEligible: data.flags.contains(.backupEligible),
      isBackedUp: data.flags.contains(.backedUp), model: trust.model?.name)
    if !registration.isProvenByTPM { try key.key.requireRSABits() }
    return registration
  }

  /// A TPM's statement certifies the credential's key, and was read. Old TPMs have RSA keys of 1,024 bits alone, so
  /// that such a key will do; the key that signs the statement is as strong as others.
  package var isProvenByTPM: Bool { format == "tpm" && level != .none }

  package var facts: [ProofFact] {
    var facts = [
      ProofFact("format", format), ProofFact("algorithm", "\(algorithm)"),
      ProofFact("aaguid", Hexadecimal.text(aaguid)),
      ProofFact("sign_count", "\(signCount)"), ProofFact("backup_eligible", "\(isBackupEligible)"),
    ]
    if let anchor { facts.append(ProofFact("root", anchor)) }
    if let model { facts.append(ProofFact("model", model)) }
    return facts
  }
}
