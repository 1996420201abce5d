import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The calling service's own login as a factor: where the policy takes it, and while it is fresh.
struct PrimaryAttemptTests {
  private func start() async throws -> TestService {
    try await TestService.start { configuration in
      var policy = EvaluationPolicy(
        name: "vouched", purpose: .login, factors: [.biometry, .primary], tokenLifetime: .seconds(300))
      policy.primaryFreshness = .seconds(60)
      configuration.policies.append(policy)
      configuration.policies.append(
        EvaluationPolicy(name: "vouched alone", purpose: .login, factors: [.primary], tokenLifetime: .seconds(300)))
    }
  }

  private func login(_ service: TestService, _ age: Duration = .seconds(1), method: String = "password") -> Attempt {
    var primary = service.primary(age)
    primary.method = method
    return .primary(primary)
  }

  // R40
  @Test(arguments: [("password", "pwd"), ("otp", "otp"), ("idv", "user")])
  func aFreshLoginYieldsATokenThatSaysHow(_ method: String, _ expected: String) async throws {
    let service = try await start()
    let phone = try await service.bind()
    let opened = try await service.begin(phone, policy: "vouched")
    let answer = try await service.submit(phone, opened, login(service, method: method))
    #expect(answer.outcome == .succeeded)
    #expect(try await service.introspect(answer.token).claims?.methods == [expected])
  }

  // R26
  @Test func aFreshLoginMakesTheFingersTheBaseline() async throws {
    let service = try await start()
    var phone = try await service.bind()
    phone.posture.domainState = Array("other fingers".utf8)
    _ = try await service.submit(phone, service.begin(phone, policy: "vouched"), login(service))
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .succeeded)
  }

  // R28: by the policy's own freshness.
  @Test(arguments: [(Duration.seconds(60), true), (.seconds(61), false), (.seconds(-30), true)])
  func theLoginMustBeFresh(_ age: Duration, _ isFresh: Bool) async throws {
    let service = try await start()
    let phone = try await service.bind()
    let opened = try await service.begin(phone, policy: "vouched")
    guard !isFresh else {
      return #expect(try await service.submit(phone, opened, login(service, age)).outcome == .succeeded)
    }
    let error = await refusal { try await service.submit(phone, opened, login(service, age)) }
    #expect(error.code == .failedPrecondition)
    #expect(error.reason == "PRIMARY_AUTHENTICATION_TOO_OLD")
    #expect(service.events.last?.kind == "evaluation.refused")
    #expect(service.events.last?.profileID == "alice")
    // It cost nothing.
    #expect(service.store.records.device(phone.deviceID).version == 0)
    #expect(try await service.submit(phone, opened, login(service)).outcome == .succeeded)
  }

  @Test func aLoginInTheFutureOrWithoutAWordIsABadRequest() async throws {
    let service = try await start()
    let opened = try await service.begin(service.bind(), policy: "vouched")
    let future = await refusal { try await service.submit(opened, login(service, .seconds(-31))) }
    #expect(future.fields == ["primary.authenticated_at"])
    let empty = await refusal { try await service.submit(opened, .primary(V1.PrimaryAuthentication())) }
    #expect(empty.fields == ["primary.method", "primary.authenticated_at"])
  }

  // R31
  @Test(arguments: ["login", "deviceOwnerAuthentication"])
  func aPolicyThatDoesNotNameItTakesNone(_ policy: String) async throws {
    let service = try await start()
    let phone = try await service.bind()
    for age in [Duration.seconds(1), .seconds(1_000)] {
      let answer = try await service.submit(phone, service.begin(phone, policy: policy), login(service, age))
      #expect(answer.outcome == .factorRequired)
      #expect(answer.token.isEmpty)
    }
  }

  // R32, R37: of somebody nothing is known of, no login proves anything; and who is erased is somebody else afterwards.
  @Test func aCallerVouchesForWhoIsKnown() async throws {
    let service = try await start()
    let stranger = try await service.submit(
      service.begin(profileID: "newcomer", policy: "vouched alone"), login(service))
    #expect(stranger.outcome == .failed && stranger.token.isEmpty && stranger.profileID.isEmpty)
    #expect(service.store.records.profile(TestService.applicationID, "newcomer").version == 0)

    _ = try await service.set(.passcode("2468"), of: "newcomer")
    let answer = try await service.submit(
      service.begin(profileID: "newcomer", policy: "vouched alone"), login(service))
    #expect(answer.profileID == "newcomer")
    #expect(try await service.introspect(answer.token).active)
    try await service.erase("newcomer")
    #expect(try await !service.introspect(answer.token).active)
    service.clock.advance(by: .seconds(1))
    _ = try await service.set(.passcode("2468"), of: "newcomer")
    #expect(try await !service.introspect(answer.token).active)
  }

  // R32, R37
  @Test func noLoginRevivesABinding() async throws {
    let service = try await start()
    let phone = try await service.bind()
    let opened = try await service.begin(phone, policy: "vouched")
    try await service.revoke(phone)
    for age in [Duration.seconds(1), .seconds(3_600)] {
      let answer = try await service.submit(phone, opened, login(service, age))
      #expect(answer.outcome == .failed)
      #expect(answer.denial?.reason == "BINDING_REVOKED")
      #expect(answer.token.isEmpty && answer.profileID.isEmpty)
    }
  }

  // R40: a policy may have its tokens serve once, without any money.
  @Test func aSingleUseLoginIsConsumedOnce() async throws {
    let service = try await TestService.start { configuration in
      for index in configuration.policies.indices { configuration.policies[index].isTokenSingleUse = true }
    }
    let phone = try await service.bind()
    _ = try await service.set(.passcode("2468"))
    for answer in [try await service.submit(phone, service.begin(phone)), try await service.attempt(.typed("2468"))] {
      #expect(try await service.introspect(answer.token).claims?.singleUse == true)
      #expect(try await service.consume(answer.token).reason == "TRANSACTION_MISMATCH")
      #expect(try await service.consume(answer.token, nil).consumed)
      #expect(try await service.consume(answer.token, nil).reason == "ALREADY_CONSUMED")
      #expect(try await !service.introspect(answer.token).active)
    }
    let revoked = try await service.attempt(.typed("2468")).token
    try await service.revoke(token: revoked)
    #expect(try await service.consume(revoked, nil).reason == "REVOKED")
  }
}
