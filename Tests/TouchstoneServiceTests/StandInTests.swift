import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// R37: whoever asks about people and phones that are not there is answered as if they were, at every step.
struct StandInTests {
  /// What somebody without the secret can see of a person, from the first question to the disabled secret. Without what
  /// is random.
  private struct Story: Hashable {
    var preflights: [V1.CanEvaluatePolicyResponse] = []
    var openings: [V1.BeginEvaluationResponse] = []
    var answers: [V1.SubmitAttemptResponse] = []
  }

  private func story(
    of phone: TestPhone, guessing attempt: Attempt, _ service: TestService
  ) async throws -> Story {
    var story = Story()
    for waits: Int64 in [0, 0, 0, 0, 60, 300, 900, 900, 3_600, 0, 0] {
      story.preflights.append(try await service.canEvaluate(phone, policy: "secrets"))
      var opened = try await service.begin(phone, policy: "secrets")
      if opened.denial == nil {
        story.answers.append(try await service.submit(phone, opened, attempt))
        opened.evaluation = []
        opened.signingInput = []
        opened.expiresAt = nil
      }
      story.openings.append(opened)
      service.clock.advance(by: .seconds(waits))
    }
    return story
  }

  private func start(_ secrets: TestSecrets = TestSecrets()) async throws -> TestService {
    try await TestService.start(secrets: secrets) { configuration in
      configuration.policies.append(
        EvaluationPolicy(
          name: "secrets", purpose: .login, factors: [.passcode, .gesture], tokenLifetime: .seconds(300)))
    }
  }

  private func stranger(withGesture: Bool, _ service: TestService) -> TestPhone {
    TestPhone(profileID: service.unknownProfileID(with: withGesture ? [.passcode, .gesture] : [.passcode]))
  }

  // R13, R37
  @Test(arguments: [true, false])
  func guessingAtNobodysSecretLooksLikeGuessingAtSomebodys(_ withGesture: Bool) async throws {
    let secrets = TestSecrets()
    let service = try await start(secrets)
    _ = try await service.set(.passcode("2468"))
    if withGesture { _ = try await service.set(.gesture(0, 1, 2, 5)) }
    let attempt = withGesture ? Attempt.drawn(8, 7, 6, 3) : .typed("0000")

    var count = secrets.startedCount
    let known = try await story(of: TestPhone(), guessing: attempt, service)
    let verified = secrets.startedCount - count
    #expect(verified == 10)
    #expect(known.answers.map(\.outcome).prefix(5) == [.tryAgain, .tryAgain, .tryAgain, .tryAgain, .lockedOut])
    count = secrets.startedCount
    #expect(try await story(of: stranger(withGesture: withGesture, service), guessing: attempt, service) == known)
    // It takes as long, too.
    #expect(secrets.startedCount - count == verified)
  }

  // R37: somebody of whom only a phone is known.
  @Test func whoHasNoSecretLooksLikeNobody() async throws {
    let service = try await start()
    let phone = try await service.bind(TestPhone(profileID: stranger(withGesture: false, service).profileID))
    let expected = try await story(of: stranger(withGesture: false, service), guessing: .typed("0000"), service)
    service.clock.advance(by: .seconds(366 * 24 * 60 * 60))
    let other = try await start()
    let nobody = stranger(withGesture: false, other)
    #expect(try await story(of: nobody, guessing: .typed("0000"), other) == expected)
    // And who is asked by the phone is asked for what it has.
    #expect(try await service.begin(phone).factors == [.biometry])
  }

  // R37
  @Test func anUnknownBindingsPasscodeIsGuessedAtInVain() async throws {
    let service = try await start()
    let known = try await service.bind()
    var unknown = TestPhone()
    unknown.bindingID = service.unknownBindingID(with: [.passcode])
    _ = try await service.set(.passcode("2468"))
    var expected: [V1.SubmitAttemptResponse] = []
    for var phone in [known, unknown] {
      phone.posture.domainState = Array("a guess".utf8)
      let opened = try await service.begin(phone, policy: "login")
      var answers: [V1.SubmitAttemptResponse] = []
      for _ in 0..<6 { answers.append(try await service.submit(phone, opened, .typed("0000"))) }
      if expected.isEmpty { expected = answers } else { #expect(answers == expected) }
    }
    #expect(expected.last?.outcome == .lockedOut)
    #expect(service.secretStanding().failures == 5)
  }

  // R37: whatever a known one is offered, some unknown ones are offered, too.
  @Test(arguments: ["login", "payment", "deviceOwnerAuthentication", "secrets"])
  func noOfferIsForKnownOnesAlone(_ policy: String) async throws {
    let service = try await start()
    var unknown: Set<[V1.Factor]> = []
    for number in 0..<400 {
      var phone = TestPhone()
      phone.bindingID = "nobody \(number)"
      phone.posture.domainState = Array("a guess".utf8)
      unknown.insert(try await service.canEvaluate(phone, policy: policy).factors)
    }
    var phone = try await service.bind()
    phone.posture.domainState = Array("a guess".utf8)
    #expect(unknown.contains(try await service.canEvaluate(phone, policy: policy).factors))
    _ = try await service.set(.gesture(0, 1, 2, 5))
    #expect(unknown.contains(try await service.canEvaluate(phone, policy: policy).factors))
    _ = try await service.set(.passcode("2468"))
    #expect(unknown.contains(try await service.canEvaluate(phone, policy: policy).factors))
    #expect(unknown.count > (policy == "payment" ? 1 : 2))
  }

  // R37: what is counted on a stand-in is nobody else's.
  @Test func aStandInLocksNobody() async throws {
    let service = try await start()
    for _ in 0..<5 { _ = try await service.submit(service.begin(TestPhone(), policy: "secrets"), .typed("0000")) }
    #expect(service.store.records.profile(TestService.applicationID, "alice").version == 0)
    _ = try await service.set(.passcode("2468"))
    #expect(
      try await service.submit(service.begin(TestPhone(), policy: "secrets"), .typed("2468")).outcome == .succeeded)
  }

  // R37: identifiers that look alike are not.
  @Test func namesAreBytes() async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"), of: "caf\u{e9}")
    for name in ["cafe\u{301}", "CAF\u{c9}", "caf\u{e9} ", " caf\u{e9}", "caf\u{435}"] {
      let answer = try await service.submit(
        service.begin(TestPhone(profileID: name), policy: "secrets"), .typed("2468"))
      // The stand-in may have a gesture alone.
      #expect([.tryAgain, .factorRequired].contains(answer.outcome), "\(name)")
    }
    #expect(service.secretStanding(of: "caf\u{e9}").failures == 0)
    let right = try await service.submit(
      service.begin(TestPhone(profileID: "caf\u{e9}"), policy: "secrets"), .typed("2468"))
    #expect(Array(right.profileID.utf8) == Array("caf\u{e9}".utf8))
  }
}
