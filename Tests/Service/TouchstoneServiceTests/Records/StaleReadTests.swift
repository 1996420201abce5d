import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Reads may be stale: whatever a success rests on is compared by the commit, and decided anew where it changed.
struct StaleReadTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  // R35
  @Test func aFinishedEvaluationIsFoundOut() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.store.freezeReads()
    #expect(try await service.submit(phone, opened).outcome == .succeeded)
    #expect(try await service.submit(phone, opened).outcome == .invalidContext)
  }

  // R32
  @Test func aRevokedBindingIsFoundOut() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.store.freezeReads()
    try service.store.change(.putBinding(service.revokedRecord(of: phone)))
    let answer = try await service.submit(phone, opened)
    #expect(answer.denial?.reason == "BINDING_REVOKED")
    #expect(answer.token.isEmpty)
  }

  // R32: after the attempt was read, before it is written.
  @Test func aRevocationDuringAnAttemptIsFoundOut() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    let revoked = try service.revokedRecord(of: phone)
    service.store.beforeNextCommit { try? $0.apply(ChangeSet(changes: [.putBinding(revoked)])) }
    #expect(try await service.submit(phone, opened).denial?.reason == "BINDING_REVOKED")
  }

  // R41: read before the erasure, written after it.
  @Test(arguments: [V1.LAError.userCancel, .userFallback, .authenticationFailed, .invalidContext])
  func anErasureDuringAFailureLeavesNoName(_ report: V1.LAError) async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.eraseBeforeNextCommit()
    _ = try await service.submit(phone, opened, .report(V1.DeviceReport(laError: report)))
    expectNoName(in: service)
  }

  // R41
  @Test func anErasureDuringAFailureWithoutAPhoneLeavesNoName() async throws {
    _ = try await service.set(.passcode("2468"))
    let opened = try await service.begin(profileID: "alice")
    service.eraseBeforeNextCommit()
    _ = try await service.submit(opened, .report(V1.DeviceReport(laError: .userCancel)))
    expectNoName(in: service)
  }

  // R41
  @Test func anErasureDuringADenialLeavesNoName() async throws {
    let phone = try await service.bind()
    try service.store.change(
      .putDevice(DeviceRecord(deviceID: phone.deviceID, biometry: BiometryStanding(isLockedOut: true))))
    service.eraseBeforeNextCommit()
    _ = try await service.begin(phone, policy: "payment", transaction: .dinner)
    expectNoName(in: service)
  }

  // R41
  @Test func anErasureDuringAnInvalidationLeavesNoName() async throws {
    let (_, opened) = try await service.beginOnNewPhone()
    service.eraseBeforeNextCommit()
    try await service.invalidate(opened)
    expectNoName(in: service)
  }

  private func expectNoName(in service: TestService) {
    #expect(service.store.records.bindings.isEmpty)
    #expect(service.events.allSatisfy { $0.profileID.isEmpty && $0.bindingID.isEmpty && $0.deviceID.isEmpty })
  }

  // R10: not even the failure that was under way counts on the device that it is revoked from.
  @Test func aRevocationDuringAFailureIsFoundOut() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    let revoked = try service.revokedRecord(of: phone)
    service.store.beforeNextCommit { try? $0.apply(ChangeSet(changes: [.putBinding(revoked)])) }
    let answer = try await service.submit(phone, opened, phone.wrongProof(for: opened))
    #expect(answer.denial?.reason == "BINDING_REVOKED")
    #expect(service.store.records.device(phone.deviceID).version == 0)
    #expect(service.store.records.evaluations.isEmpty)
  }

  // R10: nor on the passcode of the profile that it is revoked from.
  @Test func aRevocationDuringAnAdmissionIsFoundOut() async throws {
    _ = try await service.set(.passcode("2468"))
    let (phone, opened) = try await service.beginOnNewPhone()
    let revoked = try service.revokedRecord(of: phone)
    service.store.beforeNextCommit { try? $0.apply(ChangeSet(changes: [.putBinding(revoked)])) }
    let answer = try await service.submit(phone, opened, .typed("0000"))
    #expect(answer.denial?.reason == "BINDING_REVOKED")
    #expect(service.secretStanding().failures == 0)
  }

  // R36
  @Test func aLockedDeviceIsFoundOut() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.store.freezeReads()
    try service.store.change(
      .putDevice(DeviceRecord(deviceID: phone.deviceID, biometry: BiometryStanding(isLockedOut: true))))
    #expect(try await service.submit(phone, opened).outcome == .lockedOut)
  }

  // R7: a failure that was counted elsewhere is neither lost nor forgiven.
  @Test func failuresAddUp() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.store.freezeReads()
    try service.store.change(
      .putDevice(DeviceRecord(deviceID: phone.deviceID, biometry: BiometryStanding(consecutiveFailures: 3))))
    let answer = try await service.submit(phone, opened, phone.wrongProof(for: opened))
    #expect(answer.attemptsLeft == 1)
    #expect(service.store.records.device(phone.deviceID).biometry.consecutiveFailures == 4)
  }

  // R17: a success rests on the profile's switches.
  @Test func aSwitchThatWasTurnedOffIsFoundOut() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.store.freezeReads()
    try service.changeProfile { $0.settings.isBiometryEnabled = false }
    let answer = try await service.submit(phone, opened)
    #expect(answer.outcome == .factorRequired)
    #expect(answer.token.isEmpty)
  }

  // R13, R14: nothing is verified on a standing that is not the last one.
  @Test func aSecretThatWasLockedIsFoundOut() async throws {
    let secrets = TestSecrets()
    let service = try await TestService.start(secrets: secrets)
    _ = try await service.set(.passcode("2468"))
    let opened = try await service.begin(profileID: "alice")
    let count = secrets.startedCount
    service.store.freezeReads()
    try service.changeProfile { [now = service.clock.now] profile in
      profile.passcode?.standing.failures = 5
      profile.passcode?.standing.lock = .until(now + .seconds(60))
    }
    #expect(try await service.submit(opened, .typed("2468")).outcome == .lockedOut)
    #expect(secrets.startedCount == count)
  }

  // R13: nor is anybody refused on one.
  @Test func aSecretThatWasUnlockedIsFoundOut() async throws {
    _ = try await service.set(.passcode("2468"))
    let opened = try await service.begin(profileID: "alice")
    for _ in 0..<5 { _ = try await service.submit(opened, .typed("0000")) }
    service.store.freezeReads()
    try service.changeProfile { $0.passcode?.standing = SecretStanding(isSet: true, generation: 9) }
    #expect(try await service.submit(opened, .typed("2468")).outcome == .succeeded)
  }

  // R16: another process sets another one right before the verdict is written.
  @Test func aSecretThatWasReplacedBeforeItsVerdictIsFoundOut() async throws {
    let secrets = TestSecrets()
    let service = try await TestService.start(secrets: secrets)
    _ = try await service.set(.passcode("2468"))
    let opened = try await service.begin(profileID: "alice")
    secrets.hold()
    async let answer = service.submit(opened, .typed("2468"))
    await secrets.untilHeld(1)
    service.store.beforeNextCommit { records in
      var profile = records.profile(TestService.applicationID, "alice")
      profile.passcode?.standing = SecretStanding(isSet: true, generation: 9)
      // Nobody is right for it.
      profile.passcode?.verifier[57] ^= 1
      try? records.apply(ChangeSet(changes: [.putProfile(profile)]))
    }
    secrets.goOn()
    #expect(try await answer.outcome == .tryAgain)
    #expect(
      service.secretStanding()
        == SecretStanding(
          isSet: true, failures: 1, inFlight: 0, inFlightUntil: service.secretStanding().inFlightUntil, generation: 9))
  }

  // R28
  @Test func aUsedTicketIsFoundOut() async throws {
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    service.store.freezeReads()
    _ = try await service.completeBinding(phone, begun)
    #expect(await refusal { try await service.completeBinding(phone, begun) }.reason == "TICKET_INVALID")
  }

  // R29
  @Test func aDeviceThatWasBoundMeanwhileIsFoundOut() async throws {
    let begun = try await service.beginBinding(TestPhone(profileID: "bob"))
    service.store.freezeReads()
    _ = try await service.bind(TestPhone(profileID: "alice"))
    let error = await refusal { try await service.completeBinding(TestPhone(profileID: "bob"), begun) }
    #expect(error.reason == "DEVICE_BOUND_TO_ANOTHER_PROFILE")
  }

  // R29
  @Test func aLimitThatWasReachedMeanwhileIsFoundOut() async throws {
    let service = try await TestService.start { $0.enrolment.maximumBindingsPerProfile = 1 }
    service.store.freezeReads()
    _ = try await service.bind(TestPhone(deviceID: "phone-1-5f9c27e8ab4d6b"))
    let error = await refusal { try await service.bind(TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b")) }
    #expect(error.reason == "TOO_MANY_BINDINGS")
  }

  // R39
  @Test func aConsumedTokenIsFoundOut() async throws {
    let token = try await service.approve(.dinner, service.bind())
    service.store.freezeReads()
    #expect(try await service.consume(token).consumed)
    #expect(try await service.consume(token).reason == "ALREADY_CONSUMED")
  }

  // R32
  @Test func aPaymentWhoseBindingWasRevokedMeanwhileIsFoundOut() async throws {
    let phone = try await service.bind()
    let token = try await service.approve(.dinner, phone)
    let revoked = try service.revokedRecord(of: phone)
    service.store.beforeNextCommit { try? $0.apply(ChangeSet(changes: [.putBinding(revoked)])) }
    let answer = try await service.consume(token)
    #expect(!answer.consumed)
    #expect(answer.reason == "REVOKED")
  }

  // R34
  @Test func anEvaluationThatExpiresBetweenTwoRoundsIsFoundOut() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.store.failCommits(.conflict, times: 1)
    service.store.beforeNextCommit { [clock = service.clock] _ in clock.advance(by: .seconds(120)) }
    let answer = try await service.submit(phone, opened)
    #expect(answer.outcome == .invalidContext)
  }

  // R36
  @Test func aPolicyThatIsChangedBetweenTwoRoundsIsFoundOut() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    service.store.failCommits(.conflict, times: 1)
    service.store.beforeNextCommit { _ in service.replacePolicies(EvaluationPolicy.builtIn.map(\.patient)) }
    let answer = try await service.submit(phone, opened)
    #expect(answer.outcome == .invalidContext)
    #expect(answer.token.isEmpty)
  }

  // R28
  @Test func aTicketThatExpiresBetweenTwoRoundsIsFoundOut() async throws {
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    service.store.failCommits(.conflict, times: 1)
    service.store.beforeNextCommit { [clock = service.clock] _ in clock.advance(by: .seconds(120)) }
    #expect(await refusal { try await service.completeBinding(phone, begun) }.reason == "TICKET_INVALID")
  }
}

extension EvaluationPolicy {
  fileprivate var patient: EvaluationPolicy {
    var patient = self
    patient.tokenLifetime = .seconds(3_600)
    return patient
  }
}

extension TestService {
  /// To be put by another replica.
  fileprivate func revokedRecord(of phone: TestPhone) throws -> BindingRecord {
    var record = try #require(store.records.binding(phone.bindingID))
    record.isRevoked = true
    return record
  }
}
