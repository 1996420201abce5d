import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// What the records tell support about a login. Tests/DecisionTables/Diagnosis.md has the rules.
struct ProfileDiagnosisTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  private static func minute(_ time: V1.Timestamp) -> String { time.minuteText() }

  private func report() async throws -> [String] {
    LoginReport(try await service.profile()).entries.map {
      "\($0.name(time: Self.minute)): \($0.text(time: Self.minute))"
    }
  }

  /// "DOMAIN_STATE_CHANGED: LOG_IN_BY_PASSCODE" for each obstacle of the first binding.
  private func obstacles() async throws -> [String] {
    try await service.profile().diagnoses[0].obstacles.map { "\($0.code): \($0.remedies.joined(separator: " "))" }
  }

  // R23: the verdict is kept for display, and goes with the next one.
  @Test func aChangedFingerIsToldUntilAPasscodeEndsIt() async throws {
    var phone = try await service.bind()
    _ = try await service.set(.passcode("2468"))
    phone.posture.domainState = Array("a finger more".utf8)
    let opened = try await service.begin(phone)
    #expect(try await service.submit(phone, opened).outcome == .factorRequired)
    var profile = try await service.profile()
    #expect(profile.postures.first?.domainState == .changed)
    #expect(profile.diagnoses.map(\.answer) == [.yes, .yes])
    #expect(profile.diagnoses[0].factors == [.passcode])
    #expect(try await obstacles() == ["DOMAIN_STATE_CHANGED: LOG_IN_BY_PASSCODE ACCEPT_DOMAIN_STATE"])
    #expect(profile.diagnoses[0].obstacles.first?.since == V1.Timestamp(service.clock.now))

    #expect(try await service.submit(phone, opened, .typed("2468")).outcome == .succeeded)
    profile = try await service.profile()
    #expect(profile.postures.first?.domainState == .unchanged)
    #expect(profile.diagnoses[0].factors == [.biometry, .passcode] && profile.diagnoses[0].obstacles.isEmpty)
  }

  @Test func anAcceptedChangeIsToldNoMore() async throws {
    var phone = try await service.bind()
    phone.posture.domainState = Array("a finger more".utf8)
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .factorRequired)
    #expect(try await obstacles() == ["DOMAIN_STATE_CHANGED: ACCEPT_DOMAIN_STATE"])
    let _: V1.AcceptDomainStateResponse = try await service.call(
      "BindingService/AcceptDomainState",
      V1.AcceptDomainStateRequest(
        applicationID: TestService.applicationID, bindingID: phone.bindingID, domainState: phone.posture.domainState,
        evidence: .primary(
          V1.PrimaryAuthentication(
            method: "password", authenticatedAt: V1.Timestamp(seconds: service.clock.now.seconds, nanoseconds: 0))),
        osVersion: "17.2"))
    #expect(try await obstacles() == [])
  }

  @Test func aLockedPasscodeIsToldWithItsEnd() async throws {
    _ = try await service.bind()
    _ = try await service.set(.passcode("2468"))
    for _ in 0..<5 { _ = try await service.attempt(.typed("0000")) }
    let diagnosis = try await service.profile().diagnoses[1]
    #expect(diagnosis.bindingID.isEmpty && diagnosis.answer == .no && diagnosis.factors.isEmpty)
    #expect(diagnosis.obstacles.map(\.until) == [V1.Timestamp(service.clock.now + .seconds(60))])
    #expect(
      try await report().last?.hasPrefix(
        "On any device: No login can succeed now. Passcode: locked after wrong attempts, until ")
        == true)
  }

  @Test func aRevokedBindingIsToldToOperators() async throws {
    let phone = try await service.bind()
    try await service.revoke(phone)
    let profile = try await service.profile()
    #expect(profile.diagnoses.map(\.answer) == [.no, .no])
    #expect(try await obstacles() == ["BINDING_REVOKED: BIND_DEVICE"])
    let explained: V1.ExplainEvaluationResponse = try await service.call(
      "AdministrationService/ExplainEvaluation",
      V1.ExplainEvaluationRequest(
        begin: V1.BeginEvaluationRequest(
          applicationID: TestService.applicationID, policy: "login", bindingID: phone.bindingID, posture: .healthy)))
    #expect(explained.answer?.denial?.reason == "BINDING_REVOKED" && explained.answer?.factors == [])
    #expect(explained.diagnosis == profile.diagnoses[0])
  }

  @Test(arguments: ["b", ""]) func anUnknownNameIsToldToOperators(_ bindingID: String) async throws {
    let request = V1.ExplainEvaluationRequest(
      begin: V1.BeginEvaluationRequest(
        applicationID: TestService.applicationID, policy: "login", bindingID: bindingID, posture: .healthy,
        profileID: bindingID.isEmpty ? "nobody" : ""))
    let error = await refusal { () async throws -> V1.ExplainEvaluationResponse in
      try await service.call("AdministrationService/ExplainEvaluation", request)
    }
    #expect(error.code == .notFound)
  }

  @Test func aPasscodeAloneServes() async throws {
    _ = try await service.set(.passcode("2468"))
    #expect(try await report() == ["On any device: A login can succeed now, by passcode."])
  }

  @Test func twoPhonesOfOneNameAreToldApart() async throws {
    _ = try await service.bind()
    var other = TestPhone()
    other.deviceID = "phone-2-6b1f0d9ac37e58"
    other.posture.deviceModel = "iPhone17,1"
    let bound = try await service.bind(other)
    _ = try await service.submit(bound, service.begin(bound))
    let names = LoginReport(try await service.profile()).entries.map { $0.name(time: Self.minute) }
    #expect(names.count == 2 && Set(names).count == 2)
    #expect(names.contains { $0.hasPrefix("Alice’s iPhone (iPhone15,2, never used, …") })
    let end = bound.bindingID.suffix(4)
    #expect(names.contains { $0.hasPrefix("Alice’s iPhone (iPhone17,1, last used 20") && $0.hasSuffix(", …\(end))") })
  }

  /// A row that an earlier release wrote has no verdict.
  @Test func whatIsNotKnownIsCalledUnknown() async throws {
    let phone = try await service.bind()
    let seen = try #require(service.store.records.binding(phone.bindingID)?.lastSeen)
    try service.store.change(
      .notePosture(
        bindingID: phone.bindingID,
        SeenPosture(seen.posture, deviceModel: seen.deviceModel, seenAt: seen.seenAt, isProven: true)))
    #expect(try await service.profile().diagnoses[0].answer == .unknown)
    #expect(try await obstacles() == ["DOMAIN_STATE_UNKNOWN: ACCEPT_DOMAIN_STATE"])
  }

  @Test func thePolicyOfTheDiagnosesIsTheCallers() async throws {
    _ = try await service.bind()
    func answer(_ policy: String) async throws -> V1.GetProfileResponse {
      try await service.call(
        "AdministrationService/GetProfile",
        V1.GetProfileRequest(applicationID: TestService.applicationID, profileID: "alice", policy: policy))
    }
    #expect(try await answer("").diagnoses.map(\.policy) == ["login", "login"])
    #expect(try await answer("payment").diagnoses.map(\.policy) == ["payment", "payment"])
    #expect(await refusal { try await answer("nobody's") }.fields == ["policy"])
  }
}
