import SimulatedPhone
import StoreConformance
import Testing
import TouchstoneAttestation
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The steps of an attempt by the phone's key, one after the other. No service and no store are needed.
struct KeyAttemptTests {
  private static let policy = EvaluationPolicy(
    name: "login", purpose: .login, factors: [.biometry, .passcode], tokenLifetime: .seconds(300))
  private static let key = SoftwareKey()

  /// What is read of an active binding, unless it is changed.
  private func subject(
    _ change: (inout BindingRecord) -> Void = { _ in }, evaluation: EvaluationStanding? = nil
  ) -> SharedRecord<Subject> {
    let key = HardwareKeyRecord(publicKey: Self.key.publicKeyX963, protection: .biometryCurrentSet)
    var binding = BindingRecord.sample("b", credential: .hardwareKeys([key]), version: 3)
    change(&binding)
    let profile = ProfileRecord(applicationID: binding.applicationID, profileID: binding.profileID, version: 1)
    let records = AttemptRecords(
      binding: binding, device: DeviceRecord(deviceID: binding.deviceID), profile: profile,
      evaluation: evaluation.map { EvaluationRecord(key: AttemptTerms.sampleKey, standing: $0) })
    return SharedRecord(Subject(ofBinding: records))
  }

  private func attempt(
    _ proof: AttemptProof = .key(factor: .biometry, signature: signature), under policy: EvaluationPolicy = policy,
    asserting appAssertion: OfferedAppAssertion? = nil
  ) -> KeyAttempt {
    KeyAttempt(
      of: .sample(proof, under: policy, of: .binding("b"), asserting: appAssertion), EnrolmentPolicy())
  }

  private static let signature = KeySignature(bytes: Array(repeating: 3, count: 64), mlDSA65: [])

  private func steps(
    of attempt: KeyAttempt, _ events: [AttemptEvent], after delay: Duration = .zero, policies: PolicyBook? = nil
  ) -> [String] {
    let policies = policies ?? PolicyBook([attempt.terms.policy])
    return attempt.steps(events, at: Moment(now: AttemptTerms.sampleNow + delay, policies: policies))
  }

