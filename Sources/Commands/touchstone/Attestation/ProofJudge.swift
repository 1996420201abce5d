// Judges the proofs of one case, with the trust data that the command line names.

internal import Encodings
internal import FoundationEssentials
internal import TouchstoneAttestation

/// The verdict on a proof.
struct ProofVerdict: Encodable {
  var id: String
  /// "attestation", "assertion", "chain", "registration" or "authentication".
  var proof: String
  var verdict: Word
  var level: String?
  var facts: [String: String] = [:]
  var reason: String?
  var detail: String?
  var expect: String?
  var asExpected: Bool

  enum Word: String, Encodable {
    case accepted
    case refused
    /// It may be right: its format or algorithm is not served.
    case unsupported
  }

  enum CodingKeys: String, CodingKey {
    case id, proof, verdict, level, facts, reason, detail, expect
    case asExpected = "as_expected"
  }
}

struct ProofJudge {
  /// Several hundred cases.
  static let maximumFileBytes = 16 << 20

  let anchors: TrustAnchors
  /// Serial numbers of Android's certificates, beside those that a case names.
  let revoked: Set<String>
  /// `nil`: the proof alone is judged.
  let requirements: AttestationRequirements?
  /// Seconds since 1970; `nil`: the time that each case gives, or now.
  let time: Int?

  /// The level and the facts that an accepted proof shows.
  struct Evidence {
    var level: AttestationLevel?
    var facts: [ProofFact]
  }

  /// A case that lacks what its kind needs.
  struct CaseError: Error {
    let member: String
  }

  func judge(_ test: ProofCase) throws(CaseError) -> [ProofVerdict] {
    if test.kind.hasPrefix("apple-appattest") { return try judgeAppAttest(test) }
    if test.kind.hasPrefix("android-key-attestation") {
      return [try verdict(test, "chain", test.expect) { () throws(ProofError) in try chain(test) }]
    }
    if test.kind.hasPrefix("webauthn") { return try judgePasskey(test) }
    throw CaseError(member: "kind \"\(test.kind)\"")
  }

  private func verdict(
    _ test: ProofCase, _ proof: String, _ expect: ProofCase.Expectation?,
    _ judge: () throws(ProofError) -> Evidence
  ) throws(CaseError) -> ProofVerdict {
    var verdict = ProofVerdict(
      id: test.id, proof: proof, verdict: .accepted, expect: expect?.rawValue, asExpected: false)
    do throws(ProofError) {
      let evidence = try judge()
      verdict.level = evidence.level?.name
      verdict.facts = Dictionary(evidence.facts.map { ($0.name, $0.value) }) { "\($0) \($1)" }
    } catch {
      verdict.verdict = error.reason.isUnsupported ? .unsupported : .refused
      verdict.reason = error.reason.rawValue
      verdict.detail = error.detail
    }
    verdict.asExpected = Self.isExpected(verdict, expect)
    return verdict
  }

  /// Without an expectation, a proof is to be accepted.
  private static func isExpected(_ verdict: ProofVerdict, _ expect: ProofCase.Expectation?) -> Bool {
    switch expect {
    case nil, .accept: verdict.verdict == .accepted
    case .reject: verdict.verdict != .accepted
    case .policy: true
    case .acceptOnlyAsSoftware: verdict.verdict == .accepted && verdict.level == AttestationLevel.selfAttested.name
    }
  }

  private func revoked(_ test: ProofCase) -> Set<String> {
    test.statusList.map { revoked.union($0.serialNumbers) } ?? revoked
  }

  private var encoding: ProofEncoding { requirements?.encoding ?? .strict }

  private func time(of test: ProofCase) throws(CaseError) -> Int {
    if let time { return time }
    guard let text = test.verifyAt else { return Int(Date.now.timeIntervalSince1970) }
    guard let date = try? Date(text, strategy: .iso8601) else { throw CaseError(member: "verify_at") }
    return Int(date.timeIntervalSince1970)
  }
}

// MARK: - App Attest

