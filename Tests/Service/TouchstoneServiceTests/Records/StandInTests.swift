import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// R37: a caller that names unknown people and phones gets answers as if they existed, at every step.
struct StandInTests {
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

  // R10, R37: as an active binding answers, and its owner's secrets do not notice.
  @Test(arguments: [true, false])
  func guessingThroughARevokedBindingLooksLikeGuessingThroughAnActiveOne(_ isReplaced: Bool) async throws {
    var expected: Story?
    for isRevoked in [false, true] {
      let secrets = TestSecrets()
      let service = try await start(secrets)
      _ = try await service.set(.passcode("2468"))
      _ = try await service.set(.gesture(0, 1, 2, 5))
      let phone = try await service.bind()
      // Failures counted before the revocation still count.
      for _ in 0..<2 { _ = try await service.submit(phone, service.begin(phone, policy: "secrets"), .typed("0000")) }
      if isRevoked {
        if isReplaced {
          _ = try await service.bind(TestPhone(profileID: "bob"), replacing: true)
        } else {
          try await service.revoke(phone)
        }
      }
      let before = service.store.records.profile(TestService.applicationID, "alice")
      let count = secrets.startedCount
      let story = try await story(of: phone, guessing: .typed("0000"), service)
      #expect(secrets.startedCount - count == 8)
      guard isRevoked else {
        #expect(service.secretStanding().lock == .untilSetAnew)
        expected = story
        continue
      }
      #expect(story == expected)
      #expect(service.store.records.profile(TestService.applicationID, "alice") == before)
      // Its owner goes on, and the binding does not notice that either.
      #expect(try await service.attempt(.typed("2468")).outcome == .succeeded)
      #expect(try await service.begin(phone, policy: "secrets").factors == story.openings.last?.factors)
    }
  }

  // R10: also in an evaluation that was begun before, and with the right one.
  @Test func anEvaluationFromBeforeTheRevocationCostsItsOwnerNothing() async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"))
    let (phone, opened) = try await service.beginOnNewPhone()
    try await service.revoke(phone)
    var answers: [V1.SubmitAttemptResponse] = []
    for text in ["2468", "0000", "2468", "0000", "2468", "2468"] {
      answers.append(try await service.submit(phone, opened, .typed(text)))
    }
    #expect(answers.map(\.attemptsLeft) == [4, 3, 2, 1, 0, 0])
    #expect(answers.suffix(2).map(\.outcome) == [.lockedOut, .lockedOut])
    #expect(service.secretStanding().failures == 0)
    let standInID = ProfileRecord.standInID(forRevokedBinding: phone.bindingID)
    let standIn = service.store.records.profile(TestService.applicationID, standInID)
    #expect(standIn.passcode?.standing.failures == 5)
    // A reader of the database cannot guess at it.
    #expect(standIn.passcode?.verifier.isEmpty == true)
    try await service.erase()
    #expect(service.store.records.profile(TestService.applicationID, standInID).version == 0)
  }

  enum Guess: CaseIterable {
    case passcodeOfProfile, gestureOfProfile, passcodeByBinding, hardwareKey, profileTouchID
  }

  // R37: from the first guess to one while it is locked. That an insertion takes as long as a change is not shown.
  @Test(arguments: Guess.allCases)
  func aGuessAtNobodyComparesAndWritesAsMuchAsOneAtSomebody(_ guess: Guess) async throws {
    let service = try await start()
    _ = try await service.set(.passcode("2468"))
    _ = try await service.set(.gesture(0, 1, 2, 5))
    var works: [[[String]]] = []
    for phone in try await knownAndUnknown(guess, service) {
      let before = service.store.changeSets.count
      var evaluations: [V1.BeginEvaluationResponse] = []
      for _ in 0..<7 { evaluations.append(try await service.begin(phone)) }
      for opened in evaluations {
        let attempt: Attempt =
          switch guess {
          case .passcodeOfProfile, .passcodeByBinding: .typed("0000")
          case .gestureOfProfile: .drawn(8, 7, 6, 3)
          case .hardwareKey: phone.wrongProof(for: opened)
          case .profileTouchID: .shown("another identifier of 32 letters")
          }
        _ = try await service.submit(phone, opened, attempt)
      }
      works.append(service.store.changeSets.dropFirst(before).map(work))
    }
    #expect(works[0] == works[1])
    #expect(works[0].count == (guess == .hardwareKey || guess == .profileTouchID ? 7 : 12))
  }

  /// Phones of a system without domain state: a guess at a known phone's fingers equals one at an unknown phone's.
  private func knownAndUnknown(_ guess: Guess, _ service: TestService) async throws -> [TestPhone] {
    guard guess != .passcodeOfProfile, guess != .gestureOfProfile else {
      return [TestPhone(), stranger(withGesture: true, service)]
    }
    let posture = V1.DevicePosture.healthy.with {
      ($0.platform, $0.osVersion, $0.domainState) = ("android", "14", [])
    }
    let known = try await service.bind(TestPhone(posture: posture))
    if guess == .profileTouchID {
      var binding = try #require(service.store.records.binding(known.bindingID))
      binding.credential = .profileTouchID(digest: [1])
      try service.store.change(.putBinding(binding))
    }
    var unknown = known
    unknown.bindingID = service.unknownBindingID(
      of: .android, by: guess == .profileTouchID ? [] : [.biometryCurrentSet], with: [.passcode, .gesture])
    return [known, unknown]
  }

  /// A requirement of a record that is put anyway takes no statement on PostgreSQL.
  private func work(of changeSet: ChangeSet) -> [String] {
    let put = changeSet.changes.compactMap { change in
      if case .putProfile(let profile) = change { profile.profileID } else { nil }
    }
    let changes = changeSet.changes.compactMap { change -> String? in
      switch change {
      case .putProfile: "puts a profile"
      case .putDevice: "puts a device"
      case .putEvaluation: "puts an evaluation"
      case .requireProfile(_, let id, _): put.contains(id) ? nil : "compares a profile"
      case .requireBinding, .requireNoBinding: "compares a binding"
      default: "\(change)"
      }
    }
    return changes + changeSet.events.map(\.kind)
  }

  // R37: for every offer to a known one, some unknown ones get the same offer.
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

  // R37: failures counted on a stand-in count on no other profile.
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
