import TouchstoneAttestation

/// The proofs that phones send, and FIDO's metadata: the first byte chooses the kind, the rest is its bytes.
extension FuzzTarget {
  static let attestation = FuzzTarget("attestation", maximumBytes: 8_192) { input in
    guard let kind = input.first else { return }
    let bytes = Array(input.dropFirst())
    do throws(ProofError) {
      switch kind % 7 {
      case 0: try read(bytes)
      case 1: try appAttest(bytes)
      case 2: try android(bytes)
      case 3: try registration(bytes)
      case 4: try authentication(bytes)
      case 5: _ = try AuthenticatorMetadata(payload: bytes)
      default: try signedMetadata(bytes)
      }
    } catch {
      require(!error.detail.isEmpty, "a refusal says what is wrong")
    }
  }

  private static let anchors = {
    do throws(ProofError) { return try TrustAnchors.builtIn() } catch { fatalError(error.detail) }
  }()

  /// 2026-01-01.
  private static let time = 1_767_225_600

  private static let expectation = PasskeyExpectation(
    challenge: [], rpID: "localhost", origins: ["http://localhost"], requiresUserVerification: false)
  private static let registered = Array(#"{"type":"webauthn.create","challenge":"","origin":"http://localhost"}"#.utf8)
  private static let authenticated = Array(#"{"type":"webauthn.get","challenge":"","origin":"http://localhost"}"#.utf8)

  private static func read(_ bytes: [UInt8]) throws(ProofError) {
    _ = try? RSAPublicKey(bytes: bytes)
    _ = try CBORReader.read(bytes)
    _ = try COSEKey(bytes)
  }

  private static func appAttest(_ bytes: [UInt8]) throws(ProofError) {
    _ = try AppAttestation.verify(
      bytes, .init(appIDs: ["T.app"], environments: [.production], clientDataHash: [], keyID: []),
      anchors: anchors.appAttest, at: time)
  }

  /// Not its extension alone: a chain of one is refused before it would be read.
  private static func android(_ bytes: [UInt8]) throws(ProofError) {
    _ = try KeyDescription(bytes)
    _ = try AndroidAttestation.verify(
      try CertificateChain([try Certificate(der: bytes)]), challenge: [], anchors: anchors, revoked: [], at: time)
  }

  private static func registration(_ bytes: [UInt8]) throws(ProofError) {
    _ = try PasskeyRegistration.verify(
      attestationObject: bytes, clientData: registered, expectation, anchors: anchors, revoked: [], at: time)
  }

  private static func signedMetadata(_ bytes: [UInt8]) throws(ProofError) {
    _ = try AuthenticatorMetadata.read(bytes, roots: try AuthenticatorMetadata.builtInRoots(), at: time)
    fatalError("no publication of FIDO's is a seed")
  }

  private static func authentication(_ bytes: [UInt8]) throws(ProofError) {
    let half = bytes.count / 2
    _ = try PasskeyAssertion.verify(
      authenticatorData: Array(bytes[..<half]), clientData: authenticated, signature: [],
      of: .init(publicKey: Array(bytes[half...]), signCount: 0, isBackupEligible: nil), expectation)
  }
}
