import DispatchRPC
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy

/// A test can supply a service's surroundings: calls without a server, chance from a seed, other policies while it
/// serves.
struct EnvironmentTests {
  /// A binding and a login, all on this thread.
  private func story(on service: InProcessService) throws -> (opened: V1.BeginEvaluationResponse, bindingID: String) {
    let phone = TestPhone()
    let begun: V1.BeginBindingResponse = try service.call(
      "/touchstone.v1.BindingService/BeginBinding",
      V1.BeginBindingRequest(
        applicationID: TestService.applicationID, profileID: phone.profileID, deviceID: phone.deviceID,
        primary: V1.PrimaryAuthentication(
          method: "password", authenticatedAt: V1.Timestamp(seconds: TestClock().now.seconds, nanoseconds: 0)),
        posture: phone.posture))
    let completed: V1.CompleteBindingResponse = try service.call(
      "/touchstone.v1.BindingService/CompleteBinding",
      V1.CompleteBindingRequest(
        applicationID: TestService.applicationID, ticket: begun.ticket, keys: phone.keys(signing: begun.signingInput),
        posture: phone.posture))
    let bindingID = try #require(completed.binding).bindingID
    let opened: V1.BeginEvaluationResponse = try service.call(
      "/touchstone.v1.EvaluationService/BeginEvaluation",
      V1.BeginEvaluationRequest(
        applicationID: TestService.applicationID, policy: "login", bindingID: bindingID, localizedReason: "Log in",
        posture: phone.posture))
    let answer: V1.SubmitAttemptResponse = try service.call(
      "/touchstone.v1.EvaluationService/SubmitAttempt",
      V1.SubmitAttemptRequest(
        applicationID: TestService.applicationID, evaluation: opened.evaluation, attempt: phone.proof(for: opened),
        posture: phone.posture))
    #expect(answer.outcome == .succeeded)
    return (opened, bindingID)
  }

  @Test func oneSeedMakesTheSameAnswers() throws {
    let keys = KeyRing.ephemeral()
    let first = try story(on: InProcessService(keys: keys, seed: 1))
    let again = try story(on: InProcessService(keys: keys, seed: 1))
    let other = try story(on: InProcessService(keys: keys, seed: 2))
    #expect(first == again)
    #expect(first.bindingID != other.bindingID)
    #expect(first.opened.signingInput != other.opened.signingInput)
    #expect(first.opened.evaluation != other.opened.evaluation)
  }

  @Test func aMethodThatIsNotThereIsUnimplemented() {
    let service = InProcessService()
    #expect(throws: RPCError.self) {
      try service.call(
        "/touchstone.v1.TokenService/ForgeToken", V1.GetSigningKeysRequest(), answer: V1.GetSigningKeysResponse.self)
    }
  }

  // R36
  @Test func replacedPoliciesAreServedAtOnceAndOldEvaluationsAreInvalid() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    let (old, older) = (try await service.begin(phone), try await service.begin(phone))
    var policies = EvaluationPolicy.builtIn
    for index in policies.indices { policies[index].attemptsPerEvaluation += 1 }
    service.replacePolicies(policies)
    #expect(try await service.submit(phone, old).outcome == .invalidContext)
    let new = try await service.begin(phone)
    service.replacePolicies([])
    #expect(try await service.submit(phone, new).outcome == .invalidContext)
    #expect(await refusal { try await service.begin(phone) }.fields == ["policy"])
    // An evaluation that began under settings that hold again is valid again.
    service.replacePolicies(EvaluationPolicy.builtIn)
    #expect(try await service.submit(phone, older).outcome == .succeeded)
  }
}
