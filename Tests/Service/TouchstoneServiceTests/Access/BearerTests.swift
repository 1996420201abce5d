import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

/// A ProfileTouchID identifies its profile by itself (R30), and is no key.
struct BearerTests {
  private static let identifier = "4f1c9d6a-b2e8-4c77-9a51-0d3e6f8b2a94"

  private func start() async throws -> (service: TestService, phone: TestPhone) {
    let service = try await TestService.start()
    return (service, try service.bind(holding: Self.identifier))
  }

  /// The request names no subject.
  private func open(_ service: TestService, policy: String = "login") async throws -> V1.BeginEvaluationResponse {
    try await service.begin(profileID: "", policy: policy)
  }

  // MARK: Without a named subject

  // R30, R40
  @Test func anIdentifierResolvesItsProfile() async throws {
    let (service, phone) = try await start()
    let opened = try await open(service)
    #expect(opened.denial == nil)
    #expect(opened.factors == [.biometry])
    let answer = try await service.submit(opened, .shown(Self.identifier))
    #expect(answer.outcome == .succeeded)
    #expect(answer.profileID == "alice")
    let claims = try #require(try await service.introspect(answer.token).claims)
    #expect(claims.bindingID == phone.bindingID)
    // A bearer identifier is no hardware key.
    #expect(claims.methods == ["fpt"])
    #expect(service.events.last?.deviceID == phone.deviceID)
    #expect(service.store.records.binding(phone.bindingID)?.lastUsedAt == service.clock.now)
    #expect(try await service.submit(opened, .shown(Self.identifier)).outcome == .invalidContext)
  }

  // R34: before anybody is named there is nothing to read.
  @Test func beginningForNobodyAsksTheStoreNothing() async throws {
    let (service, _) = try await start()
    service.store.failReads(.unavailable)
    #expect(try await open(service).denial == nil)
  }

  // R7, R8, R37: the guess is at no device.
  @Test func aWrongOneCountsInItsEvaluationAlone() async throws {
    let (service, phone) = try await start()
    let opened = try await open(service)
    var outcomes: [V1.Outcome] = []
    for _ in 0..<4 { outcomes.append(try await service.submit(opened, .shown("another identifier")).outcome) }
    #expect(outcomes == [.tryAgain, .tryAgain, .failed, .invalidContext])
    #expect(service.store.records.device(phone.deviceID).version == 0)
    #expect(service.store.records.device("").version == 0)
    #expect(service.events.last?.profileID == "")
  }

  // R32, R37
  @Test func aRevokedOneIsAWrongOne() async throws {
    let (service, phone) = try await start()
    let opened = try await open(service)
    try await service.revoke(phone)
    let revoked = try await service.submit(opened, .shown(Self.identifier))
    #expect(try await service.submit(open(service), .shown("another identifier")) == revoked)
    #expect(revoked.outcome == .tryAgain)
  }

  // R25: and none of them is possible without a named subject.
  @Test func otherFingersNeedAnotherFactor() async throws {
    let (service, _) = try await start()
    _ = try await service.set(.passcode("2468"))
    var posture = V1.DevicePosture.healthy
    posture.domainState = Array("other fingers".utf8)
    let answer = try await service.submit(open(service), .shown(Self.identifier), posture: posture)
    #expect(answer.outcome == .factorRequired)
    #expect(answer.nextFactors == [])
    #expect(answer.token.isEmpty)
  }

  // R8: the lock is the device's.
  @Test func aLockedDeviceIsLockedForItsIdentifierToo() async throws {
    let (service, phone) = try await start()
    try service.store.change(
      .putDevice(DeviceRecord(deviceID: phone.deviceID, biometry: BiometryStanding(isLockedOut: true))))
    #expect(try await service.submit(open(service), .shown(Self.identifier)).outcome == .lockedOut)
  }

  // R38
  @Test func anIdentifierPaysNothing() async throws {
    let (service, phone) = try await start()
    let payment = try await service.begin(TestPhone(profileID: ""), policy: "payment", transaction: .dinner)
    #expect(payment.denial?.reason == "NO_USABLE_FACTOR")
    let opened = try await service.begin(phone, policy: "payment", transaction: .dinner)
    #expect(opened.denial?.reason == "NO_USABLE_FACTOR")
    // And a phone with keys pays by them alone.
    let other = try await service.bind(TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b", profileID: "bob"))
    let bobs = try await service.begin(other, policy: "payment", transaction: .dinner)
    let answer = try await service.submit(bobs, .shown(Self.identifier))
    #expect(answer.outcome == .factorRequired)
    #expect(answer.token.isEmpty)
  }

  /// Nothing else identifies a person.
  @Test(arguments: [
    Attempt.typed("2468"), .drawn(0, 1, 2, 5),
    .key(V1.KeyProof(signature: [UInt8](repeating: 7, count: 64), factor: .biometry)),
    .key(V1.KeyProof(signature: [UInt8](repeating: 7, count: 64), factor: .deviceOwner)),
    .report(V1.DeviceReport(laError: .biometryLockout)),
  ])
  func nobodyIsProvenByAnythingElse(_ attempt: Attempt) async throws {
    let (service, phone) = try await start()
    _ = try await service.set(.passcode("2468"))
    let answer = try await service.submit(open(service), attempt)
    #expect(answer.outcome != .succeeded)
    #expect(answer.token.isEmpty && answer.profileID.isEmpty)
    #expect(service.store.records.device(phone.deviceID).version == 0)
    #expect(service.secretStanding().failures == 0)
  }

  // R30
  @Test(arguments: [0, 15, 129])
  func itsLengthIsBounded(_ count: Int) async throws {
    let (service, _) = try await start()
    let opened = try await open(service)
    let error = await refusal {
      try await service.submit(opened, .shown(String(repeating: "x", count: count)))
    }
    #expect(error.fields == ["profile_touch_id.profile_touch_id"])
  }

  // MARK: With a named phone

  @Test func theNamedPhonesIdentifierIsRight() async throws {
    let (service, phone) = try await start()
    #expect(try await service.submit(phone, service.begin(phone), .shown(Self.identifier)).outcome == .succeeded)
  }

  // R7, R8
  @Test func aWrongOneOfANamedPhoneCountsOnIt() async throws {
    let (service, phone) = try await start()
    _ = try service.bind(holding: "another identifier", profileID: "bob", deviceID: "phone-2-5f9c27e8ab4d6b")
    let opened = try await service.begin(phone)
    // Bob's is genuine, and not this phone's.
    for identifier in ["wrong identifier", "another identifier"] {
      #expect(try await service.submit(phone, opened, .shown(identifier)).outcome == .tryAgain)
    }
    #expect(service.store.records.device(phone.deviceID).biometry.consecutiveFailures == 2)
    #expect(service.store.records.device("phone-2-5f9c27e8ab4d6b").version == 0)
  }

  // R31: a phone with keys does not prove itself by an identifier.
  @Test func aPhoneWithKeysHoldsNone() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    #expect(try await service.submit(phone, service.begin(phone), .shown(Self.identifier)).outcome == .tryAgain)
  }
}
