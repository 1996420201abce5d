// One attempt by a passkey: find it, verify its assertion (WebAuthn Level 3 §7.2), decide (R46, R47).
//
// The parts that depend on no credential are judged first. If there is no credential, a dummy key is verified in its place:
// known and unknown credential ids get the same answers after the same work (R37).

internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// An assertion, as the client sent it.
struct OfferedAssertion: Sendable {
  /// The digest of the credential's id.
  var digest: [UInt8]
  var authenticatorData: [UInt8]
  var clientData: [UInt8]
  var signature: [UInt8]
  /// Empty: absent.
  var userHandle: [UInt8]
}

extension OfferedAssertion {
  var isUserVerified: Bool { AuthenticatorData.flags(in: authenticatorData).contains(.userVerified) }
}

extension RequestValidator {
  /// WebAuthn Level 3 §4.
  private static let credentialIDBytes = 1...1_023
  /// Some 37 bytes, and extensions.
  private static let authenticatorDataBytes = 37...4_096
  /// RSA of 8,192 bits has 1,024.
  private static let assertionSignatureBytes = 8...1_024
  /// WebAuthn Level 3 §5.4.3.
  private static let userHandleBytes = 0...64

  mutating func assertion(_ proof: V1.PasskeyProof, _ field: String) -> OfferedAssertion {
    opaque(proof.credentialID, "\(field).credential_id", count: Self.credentialIDBytes)
    opaque(proof.authenticatorData, "\(field).authenticator_data", count: Self.authenticatorDataBytes)
    opaque(proof.clientDataJSON, "\(field).client_data_json", count: Self.clientDataBytes)
    opaque(proof.signature, "\(field).signature", count: Self.assertionSignatureBytes)
    opaque(proof.userHandle, "\(field).user_handle", count: Self.userHandleBytes)
    return OfferedAssertion(
      digest: PasskeyRecord.digest(ofCredentialID: proof.credentialID), authenticatorData: proof.authenticatorData,
      clientData: proof.clientDataJSON, signature: proof.signature, userHandle: proof.userHandle)
  }
}

/// One attempt in progress. Every step runs on the call's event loop.
struct PasskeyAttempt: Sendable {
  private let flow: AttemptFlow
  private let assertion: OfferedAssertion
  /// The result of the checks that need no credential.
  private let claim: Result<PasskeyClaim, ProofError>

  /// A signature that was verified in an earlier round. A passkey's key never changes, so the verdict stays true.
  private struct Verdict: Sendable {
    /// `nil`: there was no such passkey.
    var bindingID: String?
    var isValid: Bool
  }

  init(_ assertion: OfferedAssertion, in flow: AttemptFlow) {
    self.flow = flow
    self.assertion = assertion
    claim = Result { () throws(ProofError) in
      let signingInput = flow.evaluation.signingInput(applicationID: flow.applicationID, policy: flow.policy)
      let requirements = flow.service.keyProofs.requirements(of: flow.applicationID)
      var expected = try requirements.passkey(challenge: PasskeyOptions.challenge(signingInput))
      expected.requiresUserVerification = requirements.passkeys?.requiresUserVerification(for: flow.policy) ?? true
      return try PasskeyClaim(
        authenticatorData: assertion.authenticatorData, clientData: assertion.clientData, expected)
    }
  }

  func start() {
    flow.exchange.deciding { round in decide(nil, in: round) }
  }

  private func decide(_ verdict: Verdict?, in round: DecisionRound) {
    read { subject, lookup throws(RequestError) in
      guard !subject.isInactiveBinding, subject.evaluation?.standing.isFinished != true else {
        return conclude(subject, .unknown, verdict, in: round)
      }
      switch claim {
      case .failure(let error): conclude(subject, .proof(reason: error.reason.rawValue), verdict, in: round)
      case .success(let claim):
        let bindingID = lookup.found?.binding.bindingID
        if let verdict, verdict.bindingID == bindingID {
          return conclude(subject, refusal(of: claim, by: lookup, verdict), verdict, in: round)
        }
        try verify(claim, by: lookup.found) { isValid in
          let verdict = Verdict(bindingID: bindingID, isValid: isValid)
          conclude(subject, refusal(of: claim, by: lookup, verdict), verdict, in: round)
        }
      }
    }
  }

  private func conclude(
    _ subject: Subject, _ refusal: PasskeyRefusal?, _ verdict: Verdict?, in round: DecisionRound
  ) {
    flow.conclude(
      subject, .passkey(refusal: refusal), in: round.retrying { round in decide(verdict, in: round) })
  }

  // MARK: Read

  private struct FoundPasskey: Sendable {
    var binding: BindingRecord
    var passkey: PasskeyRecord

    init?(_ binding: BindingRecord?) {
      guard let binding, let passkey = binding.passkey else { return nil }
      (self.binding, self.passkey) = (binding, passkey)
    }
  }

  private enum Lookup: Sendable {
    /// One that may speak for the evaluation's subject.
    case found(FoundPasskey)
    /// There is one, and it is of another profile, or not the named one.
    case ofAnother
    case unknown

    var found: FoundPasskey? {
      if case .found(let found) = self { found } else { nil }
    }
  }

