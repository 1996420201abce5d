import DispatchRPC
import StoreModel
import Synchronization
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The events that floods of refusals leave in the audit log, and those that they never leave out (R41).
struct EventFloodTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  private func count(_ kind: String, _ service: TestService) -> Int { service.events.count { $0.kind == kind } }

  // R41: one open evaluation takes any number of them.
  @Test func reportsWithoutEffectFillNoDisk() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    var answers: Set<V1.SubmitAttemptResponse> = []
    for _ in 0..<60 { answers.insert(try await service.report(.userCancel, phone, opened)) }
    #expect(answers.count == 1)
    #expect(count("evaluation.canceled", service) == RefusalThrottle.burst)
    for _ in 0..<60 { answers.insert(try await service.report(.userFallback, phone, opened)) }
    #expect(count("evaluation.fallback", service) == RefusalThrottle.burst)
    // It is open all the same, and what counts is an event each time.
    #expect(try await service.submit(phone, opened).outcome == .succeeded)
    for _ in 0..<60 { #expect(try await service.submit(phone, opened).outcome == .invalidContext) }
    #expect(count("evaluation.refused", service) == RefusalThrottle.burst)
  }

  @Test func tokensAndTicketsThatAreNoneFillNoDisk() async throws {
    for _ in 0..<40 {
      try await service.revoke(token: "none")
      #expect(try await service.consume("none").reason == "INVALID")
      let error = await refusal {
        try await service.completeBinding(TestPhone(), V1.BeginBindingResponse(ticket: [1, 2, 3]))
      }
      #expect(error.reason == "TICKET_INVALID")
    }
    // Both of tokens are one kind of event with one answer.
    #expect(count("token.refused", service) == RefusalThrottle.burst)
    #expect(count("binding.refused", service) == RefusalThrottle.burst)
  }

  // R13, R37
  @Test func denialsOfALockFillNoDiskAndItsFailuresAreAllThere() async throws {
    let phone = try await service.bind()
    for _ in 0..<5 {
      let opened = try await service.begin(phone)
      _ = try await service.submit(phone, opened, phone.wrongProof(for: opened))
    }
    for _ in 0..<60 { #expect(try await service.begin(phone).denial?.reason == "BIOMETRY_LOCKOUT") }
    #expect(count("evaluation.denied", service) == RefusalThrottle.burst)
    #expect(count("evaluation.failed", service) + count("evaluation.locked_out", service) == 5)
  }

  // R41: a crowd of one person's denials leaves out none of another's.
  @Test func onePersonsRefusalsLeaveRoomForAnothers() async throws {
    let (noisy, quiet) = (
      try await service.bind(), try await service.bind(TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b", profileID: "bob"))
    )
    for phone in [noisy, quiet] {
      for _ in 0..<5 {
        let opened = try await service.begin(phone)
        _ = try await service.submit(phone, opened, phone.wrongProof(for: opened))
      }
    }
    for _ in 0..<60 { _ = try await service.begin(noisy) }
    #expect(try await service.begin(quiet).denial?.reason == "BIOMETRY_LOCKOUT")
    #expect(service.events.last?.profileID == "bob")
    #expect(count("evaluation.denied", service) == RefusalThrottle.burst + 1)
  }

  @Test func successesAndFailuresThatCountAreNeverLeftOut() async throws {
    let phone = try await service.bind()
    for _ in 0..<30 {
      let opened = try await service.begin(phone)
      #expect(try await service.submit(phone, opened, phone.wrongProof(for: opened)).outcome == .tryAgain)
      #expect(try await service.submit(phone, opened).outcome == .succeeded)
    }
    #expect(count("evaluation.failed", service) == 30)
    #expect(count("evaluation.succeeded", service) == 30)
  }

  /// The service confirms the facts behind the answer as before, and answers no call while the store is down.
  @Test func aRefusalWithoutAnEventIsConfirmed() async throws {
    for _ in 0..<RefusalThrottle.burst { try await service.revoke(token: "none") }
    service.store.failConfirmations(.unavailable)
    #expect(await refusal { try await service.revoke(token: "none") }.code == .unavailable)
  }

  /// The service first checks whether there is an event.
  @Test func aDenialToBindWithoutAnEventReadsNothing() async throws {
    let service = try await TestService.start()
    var phone = TestPhone()
    phone.posture.passcodeSet = false
    for _ in 0..<RefusalThrottle.burst { _ = try await service.beginBinding(phone) }
    let reads = service.store.reads
    for _ in 0..<3 { #expect(try await service.beginBinding(phone).denial?.reason == "PASSCODE_NOT_SET") }
    #expect(service.store.reads == reads)
    service.store.failConfirmations(.unavailable)
    #expect(await refusal { try await service.beginBinding(phone) }.code == .unavailable)
    service.store.recover()
    service.clock.advance(by: RefusalThrottle.interval)
    _ = try await service.beginBinding(phone)
    #expect(service.events.last?.profileID == "alice")
    #expect(service.events.last?.details.last == .suppressed(4))
  }

  // MARK: Calls that count on nothing that lasts

  // R35, R37: anyone opens as many as they like, of names that they make up, too.
  @Test(arguments: [true, false]) func evaluationsThatAreEndedFillNoDisk(isKnown: Bool) async throws {
    let phone = try await service.bindOrMakeUp(isKnown)
    for _ in 0..<30 {
      let (ended, broken) = (try await service.begin(phone), try await service.begin(phone))
      try await service.invalidate(ended)
      #expect(try await service.report(.invalidContext, phone, broken).outcome == .invalidContext)
      // They are finished all the same.
      for opened in [ended, broken] { #expect(try await service.submit(phone, opened).outcome == .invalidContext) }
    }
    #expect(count("evaluation.invalidated", service) == RefusalThrottle.burst)
    #expect(count("evaluation.refused", service) == RefusalThrottle.burst)
  }

  // R37: the answers are the same, and events of a known profile are in the log in any case.
  @Test func failuresOfMadeUpNamesFillNoDiskAndThoseOfKnownOnesAreAllThere() async throws {
    let phone = try await service.bind()
    let flood = EventThrottle.callerBurst + 50
    for number in 0..<flood {
      let stranger = TestPhone(profileID: "made up \(number)")
      let opened = try await service.begin(stranger)
      guard opened.denial == nil else { continue }
      _ = try await service.report(.authenticationFailed, stranger, opened)
    }
    #expect(service.events.count <= 1 + EventThrottle.callerBurst)
    let before = count("evaluation.failed", service)
    for _ in 0..<4 {
      let opened = try await service.begin(phone)
      #expect(try await service.report(.authenticationFailed, phone, opened).outcome == .tryAgain)
    }
    #expect(count("evaluation.failed", service) == before + 4)
    #expect(service.store.records.device(phone.deviceID).biometry.consecutiveFailures == 4)
  }

  // R37: guesses at an unknown profile's secrets count, and are answered as those of a known one.
  @Test func guessesAtSecretsOfMadeUpProfilesAreThrottledAndCounted() async throws {
    let unknown = service.unknownProfileID(with: [.passcode])
    _ = try await service.set(.passcode("2468"))
    useUpTheRoom(of: service)
    var answers: [String: [V1.Outcome]] = [:]
    for profileID in [unknown, "alice"] {
      for _ in 0..<4 {
        answers[profileID, default: []].append(try await service.attempt(.typed("0000"), profileID: profileID).outcome)
      }
      let change = try await service.set(.passcode("1357"), by: .oldSecret(.passcode("0000")), of: profileID)
      #expect(!change.accepted && change.denial?.reason == "PASSCODE_LOCKED")
    }
    #expect(answers[unknown] == answers["alice"])
    #expect(count("evaluation.failed", service) == 4)
    #expect(count("secret.refused", service) == 1)
    #expect(service.events.allSatisfy { $0.profileID == "alice" })
  }

  /// As if the caller had made up a crowd of names.
  private func useUpTheRoom(of service: TestService) {
    service.service.eventThrottle.withLock { throttle in
      for number in 0...EventThrottle.callerBurst {
        _ = throttle.admit(
          EventThrottle.Key(applicationID: "", named: "\(number)", kind: "", answer: ""), of: "local",
          at: service.service.monotonicClock())
      }
    }
  }

  // MARK: The posture last seen

  private func seen(_ phone: TestPhone, _ service: TestService) -> SeenPosture? {
    service.store.records.binding(phone.bindingID)?.lastSeen
  }

  /// Support explains the denial that is, not the one of a minute ago.
  @Test func aDenialWithoutAnEventStillShowsItsPosture() async throws {
    var phone = try await service.bind()
    phone.posture.passcodeSet = false
    for _ in 0...RefusalThrottle.burst { _ = try await service.begin(phone) }
    service.clock.advance(by: .seconds(30))
    // A posture that was no news took no minute.
    phone.posture.biometryAvailable = false
    #expect(try await service.begin(phone).denial != nil)
    #expect(seen(phone, service)?.posture.isBiometryAvailable == false)
    service.clock.advance(by: .seconds(31))
    // One event is due again; the next one is not, and its posture is kept after a minute.
    #expect(try await service.begin(phone).denial != nil)
    phone.posture.osVersion = "17.9"
    let events = service.events.count
    #expect(try await service.begin(phone).denial != nil)
    #expect(service.events.count == events)
    #expect(seen(phone, service)?.posture.osVersion != OSVersion(17, 9))
    service.clock.advance(by: .seconds(30))
    #expect(try await service.begin(phone).denial != nil)
    #expect(service.events.count == events)
    #expect(seen(phone, service)?.posture.osVersion == OSVersion(17, 9))
  }

  @Test func aPostureWithoutAnEventIsWritten() async throws {
    let service = try await TestService.start()
    var phone = try await service.bind()
    let before = service.store.commitCount
    for version in 0..<20 {
      phone.posture = phone.posture.with {
        $0.passcodeSet = false
        $0.osVersion = "17.\(version % 3)"
      }
      #expect(try await service.begin(phone).denial?.reason == "PASSCODE_NOT_SET")
      service.clock.advance(by: .seconds(10))
    }
    #expect(service.store.commitCount > before)
    #expect(seen(phone, service) != nil)
  }

  // MARK: Conflicts

  /// Another replica's changes take nothing of what a caller may write.
  @Test func aRefusalThatIsTriedAgainTakesNoRoom() async throws {
    var phone = try await service.bind()
    phone.posture.passcodeSet = false
    for _ in 0..<RefusalThrottle.burst {
      service.store.failCommits(.conflict, times: 5)
      #expect(try await service.begin(phone).denial?.reason == "PASSCODE_NOT_SET")
    }
    #expect(count("evaluation.denied", service) == RefusalThrottle.burst)
    #expect(!service.events.contains { $0.details.contains { $0.key == "suppressed" } })
  }

  // R41: the log states the number of left-out events once, however many attempts there were.
  @Test func theNextEventTellsHowManyWereLeftOut() async throws {
    var phone = try await service.bind()
    phone.posture.passcodeSet = false
    for _ in 0..<RefusalThrottle.burst { _ = try await service.begin(phone) }
    for _ in 0..<7 {
      service.store.failCommits(.conflict, times: 3)
      _ = try await service.begin(phone)
    }
    service.clock.advance(by: RefusalThrottle.interval)
    _ = try await service.begin(phone)
    let last = try #require(service.events.last)
    #expect(last.details.map(\.key) == ["la_error", "policy", "reason", "suppressed"])
    #expect(last.details.last?.value == "7")
  }

  // R36: a refusal without an event is not given on what changed meanwhile, either.
  @Test func aRefusalWithoutAnEventRestsOnAName() async throws {
    let phone = try await service.bind()
    for _ in 0..<5 {
      let opened = try await service.begin(phone)
      _ = try await service.submit(phone, opened, phone.wrongProof(for: opened))
    }
    for _ in 0...RefusalThrottle.burst { _ = try await service.begin(phone) }
    let events = service.events.count
    let commits = service.store.commitCount
    service.store.beforeNextCommit { records in
      guard var binding = records.binding(phone.bindingID) else { return }
      binding.baseline = nil
      try? records.apply(ChangeSet(changes: [.putBinding(binding)]))
    }
    #expect(try await service.begin(phone).denial?.reason == "BIOMETRY_LOCKOUT")
    #expect(service.store.commitCount == commits + 2, "the first one conflicted")
    #expect(service.events.count == events)
  }
}

extension TestService {
  /// A phone of a known binding, or the name of an unknown profile.
  fileprivate func bindOrMakeUp(_ isKnown: Bool) async throws -> TestPhone {
    guard !isKnown else { return try await bind() }
    return TestPhone(profileID: unknownProfileID(with: [.passcode]))
  }
}
