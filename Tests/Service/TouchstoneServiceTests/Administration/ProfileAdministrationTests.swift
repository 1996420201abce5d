import DispatchRPC
import StoreConformance
import StoreModel
import TestSupport
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The parts of a profile that operators see, and the changes that they may make to it.
struct ProfileAdministrationTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  // MARK: GetProfile

  @Test func aProfileIsShownWithItsSecretsStandingsAndNoneOfItsSecrets() async throws {
    let phone = try await service.bind()
    _ = try await service.set(.passcode("2468"))
    _ = try await service.set(.gesture(0, 1, 2, 5))
    for _ in 0..<5 { _ = try await service.set(.passcode("1357"), by: .oldSecret(.passcode("0000"))) }
    let profile = try await service.profile()
    #expect(profile.bindings.map(\.bindingID) == [phone.bindingID])
    #expect(profile.devices.map(\.deviceID) == ["phone-1-5f9c27e8ab4d6b"])
    #expect(
      profile.secrets == [
        V1.SecretStanding(
          kind: .passcode, failures: 5, lockedUntil: V1.Timestamp(service.clock.now + .seconds(60))),
        V1.SecretStanding(kind: .gesture),
      ])
    #expect(try await profile.settings == service.settings())
  }

  @Test func aProfileWithoutDevicesIsKnownByItsSecret() async throws {
    #expect(await refusal { try await service.profile() }.code == .notFound)
    _ = try await service.set(.passcode("2468"))
    #expect(try await service.profile().secrets == [V1.SecretStanding(kind: .passcode)])
    _ = try await service.remove(.passcode)
    #expect(try await service.profile().secrets == [])
  }

  // R41: a query for an unknown profile is an event without a name: the name may be an erased one.
  @Test func askingForAnUnknownProfileIsAnEvent() async throws {
    #expect(await refusal { try await service.profile("nobody") }.code == .notFound)
    let event = try #require(service.events.last)
    #expect(event.kind == "profile.refused" && event.profileID.isEmpty)
    #expect(event.details == [EventDetail(key: "reason", value: "NOT_FOUND")])
  }

  /// Active ones are read first, revoked ones then.
  @Test func aBindingThatIsRevokedBetweenTwoReadsIsShownOnceAndRevoked() async throws {
    let phone = try await service.bind()
    service.store.hold(.bindingReads)
    async let profile = service.profile()
    try await eventually { service.store.go(.bindingReads) }
    let binding = try #require(service.store.records.binding(phone.bindingID))
    try service.store.change(.putBinding(binding.revoked()))
    try await eventually { service.store.go(.bindingReads) }
    let shown = try await profile.bindings
    #expect(shown.map(\.bindingID) == [phone.bindingID])
    #expect(shown.map(\.state) == [.revoked])
  }

  @Test func aHundredRevokedBindingsAreShownBesideTheActiveOne() async throws {
    let phone = try await service.bind()
    for number in 0..<110 {
      try service.store.change(.putBinding(.sample("revoked-\(number)", isRevoked: true)))
    }
    let bindings = try await service.profile().bindings
    #expect(bindings.count == 101)
    #expect(bindings.first?.bindingID == phone.bindingID)
  }

  // MARK: UnlockSecret

  // R13
  @Test func anOperatorEndsALockBeforeItsTime() async throws {
    _ = try await service.set(.passcode("2468"))
    for _ in 0..<5 { _ = try await service.attempt(.typed("0000")) }
    #expect(try await service.begin(profileID: "alice").denial?.reason == "PASSCODE_LOCKED")
    try await service.unlock(.passcode)
    try await service.unlock(.passcode)
    #expect(try await service.attempt(.typed("0000")).attemptsLeft == 4)
    #expect(try await service.attempt(.typed("2468")).outcome == .succeeded)
    let events = service.events.filter { $0.kind == "secret.unlocked" }
    #expect(
      events.map(\.details) == [
        [
          EventDetail(key: "factor", value: "passcode"), EventDetail(key: "stated_reason", value: "the person called"),
        ]
      ])
  }

  // R13: disabled is until it is set anew.
  @Test func anOperatorDoesNotBringADisabledOneBack() async throws {
    _ = try await service.set(.gesture(0, 1, 2, 5))
    for _ in 0..<10 {
      _ = try await service.attempt(.drawn(8, 7, 6, 3))
      service.clock.advance(by: .seconds(60 * 60))
    }
    #expect(
      try await service.profile().secrets == [
        V1.SecretStanding(kind: .gesture, failures: 10, disabled: true)
      ])
    let error = await refusal { try await service.unlock(.gesture) }
    #expect(error.code == .failedPrecondition && error.reason == "GESTURE_DISABLED")
    #expect(service.events.last?.kind == "secret.refused")
    _ = try await service.set(.gesture(0, 1, 2, 5))
    #expect(try await service.attempt(.drawn(0, 1, 2, 5)).outcome == .succeeded)
  }

  @Test func whatIsNotSetIsNotUnlocked() async throws {
    _ = try await service.set(.gesture(0, 1, 2, 5))
    #expect(await refusal { try await service.unlock(.passcode) }.code == .notFound)
    #expect(await refusal { try await service.unlock(.gesture, of: "bob") }.code == .notFound)
    #expect(await refusal { try await service.unlock(.unspecified) }.fields == ["kind"])
    #expect(service.events.suffix(2).map(\.kind) == ["secret.refused", "secret.refused"])
  }

  // MARK: EraseProfile

  // R32, R41
  @Test func nothingIsLeftOfAnErasedProfile() async throws {
    let phone = try await service.bind()
    _ = try await service.set(.passcode("2468"))
    let opened = try await service.begin(phone)
    let tokens = [try await service.logIn(phone), try await service.attempt(.typed("2468")).token]
    for token in tokens { #expect(try await service.introspect(token).active) }

    try await service.erase()
    for token in tokens { #expect(try await !service.introspect(token).active) }
    #expect(await refusal { try await service.profile() }.code == .notFound)
    let binding = V1.GetBindingRequest(applicationID: TestService.applicationID, bindingID: phone.bindingID)
    let gone = await refusal { () async throws -> V1.GetBindingResponse in
      try await service.call("BindingService/GetBinding", binding)
    }
    #expect(gone.code == .notFound)
    #expect(try await service.submit(phone, opened).outcome != .succeeded)
    // An unknown name may show a gesture alone (R37).
    #expect([.tryAgain, .factorRequired].contains(try await service.attempt(.typed("2468")).outcome))
    #expect(try await service.settings() == V1.UnlockSettings(biometryEnabled: true))
    let erased = service.events.filter { $0.kind == "profile.erased" }
    #expect(erased.map(\.profileID) == [""])
  }

  // R32: the next profile of that name begins without its tokens and its devices.
  @Test func whoTakesTheNameOfAnErasedProfileIsSomebodyElse() async throws {
    let phone = try await service.bind()
    _ = try await service.set(.passcode("2468"))
    let tokens = [try await service.logIn(phone), try await service.attempt(.typed("2468")).token]
    try await service.erase()
    service.clock.advance(by: .seconds(1))
    _ = try await service.set(.passcode("2468"))
    _ = try await service.bind()
    for token in tokens { #expect(try await !service.introspect(token).active) }
    #expect(try await service.profile().bindings.count == 1)
  }

  // R41
  @Test func erasingIsTheApplicationsOwnAndMayBeRepeated() async throws {
    _ = try await service.set(.passcode("2468"))
    try await service.erase(applicationID: "com.example.shop")
    try await service.erase("bob")
    #expect(try await service.profile().secrets.count == 1)
    try await service.erase()
    try await service.erase()
    #expect(await refusal { try await service.profile() }.code == .notFound)
    var verifier = EventChainVerifier()
    for record in service.store.records.events { try verifier.verify(record) }
    try verifier.conclude(at: service.store.records.chain.head)
  }
}
