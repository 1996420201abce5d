import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// R14: counted before it is verified, exactly the budget is verified, and nobody who is right fails for the crowd.
struct SecretPhasesTests {
  private static let passcode = "2468"

  /// Alice, with a passcode, a gesture beside it, so that an evaluation opens when it is locked, and a hand on what
  /// verifies them.
  private func start(
    delivery: MemoryStore.Delivery = .immediate, timer: any DelayedExecutor = DispatchTimer(), connections: Int = 1,
    threads: Int = 16
  ) async throws -> (service: TestService, secrets: TestSecrets) {
    let secrets = TestSecrets(threads: threads)
    let service = try await TestService.start(
      store: MemoryStore(delivery: delivery), secrets: secrets, timer: timer, connections: connections)
    _ = try await service.set(.passcode(Self.passcode))
    _ = try await service.set(.gesture(0, 1, 2, 5))
    return (service, secrets)
  }

  /// Another process on the same store.
  private func replica(of service: TestService, secrets: TestSecrets = TestSecrets()) async throws -> TestService {
    try await TestService.start(store: service.store, clock: service.clock, keys: service.keys, secrets: secrets)
  }

  // MARK: One attempt

  // R14
  @Test func theFailureIsDurableBeforeTheSecretIsVerified() async throws {
    let (service, secrets) = try await start()
    let events = service.events.count
    secrets.hold()
    async let answer = service.attempt(.typed(Self.passcode))
    await secrets.untilHeld(1)
    #expect(service.secretStanding().failures == 1)
    #expect(service.secretStanding().inFlight == 1)
    // No verdict, no word of it.
    #expect(service.events.count == events)
    secrets.goOn()
    #expect(try await answer.outcome == .succeeded)
    #expect(service.secretStanding().failures == 0)
    #expect(service.secretStanding().inFlight == 0)
    #expect(service.events.count == events + 1)
  }

  // R36: the verdict is settled all the same.
  @Test func aPolicyThatIsChangedDuringAnAttemptEndsIt() async throws {
    let (service, secrets) = try await start()
    secrets.hold()
    async let answer = service.attempt(.typed(Self.passcode))
    await secrets.untilHeld(1)
    service.replacePolicies(
      EvaluationPolicy.builtIn.map { policy in
        var patient = policy
        patient.tokenLifetime = .seconds(3_600)
        return patient
      })
    secrets.goOn()
    let ended = try await answer
    #expect(ended.outcome == .invalidContext)
    #expect(ended.token.isEmpty && ended.profileID.isEmpty)
    #expect(service.secretStanding().failures == 0)
    #expect(service.secretStanding().inFlight == 0)
  }

  // R14: the verdict and its event are one transaction: where it cannot be written, nobody hears of a success.
  @Test func aVerdictThatCannotBeWrittenIsNotGivenAndCostsTheAttempt() async throws {
    let (service, _) = try await start()
    let events = service.events
    service.store.failCommits(.unavailable, after: 1, times: 1)
    let error = await refusal { try await service.attempt(.typed(Self.passcode)) }
    #expect(error.code == .unavailable)
    #expect(service.secretStanding().failures == 1)
    #expect(service.events == events)
    #expect(try await service.attempt(.typed(Self.passcode)).outcome == .succeeded)
  }

  // R14
  @Test func anAdmissionThatCannotBeWrittenIsNotVerified() async throws {
    let (service, secrets) = try await start()
    let count = secrets.startedCount
    service.store.failCommits(.unavailable, times: 1)
    #expect(await refusal { try await service.attempt(.typed(Self.passcode)) }.code == .unavailable)
    #expect(secrets.startedCount == count)
    #expect(service.secretStanding().failures == 0)
  }

  // R14: five processes die, each while it verifies the right passcode.
  @Test func aCrashBetweenThePhasesCostsAnAttemptAndNeverGivesOne() async throws {
    let (service, _) = try await start()
    for number: UInt32 in 1...5 {
      let doomed = TestSecrets()
      doomed.hold()
      let process = try await replica(of: service, secrets: doomed)
      let lost = Task { try await process.attempt(.typed(Self.passcode)) }
      await doomed.untilHeld(1)
      doomed.lose()
      lost.cancel()
      #expect(service.secretStanding().failures == number)
    }
    // For as long as they may still answer, nobody is told that it is locked; then it is.
    service.clock.advance(by: SecretRules.verificationTimeLimit)
    let answer = try await service.attempt(.typed(Self.passcode))
    #expect(answer.outcome == .lockedOut)
    #expect(answer.retryAfter == V1.Duration(seconds: 50, nanoseconds: 0))
    service.clock.advance(by: .seconds(50))
    #expect(try await service.attempt(.typed(Self.passcode)).outcome == .succeeded)
  }

