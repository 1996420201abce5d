// An attempt by a passkey: find it, verify its assertion (WebAuthn Level 3 §7.2), decide (R46, R47). Pure.
//
// The parts that depend on no credential are judged first. If there is no credential, a dummy key is verified in its
// place: known and unknown credential ids get the same answers after the same work (R37).

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

struct PasskeyAttempt: AttemptMachine {
  typealias Answer = AttemptAnswer
  typealias Step = CallStep<AttemptAnswer>

  var nameCount: NameCount? { nil }

  let terms: AttemptTerms
  private let assertion: OfferedAssertion
  private let requirements: AttestationRequirements
  /// The result of the checks that need no credential.
  private let claim: Result<PasskeyClaim, ProofError>
  /// As they were read last.
  private var subject: SharedRecord<Subject>?
  private var passkey = Lookup.unknown
  private var verdict: Verdict?
  var ending: AttemptEnding?

  /// The verdict on a signature. A passkey's key never changes, so it stays true after a conflict.
  private struct Verdict: Sendable {
    /// `nil`: there was no such passkey.
    var bindingID: String?
    var isValid: Bool
  }

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

  init(_ assertion: OfferedAssertion, of terms: AttemptTerms, _ requirements: AttestationRequirements) {
    (self.terms, self.assertion, self.requirements) = (terms, assertion, requirements)
    claim = Result { () throws(ProofError) in
      var expected = try requirements.passkey(challenge: PasskeyOptions.challenge(terms.signingInput))
      expected.requiresUserVerification = requirements.passkeys?.requiresUserVerification(for: terms.policy) ?? true
      return try PasskeyClaim(
        authenticatorData: assertion.authenticatorData, clientData: assertion.clientData, expected)
    }
  }

  // MARK: Read

  /// A bearer is named by the passkey alone.
  mutating func began() -> Step {
    if case .bearer = terms.evaluation.subject { find(evaluation: terms.evaluation.key) } else { .read(terms.query) }
  }

  private func find(evaluation: ExpiringKey?) -> Step {
    .find(
      SubjectQuery(
        named: .bearer, digest: assertion.digest, applicationID: terms.applicationID, evaluation: evaluation))
  }

  mutating func read(_ subject: SharedRecord<Subject>, at moment: Moment) -> Step {
    self.subject = subject
    guard case .binding = terms.evaluation.subject else { return find(evaluation: nil) }
    passkey =
      FoundPasskey(subject.value.binding).map { $0.passkey.digest == assertion.digest ? .found($0) : .ofAnother }
      ?? .unknown
    return judge(subject, at: moment)
  }

  mutating func found(_ records: AttemptRecords, at moment: Moment) -> Step {
    let found = FoundPasskey(records.binding)
    guard case .profile(let profileID) = terms.evaluation.subject, var subject else {
      passkey = found.map { .found($0) } ?? .unknown
      return judge(SharedRecord(Subject(ofPasskeyBearer: records)), at: moment)
    }
    if let found, Identifier.areEqual(found.binding.profileID, profileID) {
      passkey = .found(found)
      subject = SharedRecord(subject.value.speaking(by: records))
    } else {
      passkey = found == nil ? .unknown : .ofAnother
    }
    return judge(subject, at: moment)
  }

  // MARK: Verify

  private mutating func judge(_ subject: SharedRecord<Subject>, at moment: Moment) -> Step {
    self.subject = subject
    guard !subject.value.isInactiveBinding, subject.value.evaluation?.standing.isFinished != true else {
      return conclude(.passkey(refusal: .unknown), on: subject, at: moment)
    }
    switch claim {
    case .failure(let error):
      return conclude(.passkey(refusal: .proof(reason: error.reason.rawValue)), on: subject, at: moment)
    case .success(let claim):
      if let verdict, verdict.bindingID == passkey.found?.binding.bindingID {
        return conclude(.passkey(refusal: refusal(of: claim, verdict)), on: subject, at: moment)
      }
      return verify(claim)
    }
  }

