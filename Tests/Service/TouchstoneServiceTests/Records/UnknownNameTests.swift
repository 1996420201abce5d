import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// R37: a caller that names unknown people gets answers as if they existed, at every step.
struct UnknownNameTests {
  /// The parts of a person's answers that a caller without the secret can see, from the first request to the disabled
  /// secret. Random parts are left out.
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

  // R37: a profile of which only a phone is known.
  @Test func whoHasNoSecretLooksLikeNobody() async throws {
    let service = try await start()
    let phone = try await service.bind(TestPhone(profileID: stranger(withGesture: false, service).profileID))
    let expected = try await story(of: stranger(withGesture: false, service), guessing: .typed("0000"), service)
    service.clock.advance(by: .seconds(366 * 24 * 60 * 60))
    let other = try await start()
    let nobody = stranger(withGesture: false, other)
    #expect(try await story(of: nobody, guessing: .typed("0000"), other) == expected)
    // And an evaluation by the phone offers the factors that it has.
    #expect(try await service.begin(phone).factors == [.biometry])
  }

  // R13, R16, R37: guesses in evaluations and guesses at an old secret add up, as a stranger's do.
  @Test func whoSwitchedTheirPasscodeOffLooksLikeNobody() async throws {
    struct Told: Equatable {
      var ofAttempts: [V1.SubmitAttemptResponse] = []
      var ofChanges: [V1.SetSecretResponse] = []
      var attemptsLeft: [UInt32] = []
    }
    var expected = Told()
    for isKnown in [false, true] {
      let secrets = TestSecrets()
      let service = try await start(secrets)
      let phone = stranger(withGesture: false, service)
      if isKnown {
        _ = try await service.set(.passcode("2468"), of: phone.profileID)
        var settings = try await service.settings(of: phone.profileID)
        settings.passcodeEnabled = false
        _ = try await service.set(settings, of: phone.profileID)
      }
      let opened = try await service.begin(phone, policy: "secrets")
      let count = secrets.startedCount
      var told = Told()
      // Not even the right one is let in, and each of both kinds counts for the other.
      for isOld in [false, false, true, false, true, true, false] {
        if isOld {
          let old = SecretAuthority.oldSecret(.passcode("9999"))
          told.ofChanges.append(try await service.set(.passcode("1357"), by: old, of: phone.profileID))
          told.attemptsLeft += told.ofChanges.suffix(1).map(\.attemptsLeft)
        } else {
          told.ofAttempts.append(try await service.submit(phone, opened, .typed("2468")))
          told.attemptsLeft += told.ofAttempts.suffix(1).map(\.attemptsLeft)
        }
      }
      #expect(told.attemptsLeft == [4, 3, 2, 1, 0, 0, 0])
      #expect(secrets.startedCount - count == 5)
      if isKnown { #expect(told == expected) } else { expected = told }
      #expect(service.passcodeStanding(of: phone.profileID).failures == (isKnown ? 5 : 0))
    }
  }

  // R10: the finder of a revoked phone cannot lock its owner's passcode, also by an evaluation from before.
  @Test(arguments: [true, false])
  func guessesThroughARevokedBindingCostItsOwnerNothing(_ isReplaced: Bool) async throws {
    let secrets = TestSecrets()
    let service = try await start(secrets)
    _ = try await service.set(.passcode("2468"))
    let (phone, opened) = try await service.beginOnNewPhone()
    if isReplaced {
      _ = try await service.bind(TestPhone(profileID: "bob"), replacing: true)
    } else {
      try await service.revoke(phone)
    }
    let before = service.store.records
    let count = secrets.startedCount
    for text in ["2468", "0000", "0000", "0000", "0000", "0000"] {
      let answer = try await service.submit(phone, opened, .typed(text))
      #expect(answer.outcome == .failed)
      #expect(answer.denial?.reason == "BINDING_REVOKED")
      #expect(answer.nextFactors.isEmpty)
    }
    #expect(secrets.startedCount == count)
    #expect(
      service.store.records.profile(TestService.applicationID, "alice")
        == before.profile(TestService.applicationID, "alice"))
    #expect(service.store.records.device(phone.deviceID) == before.device(phone.deviceID))
    #expect(service.store.records.evaluations.count == before.evaluations.count)
    #expect(try await service.attempt(.typed("2468")).outcome == .succeeded)
  }

