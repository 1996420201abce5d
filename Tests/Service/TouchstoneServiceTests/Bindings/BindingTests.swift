import DispatchRPC
import SimulatedPhone
import StoreModel
import Synchronization
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Which device may speak for which profile, from ticket to revocation.
struct BindingTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  /// A program would take it for an option: `touchstone admin binding show shop -ZCT`.
  @Test func noBindingsIDBeginsWithAHyphen() {
    let firsts = Mutex<[UInt8]>([0xF8, 0xFB, 0xF7])
    let randomness = Randomness { count in
      [firsts.withLock { $0.removeFirst() }] + Array(repeating: 0, count: count - 1)
    }
    #expect(randomness.bindingID() == "9wAAAAAAAAAAAAAAAAAAAA")
  }

  // MARK: Primary authentication

  // R28
  @Test(arguments: [
    (Duration.zero, nil), (.seconds(300), nil), (.seconds(-30), nil),
    (.seconds(301), "PRIMARY_AUTHENTICATION_TOO_OLD"),
  ])
  func aBindingNeedsAFreshLogin(_ age: Duration, _ reason: String?) async throws {
    guard let reason else {
      #expect(try await !service.beginBinding(TestPhone(), authenticated: age).ticket.isEmpty)
      return #expect(service.events.isEmpty)
    }
    let error = await refusal { try await service.beginBinding(TestPhone(), authenticated: age) }
    #expect(error.code == .failedPrecondition)
    #expect(error.reason == reason)
    #expect(service.events.map(\.kind) == ["binding.denied"])
  }

  // R28
  @Test func aLoginInTheFutureIsTheCallersMistake() async throws {
    let error = await refusal { try await service.beginBinding(TestPhone(), authenticated: .seconds(-31)) }
    #expect(error.code == .invalidArgument)
    #expect(error.fields == ["primary.authenticated_at"])
  }

  // MARK: Tickets

  // R28
  @Test func aTicketServesUntilItExpiresAndNotAMomentLonger() async throws {
    let (alice, bob) = (TestPhone(), TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b", profileID: "bob"))
    let (early, late) = (try await service.beginBinding(alice), try await service.beginBinding(bob))
    #expect(early.expiresAt == V1.Timestamp(service.clock.now + .seconds(120)))
    service.clock.advance(by: .seconds(120) - .microseconds(1))
    #expect(try await service.completeBinding(alice, early).state == .active)
    service.clock.advance(by: .microseconds(1))
    #expect(await refusal { try await service.completeBinding(bob, late) }.reason == "TICKET_INVALID")
  }

  // R28: what was begun while the clock was ahead does not stay open until that time has come.
  @Test func aTicketOfAClockThatWasAheadIsVoid() async throws {
    let phone = TestPhone()
    for (lead, isOpen) in [(121, false), (120, true)] {
      service.clock.advance(by: .seconds(lead))
      let begun = try await service.beginBinding(phone)
      service.clock.advance(by: .seconds(-lead))
      if isOpen {
        #expect(try await service.completeBinding(phone, begun).state == .active)
      } else {
        #expect(await refusal { try await service.completeBinding(phone, begun) }.reason == "TICKET_INVALID")
      }
    }
  }

  enum Erasure: CaseIterable { case ofAKnownOne, ofANewOne, ofOneMadeMeanwhile, rightBeforeTheCommit, whileNew }

  // R28: the ticket was issued for another profile.
  @Test(arguments: Erasure.allCases, [true, false])
  func aTicketEndsWithTheProfileThatItWasGivenTo(_ erasure: Erasure, _ isProven: Bool) async throws {
    if erasure == .ofAKnownOne || erasure == .rightBeforeTheCommit { _ = try await service.set(.passcode("2468")) }
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    if erasure == .ofOneMadeMeanwhile { _ = try await service.set(.passcode("2468")) }
    switch erasure {
    case .ofAKnownOne, .ofANewOne, .ofOneMadeMeanwhile: try await service.erase()
    case .rightBeforeTheCommit, .whileNew: service.eraseBeforeNextCommit()
    }
    let keys = phone.keys(signing: isProven ? begun.signingInput : [0])
    let error = await refusal { try await service.completeBinding(phone, begun, keys: keys) }
    #expect(error.reason == "TICKET_INVALID")
    #expect(service.store.records.bindings.isEmpty)
    #expect(service.store.records.profile(TestService.applicationID, "alice").version == 0)
    // R41
    #expect(service.events.last?.kind == "binding.refused")
    #expect(service.events.allSatisfy { $0.profileID.isEmpty && $0.deviceID.isEmpty })
  }

  // R28: an erasure in another application does not affect the ticket, whether the profile is known or not; one in its
  // own application hardly does.
  @Test(arguments: ["com.example.shop", TestService.applicationID])
  func anErasureOfOthersLeavesATicketForANewProfile(_ applicationID: String) async throws {
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    if applicationID != TestService.applicationID { try await service.erase("alice", applicationID: applicationID) }
    for number in 0..<3 { try await service.erase("nobody \(number)", applicationID: applicationID) }
    #expect(try await service.completeBinding(phone, begun).state == .active)
  }

  // R28
  @Test func aTicketIsTheApplicationsThatBeganIt() async throws {
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    let error = await refusal {
      try await service.completeBinding(phone, begun, applicationID: "com.example.shop")
    }
    #expect(error.reason == "TICKET_INVALID")
    #expect(service.store.records.bindings.isEmpty)
  }

  // R28
  @Test(arguments: [MemoryStore.Delivery.immediate, .later])
  func ofParallelUsesOfATicketOneWins(_ delivery: MemoryStore.Delivery) async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: delivery), connections: 2)
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    let keys = phone.keys(signing: begun.signingInput)
    let answers = try await inParallel(16) { () async throws -> String? in
      do {
        return try await service.completeBinding(phone, begun, keys: keys).bindingID
      } catch {
        return nil
      }
    }
    #expect(answers.compactMap(\.self).count == 1)
    #expect(service.events.filter { $0.kind == "binding.created" }.count == 1)
    #expect(service.events.filter { $0.kind == "binding.refused" }.count == RefusalThrottle.burst)
  }

  /// A binding rests on more records, but its ticket needs the holder alone, and so does a refusal.
  @Test func aTicketAndARefusalReadTheHolderAlone() async throws {
    let service = try await TestService.start()
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    _ = await refusal { try await service.completeBinding(phone, begun, keys: phone.keys(signing: [0])) }
    #expect(service.store.reads == [.holder, .holder])
    _ = try await service.completeBinding(phone, begun)
    #expect(service.store.reads.last == .enrolment)
  }

  // MARK: Possession

  // R28: each key proves itself, and a failed proof does not use up the ticket.
  @Test(arguments: [0, 1])
  func everyKeySignsTheTicket(_ wrong: Int) async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: .later))
    var phone = TestPhone()
    phone.deviceOwnerKey = .init()
    let begun = try await service.beginBinding(phone)
    var keys = phone.keys(signing: begun.signingInput)
    keys[wrong].signature = phone.keys(signing: [0])[wrong].signature
    let error = await refusal { try await service.completeBinding(phone, begun, keys: keys) }
    #expect(error.fields == ["keys[\(wrong)].signature"])
    #expect(service.events.map(\.kind) == ["binding.refused"])
    #expect(try await service.completeBinding(phone, begun).protections == [.biometryCurrentSet, .devicePasscode])
  }

  // R31
  @Test func keysAreTwoAtMostAndDiffer() async throws {
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    let key = phone.keys(signing: begun.signingInput)[0]
    let offPoint = V1.HardwareKey(
      publicKey: [4] + [UInt8](repeating: 1, count: 64), protection: .userPresence, signature: key.signature)
    for (keys, fields) in [
      ([], ["keys"]), ([key, key, key], ["keys"]), ([key, key], ["keys[1].protection", "keys[1].public_key"]),
      ([key, offPoint], ["keys[1].public_key"]),
      ([V1.HardwareKey()], ["keys[0].protection", "keys[0].public_key", "keys[0].signature"]),
    ] {
      #expect(await refusal { try await service.completeBinding(phone, begun, keys: keys) }.fields == fields)
    }
    #expect(service.events.isEmpty)
  }

  // MARK: One profile on one device

  // R29
  @Test func aDeviceChangesHandsOnlyWhereTheCallerAgrees() async throws {
    let alice = try await service.bind()
    let bob = TestPhone(profileID: "bob")
    let error = await refusal { try await service.bind(bob) }
    #expect(error.code == .failedPrecondition)
    #expect(error.reason == "DEVICE_BOUND_TO_ANOTHER_PROFILE")
    let bound = try await service.bind(bob, replacing: true)
    #expect(service.store.records.binding(alice.bindingID)?.isRevoked == true)
    #expect(service.store.records.binding(bound.bindingID)?.isRevoked == false)
    #expect(service.events.map(\.kind) == ["binding.created", "binding.refused", "binding.revoked", "binding.created"])
  }

  // R29
  @Test func theSameProfileReplacesItsOwnBinding() async throws {
    let service = try await TestService.start { $0.enrolment.maximumBindingsPerProfile = 1 }
    let (old, new) = (try await service.bind(), try await service.bind())
    #expect(service.store.records.bindings(TestService.applicationID, "alice").map(\.bindingID) == [new.bindingID])
    #expect(service.store.records.binding(old.bindingID)?.isRevoked == true)
  }

  // R29: together they could exceed what each alone may add.
  @Test func parallelBindingsStopAtTheLimit() async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: .later), connections: 2) {
      $0.enrolment.maximumBindingsPerProfile = 3
    }
    var tickets: [(TestPhone, V1.BeginBindingResponse)] = []
    for number in 0..<8 {
      let phone = TestPhone(deviceID: "phone-5f9c27e8ab4d6b-\(number)")
      tickets.append((phone, try await service.beginBinding(phone)))
    }
    let reasons = await withTaskGroup(of: String?.self) { group in
      for (phone, begun) in tickets {
        group.addTask {
          do {
            _ = try await service.completeBinding(phone, begun)
            return nil
          } catch {
            return (error as? RPCError)?.reason
          }
        }
      }
      return await group.reduce(into: [String?]()) { $0.append($1) }
    }
    #expect(reasons.filter { $0 == nil }.count == 3)
    #expect(reasons.filter { $0 == "TOO_MANY_BINDINGS" }.count == 5)
    #expect(service.store.records.bindings(TestService.applicationID, "alice").count == 3)
  }

  // MARK: Revocation

  // R32
  @Test func revokingTwiceIsRevokingOnce() async throws {
    let phone = try await service.bind()
    try await service.revoke(phone)
    try await service.revoke(phone)
    #expect(service.events.map(\.kind) == ["binding.created", "binding.revoked"])
    #expect(service.events.last?.details == [EventDetail(key: "stated_reason", value: "lost")])
  }

  // R24
  @Test func theBaselineIsWhatTheDeviceSaidWhenItWasBound() async throws {
    let phone = try await service.bind()
    let baseline = DomainStateBaseline(domainState: phone.posture.domainState, osMajorVersion: 17)
    #expect(service.store.records.binding(phone.bindingID)?.baseline == baseline)
    var silent = TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b")
    silent.posture.osVersion = "8.4"
    silent.posture.domainState = []
    silent = try await service.bind(silent)
    #expect(service.store.records.binding(silent.bindingID)?.baseline == nil)
  }
}