extension ProofJudge {
  private func judgeAppAttest(_ test: ProofCase) throws(CaseError) -> [ProofVerdict] {
    guard let appID = test.appID else { throw CaseError(member: "app_id") }
    guard let attestation = test.attestation else {
      let assertion = ProofCase.AppAssertionCase(
        assertion: try need(test.assertion, "assertion_b64"),
        clientDataHash: try need(test.clientDataHash, "client_data_hash_b64"),
        previousCounter: try need(test.previousCounter, "previous_counter"), expect: test.expect)
      let key = try base64(test.publicKey, "public_key_x962_b64")
      return [try judge(assertion, of: appID, key, test)]
    }
    let environments: Set<AppAttestEnvironment> =
      try [need(test.environment.map(AppAttestEnvironment.init(rawValue:)) ?? nil, "environment")]
    let expected = AppAttestation.Expectation(
      appIDs: [appID], environments: environments,
      clientDataHash: try base64(test.clientDataHash, "client_data_hash_b64"),
      keyID: try base64(test.keyID, "key_id_b64"))
    let bytes = try base64(attestation, "attestation_b64")
    let time = try time(of: test)
    var key: [UInt8]?
    var verdicts = [
      try verdict(test, "attestation", test.expect) { () throws(ProofError) in
        let attestation = try AppAttestation.verify(bytes, expected, anchors: anchors.appAttest, at: time, encoding)
        var level = AttestationLevel.app
        if let requirements {
          if requirements.demand != .none {
            let demanded = requirements.appAttest(clientDataHash: expected.clientDataHash, keyID: expected.keyID)
            _ = try AppAttestation.verify(bytes, demanded, anchors: anchors.appAttest, at: time, encoding)
          }
          level = try requirements.level(of: attestation)
        }
        key = attestation.publicKey
        return Evidence(level: level, facts: attestation.facts)
      }
    ]
    if let key {
      for assertion in test.assertions ?? [] { verdicts.append(try judge(assertion, of: appID, key, test)) }
    }
    return verdicts
  }

  private func judge(
    _ assertion: ProofCase.AppAssertionCase, of appID: String, _ key: [UInt8], _ test: ProofCase
  ) throws(CaseError) -> ProofVerdict {
    let bytes = try base64(assertion.assertion, "assertion_b64")
    let expected = AppAssertion.Expectation(
      appID: appID, clientDataHash: try base64(assertion.clientDataHash, "client_data_hash_b64"), publicKey: key,
      previousCounter: assertion.previousCounter)
    return try verdict(test, "assertion", assertion.expect) { () throws(ProofError) in
      let assertion = try AppAssertion.verify(bytes, expected)
      try requirements?.checkAppAttestKey(of: appID, in: nil)
      return Evidence(level: nil, facts: [ProofFact("counter", "\(assertion.counter)")])
    }
  }
}

// MARK: - Android

extension ProofJudge {
  private func chain(_ test: ProofCase) throws(ProofError) -> Evidence {
    let time: Int
    let challenge: [UInt8]
    do throws(CaseError) {
      time = try self.time(of: test)
      challenge = try test.challenge.map { text throws(CaseError) in try base64(text, "challenge_b64") } ?? []
    } catch {
      throw ProofError(.malformedStatement, error.member)
    }
    let attestation = try AndroidAttestation.verify(
      try CertificateChain(pem: test.chain ?? []), challenge: challenge, anchors: anchors,
      revoked: revoked(test), at: time, encoding)
    return Evidence(
      level: try requirements?.level(of: attestation) ?? attestation.level, facts: attestation.facts)
  }
}

// MARK: - Passkeys

extension ProofJudge {
  private func judgePasskey(_ test: ProofCase) throws(CaseError) -> [ProofVerdict] {
    let isAlone = test.registration == nil && test.authentication == nil
    let isRegistration = test.kind.hasPrefix("webauthn-registration")
    let registration = isAlone && isRegistration ? test.ceremony : test.registration
    let authentication = isAlone && !isRegistration ? test.ceremony : test.authentication
    var registered: PasskeyRegistration?
    var verdicts: [ProofVerdict] = []
    if let registration { verdicts.append(try register(registration, test, &registered)) }
    if let authentication { verdicts.append(try authenticate(authentication, test, registered)) }
    return verdicts
  }

