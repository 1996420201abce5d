import TouchstoneAttestation
import TouchstoneCodec

/// The requests that carry proofs: the first byte chooses CompleteBinding or SubmitAttempt, the rest is the message.
/// Its fields go to what the service verifies them with.
extension FuzzTarget {
  static let proofs = FuzzTarget("proofs", maximumBytes: 16_384) { input in
    guard let kind = input.first else { return }
    let message = Array(input.dropFirst())
    switch kind % 2 {
    case 0:
      guard let request = try? MessageCoder().decode(V1.CompleteBindingRequest.self, from: message) else { return }
      for key in request.keys { judge { () throws(ProofError) in try chain(key.certificateChain) } }
      if let offered = request.appAttest { appAttest(offered) }
      if let offered = request.passkey { judge { () throws(ProofError) in try registration(offered) } }
    default:
      guard let request = try? MessageCoder().decode(V1.SubmitAttemptRequest.self, from: message) else { return }
      judge { () throws(ProofError) in try assertion(request.appAssertion) }
      if case .passkey(let proof) = request.attempt { judge { () throws(ProofError) in try authentication(proof) } }
    }
  }

  /// 2026-01-01.
  private static let time = 1_767_225_600
  private static let anchors = {
    do throws(ProofError) { return try TrustAnchors.builtIn() } catch { fatalError(error.detail) }
  }()
  private static let expectation = PasskeyExpectation(
    challenge: [], rpID: "localhost", origins: ["http://localhost", "https://localhost:44329"],
    requiresUserVerification: true)
  /// X9.63 of P-256's generator, whose private key is 1: an input that is signed with it takes more than chance.
  private static let key: [UInt8] = [
    0x04, 0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77, 0x03,
    0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96, 0x4F, 0xE3, 0x42, 0xE2, 0xFE,
    0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16, 0x2B, 0xCE, 0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE,
    0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
  ]

  /// A proof that no hardware vouches for is refused, or gets a level that shows it.
  private static func judge(_ level: () throws(ProofError) -> AttestationLevel) {
    do throws(ProofError) {
      let proven = try level()
      require(proven <= .selfAttested, "a proof that a fuzzer made was accepted")
    } catch {
      require(!error.detail.isEmpty, "a refusal says what is wrong")
    }
  }

  private static func chain(_ der: [[UInt8]]) throws(ProofError) -> AttestationLevel {
    let attestation = try AndroidAttestation.verify(
      try CertificateChain(der: der), challenge: [], anchors: anchors, revoked: ["1"], at: time)
    try attestation.checkUse()
    return attestation.level
  }

  private static func appAttest(_ offered: V1.AppAttest) {
    judge { () throws(ProofError) in
      _ = try AppAttestation.verify(
        offered.attestation,
        .init(appIDs: ["T.app"], environments: [.production], clientDataHash: [], keyID: offered.keyID),
        anchors: anchors.appAttest, at: time)
      return .app
    }
    judge { () throws(ProofError) in try assertion(offered.assertion) }
  }

  private static func assertion(_ bytes: [UInt8]) throws(ProofError) -> AttestationLevel {
    let assertion = try AppAssertion(bytes)
    try assertion.verify(by: key, over: [])
    return .app
  }

  private static func registration(_ offered: V1.PasskeyRegistration) throws(ProofError) -> AttestationLevel {
    let registration = try PasskeyRegistration.verify(
      attestationObject: offered.attestationObject, clientData: offered.clientDataJSON, expectation, anchors: anchors,
      revoked: ["1"], at: time)
    require(registration.credentialID.count <= 1_023, "a credential id is bounded")
    return registration.level
  }

  private static func authentication(_ proof: V1.PasskeyProof) throws(ProofError) -> AttestationLevel {
    let claim = try PasskeyClaim(
      authenticatorData: proof.authenticatorData, clientData: proof.clientDataJSON, expectation)
    try claim.verify(proof.signature, by: try COSEKey(proof.userHandle))
    try claim.checkBackup(isEligible: true)
    try claim.checkGrowth(from: 1)
    return .selfAttested
  }
}