  private func read(then body: @escaping @Sendable (Subject, Lookup) throws(RequestError) -> Void) {
    switch flow.evaluation.subject {
    case .binding:
      flow.read { subject throws(RequestError) in
        guard let found = FoundPasskey(subject.binding) else { return try body(subject, .unknown) }
        try body(subject, found.passkey.digest == assertion.digest ? .found(found) : .ofAnother)
      }
    case .profile(let profileID):
      flow.read { subject in
        records(evaluation: nil) { records throws(RequestError) in
          guard let found = FoundPasskey(records.binding) else { return try body(subject, .unknown) }
          guard Identifier.areEqual(found.binding.profileID, profileID) else { return try body(subject, .ofAnother) }
          try body(subject.speaking(by: records), .found(found))
        }
      }
    case .bearer:
      records(evaluation: flow.evaluation.key) { records throws(RequestError) in
        try body(Subject(ofPasskeyBearer: records), FoundPasskey(records.binding).map { .found($0) } ?? .unknown)
      }
    }
  }

  /// Reads the records of the active binding that has the credential.
  private func records(
    evaluation: ExpiringKey?, then body: @escaping @Sendable (AttemptRecords) throws(RequestError) -> Void
  ) {
    flow.service.store.attemptRecords(
      for: .profileTouchID(applicationID: flow.applicationID, digest: assertion.digest),
      vendor: flow.service.vendor(of: flow.applicationID), evaluation: evaluation,
      completion: flow.exchange.then(body))
  }

  // MARK: Verify

  private static let es256: Int32 = -7

  private func verify(
    _ claim: PasskeyClaim, by found: FoundPasskey?, then body: @escaping @Sendable (Bool) -> Void
  ) throws(RequestError) {
    guard let passkey = found?.passkey, passkey.algorithm != Self.es256 else {
      let check = SignatureCheck(
        publicKey: try flow.imported(found?.passkey.publicKey ?? P256PublicKey.dummyBytes, P256PublicKey.init),
        signature: assertion.signature, message: claim.message)
      // WebAuthn's ES256 is in DER (§6.5.5), though keys of apps may sign otherwise (R33).
      return flow.exchange.verify(check) { isValid in body(isValid && found != nil && !check.isRaw) }
    }
    // Verifying an ES384 signature costs six times as much as verifying an ES256 signature.
    let part = flow.exchange.begin(.verify)
    flow.exchange.context.verifications.run(
      { [signature = assertion.signature] in
        do throws(ProofError) {
          try claim.verify(signature, by: try COSEKey(passkey.publicKey, as: .wellFormed))
          return true
        } catch {
          return false
        }
      }, on: flow.exchange.call.loop
    ) { isValid in
      part?.end()
      body(isValid)
    }
  }

  /// Returns the reason to refuse the assertion; `nil`: there is none.
  private func refusal(of claim: PasskeyClaim, by lookup: Lookup, _ verdict: Verdict) -> PasskeyRefusal? {
    let found: FoundPasskey
    switch lookup {
    case .found(let passkey): found = passkey
    case .ofAnother: return .ofAnotherSubject
    case .unknown: return .unknown
    }
    guard verdict.isValid else { return .proof(reason: ProofError.Reason.signatureInvalid.rawValue) }
    guard hasUserHandle(of: found.binding) else { return .userHandleDiffers }
    let requirements = flow.service.keyProofs.requirements(of: flow.applicationID)
    do throws(ProofError) {
      try claim.checkBackup(isEligible: found.passkey.isBackupEligible)
      if !requirements.reportsSignCount(isBackupEligible: found.passkey.isBackupEligible) {
        try claim.checkGrowth(from: found.binding.proofCounter)
      }
      try requirements.check(claim.assertion)
    } catch {
      return .proof(reason: error.reason.rawValue)
    }
    return nil
  }

  /// It may be absent only where the evaluation names the person already (§7.2 step 6).
  private func hasUserHandle(of binding: BindingRecord) -> Bool {
    guard !assertion.userHandle.isEmpty else { return flow.evaluation.subject != .bearer }
    return flow.service.pepper.userHandles(of: binding.profileID, in: binding.applicationID)
      .contains(assertion.userHandle)
  }
}

extension PasskeyAttempt {
  /// That the sign count grew, from what it was when it was judged; `nil`: the authenticator does not count.
  static func counterChange(_ assertion: OfferedAssertion, _ binding: BindingRecord) -> Change? {
    guard let count = AuthenticatorData.signCount(in: assertion.authenticatorData), count > binding.proofCounter else {
      return nil
    }
    return .raiseProofCounter(bindingID: binding.bindingID, from: binding.proofCounter, to: count)
  }

  /// Whether the sign count is not greater than the last one, though the authenticator counts. A setting lets such a login
  /// succeed; this says so in its event.
  static func hasCountBack(_ assertion: OfferedAssertion, _ binding: BindingRecord) -> Bool {
    guard let count = AuthenticatorData.signCount(in: assertion.authenticatorData) else { return false }
    return count <= binding.proofCounter && binding.proofCounter > 0
  }

  /// The passkey with another state of backup; `nil`: it is as it was.
  static func newBackup(_ assertion: OfferedAssertion, _ binding: BindingRecord) -> PasskeyRecord? {
    let isBackedUp = AuthenticatorData.flags(in: assertion.authenticatorData).contains(.backedUp)
    guard var passkey = binding.passkey, passkey.isBackedUp != isBackedUp else { return nil }
    passkey.isBackedUp = isBackedUp
    return passkey
  }
}
