import DispatchRPC
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

/// R41: a profile that is erased between a refusal's reads and its commit is not named by the refusal's event. Failures
/// and denials of evaluations are in StaleReadTests.
struct ErasedNameTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  /// There was one, and no event names the person.
  private func expectRefusal(_ kind: String, in service: TestService) {
    #expect(service.events.last?.kind == kind)
    #expect(service.events.allSatisfy { $0.profileID.isEmpty && $0.bindingID.isEmpty && $0.deviceID.isEmpty })
  }

  enum Unlocking: CaseIterable { case ofNoSecret, ofADisabledOne }

  @Test(arguments: Unlocking.allCases)
  func ofARefusalToUnlockASecret(_ unlocking: Unlocking) async throws {
    _ = try await service.set(.passcode("2468"))
    if unlocking == .ofADisabledOne {
      try service.changeProfile { $0.passcode?.standing.lock = .untilSetAnew }
    }
    service.eraseBeforeNextCommit()
    _ = await refusal { try await service.unlock(unlocking == .ofNoSecret ? .gesture : .passcode) }
    expectRefusal("secret.refused", in: service)
  }

  enum Profile: CaseIterable { case known, new }

  @Test(arguments: Profile.allCases, [true, false])
  func ofADenialToBind(_ profile: Profile, byPosture: Bool) async throws {
    if profile == .known { _ = try await service.set(.passcode("2468")) }
    var phone = TestPhone()
    service.eraseBeforeNextCommit()
    if byPosture {
      phone.posture.passcodeSet = false
      #expect(try await service.beginBinding(phone).denial?.reason == "PASSCODE_NOT_SET")
    } else {
      let error = await refusal { try await service.beginBinding(phone, authenticated: .seconds(3_600)) }
      #expect(error.reason == "PRIMARY_AUTHENTICATION_TOO_OLD")
    }
    expectRefusal("binding.denied", in: service)
  }

  /// A person who is new is named by the denial all the same: support looks for it.
  @Test func aDenialNamesANewPerson() async throws {
    var phone = TestPhone()
    phone.posture.passcodeSet = false
    _ = try await service.beginBinding(phone)
    #expect(service.events.map(\.profileID) == ["alice"])
    #expect(service.events.map(\.deviceID) == [phone.deviceID])
  }

  @Test func ofAnOldLogin() async throws {
    _ = try await service.set(.passcode("2468"))
    let old = service.primary(.seconds(3_600))
    service.eraseBeforeNextCommit()
    #expect(
      await refusal { try await service.set(.passcode("1357"), by: .primary(old)) }.reason
        == "PRIMARY_AUTHENTICATION_TOO_OLD")
    expectRefusal("secret.refused", in: service)
  }

  enum Moment: CaseIterable { case beforeItIsCounted, beforeItsVerdict }

  /// The profile is known and has no passcode: its name counts.
  @Test(arguments: Moment.allCases)
  func ofAnOldSecretThatANameRefuses(_ moment: Moment) async throws {
    let secrets = TestSecrets()
    let service = try await TestService.start(secrets: secrets)
    _ = try await service.set(.gesture(0, 1, 2, 5))
    if moment == .beforeItIsCounted { service.eraseBeforeNextCommit() }
    secrets.hold()
    async let answer = service.set(.passcode("1357"), by: .oldSecret(.passcode("0000")))
    await secrets.untilHeld(1)
    if moment == .beforeItsVerdict { service.eraseBeforeNextCommit() }
    secrets.goOn()
    #expect(try await answer.denial?.reason == "WRONG_SECRET")
    expectRefusal("secret.refused", in: service)
  }

  @Test func ofAnOldSecretWhileANameIsLocked() async throws {
    _ = try await service.set(.gesture(0, 1, 2, 5))
    for _ in 0..<5 { _ = try await service.remove(.passcode, by: .oldSecret(.passcode("0000"))) }
    #expect(service.events.last?.profileID == "alice")
    service.eraseBeforeNextCommit()
    _ = try await service.remove(.passcode, by: .oldSecret(.passcode("0000")))
    expectRefusal("secret.refused", in: service)
  }

  /// The profile has a passcode: its own record is what counts.
  @Test func ofAWrongOldSecret() async throws {
    let secrets = TestSecrets()
    let service = try await TestService.start(secrets: secrets)
    _ = try await service.set(.passcode("2468"))
    secrets.hold()
    async let answer = service.set(.passcode("1357"), by: .oldSecret(.passcode("0000")))
    await secrets.untilHeld(1)
    service.eraseBeforeNextCommit()
    secrets.goOn()
    #expect(try await answer.denial?.reason == "WRONG_SECRET")
    expectRefusal("secret.refused", in: service)
  }

  @Test func ofAnExplanationWithoutAPosture() async throws {
    let phone = try service.bind(holding: "an identifier")
    service.eraseBeforeNextCommit()
    let request = V1.ExplainEvaluationRequest(
      begin: V1.BeginEvaluationRequest(
        applicationID: TestService.applicationID, policy: "login", bindingID: phone.bindingID,
        localizedReason: "Log in"))
    let error = await refusal { () async throws -> V1.ExplainEvaluationResponse in
      try await service.call("AdministrationService/ExplainEvaluation", request)
    }
    #expect(error.code == .notFound)
    // The id that was asked for, of a binding that is no more.
    #expect(service.events.last?.kind == "binding.refused")
    #expect(service.events.allSatisfy { $0.profileID.isEmpty && $0.deviceID.isEmpty })
  }

  /// Asked for after its erasure, and before there is one: an event cannot tell the two apart.
  @Test func aProfileOfWhichNothingIsKnownIsNotNamed() async throws {
    _ = await refusal { try await service.unlock(.passcode) }
    _ = try await service.set(.passcode("1357"), by: .oldSecret(.passcode("0000")))
    _ = await refusal { try await service.set(.passcode("1357"), by: .primary(service.primary(.seconds(3_600)))) }
    #expect(service.events.count == 3)
    #expect(service.events.allSatisfy { $0.kind == "secret.refused" && $0.profileID.isEmpty })
  }
}