  // MARK: Many attempts

  // R14
  @Test(arguments: [MemoryStore.Delivery.immediate, .later])
  func ofTwoHundredWrongGuessesAtOnceFiveAreVerified(_ delivery: MemoryStore.Delivery) async throws {
    let (service, secrets) = try await start(delivery: delivery, connections: 2)
    let count = secrets.startedCount
    let opened = try await service.begin(profileID: "alice")
    let answers = try await inParallel(200) { try await service.submit(opened, .typed("0000")) }
    #expect(secrets.startedCount - count == 5)
    #expect(answers.filter { $0.outcome == .tryAgain }.count == 4)
    #expect(answers.filter { $0.outcome == .lockedOut }.count == 196)
    #expect(service.secretStanding().failures == 5)
    #expect(service.secretStanding().inFlight == 0)
  }

  // R14
  @Test(arguments: [MemoryStore.Delivery.immediate, .later])
  func fiftyRightOnesAtOnceAllPass(_ delivery: MemoryStore.Delivery) async throws {
    let (service, secrets) = try await start(delivery: delivery, connections: 2)
    let count = secrets.startedCount
    let answers = try await inParallel(50) { try await service.attempt(.typed(Self.passcode)) }
    #expect(answers.filter { $0.outcome == .succeeded }.count == 50)
    #expect(secrets.startedCount - count == 50)
    #expect(service.secretStanding() == SecretStanding(isSet: true, generation: service.secretStanding().generation))
  }

  // R14: each verdict admits as many again, and they are not to fill every place there is.
  @Test func aCrowdOfRightOnesWaitsForPlaces() async throws {
    let (service, _) = try await start(delivery: .later, connections: 4, threads: 1)
    let crowd = 100
    let answers = try await inParallel(crowd) { try await service.attempt(.typed(Self.passcode)) }
    #expect(answers.filter { $0.outcome == .succeeded }.count == crowd)
  }

  // R14: two processes share one budget.
  @Test func ofGuessesAtTwoProcessesFiveAreVerifiedInAll() async throws {
    let (service, secrets) = try await start(delivery: .later)
    let otherSecrets = TestSecrets()
    let other = try await replica(of: service, secrets: otherSecrets)
    let count = secrets.startedCount
    async let here = inParallel(60) { try await service.attempt(.typed("0000")) }
    async let there = inParallel(60) { try await other.attempt(.typed("0000")) }
    let answers = try await here + there
    #expect(secrets.startedCount - count + otherSecrets.startedCount == 5)
    #expect(answers.filter { $0.outcome == .lockedOut }.count == 116)
    #expect(service.secretStanding().failures == 5)
  }

  // R14
  @Test func rightOnesAtTwoProcessesAllPass() async throws {
    let (service, _) = try await start(delivery: .later)
    let other = try await replica(of: service)
    async let here = inParallel(25) { try await service.attempt(.typed(Self.passcode)) }
    async let there = inParallel(25) { try await other.attempt(.typed(Self.passcode)) }
    let answers = try await here + there
    #expect(answers.filter { $0.outcome == .succeeded }.count == 50)
  }

  // R14: the right one among a crowd of wrong ones is either verified or told to come back, never taken for wrong.
  @Test func whoIsRightInACrowdIsNotTakenForWrong() async throws {
    let (service, _) = try await start(connections: 2)
    let answers = try await inParallel(20) {
      async let wrong = service.attempt(.typed("0000"))
      async let right = service.attempt(.typed(Self.passcode))
      return try await (wrong, right)
    }
    #expect(answers.allSatisfy { [.tryAgain, .lockedOut].contains($0.0.outcome) })
    #expect(answers.allSatisfy { [.succeeded, .lockedOut].contains($0.1.outcome) })
  }

