import DispatchRPC
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// What would be answered, and by which rule.
struct ExplainTests {
  private func explain(
    _ service: TestService, _ phone: TestPhone? = nil, profileID: String = "", policy: String = "login",
    at: V1.Timestamp? = nil
  ) async throws -> V1.ExplainEvaluationResponse {
    try await service.call(
      "AdministrationService/ExplainEvaluation",
      V1.ExplainEvaluationRequest(
        begin: V1.BeginEvaluationRequest(
          applicationID: TestService.applicationID, policy: policy, bindingID: phone?.bindingID ?? "",
          localizedReason: "Log in", posture: phone?.posture ?? .healthy, profileID: profileID), at: at))
  }

  // R34: the same answer, without anything to act on.
  @Test func theAnswerIsBeginsWithoutAnEvaluation() async throws {
    let service = try await TestService.start()
    var phone = try await service.bind()
    for change in [{ _ in }, { $0.posture.passcodeSet = false }] as [(inout TestPhone) -> Void] {
      change(&phone)
      var begun = try await service.begin(phone)
      (begun.evaluation, begun.signingInput, begun.expiresAt) = ([], [], nil)
      let explained = try await explain(service, phone)
      #expect(explained.answer == begun)
      #expect(!explained.trace.isEmpty)
      #expect(explained.trace.allSatisfy { $0.rule.hasPrefix("R") && !$0.detail.isEmpty })
    }
    #expect(service.store.commitCount == 2, "the binding, and the denial of the second begin")
  }

  @Test func theRuleThatRefusedIsNamed() async throws {
    let service = try await TestService.start()
    var phone = try await service.bind()
    phone.posture.osVersion = "7.1"
    let explained = try await explain(service, phone, policy: "deviceOwnerAuthenticationWithBiometrics")
    #expect(explained.answer?.denial?.reason == "OS_TOO_OLD")
    #expect(explained.trace.contains { $0.rule == "R2" && !$0.passed })
  }

  // R15: as it would be then.
  @Test func aLockIsOverAtALaterTime() async throws {
    let service = try await TestService.start()
    _ = try await service.set(.passcode("2468"))
    for _ in 0..<5 { _ = try await service.attempt(.typed("0000")) }
    let now = try await explain(service, profileID: "alice")
    #expect(now.answer?.denial?.reason == "PASSCODE_LOCKED")
    #expect(now.answer?.denial?.retryAfter == V1.Duration(seconds: 60))
    let later = try await explain(
      service, profileID: "alice", at: V1.Timestamp(service.clock.now + .seconds(60)))
    #expect(later.answer?.factors == [.passcode])
  }

  @Test func whatIsWrongIsNamedByItsPath() async throws {
    let service = try await TestService.start()
    func fields(_ request: V1.ExplainEvaluationRequest) async -> [String] {
      await refusal { () async throws -> V1.ExplainEvaluationResponse in
        try await service.call("AdministrationService/ExplainEvaluation", request)
      }.fields
    }
    #expect(await fields(V1.ExplainEvaluationRequest()) == ["begin"])
    let empty = V1.ExplainEvaluationRequest(begin: V1.BeginEvaluationRequest(policy: "login"))
    #expect(await fields(empty) == ["begin.application_id", "begin.localized_reason", "begin.posture"])
    #expect(
      await fields(V1.ExplainEvaluationRequest(begin: V1.BeginEvaluationRequest()))
        == ["begin.application_id", "begin.policy", "begin.localized_reason", "begin.posture"])
    let time = V1.Timestamp(seconds: 0, nanoseconds: -1)
    #expect(await fields(V1.ExplainEvaluationRequest(begin: V1.BeginEvaluationRequest(), at: time)) == ["at"])
  }
}
