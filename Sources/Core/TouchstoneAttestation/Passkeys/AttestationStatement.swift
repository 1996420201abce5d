internal import COpenSSL
internal import Crypto

/// Who vouches for a new passkey: the formats of WebAuthn Level 3 §8.
struct AttestationStatement {
  let fields: CBORMap
  let data: AuthenticatorData
  let credential: AuthenticatorData.AttestedCredential
  let key: COSEKey
  let clientDataHash: [UInt8]
  let anchors: TrustAnchors
  /// The revoked serial numbers, for android-key.
  let revoked: Set<String>
  /// Seconds since 1970.
  let time: Int

  struct Trust {
    var level: AttestationLevel
    var anchor: Certificate?
    /// The attestation of an android-key.
    var android: AndroidAttestation?
    /// By the metadata, of a path to one of its roots.
    var model: AuthenticatorModel?
  }

  /// The message that packed, tpm and android-key sign.
  var message: [UInt8] { data.bytes + clientDataHash }

  func trust(format: String) throws(ProofError) -> Trust {
    let trust = try judge(format)
    // Nothing proves the model. An authenticator that calls itself one that is not to be trusted is refused all the
    // same.
    if trust.model == nil, format != "fido-u2f" {
      try anchors.metadata?.model(credential.aaguid)?.checkStatus(of: [])
    }
    return trust
  }

  private func judge(_ format: String) throws(ProofError) -> Trust {
    switch format {
    case "none":
      guard fields.isEmpty else { throw ProofError(.malformedStatement, "attStmt of \"none\" is not empty") }
      return Trust(level: .none)
    case "packed": return try packed()
    case "fido-u2f": return try fidoU2F()
    case "tpm": return try tpm()
    case "apple": return try apple()
    case "android-key": return try androidKey()
    default: throw ProofError(.unsupportedFormat, "fmt \"\(format.prefix(32))\"")
    }
  }

  // MARK: Shared by the formats

  /// alg and sig.
  func signature() throws(ProofError) -> (algorithm: Int, bytes: [UInt8]) {
    guard let algorithm = fields["alg"]?.integer, let bytes = fields["sig"]?.bytes else {
      throw ProofError(.malformedStatement, "alg or sig is missing")
    }
    return (algorithm, bytes)
  }

  func chain() throws(ProofError) -> CertificateChain { try CertificateChain(x5c: fields["x5c"]) }

  /// Judges the chain of packed, fido-u2f and tpm. The chain must lead to a root if any is known. A root of another
  /// model does not count.
  ///
  /// - Parameter aaguid: `nil`: nothing signs it.
  func authenticatorTrust(_ chain: CertificateChain, of aaguid: [UInt8]?) throws(ProofError) -> Trust {
    if let model = try anchors.metadata?.model(aaguid, chain) {
      let anchor = try chain.anchor(among: model.roots, at: time, .all)
      try model.checkStatus(of: chain.certificates + [anchor])
      return Trust(level: model.keepsKeysInHardware ? .tee : .selfAttested, anchor: anchor, model: model)
    }
    guard !anchors.authenticators.isEmpty else {
      guard anchors.metadata == nil else {
        throw ProofError(.rootUnknown, "the metadata does not have the authenticator's model")
      }
      return Trust(level: .selfAttested)
    }
    return Trust(level: .tee, anchor: try chain.anchor(among: anchors.authenticators, at: time, .all))
  }

  /// id-fido-gen-ce-aaguid
  private static let modelExtension = "1.3.6.1.4.1.45724.1.1.4"

  /// Where the extension is there, it names the authenticator's model (§8.2.1).
  func checkModel(_ leaf: Certificate) throws(ProofError) {
    guard let found = leaf.extension(Self.modelExtension) else { return }
    guard !found.isCritical else { throw ProofError(.certificateUnsuitable, "the AAGUID extension is critical") }
    guard try DERNode(found.value, or: .malformedCertificate).octets() == credential.aaguid else {
      throw ProofError(.authenticatorDiffers, "the certificate is of another AAGUID")
    }
  }

  func checkLeaf(_ leaf: Certificate) throws(ProofError) {
    guard leaf.version == 3 else { throw ProofError(.certificateUnsuitable, "version \(leaf.version)") }
    // Those without basic constraints are in use, though §8.2.1 asks for them.
    guard !leaf.isAuthority else { throw ProofError(.certificateUnsuitable, "the leaf is an authority") }
    try checkModel(leaf)
  }

