import SimulatedPhone
import StoreConformance
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The steps of an attempt by the phone's key, one after the other. No service and no store are needed.
struct KeyAttemptTests {
  private static let noon = UnixTime(seconds: 1_800_000_000)
  private static let policy = EvaluationPolicy(
    name: "login", purpose: .login, factors: [.biometry, .passcode], tokenLifetime: .seconds(300))
  private static let key = SoftwareKey()

  /// Of an active binding, unless it is changed.
  private func subject(
    _ change: (inout BindingRecord) -> Void = { _ in }, evaluation: EvaluationStanding? = nil
  ) -> SharedRecord<Subject> {
    let key = HardwareKeyRecord(publicKey: Self.key.publicKeyX963, protection: .biometryCurrentSet)
    var binding = BindingRecord.sample("b", credential: .hardwareKeys([key]), version: 3)
    change(&binding)
    let profile = ProfileRecord(applicationID: binding.applicationID, profileID: binding.profileID, version: 1)
    let records = AttemptRecords(
      binding: binding, device: DeviceRecord(deviceID: binding.deviceID), profile: profile,
      evaluation: evaluation.map { EvaluationRecord(key: Self.evaluationKey, standing: $0) })
    return SharedRecord(Subject(ofBinding: records))
  }

  private static let evaluationKey = ExpiringKey(
    expiresAt: noon + .seconds(120), random: UniqueID(bytes: Array(repeating: 7, count: 16))!, in: Lineage(rawValue: 1))

  private let book = PolicyBook([Self.policy])

  private func attempt(_ proof: AttemptProof = .key(factor: .biometry, signature: signature)) -> KeyAttempt {
    let evaluation = SealedEvaluation(
      key: Self.evaluationKey, challenge: Array(repeating: 1, count: 32), policyName: "login",
      policyRevision: book["login"]!.revision, subject: .binding("b"), transaction: nil,
      prompt: Prompt(localizedReason: "Log in", titles: .init(fallback: nil, cancel: nil)))
    let issuing = TokenIssuing(
      id: UniqueID(bytes: Array(repeating: 9, count: 16))!, issuer: "touchstone", pepper: KeyRing.ephemeral().pepper,
      lineage: Lineage(rawValue: 1))
    var posture = DevicePosture.empty
    (posture.platform, posture.osVersion, posture.isPasscodeSet) = (.iOS, OSVersion(17), true)
    (posture.biometryType, posture.isBiometryAvailable, posture.isBiometryEnrolled) = (.touchID, true, true)
    posture.domainState = [1, 2, 3]
    return KeyAttempt(
      of: AttemptTerms(
        applicationID: Sample.application, caller: .local, entry: book["login"]!, evaluation: evaluation, proof: proof,
        posture: nil, read: posture, appAssertion: nil, issuing: issuing), EnrolmentPolicy())
  }

  private static let signature = KeySignature(p256: Array(repeating: 3, count: 64), mlDSA65: [])

  private enum Event {
    case read(SharedRecord<Subject>), verified(Bool), conflicted, committed
  }

  /// Plays events, and returns each step in words: "commit evaluation.succeeded".
  private func steps(
    of attempt: KeyAttempt, _ events: [Event], after delay: Duration = .zero, policies: PolicyBook? = nil
  ) -> [String] {
    var attempt = attempt
    let moment = Moment(now: Self.noon + delay, policies: policies ?? book)
    return [attempt.began().words]
      + events.map { event in
        switch event {
        case .read(let subject): attempt.read(subject, at: moment).words
        case .verified(let isValid): attempt.verified(isValid, at: moment).words
        case .conflicted: attempt.conflicted().words
        case .committed: attempt.committed().words
        }
      }
  }

  @Test func aRightSignatureSucceeds() {
    #expect(
      steps(of: attempt(), [.read(subject()), .verified(true), .committed])
        == ["read", "verify", "commit evaluation.succeeded", "answer succeeded"])
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
      steps(of: attempt(), [.read(subject()), .verified(true), .conflicted, .read(finished), .committed]) == [
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
}