  // R35
  @Test func ofRightOnesInOneEvaluationOneSucceeds() async throws {
    let (service, _) = try await start(connections: 2)
    let opened = try await service.begin(profileID: "alice")
    let answers = try await inParallel(20) { try await service.submit(opened, .typed(Self.passcode)) }
    #expect(answers.filter { $0.outcome == .succeeded }.count == 1)
    #expect(answers.filter { $0.outcome == .invalidContext }.count == 19)
    #expect(service.secretStanding().failures == 0)
  }

  // MARK: While the budget is in flight

  // R14
  @Test func whoComesWhenTheBudgetIsInFlightWaitsForAVerdict() async throws {
    let (service, secrets) = try await start()
    secrets.hold()
    async let first = inParallel(5) { try await service.attempt(.typed("0000")) }
    await secrets.untilHeld(5)
    async let sixth = service.attempt(.typed(Self.passcode))
    // It can only be told once the five are: they go on when it is known to wait.
    secrets.goOn()
    #expect(try await first.map(\.outcome).sorted { $0.rawValue < $1.rawValue }.last == .lockedOut)
    #expect(try await sixth.outcome == .lockedOut)
  }

  // R10: not this person's fault, so nothing is counted.
  @Test func nobodyWaitsLongerThanAVerdictMayTake() async throws {
    let timer = ManualTimer()
    let (service, secrets) = try await start(timer: timer)
    secrets.hold()
    let stuck = Task { try await inParallel(5) { try await service.attempt(.typed("0000")) } }
    await secrets.untilHeld(5)
    let sixth = Task { await refusal { try await service.attempt(.typed(Self.passcode)) } }
    let time = Task {
      while !Task.isCancelled {
        await timer.untilSet()
        timer.fire()
      }
    }
    let error = await sixth.value
    time.cancel()
    timer.after(.zero) {}
    #expect(error.code == .unavailable)
    #expect(error.retryDelay == V1.Duration(seconds: 1, nanoseconds: 0))
    #expect(service.secretStanding().failures == 5)
    secrets.goOn()
    _ = try await stuck.value
  }

  // MARK: While it is verified

  /// Alice types her passcode, something happens, and then it is verified.
  private func attempt(
    _ service: TestService, _ secrets: TestSecrets, _ opened: V1.BeginEvaluationResponse, _ passcode: String = passcode,
    posture: V1.DevicePosture = .healthy, meanwhile: () async throws -> Void
  ) async throws -> V1.SubmitAttemptResponse {
    secrets.hold()
    async let answer = service.submit(opened, .typed(passcode), posture: posture)
    await secrets.untilHeld(1)
    try await meanwhile()
    secrets.goOn()
    return try await answer
  }

  // R14, R16: a verdict counts for the secret that it was checked against.
  @Test func theOldSecretIsNotRightForTheNewOne() async throws {
    let (service, secrets) = try await start()
    let other = try await replica(of: service)
    let opened = try await service.begin(profileID: "alice")
    let answer = try await attempt(service, secrets, opened) { _ = try await other.set(.passcode("1357")) }
    #expect(answer.outcome == .tryAgain)
    #expect(answer.attemptsLeft == 4)
    #expect(service.secretStanding().failures == 1)
    #expect(service.secretStanding().inFlight == 0)
  }

  // R14
  @Test func theNewSecretIsNotWrongForTheOldOne() async throws {
    let (service, secrets) = try await start()
    let other = try await replica(of: service)
    let opened = try await service.begin(profileID: "alice")
    let answer = try await attempt(service, secrets, opened, "1357") { _ = try await other.set(.passcode("1357")) }
    #expect(answer.outcome == .succeeded)
  }

  // R17
  @Test func aSecretThatIsRemovedMeanwhileIsNotOfferedAnyMore() async throws {
    let (service, secrets) = try await start()
    let other = try await replica(of: service)
    let opened = try await service.begin(profileID: "alice")
    let answer = try await attempt(service, secrets, opened) { _ = try await other.remove(.passcode) }
    #expect(answer.outcome == .factorRequired)
    #expect(answer.nextFactors == [.gesture])
  }

