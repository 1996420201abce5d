import Encodings
import StoreConformance
import Testing
import TouchstoneAttestation
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The steps of an attempt by a passkey, one after the other (R46, R37).
struct PasskeyAttemptTests {
  private static let policy = EvaluationPolicy(
    name: "login", purpose: .login, factors: [.passkey], tokenLifetime: .seconds(300))
  private static let id: [UInt8] = [1, 2, 3]
  private let key = P256PublicKey.dummyBytes
  private let pepper = KeyRing.ephemeral().pepper

  private func attempt(
    _ subject: EvaluationSubject, count: UInt8 = 5, isUserVerified: Bool = true, hasUserHandle: Bool = true
  ) -> PasskeyAttempt {
    var assertion = OfferedAssertion(
      digest: PasskeyRecord.digest(ofCredentialID: Self.id),
      authenticatorData: sha256(Array("shop.example".utf8)) + [isUserVerified ? 0x05 : 0x01, 0, 0, 0, count],
      clientData: [], signature: Array(repeating: 5, count: 70),
      userHandle: hasUserHandle ? pepper.userHandle(of: "alice", in: Sample.application) : [])
    func terms() -> AttemptTerms {
      .sample(.passkey(assertion), under: Self.policy, of: subject, pepper: pepper)
    }
    let challenge = Base64URL.encode(PasskeyOptions.challenge(terms().signingInput))
    assertion.clientData = Array(
      #"{"type":"webauthn.get","challenge":"\#(challenge)","origin":"https://shop.example","crossOrigin":false}"#.utf8)
    let requirements = AttestationRequirements(
      passkeys: PasskeyRequirements(rpID: "shop.example", origins: ["https://shop.example"]))
    return PasskeyAttempt(assertion, of: terms(), requirements)
  }

  /// - Parameter count: the last sign count.
  private func records(
    of profile: String = "alice", id: [UInt8] = id, count: UInt32 = 4, algorithm: Int32 = -7, isRevoked: Bool = false
  ) -> AttemptRecords {
    var passkey = PasskeyRecord.sample(1)
    (passkey.digest, passkey.publicKey) = (PasskeyRecord.digest(ofCredentialID: id), key)
    passkey.algorithm = algorithm
    var binding = BindingRecord.sample(
      "b", profile: profile, credential: .passkey(passkey), isRevoked: isRevoked, version: 3)
    (binding.proofCounter, binding.platformFamily, binding.baseline) = (count, nil, nil)
    return AttemptRecords(
      binding: binding, device: .placeholder,
      profile: ProfileRecord(applicationID: Sample.application, profileID: profile, version: 1), evaluation: nil)
  }

  private var nobody: AttemptRecords {
    AttemptRecords(
      binding: nil, device: .placeholder, profile: .placeholder(in: Sample.application), evaluation: nil)
  }

  private func bound(_ records: AttemptRecords) -> SharedRecord<Subject> { SharedRecord(Subject(ofBinding: records)) }

  private func steps(_ attempt: PasskeyAttempt, _ events: [AttemptEvent]) -> [String] {
    attempt.steps(events, at: Moment(now: AttemptTerms.sampleNow, policies: PolicyBook([Self.policy])))
  }

  @Test func aBearersPasskeyNamesThePerson() {
    #expect(
      steps(attempt(.bearer), [.found(records()), .verified(true), .committed])
        == ["find", "verify", "commit evaluation.succeeded", "answer succeeded"])
    // Without a user handle, the passkey does not.
    #expect(
      steps(attempt(.bearer, hasUserHandle: false), [.found(records()), .verified(true), .committed])
        == ["find", "verify", "refuse evaluation.failed", "answer tryAgain"])
  }

  @Test func aNamedBindingsPasskeyIsAtHand() {
    #expect(
      steps(attempt(.binding("b"), hasUserHandle: false), [.read(bound(records())), .verified(true), .committed])
        == ["read", "verify", "commit evaluation.succeeded", "answer succeeded"])
  }

  /// Found by seed 602 of the simulation: the profile and its passkey are made between the two reads.
  @Test func aProfileThatIsMadeMeanwhileIsKnown() {
    let unknown = AttemptRecords(
      binding: nil, device: .placeholder, profile: ProfileRecord(applicationID: Sample.application, profileID: "alice"),
      evaluation: nil)
    let subject = SharedRecord(Subject(ofProfile: unknown, UnknownNames(pepper: pepper)))
    #expect(
      steps(attempt(.profile("alice")), [.read(subject), .found(records()), .verified(true), .committed])
        == ["read", "find", "verify", "commit evaluation.succeeded", "answer succeeded"])
  }

  /// An unknown credential, another person's, and a named one's other credential take as many steps as a wrong
  /// signature.
  @Test func eachFaultTakesTheSameSteps() {
    let refused = ["find", "verify", "refuse evaluation.failed", "answer tryAgain"]
    #expect(steps(attempt(.bearer), [.found(records()), .verified(false), .committed]) == refused)
    for isValid in [true, false] {
      #expect(steps(attempt(.bearer), [.found(nobody), .verified(isValid), .committed]) == refused)
      #expect(steps(attempt(.bearer), [.found(records(of: "bob")), .verified(isValid), .committed]) == refused)
      #expect(
        steps(attempt(.binding("b")), [.read(bound(records(id: [9]))), .verified(isValid), .committed])
          == ["read"] + refused.dropFirst())
    }
  }

  @Test func afterAConflictNothingIsVerifiedAgain() {
    let attempt = attempt(.bearer)
    #expect(
      steps(attempt, [.found(records()), .verified(true), .conflicted, .found(records()), .committed])
        == ["find", "verify", "commit evaluation.succeeded", "find", "commit evaluation.succeeded", "answer succeeded"])
    #expect(
      steps(attempt, [.found(nobody), .verified(true), .conflicted, .found(nobody), .committed])
        == ["find", "verify", "refuse evaluation.failed", "find", "refuse evaluation.failed", "answer tryAgain"])
  }

  /// A verdict holds for the passkey that it was made about.
  @Test func aPasskeyThatAppearsOrGoesMeanwhileIsVerifiedAnew() {
    let attempt = attempt(.bearer)
    #expect(
      steps(attempt, [.found(nobody), .verified(true), .conflicted, .found(records()), .verified(false), .committed])
        == [
          "find", "verify", "refuse evaluation.failed", "find", "verify", "refuse evaluation.failed", "answer tryAgain",
        ]
    )
    #expect(
      steps(attempt, [.found(records()), .verified(true), .conflicted, .found(nobody), .verified(true), .committed])
        == [
          "find", "verify", "commit evaluation.succeeded", "find", "verify", "refuse evaluation.failed",
          "answer tryAgain",
        ])
  }

  /// Another replica took an assertion with the same sign count.
  @Test func aSignCountThatGrewMeanwhileRefusesTheAssertion() {
    #expect(
      steps(attempt(.bearer), [.found(records()), .verified(true), .conflicted, .found(records(count: 5)), .committed])
        == ["find", "verify", "commit evaluation.succeeded", "find", "refuse evaluation.failed", "answer tryAgain"])
  }

  @Test func aRevokedBindingIsToldSoAndNothingIsVerified() {
    let revoked = bound(records(isRevoked: true))
    #expect(
      steps(attempt(.binding("b")), [.read(revoked), .committed]) == [
        "read", "refuse evaluation.failed", "answer failed",
      ])
    #expect(
      steps(
        attempt(.binding("b")), [.read(bound(records())), .verified(true), .conflicted, .read(revoked), .committed])
        == ["read", "verify", "commit evaluation.succeeded", "read", "refuse evaluation.failed", "answer failed"])
  }

  /// These checks rest on the request alone, and come before any passkey's.
  @Test func whatNeedsNoPasskeyIsJudgedFirst() {
    for found in [nobody, records()] {
      #expect(
        steps(attempt(.bearer, isUserVerified: false), [.found(found), .committed])
          == ["find", "refuse evaluation.failed", "answer tryAgain"])
    }
  }

  /// An ES384 signature costs more than the other calls of a pass of the event loop may wait for.
  @Test func anotherAlgorithmIsVerifiedApart() {
    var attempt = attempt(.bearer)
    _ = attempt.began()
    let moment = Moment(now: AttemptTerms.sampleNow, policies: PolicyBook([Self.policy]))
    let step = attempt.found(records(algorithm: -35), at: moment)
    if case .verifyApart = step {} else { Issue.record("\(step)") }
  }
}