  @Test func aRightSignatureSucceeds() {
    #expect(
      steps(of: attempt(), [.read(subject()), .verified(true), .committed])
        == ["read", "verify", "commit evaluation.succeeded", "answer succeeded"])
  }

  /// The kind of the stored key decides, and the form that the proof names (R31, R33).
  @Test func anRSAKeyIsVerifiedApart() throws {
    let rsa = subject {
      $0.credential = .hardwareKeys([HardwareKeyRecord(.rsa, publicKey: [1], protection: .biometryCurrentSet)])
    }
    for form in SignatureForm.allCases {
      let proof = AttemptProof.key(
        factor: .biometry, signature: KeySignature(bytes: [2], mlDSA65: [], form: form))
      var attempt = attempt(proof)
      let moment = Moment(now: AttemptTerms.sampleNow, policies: PolicyBook([Self.policy]))
      guard case .verifyApart(.rsa(let key, let signature, let message)) = attempt.read(rsa, at: moment) else {
        Issue.record("an RSA key is verified apart")
        continue
      }
      #expect((key, signature) == ([1], [2]))
      #expect(message == form.message(of: attempt.terms.signingInput))
    }
  }

  @Test func aWrongSignatureCounts() {
    #expect(
      steps(of: attempt(), [.read(subject()), .verified(false), .committed])
        == ["read", "verify", "refuse evaluation.failed", "answer tryAgain"])
  }

  /// A binding's keys never change, so the verdict stays true.
  @Test(arguments: [true, false]) func afterAConflictNothingIsVerifiedAgain(_ isValid: Bool) {
    let commit = isValid ? "commit evaluation.succeeded" : "refuse evaluation.failed"
    #expect(
      steps(of: attempt(), [.read(subject()), .verified(isValid), .conflicted, .read(subject()), .conflicted])
        == ["read", "verify", commit, "read", commit, "read"])
  }

  @Test func aRevocationMeanwhileEndsTheAttempt() {
    #expect(
      steps(
        of: attempt(),
        [.read(subject()), .verified(true), .conflicted, .read(subject { $0.isRevoked = true }), .committed])
        == ["read", "verify", "commit evaluation.succeeded", "read", "refuse evaluation.failed", "answer failed"])
  }

  @Test func aConflictWithAFinishedEvaluationIsInvalid() {
    let finished = subject(evaluation: EvaluationStanding(isFinished: true))
    #expect(
      steps(of: attempt(), [.read(subject()), .verified(true), .conflicted, .read(finished), .committed])
        == [
          "read", "verify", "commit evaluation.succeeded", "read", "refuse evaluation.refused", "answer invalidContext",
        ])
  }

  @Test func whatCannotCountIsNotVerified() {
    let finished = subject(evaluation: EvaluationStanding(isFinished: true))
    let otherKey = subject { $0.credential = .profileTouchID(digest: [1]) }
    #expect(
      steps(of: attempt(), [.read(subject { $0.isRevoked = true }), .committed])
        == ["read", "refuse evaluation.failed", "answer failed"])
    #expect(
      steps(of: attempt(), [.read(finished), .committed])
        == ["read", "refuse evaluation.refused", "answer invalidContext"])
    #expect(
      steps(of: attempt(), [.read(otherKey), .committed]) == ["read", "refuse evaluation.failed", "answer tryAgain"])
  }

  @Test func anEvaluationThatExpiresMeanwhileIsInvalid() {
    #expect(
      steps(of: attempt(), [.read(subject()), .verified(true), .committed], after: .seconds(121))
        == ["read", "verify", "refuse evaluation.refused", "answer expired"])
  }

  @Test func aPolicyThatChangesMeanwhileVoidsTheEvaluation() {
    var changed = Self.policy
    changed.failuresBeforeLockout = 4
    #expect(
      steps(
        of: attempt(), [.read(subject()), .verified(true), .committed],
        policies: PolicyBook([changed]))
        == ["read", "verify", "refuse evaluation.refused", "answer policyChanged"])
  }

  @Test func aReportIsDecidedAtOnce() {
    #expect(
      steps(of: attempt(.report(.userCancel)), [.read(subject()), .conflicted, .read(subject()), .committed])
        == ["read", "refuse evaluation.canceled", "read", "refuse evaluation.canceled", "answer canceled"])
  }

  @Test func aDamagedKeyFailsTheCall() {
    let damaged = subject {
      $0.credential = .hardwareKeys([HardwareKeyRecord(publicKey: [4], protection: .biometryCurrentSet)])
    }
    #expect(steps(of: attempt(), [.read(damaged)]) == ["read", "fail"])
  }

  // MARK: The app's assertion (R43)

  private static let app = "TEAMID.example"

  /// - Parameter signatureBytes: 64: r ‖ s instead of DER.
  private func assertion(counter: UInt8, of app: String = app, signatureBytes: UInt8 = 70) -> OfferedAppAssertion {
    let data = sha256(Array(app.utf8)) + [0x40, 0, 0, 0, counter]
    // A CBOR map of two byte strings.
    let bytes =
      [0xA2, 0x69] + Array("signature".utf8) + [0x58, signatureBytes] + Array(repeating: 5, count: Int(signatureBytes))
      + [0x71] + Array("authenticatorData".utf8) + [0x58, UInt8(data.count)] + data
    return OfferedAppAssertion(
      assertion: try! AppAssertion(bytes), posture: PostureTerms(V1.DevicePosture?.none),
      requirements: AttestationRequirements(appIDs: [Self.app]))
  }

  private func vouched(counter: UInt32, isRevoked: Bool = false) -> SharedRecord<Subject> {
    subject {
      $0.appAttest = AppAttestRecord(
        keyID: [1], publicKey: Self.key.publicKeyX963, appID: Self.app, environment: "production")
      ($0.proofCounter, $0.isRevoked) = (counter, isRevoked)
    }
  }

  @Test func theAssertionIsVerifiedBeforeTheSignature() {
    let attempt = attempt(asserting: assertion(counter: 5))
    #expect(
      steps(of: attempt, [.read(vouched(counter: 4)), .verified(true), .verified(true), .committed])
        == ["read", "verify", "verify", "commit evaluation.succeeded", "answer succeeded"])
    #expect(
      steps(of: attempt, [.read(vouched(counter: 4)), .verified(true), .verified(false), .committed])
        == ["read", "verify", "verify", "refuse evaluation.failed", "answer tryAgain"])
    #expect(
      steps(of: attempt, [.read(vouched(counter: 4)), .verified(false), .committed])
        == ["read", "verify", "refuse evaluation.refused", "refuse APP_ASSERTION_NOT_ACCEPTED"])
  }

  /// Each answer is the same, and none counts.
  @Test func anAssertionThatIsNotTheNextOfTheAppIsRefused() {
    let refused = ["read", "verify", "refuse evaluation.refused", "refuse APP_ASSERTION_NOT_ACCEPTED"]
    for other in [
      assertion(counter: 4), assertion(counter: 5, of: "TEAMID.other"), assertion(counter: 5, signatureBytes: 64),
    ] {
      let events: [AttemptEvent] = [.read(vouched(counter: 4)), .verified(true), .committed]
      #expect(steps(of: attempt(asserting: other), events) == refused)
    }
    #expect(
      steps(of: attempt(asserting: assertion(counter: 5)), [.read(subject()), .committed])
        == ["read", "refuse evaluation.refused", "refuse APP_ASSERTION_NOT_ACCEPTED"])
  }

  /// A conflict repeats no verification, and compares the counter again.
  @Test func anotherAssertionThatWasTakenMeanwhileRefusesASuccess() {
    let attempt = attempt(asserting: assertion(counter: 5))
    let verified: [AttemptEvent] = [.read(vouched(counter: 4)), .verified(true), .verified(true), .conflicted]
    let begin = ["read", "verify", "verify", "commit evaluation.succeeded", "read"]
    #expect(
      steps(of: attempt, verified + [.read(vouched(counter: 5)), .committed])
        == begin + ["refuse evaluation.refused", "refuse APP_ASSERTION_NOT_ACCEPTED"])
    #expect(
      steps(of: attempt, verified + [.read(vouched(counter: 4)), .committed])
        == begin + ["commit evaluation.succeeded", "answer succeeded"])
    #expect(
      steps(of: attempt, verified + [.read(vouched(counter: 4, isRevoked: true)), .committed])
        == begin + ["refuse evaluation.failed", "answer failed"])
  }

  @Test func aPolicyThatRequiresAnAssertionRefusesAKeyWithoutOne() {
    var policy = Self.policy
    policy.requiresAppAssertion = true
    #expect(
      steps(of: attempt(under: policy), [.read(subject()), .conflicted, .read(subject()), .committed])
        == ["read", "refuse evaluation.refused", "read", "refuse evaluation.refused", "refuse APP_ASSERTION_REQUIRED"])
    // A revoked binding is told first that it is revoked (R37).
    #expect(
      steps(of: attempt(under: policy), [.read(vouched(counter: 4, isRevoked: true)), .committed])
        == ["read", "refuse evaluation.failed", "answer failed"])
  }
}