  // R36
  @Test func aSwitchThatIsTurnedOffMeanwhileHolds() async throws {
    let (service, secrets) = try await start()
    let other = try await replica(of: service)
    let opened = try await service.begin(profileID: "alice")
    let answer = try await attempt(service, secrets, opened) {
      _ = try await other.set(V1.UnlockSettings(biometryEnabled: true, gestureEnabled: true))
    }
    #expect(answer.outcome == .factorRequired)
    #expect(answer.token.isEmpty)
    // It was right all the same: nothing is held against the person.
    #expect(service.secretStanding().failures == 0)
  }

  // R32, R36
  @Test func aBindingThatIsRevokedMeanwhileProvesNothing() async throws {
    let (service, secrets) = try await start()
    let (phone, opened) = try await service.beginOnNewPhone()
    let answer = try await attempt(service, secrets, opened, posture: phone.posture) { try await service.revoke(phone) }
    #expect(answer.outcome == .failed)
    #expect(answer.denial?.reason == "BINDING_REVOKED")
    #expect(answer.token.isEmpty)
    #expect(service.secretStanding().failures == 0)
  }

  // R10, R14: the revoked binding's attempts fail, but they cost its owner nothing that a wrong passcode would not.
  @Test(arguments: [(passcode, 0), ("0000", 5)] as [(String, UInt32)])
  func attemptsOnAPhoneThatIsRevokedMeanwhileAreSettledWhereTheyWereCounted(
    _ typed: String, _ failures: UInt32
  ) async throws {
    let (service, secrets) = try await start(connections: 2)
    let phone = try await service.bind()
    secrets.hold()
    async let answers = inParallel(5) {
      try await service.submit(service.begin(phone), .typed(typed), posture: phone.posture)
    }
    await secrets.untilHeld(5)
    try await service.revoke(phone)
    secrets.goOn()
    #expect(try await answers.allSatisfy { $0.denial?.reason == "BINDING_REVOKED" })
    #expect(service.secretStanding().failures == failures)
    // Nobody waits for their verdicts.
    #expect(service.secretStanding().inFlight == 0)
    #expect(try await service.attempt(.typed(Self.passcode)).outcome == (failures == 0 ? .succeeded : .lockedOut))
  }

  // R14
  @Test func rightOnesAtAPasscodeThatIsSwitchedOffMeanwhileDoNotStayCounted() async throws {
    let (service, secrets) = try await start(connections: 2)
    let other = try await replica(of: service)
    secrets.hold()
    async let answers = inParallel(3) { try await service.attempt(.typed(Self.passcode)) }
    await secrets.untilHeld(3)
    _ = try await other.set(V1.UnlockSettings(biometryEnabled: true))
    secrets.goOn()
    #expect(try await answers.allSatisfy { $0.outcome != .succeeded })
    // Each counts once more: it matched nothing that is switched on.
    #expect(service.secretStanding().failures <= 3)
    #expect(service.secretStanding().inFlight == 0)
  }

  // R34, R35
  @Test(arguments: [true, false])
  func anEvaluationThatEndsMeanwhileIsInvalidAndTheVerdictIsSettled(_ expires: Bool) async throws {
    let (service, secrets) = try await start()
    let opened = try await service.begin(profileID: "alice")
    let answer = try await attempt(service, secrets, opened) {
      if expires {
        service.clock.advance(by: .seconds(120))
      } else {
        try await service.invalidate(opened)
      }
    }
    #expect(answer.outcome == .invalidContext)
    #expect(answer.token.isEmpty)
    #expect(service.secretStanding().failures == 0)
    #expect(service.secretStanding().inFlight == 0)
  }

  // MARK: Damage

  @Test func aDamagedVerifierIsDataLossAndNoTrap() async throws {
    let (service, _) = try await start()
    try service.changeProfile { $0.passcode?.verifier = [1, 2, 3] }
    #expect(await refusal { try await service.attempt(.typed(Self.passcode)) }.code == .dataLoss)
    #expect(service.troubles.count == 1)
  }

  @Test func aDamagedKeyIsDataLossAndNoTrap() async throws {
    let (service, _) = try await start()
    let phone = try await service.bind()
    var record = try #require(service.store.records.binding(phone.bindingID))
    record.credential = .hardwareKeys([HardwareKeyRecord(publicKey: [4, 1, 2], protection: .biometryCurrentSet)])
    try service.store.change(.putBinding(record))
    #expect(await refusal { try await service.submit(phone, service.begin(phone)) }.code == .dataLoss)
    #expect(service.troubles.count == 1)
  }
}
