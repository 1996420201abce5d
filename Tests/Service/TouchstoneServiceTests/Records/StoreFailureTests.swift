import DispatchRPC
import InMemoryLogging
import Logging
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The answers to a caller when the store is contended, slow or broken.
struct StoreFailureTests {
  /// A call that changes something: made ready first, so that the fault hits the call alone. Its description begins
  /// with its method.
  struct Operation: Sendable, CustomTestStringConvertible {
    typealias Call = @Sendable () async throws -> Void

    var testDescription: String
    var prepare: @Sendable (TestService, TestPhone) async throws -> Call

    init(_ name: String, prepare: @escaping @Sendable (TestService, TestPhone) async throws -> Call) {
      testDescription = name
      self.prepare = prepare
    }
  }

  static let operations: [Operation] = [
    Operation("CompleteBinding") { service, _ in
      let phone = TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b")
      let begun = try await service.beginBinding(phone)
      return { _ = try await service.completeBinding(phone, begun) }
    },
    Operation("RevokeBinding") { service, phone in { try await service.revoke(phone) } },
    Operation("SubmitAttempt with the right proof") { service, phone in
      let opened = try await service.begin(phone)
      return {
        let answer = try await service.submit(phone, opened)
        #expect(answer.outcome == .succeeded)
      }
    },
    Operation("SubmitAttempt with a wrong proof") { service, phone in
      let opened = try await service.begin(phone)
      return {
        let answer = try await service.submit(phone, opened, phone.wrongProof(for: opened))
        #expect(answer.outcome == .tryAgain)
      }
    },
    Operation("InvalidateEvaluation") { service, phone in
      let opened = try await service.begin(phone)
      return { try await service.invalidate(opened) }
    },
    Operation("RevokeToken") { service, phone in
      let token = try await service.logIn(phone)
      return { try await service.revoke(token: token) }
    },
    Operation("ConsumeToken") { service, phone in
      let token = try await service.approve(.dinner, phone)
      return {
        let answer = try await service.consume(token)
        #expect(answer.consumed)
      }
    },
    Operation("AcceptDomainState") { service, phone in { try await service.acceptDomainState(of: phone) } },
    Operation("SetSecret") { service, _ in
      {
        let answer = try await service.set(.passcode("2468"))
        #expect(answer.accepted)
      }
    },
    Operation("RemoveSecret") { service, _ in
      _ = try await service.set(.passcode("2468"))
      return {
        let answer = try await service.remove(.passcode)
        #expect(answer.accepted)
      }
    },
    Operation("SetUnlockSettings") { service, _ in
      { _ = try await service.set(V1.UnlockSettings(passcodeEnabled: true)) }
    },
    Operation("UnlockSecret") { service, _ in
      _ = try await service.set(.passcode("2468"))
      try service.changeProfile { $0.passcode?.standing.failures = 2 }
      return { try await service.unlock(.passcode) }
    },
    Operation("FindProfiles") { service, phone in
      {
        let request = V1.FindProfilesRequest(applicationID: TestService.applicationID, text: phone.bindingID)
        let found: V1.FindProfilesResponse = try await service.call("AdministrationService/FindProfiles", request)
        #expect(found.profiles.map(\.profileID) == ["alice"])
      }
    },
    Operation("UnlockDevice") { service, phone in
      _ = try await service.report(.biometryLockout, phone, service.begin(phone))
      return { try await service.unlockDevice(of: phone) }
    },
  ]

  /// It decides nothing that another call could make untrue, so it has no rounds.
  static let erasure = Operation("EraseProfile") { service, _ in { try await service.erase() } }

  /// They write their refusals alone (`aRefusalIsOnlyAnsweredOnceItsEventIsDurable`).
  static let withoutRecords: Set = ["BeginBinding", "BeginEvaluation"]

