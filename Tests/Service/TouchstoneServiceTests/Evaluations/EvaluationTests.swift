import DispatchRPC
import SimulatedPhone
import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// From begin to answer: the states that an attempt may find when it comes back, and the winner if several come.
struct EvaluationTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  // MARK: Opening

  // R34
  @Test func beginningWritesNothing() async throws {
    let phone = try await service.bind()
    let commits = service.store.commitCount
    let opened = try await service.begin(phone)
    #expect(opened.denial == nil)
    #expect(service.store.commitCount == commits)
    #expect(opened.expiresAt == V1.Timestamp(service.clock.now + .seconds(120)))
  }

  // R6
  @Test func askingWhetherAPolicyCanBeEvaluatedWritesNothing() async throws {
    let phone = try await service.bind()
    let commits = service.store.commitCount
    for bindingID in ["", phone.bindingID, "unknown"] {
      let answer: V1.CanEvaluatePolicyResponse = try await service.call(
        "EvaluationService/CanEvaluatePolicy",
        V1.CanEvaluatePolicyRequest(
          applicationID: TestService.applicationID, policy: "login", bindingID: bindingID, posture: phone.posture))
      // What an unknown one offers depends on the pepper (R37).
      if bindingID != "unknown" { #expect(answer.canEvaluate) }
    }
    #expect(service.store.commitCount == commits)
  }

  /// No binding exists yet, so all that the phone could bind counts.
  @Test func withoutASubjectThePhoneAloneDecides() async throws {
    var posture = try await service.bind().posture
    func ask(_ policy: String) async throws -> V1.CanEvaluatePolicyResponse {
      try await service.call(
        "EvaluationService/CanEvaluatePolicy",
        V1.CanEvaluatePolicyRequest(applicationID: TestService.applicationID, policy: policy, posture: posture))
    }
    let payment = try await ask("payment")
    #expect(payment.canEvaluate && payment.factors.contains(.biometry))
    #expect(payment.biometryAttemptsLeft == 5)
    (posture.biometryEnrolled, posture.domainState) = (false, [])
    let byPasscode = try await ask("deviceOwnerAuthentication")
    #expect(byPasscode.canEvaluate && byPasscode.factors == [.deviceOwner])
  }

  // MARK: Attempts

  // R12, R40
  @Test func aRightProofYieldsATokenForThisPersonInThisApplication() async throws {
    let phone = try await service.bind()
    let answer = try await service.submit(phone, service.begin(phone))
    #expect(answer.outcome == .succeeded)
    #expect(answer.result == .success)
    #expect(answer.profileID == "alice")
    #expect(answer.tokenExpiresAt == V1.Timestamp(service.clock.now + .seconds(300)))
    let claims = try #require(try await service.introspect(answer.token).claims)
    #expect(claims.profileID == "alice")
    #expect(claims.bindingID == phone.bindingID)
    #expect(claims.methods == ["hwk", "fpt"])
    #expect(claims.issuedAt == V1.Timestamp(service.clock.now))
    #expect(!claims.singleUse)
    #expect(service.store.records.binding(phone.bindingID)?.lastUsedAt == service.clock.now)
  }

  // R7, R8
  @Test func wrongProofsEndTheEvaluationAndLockTheDevice() async throws {
    let phone = try await service.bind()
    var outcomes: [V1.Outcome] = []
    var left: [UInt32] = []
    for attempts in [3, 2] {
      let opened = try await service.begin(phone, policy: "deviceOwnerAuthenticationWithBiometrics")
      for _ in 0..<attempts {
        let answer = try await service.submit(phone, opened, phone.wrongProof(for: opened))
        outcomes.append(answer.outcome)
        left.append(answer.attemptsLeft)
        #expect(answer.token.isEmpty)
      }
    }
    #expect(outcomes == [.tryAgain, .tryAgain, .failed, .tryAgain, .lockedOut])
    #expect(left == [4, 3, 2, 1, 0])
    #expect(service.store.records.device(phone.deviceID).biometry.isLockedOut)
  }

  // R12
  @Test func deviceOwnerUnlocksWhatBiometricsLocked() async throws {
    var phone = TestPhone()
    phone.deviceOwnerKey = .init()
    phone = try await service.bind(phone)
    let opened = try await service.begin(phone)
    #expect(try await service.report(.biometryLockout, phone, opened).outcome == .lockedOut)
    #expect(try await service.submit(phone, opened).outcome == .lockedOut)
    #expect(try await service.submit(phone, opened, phone.proof(for: opened, by: .deviceOwner)).outcome == .succeeded)
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .succeeded)
  }

  /// Every code of LocalAuthentication, and two that it does not have.
  static let reports: [(error: V1.LAError, outcome: V1.Outcome, result: V1.Result)] = [
    (.authenticationFailed, .tryAgain, .failed), (.userCancel, .canceled, .cancel),
    (.userFallback, .fallback, .fallback),
    (.systemCancel, .canceled, .other), (.passcodeNotSet, .failed, .other), (.biometryNotAvailable, .failed, .other),
    (.biometryNotEnrolled, .failed, .other), (.biometryLockout, .lockedOut, .other), (.appCancel, .canceled, .other),
    (.invalidContext, .invalidContext, .other), (.companionNotAvailable, .failed, .other),
    (.biometryNotPaired, .failed, .other), (.biometryDisconnected, .failed, .other),
    (.invalidDimensions, .failed, .other), (.notInteractive, .failed, .other),
    (V1.LAError(rawValue: 1), .failed, .other), (V1.LAError(rawValue: .min), .failed, .other),
  ]

  // R11, R21
  @Test(arguments: reports.indices)
  func aReportIsAnsweredAndGrantsNothing(_ index: Int) async throws {
    let report = Self.reports[index]
    let (phone, opened) = try await service.beginOnNewPhone()
    let answer = try await service.report(report.error, phone, opened)
    #expect(answer.outcome == report.outcome)
    #expect(answer.result == report.result)
    #expect(answer.token.isEmpty && answer.profileID.isEmpty)
    let known = LAErrorCode(rawValue: report.error.rawValue)
    #expect(answer.laError == V1.LAError(known))
    #expect(answer.message?.text.isEmpty == false)
    // R21: what can be tried again can.
    let isOver = report.outcome == .invalidContext
    #expect(
      answer.nextFactors.contains(.biometry) == ![.fallback, .lockedOut, .invalidContext].contains(report.outcome))
    #expect(try await service.report(.userCancel, phone, opened).outcome == (isOver ? .invalidContext : .canceled))
  }

  @Test func everyCodeOfLocalAuthenticationIsAmongTheReports() {
    let reported = Set(Self.reports.map(\.error.rawValue))
    #expect(LAErrorCode.allCases.allSatisfy { reported.contains($0.rawValue) })
  }

  // R10
  @Test func whatIsNotAFailureIsNotCounted() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    for error: V1.LAError in [.userCancel, .systemCancel, .appCancel, .userFallback, .biometryNotAvailable] {
      _ = try await service.report(error, phone, opened)
    }
    let malformed = Attempt.key(V1.KeyProof(signature: [1, 2, 3], factor: .biometry))
    #expect(await refusal { try await service.submit(phone, opened, malformed) }.code == .invalidArgument)
    #expect(service.store.records.device(phone.deviceID).version == 0)
    #expect(try await service.submit(phone, opened).outcome == .succeeded)
  }

  // R25
  @Test func aRightProofAfterTheFingersChangedNeedsAnotherFactorAndCountsNothing() async throws {
    var phone = try await service.bind()
    phone.posture.domainState = Array("other fingers".utf8)
    let answer = try await service.submit(phone, service.begin(phone))
    #expect(answer.outcome == .factorRequired)
    #expect(answer.domainState == .changed)
    #expect(answer.token.isEmpty)
    #expect(service.store.records.device(phone.deviceID).version == 0)
  }

  // R37: a binding's id is random, so nothing is hidden of it, and nothing is counted.
  @Test func anUnknownARevokedAndAnotherApplicationsBindingAreToldSo() async throws {
    let revoked = try await service.bind()
    try await service.revoke(revoked)
    var foreign = TestPhone(deviceID: "phone-3-5f9c27e8ab4d6b")
    foreign.bindingID = "of the shop"
    var record = try #require(service.store.records.binding(revoked.bindingID))
    (record.bindingID, record.applicationID, record.version) = (foreign.bindingID, "com.example.shop", 0)
    record.isRevoked = false
    try service.store.change(.putBinding(record))
    var unknown = TestPhone()
    unknown.bindingID = "nobody's"
    let before = service.store.records
    for (phone, reason) in [(revoked, "BINDING_REVOKED"), (foreign, "BINDING_UNKNOWN"), (unknown, "BINDING_UNKNOWN")] {
      for policy in ["login", "payment"] {
        let preflight = try await service.canEvaluate(phone, policy: policy)
        let opened = try await service.begin(phone, policy: policy, transaction: policy == "payment" ? .dinner : nil)
        for denial in [preflight.denial, opened.denial] {
          #expect(denial?.reason == reason)
          #expect(denial?.laError == .biometryNotAvailable)
          #expect(denial?.message?.text.contains("set it up again") == true)
        }
        #expect(!preflight.canEvaluate && preflight.factors.isEmpty && preflight.biometryAttemptsLeft == 0)
        #expect(preflight.domainState == .unspecified && opened.domainState == .unspecified)
        #expect(opened.evaluation.isEmpty && opened.signingInput.isEmpty)
      }
    }
    #expect(service.store.records.devices == before.devices)
    #expect(service.store.records.bindings == before.bindings)
    #expect(service.events.last?.kind == "evaluation.denied")
    #expect(service.events.last?.bindingID.isEmpty == true)
  }

  // MARK: Between begin and submit

  // R34
  @Test func anEvaluationIsOpenUntilItExpiresAndNotAMomentLonger() async throws {
    let phone = try await service.bind()
    let (early, late) = (try await service.begin(phone), try await service.begin(phone))
    service.clock.advance(by: .seconds(120) - .microseconds(1))
    #expect(try await service.submit(phone, early).outcome == .succeeded)
    service.clock.advance(by: .microseconds(1))
    #expect(try await service.submit(phone, late).outcome == .invalidContext)
    #expect(service.events.last?.kind == "evaluation.refused")
  }

  // R32, R36
  @Test func revokedBetweenBeginAndSubmit() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    try await service.revoke(phone)
    for attempt in [nil, phone.wrongProof(for: opened)] {
      let answer = try await service.submit(phone, opened, attempt)
      #expect(answer.outcome == .failed)
      #expect(answer.denial?.reason == "BINDING_REVOKED")
      #expect(answer.message?.text == answer.denial?.message?.text)
      #expect(answer.token.isEmpty && answer.profileID.isEmpty && answer.nextFactors.isEmpty)
    }
    // A report, too.
    #expect(try await service.report(.authenticationFailed, phone, opened).denial?.reason == "BINDING_REVOKED")
    #expect(service.store.records.device(phone.deviceID).version == 0)
    #expect(service.store.records.evaluations.isEmpty)
  }

  // R36
  @Test func lockedBetweenBeginAndSubmit() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    _ = try await service.report(.biometryLockout, phone, service.begin(phone))
    let answer = try await service.submit(phone, opened)
    #expect(answer.outcome == .lockedOut)
    #expect(answer.laError == .biometryLockout)
    #expect(answer.token.isEmpty)
  }

  // R36: two replicas, one of them with the new settings.
  @Test func aPolicyThatChangedBetweenBeginAndSubmitVoidsTheEvaluation() async throws {
    let (store, clock, keys) = (MemoryStore(), TestClock(), KeyRing.ephemeral())
    let old = try await TestService.start(store: store, clock: clock, keys: keys)
    let same = try await TestService.start(store: store, clock: clock, keys: keys)
    let new = try await TestService.start(store: store, clock: clock, keys: keys) { configuration in
      for index in configuration.policies.indices { configuration.policies[index].attemptsPerEvaluation += 1 }
    }
    let without = try await TestService.start(store: store, clock: clock, keys: keys) { $0.policies = [] }
    let phone = try await old.bind()
    let opened = try await old.begin(phone)
    #expect(try await new.submit(phone, opened).outcome == .invalidContext)
    #expect(try await without.submit(phone, opened).outcome == .invalidContext)
    #expect(try await same.submit(phone, opened).outcome == .succeeded)
  }

  // R34
  @Test func anotherApplicationsEvaluationIsInvalid() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    #expect(try await service.submit(phone, opened, applicationID: "com.example.shop").outcome == .invalidContext)
    #expect(try await service.submit(phone, opened).outcome == .succeeded)
  }

  // R33: what one evaluation's proof is worth in another of the same binding.
  @Test func aProofServesItsOwnEvaluationAlone() async throws {
    let phone = try await service.bind()
    let (first, second) = (try await service.begin(phone), try await service.begin(phone))
    #expect(try await service.submit(phone, second, phone.proof(for: first)).outcome == .tryAgain)
    #expect(try await service.submit(phone, second).outcome == .succeeded)
    #expect(try await service.submit(phone, first).outcome == .succeeded)
  }

  // MARK: Finished for good

  // R35
  @Test func afterASuccessTheEvaluationIsInvalidOnEveryReplica() async throws {
    let (store, keys) = (MemoryStore(), KeyRing.ephemeral())
    let replicas = [
      try await TestService.start(store: store, keys: keys), try await TestService.start(store: store, keys: keys),
    ]
    let phone = try await replicas[0].bind()
    let opened = try await replicas[0].begin(phone)
    #expect(try await replicas[1].submit(phone, opened).outcome == .succeeded)
    for replica in replicas {
      let answer = try await replica.submit(phone, opened)
      #expect(answer.outcome == .invalidContext)
      #expect(answer.presentation == nil)
    }
  }

  // R35
  @Test func anInvalidatedEvaluationStaysInvalid() async throws {
    let phone = try await service.bind()
    let (opened, other) = (try await service.begin(phone), try await service.begin(phone))
    try await service.invalidate(opened)
    try await service.invalidate(opened)
    #expect(try await service.submit(phone, opened).outcome == .invalidContext)
    #expect(try await service.submit(phone, other).outcome == .succeeded)
    #expect(service.events.filter { $0.kind == "evaluation.invalidated" }.count == 1)
  }

  // R35
  @Test func anEvaluationInvalidatedAfterItsTimeStaysSoWhereTheClockIsSetBack() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.clock.advance(by: .seconds(120))
    try await service.invalidate(opened)
    service.clock.advance(by: .seconds(-60))
    #expect(try await service.submit(phone, opened).outcome == .invalidContext)
  }

  // R34: what was begun while the clock was ahead does not stay open until that time has come.
  @Test func anEvaluationOfAClockThatWasAheadIsVoid() async throws {
    let phone = try await service.bind()
    let ahead = Duration.seconds(100 * 86_400)
    for (lead, isOpen) in [(ahead, false), (.seconds(121), false), (.seconds(120), true)] as [(Duration, Bool)] {
      service.clock.advance(by: lead)
      let opened = try await service.begin(phone)
      service.clock.advance(by: .zero - lead)
      let outcome = try await service.submit(phone, opened).outcome
      #expect(outcome == (isOpen ? .succeeded : .invalidContext))
    }
    #expect(service.events.contains { $0.details.contains(EventDetail(key: "reason", value: "EVALUATION_EXPIRED")) })
  }

  // R35
  @Test(arguments: [MemoryStore.Delivery.immediate, .later])
  func ofParallelIdenticalAttemptsOneSucceeds(_ delivery: MemoryStore.Delivery) async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: delivery), connections: 2)
    let (phone, opened) = try await service.beginOnNewPhone()
    let proof = phone.proof(for: opened)
    let outcomes = try await inParallel(24) { try await service.submit(phone, opened, proof).outcome }
    #expect(outcomes.filter { $0 == .succeeded }.count == 1)
    #expect(outcomes.filter { $0 == .invalidContext }.count == 23)
    #expect(service.events.filter { $0.kind == "evaluation.succeeded" }.count == 1)
  }

  // R7: a crowd on one device, in as many evaluations, gets five guesses and no more.
  @Test func ofParallelWrongAttemptsFiveAreCounted() async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: .later), connections: 2)
    let phone = try await service.bind()
    let outcomes = try await inParallel(12) {
      let opened = try await service.begin(phone, policy: "deviceOwnerAuthenticationWithBiometrics")
      return try await opened.denial == nil
        ? service.submit(phone, opened, phone.wrongProof(for: opened)).outcome : .lockedOut
    }
    #expect(outcomes.filter { $0 == .tryAgain }.count == 4)
    #expect(outcomes.filter { $0 == .lockedOut }.count == 8)
    #expect(
      service.store.records.device(phone.deviceID).biometry
        == BiometryStanding(consecutiveFailures: 5, isLockedOut: true))
  }
}
