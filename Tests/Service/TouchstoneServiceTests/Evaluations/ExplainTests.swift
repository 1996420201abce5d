import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The answer that a call would get, and the rule behind it.
struct ExplainTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

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
    var phone = try await service.bind()
    phone.posture.osVersion = "7.1"
    let explained = try await explain(service, phone, policy: "deviceOwnerAuthenticationWithBiometrics")
    #expect(explained.answer?.denial?.reason == "OS_TOO_OLD")
    #expect(explained.trace.contains { $0.rule == "R2" && !$0.passed })
  }

  // R15: as it would be then.
  @Test func aLockIsOverAtALaterTime() async throws {
    _ = try await service.set(.passcode("2468"))
    for _ in 0..<5 { _ = try await service.attempt(.typed("0000")) }
    let now = try await explain(service, profileID: "alice")
    #expect(now.answer?.denial?.reason == "PASSCODE_LOCKED")
    #expect(now.answer?.denial?.retryAfter == V1.Duration(seconds: 60))
    let later = try await explain(
      service, profileID: "alice", at: V1.Timestamp(service.clock.now + .seconds(60)))
    #expect(later.answer?.factors == [.passcode])
  }

  private func explainUnseen(
    _ service: TestService, _ bindingID: String, policy: String = "login"
  ) async throws -> V1.ExplainEvaluationResponse {
    try await service.call(
      "AdministrationService/ExplainEvaluation",
      V1.ExplainEvaluationRequest(
        begin: V1.BeginEvaluationRequest(
          applicationID: TestService.applicationID, policy: policy, bindingID: bindingID, localizedReason: "Log in")))
  }

  /// Support has no phone at hand.
  @Test func withoutAPostureTheOneLastSeenIsTaken() async throws {
    var phone = try await service.bind()
    let bound = try await explainUnseen(service, phone.bindingID)
    #expect(bound.answer?.denial == nil && bound.answer?.factors == [.biometry])
    #expect(bound.posture?.proven == true && bound.posture?.bindingID == phone.bindingID)
    #expect(bound.posture?.posture?.domainState == [])

    phone.posture.passcodeSet = false
    #expect(try await service.begin(phone).denial?.laError.rawValue == -5)
    let explained = try await explainUnseen(service, phone.bindingID)
    #expect(explained.answer?.denial?.laError.rawValue == -5)
    #expect(explained.posture?.proven == false)
    #expect(explained.posture?.posture?.passcodeSet == false)
    #expect(explained.posture?.seenAt == V1.Timestamp(service.clock.now))
    #expect(explained.trace.contains { $0.rule == "R1" && !$0.passed })
    let profile: V1.GetProfileResponse = try await service.call(
      "AdministrationService/GetProfile",
      V1.GetProfileRequest(applicationID: TestService.applicationID, profileID: phone.profileID))
    #expect(profile.postures == [explained.posture])
    #expect(profile.diagnoses.first == explained.diagnosis)
    // The request's own values come first.
    #expect(try await explain(service, phone).posture == nil)
  }

  // R34: beginning writes nothing, and a login writes it once an hour where it stays the same.
  @Test func whatIsSeenIsWrittenBesideWhatIsWrittenAnyway() async throws {
    var phone = try await service.bind()
    func seen() -> SeenPosture? { service.store.records.binding(phone.bindingID)?.lastSeen }
    let bound = seen()
    phone.posture.osVersion = "17.3"
    let opened = try await service.begin(phone)
    #expect(seen() == bound)
    #expect(try await service.submit(phone, opened, phone.wrongProof(for: opened)).outcome == .tryAgain)
    #expect(seen()?.posture.osVersion == OSVersion(17, 3) && seen()?.isProven == false)
    #expect(try await service.submit(phone, opened, phone.proof(for: opened)).outcome == .succeeded)
    #expect(seen()?.isProven == true)
    let proven = seen()
    service.clock.advance(by: .seconds(60))
    let later = try await service.begin(phone)
    #expect(try await service.submit(phone, later, phone.proof(for: later)).outcome == .succeeded)
    #expect(seen() == proven)
  }

  // R37: the store keeps nothing of an unknown or revoked one, and the answer to support states that.
  @Test func ofAnUnknownBindingNothingIsKept() async throws {
    let error = await refusal { try await explainUnseen(service, "nobody") }
    #expect(error.code == .notFound)
    #expect(service.events.last?.kind == "binding.refused")
    var stranger = TestPhone()
    stranger.bindingID = "nobody"
    let opened = try await service.begin(stranger)
    if opened.denial == nil { _ = try await service.submit(stranger, opened, stranger.wrongProof(for: opened)) }
    #expect(await refusal { try await explainUnseen(service, "nobody") }.code == .notFound)
  }

  @Test func noReasonIsNeededButALongOneIsRefused() async throws {
    let service = try await TestService.start()
    func explain(_ reason: String) async throws -> V1.ExplainEvaluationResponse {
      try await service.call(
        "AdministrationService/ExplainEvaluation",
        V1.ExplainEvaluationRequest(
          begin: V1.BeginEvaluationRequest(
            applicationID: TestService.applicationID, policy: "login", localizedReason: reason, posture: .healthy)))
    }
    let (without, with) = (try await explain(""), try await explain("Log in"))
    #expect(without.trace == with.trace && without.answer?.factors == with.answer?.factors)
    let tooLong = String(repeating: "x", count: 513)
    #expect(await refusal { try await explain(tooLong) }.fields == ["begin.localized_reason"])
  }

  @Test func whatIsWrongIsNamedByItsPath() async throws {
    func fields(_ request: V1.ExplainEvaluationRequest) async -> [String] {
      await refusal { () async throws -> V1.ExplainEvaluationResponse in
        try await service.call("AdministrationService/ExplainEvaluation", request)
      }.fields
    }
    #expect(await fields(V1.ExplainEvaluationRequest()) == ["begin"])
    let empty = V1.ExplainEvaluationRequest(begin: V1.BeginEvaluationRequest(policy: "login"))
    #expect(await fields(empty) == ["begin.application_id", "begin.posture"])
    #expect(
      await fields(V1.ExplainEvaluationRequest(begin: V1.BeginEvaluationRequest()))
        == ["begin.application_id", "begin.policy", "begin.posture"])
    let time = V1.Timestamp(seconds: 0, nanoseconds: -1)
    #expect(await fields(V1.ExplainEvaluationRequest(at: time)) == ["at", "begin"])
    // Another fault beside it hides none of its faults.
    #expect(await fields(V1.ExplainEvaluationRequest(begin: empty.begin, at: time)).first == "at")
    #expect(await fields(V1.ExplainEvaluationRequest(begin: empty.begin, at: time)).count == 3)
  }
}