  func checkKey(of leaf: Certificate) throws(ProofError) {
    guard let info = key.subjectPublicKeyInfo, info == leaf.subjectPublicKeyInfo else {
      throw ProofError(.keyDiffers, "the credential's key is not the leaf's")
    }
  }

  // MARK: packed (§8.2)

  private func packed() throws(ProofError) -> Trust {
    let (number, signature) = try signature()
    let algorithm = try SignatureAlgorithm(number: number)
    guard fields["ecdaaKeyId"] == nil else { throw ProofError(.unsupportedAlgorithm, "ECDAA") }
    guard fields["x5c"] != nil else {
      guard number == key.algorithmNumber else {
        throw ProofError(.algorithmDiffers, "alg \(number) is not the credential's")
      }
      try key.key.verify(signature, of: message, algorithm, "attestation")
      return Trust(level: .selfAttested)
    }
    let chain = try chain()
    try chain.leaf.publicKey().verify(signature, of: message, algorithm, "attestation")
    try checkLeaf(chain.leaf)
    guard
      chain.leaf.subjectAttribute(NID_countryName)?.utf8.count == 2,
      chain.leaf.subjectAttribute(NID_organizationName) != nil, chain.leaf.subjectAttribute(NID_commonName) != nil,
      chain.leaf.subjectAttribute(NID_organizationalUnitName) == "Authenticator Attestation"
    else { throw ProofError(.certificateUnsuitable, "the leaf's subject is not an authenticator's") }
    let trust = try authenticatorTrust(chain, of: credential.aaguid)
    // Without the extension, an authenticator of another model could sign this AAGUID (§8.2.1).
    if let anchor = trust.anchor, chain.leaf.extension(Self.modelExtension) == nil,
      anchors.metadata?.isRootOfSeveralModels(anchor) == true
    {
      throw ProofError(
        .certificateUnsuitable, "the leaf has no AAGUID extension, and its root serves several models")
    }
    return trust
  }

  // MARK: fido-u2f (§8.6)

  private func fidoU2F() throws(ProofError) -> Trust {
    guard let signature = fields["sig"]?.bytes else { throw ProofError(.malformedStatement, "sig is missing") }
    let chain = try chain()
    guard chain.certificates.count == 1 else { throw ProofError(.malformedStatement, "x5c has more than one") }
    guard let point = key.p256Point else { throw ProofError(.algorithmDiffers, "the credential is not on P-256") }
    let message = [0x00] + data.rpIDHash + clientDataHash + credential.id + point
    let leafPoint = try chain.leaf.publicPoint()
    let leafInfo = SubjectPublicKeyInfo.ellipticCurve(SubjectPublicKeyInfo.p256, point: leafPoint)
    guard chain.leaf.subjectPublicKeyInfo == leafInfo else {
      throw ProofError(.certificateUnsuitable, "the leaf's key is not on P-256")
    }
    try PublicKey(p256Point: leafPoint).verify(signature, of: message, .ecdsa(.sha256), "attestation")
    return try authenticatorTrust(chain, of: nil)
  }

  // MARK: apple (§8.8)

  private func apple() throws(ProofError) -> Trust {
    let chain = try chain()
    guard areEqual(try AppleNonce.read(chain.leaf), Array(SHA256.hash(data: message))) else {
      throw ProofError(.challengeDiffers, "the nonce in the leaf is not that of this registration")
    }
    try checkKey(of: chain.leaf)
    return Trust(level: .tee, anchor: try chain.anchor(among: anchors.appleWebAuthn, at: time, .all))
  }

  // MARK: android-key (§8.4)

  private func androidKey() throws(ProofError) -> Trust {
    let (number, signature) = try signature()
    let chain = try chain()
    try chain.leaf.publicKey().verify(
      signature, of: message, try SignatureAlgorithm(number: number), "attestation")
    try checkKey(of: chain.leaf)
    let attestation = try AndroidAttestation.verify(
      chain, challenge: clientDataHash, anchors: anchors, revoked: revoked, at: time)
    try attestation.checkUse()
    return Trust(level: attestation.level, anchor: attestation.anchor, android: attestation)
  }
}