  @Test func everyMethodThatChangesSomethingIsInTheTable() {
    let known = (Self.operations + [Self.erasure]).map { String($0.testDescription.prefix { $0 != " " }) }
    let changing = MethodDescriptor.all.filter {
      $0.path.hasPrefix("/touchstone.v1.") && $0.idempotency != .noSideEffects
    }
    #expect(Set(changing.map(\.name)).subtracting(known).subtracting(Self.withoutRecords) == [])
  }

  /// Calls that have nothing to change any more, and promise that it stays so.
  static let repetitions: [Operation] = [
    Operation("RevokeBinding") { service, phone in
      try await service.revoke(phone)
      return { try await service.revoke(phone) }
    },
    Operation("InvalidateEvaluation") { service, phone in
      let opened = try await service.begin(phone)
      try await service.invalidate(opened)
      return { try await service.invalidate(opened) }
    },
    Operation("RevokeToken") { service, phone in
      let token = try await service.logIn(phone)
      try await service.revoke(token: token)
      return { try await service.revoke(token: token) }
    },
    Operation("UnlockDevice") { service, phone in { try await service.unlockDevice(of: phone) } },
    Operation("UnlockSecret") { service, _ in
      _ = try await service.set(.passcode("2468"))
      return { try await service.unlock(.passcode) }
    },
    Operation("RemoveSecret") { service, _ in
      {
        let answer = try await service.remove(.passcode)
        #expect(answer.accepted)
      }
    },
    Operation("AcceptDomainState") { service, phone in
      try await service.acceptDomainState(of: phone)
      return { try await service.acceptDomainState(of: phone) }
    },
  ]

  private func ready(
    _ operation: Operation, _ delivery: MemoryStore.Delivery = .immediate
  ) async throws -> (TestService, Operation.Call) {
    let service = try await TestService.start(store: MemoryStore(delivery: delivery))
    let phone = try await service.bind()
    return (service, try await operation.prepare(service, phone))
  }

  // MARK: Conflicts

  @Test(arguments: operations, [MemoryStore.Delivery.immediate, .later])
  func aCallDecidesAnewAfterEachConflict(_ operation: Operation, _ delivery: MemoryStore.Delivery) async throws {
    let (service, call) = try await ready(operation, delivery)
    let (commits, events) = (service.store.commitCount, service.events.count)
    service.store.failCommits(.conflict, times: maximumDecisionRounds - 1)
    try await call()
    #expect(service.store.commitCount - commits == maximumDecisionRounds)
    #expect(service.events.count == events + 1)
  }

  @Test(arguments: operations)
  func aCallGivesUpAfterSoManyRoundsAndChangesNothing(_ operation: Operation) async throws {
    let (service, call) = try await ready(operation)
    let (commits, events) = (service.store.commitCount, service.events)
    service.store.failCommits(.conflict)
    let error = await refusal(call)
    #expect(error.code == .aborted)
    #expect(service.store.commitCount - commits == maximumDecisionRounds)
    #expect(service.events == events)
    // A caller that tries again is served.
    service.store.recover()
    try await call()
  }

  // MARK: Failures

  static let failures: [(StoreError.Code, RPCCode)] = [
    (.unavailable, .unavailable), (.inDoubt, .unavailable), (.corrupt, .dataLoss),
  ]

  @Test(arguments: operations + [erasure], failures)
  func aCommitThatFailsIsAnErrorThatTellsNothingOfTheStore(
    _ operation: Operation, _ failure: (store: StoreError.Code, rpc: RPCCode)
  ) async throws {
    let (service, call) = try await ready(operation)
    service.store.failCommits(failure.store, times: 1)
    expect(await refusal(call), failure.rpc, in: service)
    // Not tried again on its own, and a retry by the caller is safe.
    try await call()
  }

  @Test(arguments: operations, failures)
  func aReadThatFailsIsAnErrorThatTellsNothingOfTheStore(
    _ operation: Operation, _ failure: (store: StoreError.Code, rpc: RPCCode)
  ) async throws {
    let (service, call) = try await ready(operation)
    service.store.failReads(failure.store)
    expect(await refusal(call), failure.rpc, in: service)
  }