  // R15, R37: what a restart forgets, and a replica does not know, is in docs/THREATS.md.
  @Test func anotherProcessCountsAnew() async throws {
    let (store, clock, keys) = (MemoryStore(), TestClock(), KeyRing.ephemeral())
    let one = try await TestService.start(store: store, clock: clock, keys: keys)
    let other = try await TestService.start(store: store, clock: clock, keys: keys)
    let phone = TestPhone(profileID: one.unknownProfileID(with: [.passcode]))
    for _ in 0..<5 { _ = try await one.submit(one.begin(phone, policy: "login"), .typed("0000")) }
    #expect(try await one.begin(phone, policy: "login").denial?.reason == "PASSCODE_LOCKED")
    #expect(try await other.begin(phone, policy: "login").factors.contains(.passcode))
    #expect(store.records.profiles.isEmpty)
  }

  enum Guess: CaseIterable {
    case passcode, gesture, oldPasscode
  }

  // R37: from the first guess to one while it is locked. That an insertion takes as long as a change is not shown.
  @Test(arguments: Guess.allCases)
  func aGuessAtNobodyComparesAndWritesAsMuchAsOneAtSomebody(_ guess: Guess) async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"))
    _ = try await service.set(.gesture(0, 1, 2, 5))
    var works: [[[String]]] = []
    for phone in [TestPhone(), stranger(withGesture: true, service)] {
      let before = service.store.changeSets.count
      var evaluations: [V1.BeginEvaluationResponse] = []
      for _ in 0..<7 { evaluations.append(try await service.begin(phone)) }
      for opened in evaluations {
        switch guess {
        case .passcode: _ = try await service.submit(phone, opened, .typed("0000"))
        case .gesture: _ = try await service.submit(phone, opened, .drawn(8, 7, 6, 3))
        case .oldPasscode:
          _ = try await service.set(.passcode("1357"), by: .oldSecret(.passcode("0000")), of: phone.profileID)
        }
      }
      works.append(service.store.changeSets.dropFirst(before).map(work))
    }
    #expect(works[0] == works[1])
    #expect(works[0].count == 12)
  }

  /// A named profile is written or compared, beside a change that waits for the disk in both cases.
  private func work(of changeSet: ChangeSet) -> [String] {
    let changes = changeSet.changes.map { change in
      switch change {
      case .putProfile, .requireProfile: "writes or compares a profile"
      case .notePosture(bindingID: "", _): "waits for the disk"
      default: "\(change)"
      }
    }
    return changes.sorted() + changeSet.events.map(\.kind)
  }

  // R37: for every offer to a known profile, some unknown ones get the same offer.
  @Test func noOfferIsForKnownProfilesAlone() async throws {
    let service = try await start()
    var unknown: Set<[V1.Factor]> = []
    for number in 0..<400 {
      unknown.insert(try await service.canEvaluate(TestPhone(profileID: "nobody \(number)"), policy: "secrets").factors)
    }
    _ = try await service.set(.gesture(0, 1, 2, 5))
    #expect(unknown.contains(try await service.canEvaluate(TestPhone(), policy: "secrets").factors))
    _ = try await service.set(.passcode("2468"))
    #expect(unknown.contains(try await service.canEvaluate(TestPhone(), policy: "secrets").factors))
    #expect(unknown.count > 2)
  }

  // R37: failures counted at a name count on no profile that gets it later.
  @Test func anUnknownNameLocksNobody() async throws {
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
      // The name may show a gesture alone.
      #expect([.tryAgain, .factorRequired].contains(answer.outcome), "\(name)")
    }
    #expect(service.secretStanding(of: "caf\u{e9}").failures == 0)
    let right = try await service.submit(
      service.begin(TestPhone(profileID: "caf\u{e9}"), policy: "secrets"), .typed("2468"))
    #expect(Array(right.profileID.utf8) == Array("caf\u{e9}".utf8))
  }
}
