import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Logins by passcode and gesture, from end to end: what a right one yields, what wrong ones cost, and for how long.
struct SecretAttemptTests {
  private static let passcode = "2468"

  /// Alice, with a bound phone, a passcode and a gesture.
  private func start(
    _ configure: (inout ServiceConfiguration) -> Void = { _ in }
  ) async throws -> (service: TestService, phone: TestPhone) {
    let service = try await TestService.start(configure)
    let phone = try await service.bind()
    _ = try await service.set(.passcode(Self.passcode))
    _ = try await service.set(.gesture(0, 1, 2, 5))
    return (service, phone)
  }

  // MARK: Right

  // R12, R40
  @Test(arguments: [Attempt.typed(passcode), .drawn(0, 1, 2, 5)])
  func aRightSecretOnABoundPhoneYieldsATokenOfItsBinding(_ attempt: Attempt) async throws {
    let (service, phone) = try await start()
    let opened = try await service.begin(phone)
    #expect(opened.factors == [.biometry, .gesture, .passcode])
    let answer = try await service.submit(phone, opened, attempt)
    #expect(answer.outcome == .succeeded)
    #expect(answer.profileID == "alice")
    #expect(answer.message == nil)
    let claims = try #require(try await service.introspect(answer.token).claims)
    #expect(claims.methods == ["pin"])
    #expect(claims.bindingID == phone.bindingID)
    #expect(service.events.last?.kind == "evaluation.succeeded")
    #expect(service.events.last?.bindingID == phone.bindingID)
  }

  // R40
  @Test func withoutAPhoneTheTokenNamesNoBinding() async throws {
    let (service, _) = try await start()
    let opened = try await service.begin(profileID: "alice")
    #expect(opened.factors == [.gesture, .passcode])
    let token = try await service.submit(opened, .typed(Self.passcode)).token
    let claims = try #require(try await service.introspect(token).claims)
    #expect(claims.profileID == "alice")
    #expect(claims.bindingID.isEmpty)
    #expect(claims.methods == ["pin"])
    #expect(service.events.last?.profileID == "alice")
    try await service.revoke(token: token)
    #expect(try await !service.introspect(token).active)
  }

  // R16
  @Test func aVerifierOfAnEarlierVersionTakesTheTextAsItWasSentAndIsMadeAnew() async throws {
    let (service, _) = try await start()
    let (composed, decomposed) = ("\u{DC}ber 27", "U\u{308}ber 27")
    let name = SecretName(applicationID: TestService.applicationID, profileID: "alice", kind: .passcode)
    var record = service.store.records.profile(TestService.applicationID, "alice")
    let verifier = try service.service.secretChecks.hasher.verifier(
      of: SecretBytes(decomposed.utf8), context: name.bytes)
    record.settle(.passcode, record.standing.passcode, verifier: verifier, at: service.clock.now)
    try service.store.change(.putProfile(record))
    #expect(try await service.attempt(.typed(composed)).outcome == .tryAgain)
    #expect(try await service.attempt(.typed(decomposed)).outcome == .succeeded)
    #expect(try await service.attempt(.typed(composed)).outcome == .succeeded)
    #expect(try await service.attempt(.typed(decomposed)).outcome == .succeeded)
    #expect(try await service.attempt(.typed("Uber 27")).outcome == .tryAgain)
  }

  // R32: what ends a token that no binding carries.
  @Test func aTokenWithoutABindingEndsWithItsProfileOrItsSecret() async throws {
    let (service, _) = try await start()
    let erased = try await service.attempt(.typed(Self.passcode)).token
    #expect(try await service.introspect(erased).active)
    try await service.erase()
    #expect(try await !service.introspect(erased).active)
    // The next profile under the same name begins without it.
    service.clock.advance(by: .seconds(1))
    _ = try await service.set(.passcode(Self.passcode))
    #expect(try await !service.introspect(erased).active)
    #expect(try await service.introspect(service.attempt(.typed(Self.passcode)).token).active)
  }

  // R35
  @Test func aRightSecretFinishesItsEvaluation() async throws {
    let (service, phone) = try await start()
    let opened = try await service.begin(phone)
    #expect(try await service.submit(phone, opened, .typed(Self.passcode)).outcome == .succeeded)
    #expect(try await service.submit(phone, opened, .typed(Self.passcode)).outcome == .invalidContext)
    #expect(try await service.submit(phone, opened).outcome == .invalidContext)
  }