  /// Another replica's commit can be read before it is durable, and be lost: "it is so already" is answered once it is.
  @Test(arguments: repetitions, failures)
  func whatIsSoAlreadyIsOnlyAnsweredOnceItIsDurable(
    _ operation: Operation, _ failure: (store: StoreError.Code, rpc: RPCCode)
  ) async throws {
    let (service, call) = try await ready(operation)
    let events = service.events
    service.store.failConfirmations(failure.store)
    expect(await refusal(call), failure.rpc, in: service)
    service.store.recover()
    try await call()
    #expect(service.events == events)
  }

  /// The message is for the operator: it stands in the log, and in nothing that goes to the caller.
  private func expect(
    _ error: RPCError, _ code: RPCCode, in service: TestService, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(error.code == code, sourceLocation: sourceLocation)
    #expect(!"\(error) \(error.metadata)".contains("secret"), sourceLocation: sourceLocation)
    let logged = service.log.entries.filter { $0.level >= .error }.map { "\($0.metadata)" }
    #expect(logged.count == 1, sourceLocation: sourceLocation)
    #expect(logged.allSatisfy { $0.contains(MemoryStore.privateMessage) }, sourceLocation: sourceLocation)
  }

  /// The log of the first failed call gives the reason, and that of the next one, at once, the remedy.
  @Test func theOperatorsRemedyIsLoggedHoweverManyFailuresCameFirst() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    for remedy in [nil, nil, StoreError.Remedy.checkDiskAndRestart] {
      service.store.failCommits(.unavailable, remedy: remedy)
      await #expect(throws: RPCError.self) { try await service.revoke(phone) }
    }
    #expect(service.log.entries.count { $0.level == .error } >= 2)
  }

  /// A call that only reads is refused the same way.
  @Test(arguments: failures)
  func aQuestionThatTheStoreCannotAnswerIsAnError(_ failure: (store: StoreError.Code, rpc: RPCCode)) async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    let token = try await service.logIn(phone)
    service.store.failReads(failure.store)
    #expect(await refusal { try await service.begin(phone) }.code == failure.rpc)
    #expect(await refusal { try await service.introspect(token) }.code == failure.rpc)
  }

  // R41: a refusal whose event cannot be written is not given.
  @Test func aRefusalIsOnlyAnsweredOnceItsEventIsDurable() async throws {
    let service = try await TestService.start()
    var phone = try await service.bind()
    phone.posture.biometryEnrolled = false
    service.store.failCommits(.unavailable)
    #expect(
      await refusal { try await service.begin(phone, policy: "payment", transaction: .dinner) }.code == .unavailable)
    #expect(await refusal { try await service.beginBinding(phone) }.code == .unavailable)
    #expect(await refusal { try await service.consume("not.a.token") }.code == .unavailable)
    service.store.recover()
    #expect(
      try await service.begin(phone, policy: "payment", transaction: .dinner).denial?.reason == "BIOMETRY_NOT_ENROLLED")
  }
}

extension TestService {
  fileprivate func acceptDomainState(of phone: TestPhone) async throws {
    let _: V1.AcceptDomainStateResponse = try await call(
      "BindingService/AcceptDomainState",
      V1.AcceptDomainStateRequest(
        applicationID: Self.applicationID, bindingID: phone.bindingID, domainState: Array("new".utf8),
        evidence: .primary(primary()), osVersion: "18.0"))
  }

  fileprivate func unlockDevice(of phone: TestPhone) async throws {
    let _: V1.UnlockDeviceResponse = try await call(
      "AdministrationService/UnlockDevice",
      V1.UnlockDeviceRequest(
        applicationID: Self.applicationID, deviceID: phone.deviceID, reason: "seen at the desk"))
  }
}