  /// - Parameter registered: set if the registration is accepted.
  private func register(
    _ ceremony: ProofCase.Ceremony, _ test: ProofCase, _ registered: inout PasskeyRegistration?
  ) throws(CaseError) -> ProofVerdict {
    let response = test.credential?.response
    let object = ceremony.attestationObject ?? response?.attestationObject
    let data = ceremony.clientData ?? response?.clientData
    let expected = try expectation(ceremony, test)
    let time = try time(of: test)
    var anchors = anchors
    for text in (test.rootsByFormat ?? [:]).values.joined() {
      anchors.trustAuthenticators(by: try roots(text, "pem_root_certs_by_fmt"))
    }
    if let text = test.trustRoot { anchors.trustAuthenticators(by: try roots(text, "trust_root_pem")) }
    return try verdict(test, "registration", ceremony.expect ?? test.expect) { () throws(ProofError) in
      let object = try bytes(object, .malformedCBOR, "attestationObject")
      let data = try bytes(data, .malformedClientData, "clientDataJSON")
      func verify(_ expected: PasskeyExpectation) throws(ProofError) -> PasskeyRegistration {
        try PasskeyRegistration.verify(
          attestationObject: object, clientData: data, expected, anchors: anchors,
          revoked: revoked(test), at: time)
      }
      let registration = try verify(expected)
      var level = registration.level
      if let requirements {
        _ = try verify(try requirements.passkey(challenge: expected.challenge))
        level = try requirements.level(of: registration)
      }
      registered = registration
      return Evidence(level: level, facts: registration.facts)
    }
  }

  /// - Parameter registered: the case's own registration.
  private func authenticate(
    _ ceremony: ProofCase.Ceremony, _ test: ProofCase, _ registered: PasskeyRegistration?
  ) throws(CaseError) -> ProofVerdict {
    let response = test.credential?.response
    let data = ceremony.clientData ?? response?.clientData
    let authenticatorData = ceremony.authenticatorData ?? response?.authenticatorData
    let signature = ceremony.signature ?? response?.signature
    let expected = try expectation(ceremony, test)
    let key = ceremony.publicKey
    let count = ceremony.previousSignCount ?? 0
    return try verdict(test, "authentication", ceremony.expect ?? test.expect) { () throws(ProofError) in
      var credential = PasskeyAssertion.Credential(
        publicKey: try bytes(key, .malformedKey, "the credential's key"), signCount: count, isBackupEligible: nil)
      credential.isProvenByTPM = registered?.isProvenByTPM == true && registered?.publicKey == credential.publicKey
      let authenticatorData = try bytes(authenticatorData, .malformedAuthenticatorData, "authenticatorData")
      let data = try bytes(data, .malformedClientData, "clientDataJSON")
      let signature = try bytes(signature, .signatureInvalid, "signature")
      func verify(_ expected: PasskeyExpectation) throws(ProofError) -> PasskeyAssertion {
        try PasskeyAssertion.verify(
          authenticatorData: authenticatorData, clientData: data, signature: signature, of: credential, expected)
      }
      let assertion = try verify(expected)
      if let requirements {
        _ = try verify(try requirements.passkey(challenge: expected.challenge))
        try requirements.check(assertion)
      }
      return Evidence(level: nil, facts: assertion.facts)
    }
  }

  private func expectation(
    _ ceremony: ProofCase.Ceremony, _ test: ProofCase
  ) throws(CaseError) -> PasskeyExpectation {
    guard let challenge = ceremony.challenge.flatMap(Base64URL.decode) else {
      throw CaseError(member: "expected_challenge_b64u")
    }
    var expected = PasskeyExpectation(
      challenge: challenge, rpID: try need(test.rpID, "rp_id"), origins: try need(test.origins, "origin").values,
      requiresUserVerification: ceremony.requiresUserVerification ?? false,
      readsStatement: requirements?.demand != AttestationRequirements.Demand.none)
    expected.topOrigins = test.topOrigins?.values ?? []
    expected.takesUnnamedFrames = test.isCrossOrigin ?? false
    return expected
  }

  private func roots(_ text: String, _ member: String) throws(CaseError) -> [Certificate] {
    guard let roots = try? Certificate.readPEM(text) else { throw CaseError(member: member) }
    return roots
  }

  /// Decodes bytes that a phone sent: a defect in them is a defect of the proof.
  private func bytes(_ text: String?, _ reason: ProofError.Reason, _ name: String) throws(ProofError) -> [UInt8] {
    guard let bytes = text.flatMap(Base64URL.decode) else { throw ProofError(reason, "\(name) is not base64url") }
    return bytes
  }
}

// MARK: - Members

extension ProofJudge {
  private func need<Value>(_ value: Value?, _ name: String) throws(CaseError) -> Value {
    guard let value else { throw CaseError(member: name) }
    return value
  }

  private func base64(_ text: String?, _ name: String) throws(CaseError) -> [UInt8] {
    guard let data = text.flatMap({ Data(base64Encoded: $0) }) else { throw CaseError(member: name) }
    return Array(data)
  }
}