  // R4, R12
  @Test func aPasscodeUnlocksTheBiometricsAndAGestureDoesNot() async throws {
    let (service, phone) = try await start()
    _ = try await service.report(.biometryLockout, phone, service.begin(phone))
    _ = try await service.submit(phone, service.begin(phone), .drawn(0, 1, 2, 5))
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .lockedOut)
    _ = try await service.submit(phone, service.begin(phone), .typed(Self.passcode))
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .succeeded)
  }

  // R12
  @Test func aSuccessClearsItsOwnFailuresOnly() async throws {
    let (service, phone) = try await start()
    for attempt in [Attempt.typed("0000"), .drawn(8, 7, 6, 3)] { _ = try await service.attempt(attempt) }
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .succeeded)
    #expect(service.secretStanding(.passcode).failures == 1)
    _ = try await service.attempt(.typed(Self.passcode))
    #expect(service.secretStanding(.passcode).failures == 0)
    #expect(service.secretStanding(.gesture).failures == 1)
  }

  // R26
  @Test func afterTheFingersChangedASecretMakesThemTheBaseline() async throws {
    let (service, bound) = try await start()
    var phone = bound
    phone.posture.domainState = Array("other fingers".utf8)
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .factorRequired)
    let answer = try await service.submit(phone, service.begin(phone), .typed(Self.passcode))
    #expect(answer.outcome == .succeeded)
    #expect(answer.domainState == .changed)
    let binding = try #require(service.store.records.binding(phone.bindingID))
    #expect(binding.baseline?.domainState == phone.posture.domainState)
    #expect(binding.lastUsedAt == service.clock.now)
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .succeeded)
    #expect(try await service.submit(bound, service.begin(bound)).outcome == .factorRequired)
  }

  // R16
  @Test func aRightSecretIsHashedAnewWhereTheParametersWereRaised() async throws {
    let (service, _) = try await start()
    let raised = try await TestService.start(store: service.store, clock: service.clock, keys: service.keys) {
      $0.secretHashing = PasswordHasher.Parameters(memoryKibibytes: 16, passes: 2, lanes: 1)!
    }
    let before = service.store.records.profile(TestService.applicationID, "alice").passcode?.verifier
    #expect(try await raised.attempt(.typed("0000")).outcome == .tryAgain)
    #expect(service.store.records.profile(TestService.applicationID, "alice").passcode?.verifier == before)
    #expect(try await raised.attempt(.typed(Self.passcode)).outcome == .succeeded)
    let after = service.store.records.profile(TestService.applicationID, "alice").passcode?.verifier
    #expect(after?.prefix(9) == [1, 0, 0, 0, 16, 0, 0, 0, 2])
    for replica in [raised, service] {
      #expect(try await replica.attempt(.typed(Self.passcode)).outcome == .succeeded)
      #expect(try await replica.attempt(.typed("0000")).outcome == .tryAgain)
    }
    #expect(service.store.records.profile(TestService.applicationID, "alice").passcode?.verifier == after)
  }

  // R16: encodings of one letter are one letter; cases and spaces at the ends count.
  @Test func aPasscodeIsComparedInNormalisationFormC() async throws {
    let (service, _) = try await start()
    _ = try await service.set(.passcode("caf\u{e9}!"))
    #expect(try await service.attempt(.typed("cafe\u{301}!")).outcome == .succeeded)
    #expect(try await service.attempt(.typed("cafe!")).outcome == .tryAgain)
    #expect(try await service.attempt(.typed("Caf\u{e9}!")).outcome == .tryAgain)
    #expect(try await service.attempt(.typed(" caf\u{e9}!")).outcome == .tryAgain)
    #expect(try await service.attempt(.typed("caf\u{e9}!")).outcome == .succeeded)
    #expect(try await service.attempt(.drawn(5, 2, 1, 0)).outcome == .tryAgain)
  }

  // MARK: Wrong

  // R13, R15: the whole ladder, and a clock that is set back on every rung.
  @Test func theLadder() async throws {
    let (service, _) = try await start()
    let rungs: [(minutes: Int64, failures: UInt32)] = [(1, 5), (5, 6), (15, 7), (15, 8), (60, 9)]
    for expected: UInt32 in [4, 3, 2, 1] {
      let answer = try await service.attempt(.typed("0000"))
      #expect(answer.outcome == .tryAgain)
      #expect(answer.laError == .authenticationFailed)
      #expect(answer.attemptsLeft == expected)
      #expect(answer.retryAfter == nil)
    }
    for rung in rungs {
      let answer = try await service.attempt(.typed("0000"))
      #expect(answer.outcome == .lockedOut)
      #expect(answer.attemptsLeft == 0)
      #expect(answer.retryAfter == V1.Duration(seconds: rung.minutes * 60, nanoseconds: 0))
      #expect(service.secretStanding().failures == rung.failures)

      // Locked is locked, for the right one too, and costs nothing.
      service.clock.advance(by: .seconds(rung.minutes * 60) - .microseconds(1))
      #expect(try await service.attempt(.typed(Self.passcode)).outcome == .lockedOut)
      service.clock.advance(by: .seconds(-1_000))
      #expect(try await service.attempt(.typed(Self.passcode)).outcome == .lockedOut)
      #expect(service.secretStanding().failures == rung.failures)
      service.clock.advance(by: .seconds(1_000) + .microseconds(1))
      #expect(try await service.begin(profileID: "alice").factors == [.gesture, .passcode])
    }
    let last = try await service.attempt(.typed("0000"))
    #expect(last.outcome == .lockedOut)
    #expect(last.retryAfter == nil)
    service.clock.advance(by: .seconds(366 * 24 * 60 * 60))
    #expect(try await service.attempt(.typed(Self.passcode)).outcome == .lockedOut)
    // The gesture has a ladder of its own.
    #expect(try await service.attempt(.drawn(0, 1, 2, 5)).outcome == .succeeded)
  }

  // R13
  @Test func aRightOneBetweenTwoLocksEndsTheLadder() async throws {
    let (service, _) = try await start()
    for _ in 0..<5 { _ = try await service.attempt(.typed("0000")) }
    service.clock.advance(by: .seconds(60))
    #expect(try await service.attempt(.typed(Self.passcode)).outcome == .succeeded)
    #expect(try await service.attempt(.typed("0000")).attemptsLeft == 4)
  }

  // R15: two processes one after the other, on one store.
  @Test func aLockOutlivesTheProcess() async throws {
    let (service, _) = try await start()
    for _ in 0..<5 { _ = try await service.attempt(.typed("0000")) }
    let next = try await TestService.start(store: service.store, clock: service.clock, keys: service.keys)
    let answer = try await next.attempt(.typed(Self.passcode))
    #expect(answer.outcome == .lockedOut)
    #expect(answer.retryAfter == V1.Duration(seconds: 60, nanoseconds: 0))
  }

  // R10
  @Test(arguments: [
    (Attempt.typed(""), "passcode.passcode"), (.typed("246"), "passcode.passcode"),
    (.typed(String(repeating: "24", count: 33)), "passcode.passcode"), (.drawn(0, 1, 2), "gesture.points"),
    (.drawn(0, 1, 2, 9), "gesture.points"), (.drawn(0, 1, 2, 0), "gesture.points"),
    (.drawn(0, 1, 2, 256), "gesture.points"), (.drawn(0, 1, 2, .max), "gesture.points"),
  ])
  func whatNoSecretCanBeIsNoAttempt(_ attempt: Attempt, _ field: String) async throws {
    let (service, _) = try await start()
    let opened = try await service.begin(profileID: "alice")
    let error = await refusal { try await service.submit(opened, attempt) }
    #expect(error.code == .invalidArgument)
    #expect(error.fields == [field])
    #expect(service.secretStanding(.passcode).failures == 0)
    #expect(service.secretStanding(.gesture).failures == 0)
  }

  // R13: what counts is the person's, whatever the policy is called.
  @Test func oneLadderServesAllPolicies() async throws {
    let (service, phone) = try await start()
    for policy in ["login", "deviceOwnerAuthentication", "login"] {
      _ = try await service.submit(phone, service.begin(phone, policy: policy), .typed("0000"))
    }
    #expect(try await service.attempt(.typed("0000")).attemptsLeft == 1)
  }

  // MARK: Not offered

  // R17
  @Test func aSecretThatIsOffOrNotSetIsNeitherOfferedNorVerified() async throws {
    let secrets = TestSecrets()
    let service = try await TestService.start(secrets: secrets)
    let phone = try await service.bind()
    #expect(try await service.begin(phone).factors == [.biometry])
    _ = try await service.set(.passcode(Self.passcode))
    _ = try await service.set(V1.UnlockSettings(biometryEnabled: true))
    #expect(try await service.begin(phone).factors == [.biometry])
    let count = secrets.startedCount
    for attempt in [Attempt.typed(Self.passcode), .drawn(0, 1, 2, 5)] {
      let answer = try await service.submit(phone, service.begin(phone), attempt)
      #expect(answer.outcome == .factorRequired)
      #expect(answer.nextFactors == [.biometry])
    }
    #expect(secrets.startedCount == count)
    #expect(service.secretStanding().failures == 0)
  }

  // R31: only what the policy names.
  @Test(arguments: ["deviceOwnerAuthenticationWithBiometrics", "payment"])
  func aPolicyWithoutSecretsTakesNone(_ policy: String) async throws {
    let (service, phone) = try await start()
    let opened = try await service.begin(phone, policy: policy, transaction: policy == "payment" ? .dinner : nil)
    let answer = try await service.submit(phone, opened, .typed(Self.passcode))
    #expect(answer.outcome == .factorRequired)
    #expect(answer.token.isEmpty)
    #expect(service.secretStanding().failures == 0)
  }

  // R17
  @Test func thePreferredFactorIsOfferedFirst() async throws {
    let (service, phone) = try await start()
    _ = try await service.set(
      V1.UnlockSettings(biometryEnabled: true, gestureEnabled: true, passcodeEnabled: true, preferred: .passcode))
    #expect(try await service.begin(phone).factors == [.passcode, .biometry, .gesture])
  }

  // MARK: Between begin and submit

  // R36
  @Test func switchedOffBetweenBeginAndSubmit() async throws {
    let (service, _) = try await start()
    let opened = try await service.begin(profileID: "alice")
    _ = try await service.set(V1.UnlockSettings(biometryEnabled: true, gestureEnabled: true, passcodeEnabled: false))
    let answer = try await service.submit(opened, .typed(Self.passcode))
    #expect(answer.outcome == .factorRequired)
    #expect(answer.nextFactors == [.gesture])
    #expect(answer.token.isEmpty)
  }

  // R32, R36
  @Test func revokedBetweenBeginAndSubmit() async throws {
    let (service, phone) = try await start()
    let opened = try await service.begin(phone)
    try await service.revoke(phone)
    let answer = try await service.submit(phone, opened, .typed(Self.passcode))
    #expect(answer.outcome == .failed)
    #expect(answer.denial?.reason == "BINDING_REVOKED")
    #expect(answer.token.isEmpty && answer.profileID.isEmpty)
    // The person is not the phone.
    #expect(try await service.attempt(.typed(Self.passcode)).outcome == .succeeded)
  }

  // R36
  @Test func changedBetweenBeginAndSubmit() async throws {
    let (service, _) = try await start()
    let opened = try await service.begin(profileID: "alice")
    _ = try await service.set(.passcode("1357"))
    #expect(try await service.submit(opened, .typed(Self.passcode)).outcome == .tryAgain)
    #expect(try await service.submit(opened, .typed("1357")).outcome == .succeeded)
  }

  // MARK: Messages for the person

  // R20
  @Test func refusalsAreSaidInThePersonsLanguage() async throws {
    let (service, phone) = try await start()
    let opened: V1.BeginEvaluationResponse = try await service.call(
      "EvaluationService/BeginEvaluation",
      V1.BeginEvaluationRequest(
        applicationID: TestService.applicationID, policy: "login", bindingID: phone.bindingID,
        localizedReason: "登录", posture: phone.posture), language: "zh-CN,zh;q=0.9,en;q=0.8")
    #expect(opened.presentation?.fallbackTitle == "输入密码")
    func submit(_ attempt: Attempt, _ language: String?) async throws -> V1.LocalizedText? {
      let answer: V1.SubmitAttemptResponse = try await service.call(
        "EvaluationService/SubmitAttempt",
        V1.SubmitAttemptRequest(
          applicationID: TestService.applicationID, evaluation: opened.evaluation, attempt: attempt,
          posture: phone.posture), language: language)
      return answer.message
    }
    let english = try #require(try await submit(.typed("0000"), nil))
    let chinese = try #require(try await submit(.typed("0000"), "zh"))
    #expect(english.locale == "en")
    #expect(chinese.locale == "zh-Hans")
    #expect(!english.text.isEmpty && !chinese.text.isEmpty && english.text != chinese.text)
    for error: V1.LAError in [.authenticationFailed, .biometryLockout, .userCancel, .biometryNotEnrolled] {
      let message = try await submit(.report(V1.DeviceReport(laError: error)), "zh")
      #expect(message?.locale == "zh-Hans", "\(error)")
    }
    let denied = try await service.begin(
      TestPhone(posture: V1.DevicePosture(platform: "ios", osVersion: "17.2"), bindingID: phone.bindingID),
      policy: "deviceOwnerAuthenticationWithBiometrics")
    #expect(denied.denial?.message?.locale == "en")
  }
}