  mutating func verified(_ isValid: Bool, at moment: Moment) -> Step {
    guard let subject, case .success(let claim) = claim else {
      preconditionFailure("only a claim that holds is verified, for a subject that was read")
    }
    let verdict = Verdict(bindingID: passkey.found?.binding.bindingID, isValid: isValid && isTakenSignature)
    self.verdict = verdict
    return conclude(.passkey(refusal: refusal(of: claim, verdict)), on: subject, at: moment)
  }

  private static let es256: Int32 = -7

  /// Verifying an ES384 signature costs six times as much as verifying an ES256 signature.
  private func verify(_ claim: PasskeyClaim) -> Step {
    if let passkey = passkey.found?.passkey, passkey.algorithm != Self.es256 {
      return .verifyApart(.passkey(claim, publicKey: passkey.publicKey, signature: assertion.signature))
    }
    return .verifying { () throws(CryptoError) in
      SignatureCheck(
        publicKey: try P256PublicKey(bytes: passkey.found?.passkey.publicKey ?? P256PublicKey.dummyBytes),
        signature: assertion.signature, message: claim.message)
    }
  }

  /// WebAuthn's ES256 is in DER (§6.5.5), though keys of apps may sign otherwise (R33).
  private var isTakenSignature: Bool {
    guard let passkey = passkey.found?.passkey else { return false }
    return passkey.algorithm != Self.es256 || !SignatureCheck.isRaw(assertion.signature)
  }

  /// Returns the reason to refuse the assertion; `nil`: there is none.
  private func refusal(of claim: PasskeyClaim, _ verdict: Verdict) -> PasskeyRefusal? {
    let found: FoundPasskey
    switch passkey {
    case .found(let passkey): found = passkey
    case .ofAnother: return .ofAnotherSubject
    case .unknown: return .unknown
    }
    guard verdict.isValid else { return .proof(reason: ProofError.Reason.signatureInvalid.rawValue) }
    guard hasUserHandle(of: found.binding) else { return .userHandleDiffers }
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
    guard !assertion.userHandle.isEmpty else { return terms.evaluation.subject != .bearer }
    return terms.issuing.pepper.userHandles(of: binding.profileID, in: binding.applicationID)
      .contains(assertion.userHandle)
  }
}

extension OfferedAssertion {
  /// How the sign count grew, from what it was when it was judged; `nil`: the authenticator does not count.
  func counterChange(_ binding: BindingRecord) -> Change? {
    guard let count = AuthenticatorData.signCount(in: authenticatorData), count > binding.proofCounter else {
      return nil
    }
    return .raiseProofCounter(bindingID: binding.bindingID, from: binding.proofCounter, to: count)
  }

  /// Whether the sign count is not greater than the last one, though the authenticator counts. A setting lets such a
  /// login succeed; this says so in its event.
  func hasCountBack(_ binding: BindingRecord) -> Bool {
    guard let count = AuthenticatorData.signCount(in: authenticatorData) else { return false }
    return count <= binding.proofCounter && binding.proofCounter > 0
  }

  /// The passkey with another state of backup; `nil`: it is as it was.
  func newBackup(_ binding: BindingRecord) -> PasskeyRecord? {
    let isBackedUp = AuthenticatorData.flags(in: authenticatorData).contains(.backedUp)
    guard var passkey = binding.passkey, passkey.isBackedUp != isBackedUp else { return nil }
    passkey.isBackedUp = isBackedUp
    return passkey
  }
}

extension P256PublicKey {
  /// P-256's generator (SEC 2, section 2.4.2), as a key is stored: a valid point, so that importing it and a check
  /// against it take as long as any other. The check's result is never used.
  static let dummyBytes: [UInt8] = {
    let x: [UInt8] = [
      0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2,
      0x77, 0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
    ]
    let y: [UInt8] = [
      0x4F, 0xE3, 0x42, 0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16,
      0x2B, 0xCE, 0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
    ]
    return [0x04] + x + y
  }()
}
