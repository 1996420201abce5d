import DispatchRPC
import Encodings
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Setting, changing and removing passcode and gesture: what it takes, and what a wrong old one costs.
struct SecretChangeTests {
  private func start(store: MemoryStore = MemoryStore(), connections: Int = 1) async throws -> TestService {
    try await TestService.start(store: store, connections: connections) { $0.hashCheaply() }
  }

  private static let accepted = V1.SetSecretResponse(accepted: true)

  // MARK: By primary authentication

  // R16, R17
  @Test func aFirstSecretIsSetOnTheCallersWordAndSwitchesItsWayOn() async throws {
    let service = try await start()
    #expect(try await service.set(.passcode("2468")) == Self.accepted)
    #expect(try await service.set(.gesture(0, 1, 2, 5)) == Self.accepted)
    let settings = try await service.settings()
    #expect(settings.passcodeSet && settings.passcodeEnabled && settings.gestureSet && settings.gestureEnabled)
    #expect(settings.updatedAt == V1.Timestamp(service.clock.now))
    #expect(
      service.events.map { "\($0.kind) \($0.details.map(\.value))" } == [
        #"secret.set ["primary", "passcode"]"#, #"secret.set ["primary", "gesture"]"#,
      ])
  }

  // R16
  @Test(arguments: [
    (Duration.seconds(300), nil), (.seconds(-30), nil), (.seconds(301), "PRIMARY_AUTHENTICATION_TOO_OLD"),
  ]) func theLoginMustBeFresh(_ age: Duration, _ reason: String?) async throws {
    let service = try await start()
    let authority = SecretAuthority.primary(service.primary(age))
    guard let reason else {
      return #expect(try await service.set(.passcode("2468"), by: authority) == Self.accepted)
    }
    let error = await refusal { try await service.set(.passcode("2468"), by: authority) }
    #expect(error.code == .failedPrecondition)
    #expect(error.reason == reason)
    #expect(service.store.records.profiles.isEmpty)
    #expect(service.events.map(\.kind) == ["secret.refused"])
  }

  // R13, R16: what was counted against the old one is not held against the new one.
  @Test func aSecretThatIsSetAnewBeginsAnew() async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"))
    for _ in 0..<3 { _ = try await service.set(.passcode("1357"), by: .oldSecret(.passcode("0000"))) }
    let before = service.passcodeStanding()
    #expect(before.failures == 3)
    #expect(try await service.set(.passcode("1357")) == Self.accepted)
    #expect(service.passcodeStanding() == SecretStanding(isSet: true, generation: before.generation + 1))
    #expect(try await service.set(.passcode("9753"), by: .oldSecret(.passcode("1357"))) == Self.accepted)
  }

  // MARK: By the old secret

  // R16
  @Test func whoKnowsTheOldOneChangesIt() async throws {
    let service = try await start()
    _ = try await service.set(.gesture(0, 1, 2, 5))
    #expect(try await service.set(.gesture(8, 7, 6, 3), by: .oldSecret(.gesture(0, 1, 2, 5))) == Self.accepted)
    #expect(try await !service.set(.gesture(0, 4, 8, 5), by: .oldSecret(.gesture(0, 1, 2, 5))).accepted)
    #expect(try await service.remove(.gesture, by: .oldSecret(.gesture(8, 7, 6, 3))).accepted)
    #expect(try await !service.settings().gestureEnabled)
    #expect(
      service.events.map { "\($0.kind) \($0.details.map(\.value))" } == [
        #"secret.set ["primary", "gesture"]"#, #"secret.set ["old_secret", "gesture"]"#,
        #"secret.refused ["old_secret", "gesture", "WRONG_SECRET"]"#, #"secret.removed ["old_secret", "gesture"]"#,
      ])
  }

  // R13, R16: an old secret is an attempt on the same ladder, up to the rung that only a login leaves.
  @Test func aWrongOldSecretClimbsTheLadder() async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"))
    try await climb(service)
    #expect(
      try await service.set(.passcode("1357"), by: .oldSecret(.passcode("2468"))).denial?.reason == "PASSCODE_DISABLED")
    #expect(try await service.set(.passcode("1357")) == Self.accepted)
    #expect(try await service.set(.passcode("2468"), by: .oldSecret(.passcode("1357"))) == Self.accepted)
  }

  // R37: a profile without any secret is answered as one with a secret.
  @Test(arguments: ["nobody", "alice"]) func whereNothingIsSetEveryOldSecretIsWrong(_ profileID: String) async throws {
    let service = try await start()
    _ = try await service.set(.gesture(0, 1, 2, 5))
    try await climb(service, profileID)
    #expect(service.store.records.profile(TestService.applicationID, profileID).passcode == nil)
    #expect(try await service.set(.passcode("2468"), of: profileID) == Self.accepted)
  }

  /// Ten wrong ones, each as soon as it may be, with a look at every lock in between.
  private func climb(_ service: TestService, _ profileID: String = "alice") async throws {
    func guess() async throws -> V1.SetSecretResponse {
      try await service.set(.passcode("1357"), by: .oldSecret(.passcode("0000")), of: profileID)
    }
    for attemptsLeft in [4, 3, 2, 1] as [UInt32] {
      let answer = try await guess()
      #expect(!answer.accepted && answer.attemptsLeft == attemptsLeft)
      #expect(answer.denial?.reason == "WRONG_SECRET" && answer.denial?.laError == .authenticationFailed)
      #expect(answer.denial?.message?.text.hasPrefix("That passcode didn't match.") == true)
    }
    for minutes in [1, 5, 15, 15, 60] as [Int64] {
      let wait = V1.Duration(seconds: minutes * 60)
      for _ in 0..<3 {
        let answer = try await guess()
        #expect(!answer.accepted && answer.attemptsLeft == 0)
        #expect(answer.denial?.reason == "PASSCODE_LOCKED" && answer.denial?.retryAfter == wait)
      }
      service.clock.advance(by: .seconds(minutes * 60))
    }
    for _ in 0..<2 {
      let answer = try await guess()
      #expect(answer.denial?.reason == "PASSCODE_DISABLED" && answer.denial?.retryAfter == nil)
    }
    service.clock.advance(by: .seconds(100 * 24 * 60 * 60))
    #expect(try await guess().denial?.reason == "PASSCODE_DISABLED")
  }

  // R14: of many at once, the budget is verified and not one more.
  @Test(arguments: [MemoryStore.Delivery.immediate, .later])
  func ofParallelWrongOnesTheBudgetIsVerified(_ delivery: MemoryStore.Delivery) async throws {
    let service = try await start(store: MemoryStore(delivery: delivery), connections: 2)
    _ = try await service.set(.passcode("2468"))
    let answers = try await inParallel(40) {
      try await service.set(.passcode("1357"), by: .oldSecret(.passcode("0000")))
    }
    #expect(answers.filter(\.accepted).isEmpty)
    #expect(service.passcodeStanding().failures == 5)
    #expect(service.passcodeStanding().inFlight == 0)
    #expect(answers.filter { $0.denial?.reason == "PASSCODE_LOCKED" }.count >= 35)
  }

  // R14
  @Test func ofParallelChangesByTheSameOldSecretOneWins() async throws {
    let service = try await start(store: MemoryStore(delivery: .later), connections: 2)
    _ = try await service.set(.passcode("2468"))
    let answers = try await inParallel(4) {
      try await service.set(.passcode("1357"), by: .oldSecret(.passcode("2468")))
    }
    #expect(answers.filter(\.accepted).count == 1)
    #expect(service.events.filter { $0.kind == "secret.set" }.count == 2)
    #expect(service.passcodeStanding().failures == 3)
  }

  // R14: counted before it is verified, and so also where the verdict is lost.
  @Test func aVerdictThatIsLostWasCounted() async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"))
    service.store.failCommits(.unavailable, after: 1)
    let error = await refusal { try await service.set(.passcode("1357"), by: .oldSecret(.passcode("2468"))) }
    #expect(error.code == .unavailable)
    service.store.recover()
    #expect(service.passcodeStanding().failures == 1)
  }

  // MARK: Removing

  // R17
  @Test func aSecretThatIsRemovedIsGone() async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"))
    #expect(try await service.remove(.passcode).accepted)
    let settings = try await service.settings()
    #expect(!settings.passcodeSet && !settings.passcodeEnabled)
    #expect(service.store.records.profile(TestService.applicationID, "alice").passcode?.verifier == [])
    #expect(try await !service.set(.passcode("1357"), by: .oldSecret(.passcode("2468"))).accepted)
  }

  // R17
  @Test func removingWhatIsNotThereChangesNothing() async throws {
    let service = try await start()
    #expect(try await service.remove(.gesture).accepted)
    #expect(service.store.records.profiles.isEmpty)
    #expect(service.events.isEmpty)
  }

  // MARK: Invalid requests

  // R16
  @Test(
    arguments: [
      ("secret", nil, nil), ("secret", V1.Secret(), nil), ("secret.passcode.passcode", .passcode("246"), nil),
      ("secret.passcode.passcode", .passcode("1111"), nil),
      ("secret.passcode.passcode", .passcode("ab" + String(repeating: "é", count: 63)), nil),
      ("secret.gesture.points", .gesture(0, 1, 2), nil), ("secret.gesture.points", .gesture(0, 1, 2, 1), nil),
      ("secret.gesture.points", .gesture(0, 1, 2, 9), nil), ("confirmation", .passcode("2468"), .passcode("2469")),
      ("confirmation", .passcode("2468"), .gesture(2, 4, 6, 8)),
      ("confirmation", .passcode("2468"), .passcode("24680")),
      ("confirmation", .passcode("caf\u{E9}s"), .passcode("cafes")),
    ] as [(String, V1.Secret?, V1.Secret?)])
  func aSecretThatMayNotBe(_ field: String, _ secret: V1.Secret?, _ confirmation: V1.Secret?) async throws {
    let service = try await start()
    let error = await refusal { try await service.set(secret, confirmation: confirmation ?? .passcode("2468")) }
    #expect(error.code == .invalidArgument)
    #expect(error.fields.first == field)
    #expect(service.store.records.profiles.isEmpty)
  }

  // R16
  @Test(arguments: [
    V1.Secret.passcode("1112"), .passcode(String(repeating: "ab", count: 32)), .passcode("😀😃😀😀"), .passcode(" 1 1"),
    .gesture(0, 1, 2, 3, 4, 5, 6, 7, 8), .gesture(8, 0, 7, 1),
  ]) func aSecretThatMayBe(_ secret: V1.Secret) async throws {
    let service = try await start()
    #expect(try await service.set(secret) == Self.accepted)
    #expect(try await service.set(secret, by: .oldSecret(secret)) == Self.accepted)
  }

  // R10, R16: a bad request is no attempt.
  @Test func anAuthorityThatIsNoneCostsNothing() async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"))
    let bad: [(SecretAuthority?, String)] = [
      (.oldSecret(V1.Secret()), "old_secret"), (.oldSecret(.gesture(0, 1, 2, 5)), "old_secret"),
      (.oldSecret(.passcode("246")), "old_secret.passcode.passcode"),
      (.oldSecret(.passcode(String(repeating: "x", count: 65))), "old_secret.passcode.passcode"),
      (.primary(V1.PrimaryAuthentication(method: "otp")), "primary.authenticated_at"),
      (.primary(V1.PrimaryAuthentication(authenticatedAt: V1.Timestamp(service.clock.now))), "primary.method"),
      (.primary(service.primary(.seconds(-31))), "primary.authenticated_at"),
    ]
    for (authority, field) in bad {
      let error = await refusal { try await service.set(.passcode("1357"), by: authority) }
      #expect(error.code == .invalidArgument)
      #expect(error.fields == [field])
    }
    let none = V1.SetSecretRequest(
      applicationID: "a", profileID: "b", secret: .passcode("2468"), confirmation: .passcode("2468"))
    let missing = await refusal { () async throws -> V1.SetSecretResponse in
      try await service.call("SecretService/SetSecret", none)
    }
    #expect(missing.fields == ["authority"])
    let kind = await refusal { try await service.remove(.unspecified) }
    #expect(kind.fields == ["kind"])
    #expect(service.passcodeStanding().failures == 0)
  }

  // R41
  @Test func noSecretAndNoVerifierStandsInTheLog() async throws {
    let service = try await start()
    _ = try await service.set(.passcode("correct horse"))
    let verifier = service.store.records.profile(TestService.applicationID, "alice").passcode?.verifier ?? []
    _ = try await service.set(.passcode("battery staple"), by: .oldSecret(.passcode("tr0ub4dor")))
    _ = try await service.set(.passcode("battery staple"), by: .oldSecret(.passcode("correct horse")))
    #expect(verifier.count > 32)
    let texts = service.events.map { "\($0)" }.joined()
    for secret in ["correct horse", "battery staple", "tr0ub4dor", Base64URL.encode(verifier), "\(verifier)"] {
      #expect(!texts.contains(secret))
    }
    #expect(service.troubles.isEmpty)
  }
}
