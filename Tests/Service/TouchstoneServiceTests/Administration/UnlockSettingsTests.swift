import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneStore

@testable import TouchstoneService

/// Which ways of unlocking a profile has on.
struct UnlockSettingsTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  // R17, R37: a profile that is not known has what a new one has.
  @Test func atFirstBiometricsAreOnAndNothingElse() async throws {
    #expect(try await service.settings(of: "nobody") == V1.UnlockSettings(biometryEnabled: true))
    #expect(service.store.records.profiles.isEmpty)
  }

  // R17
  @Test func whatIsAnsweredIsStored() async throws {
    _ = try await service.set(.passcode("2468"))
    service.clock.advance(by: .seconds(60))
    let asked = V1.UnlockSettings(
      passcodeEnabled: true, preferred: .passcode, gestureSet: true, passcodeSet: false,
      updatedAt: V1.Timestamp(seconds: 5, nanoseconds: 0))
    let expected = V1.UnlockSettings(
      passcodeEnabled: true, preferred: .passcode, passcodeSet: true, updatedAt: V1.Timestamp(service.clock.now))
    #expect(try await service.set(asked) == expected)
    #expect(try await service.settings() == expected)
    let replica = try await TestService.start(store: service.store)
    #expect(try await replica.settings() == expected)
    #expect(
      service.events.last
        == EventDraft(
          time: service.clock.now, kind: "settings.changed", applicationID: TestService.applicationID,
          profileID: "alice", caller: "local",
          details: [
            EventDetail(key: "biometry", value: "off"), EventDetail(key: "gesture", value: "off"),
            EventDetail(key: "passcode", value: "on"), EventDetail(key: "preferred", value: "passcode"),
          ]))
  }

  /// Two callers that read the settings at one time: the second one's change would undo the first one's.
  @Test func aChangeOfOtherSettingsThanExpectedIsRefused() async throws {
    let read = try await service.settings()
    func change(_ settings: V1.UnlockSettings) async throws {
      let _: V1.SetUnlockSettingsResponse = try await service.call(
        "SecretService/SetUnlockSettings",
        V1.SetUnlockSettingsRequest(
          applicationID: TestService.applicationID, profileID: "alice", settings: settings, expected: read))
    }
    try await change(V1.UnlockSettings(biometryEnabled: true, passcodeEnabled: true))
    let changed = try await service.settings()
    let error = await #expect(throws: RPCError.self) { try await change(V1.UnlockSettings(gestureEnabled: true)) }
    #expect(error?.code == .failedPrecondition)
    #expect(try await service.settings() == changed)
    #expect(service.events.count { $0.kind == "settings.changed" } == 1)
  }

  /// An app gives none, because the person made the change.
  @Test func theReasonOfAnOperatorIsInTheEvent() async throws {
    let settings = V1.UnlockSettings(biometryEnabled: true)
    let _: V1.SetUnlockSettingsResponse = try await service.call(
      "SecretService/SetUnlockSettings",
      V1.SetUnlockSettingsRequest(
        applicationID: TestService.applicationID, profileID: "alice", settings: settings, reason: "ticket 4711"))
    #expect(service.events.last?.details.last == .statedReason("ticket 4711"))
    _ = try await service.set(settings)
    #expect(service.events.last?.details.contains { $0.key == "stated_reason" } == false)
  }

  // R17: the gesture goes for good, the passcode stays.
  @Test func switchingTheGestureOffErasesIt() async throws {
    _ = try await service.set(.passcode("2468"))
    _ = try await service.set(.gesture(0, 1, 2, 5))
    let off = try await service.set(V1.UnlockSettings(biometryEnabled: true))
    #expect(!off.gestureSet && off.passcodeSet)
    #expect(service.store.records.profile(TestService.applicationID, "alice").gesture?.verifier == [])
    #expect(service.events.suffix(2).map(\.kind) == ["settings.changed", "secret.removed"])
    let on = try await service.set(
      V1.UnlockSettings(biometryEnabled: true, gestureEnabled: true, passcodeEnabled: true))
    #expect(!on.gestureSet && on.passcodeSet)
    #expect(try await !service.set(.gesture(8, 7, 6, 3), by: .oldSecret(.gesture(0, 1, 2, 5))).accepted)
    #expect(try await service.set(.passcode("1357"), by: .oldSecret(.passcode("2468"))).accepted)
  }

  // R17
  @Test(
    arguments: [
      (nil, "settings"), (V1.UnlockSettings(preferred: .deviceOwner), "settings.preferred"),
      (V1.UnlockSettings(preferred: .primary), "settings.preferred"),
      (V1.UnlockSettings(preferred: V1.Factor(rawValue: 77)), "settings.preferred"),
      (V1.UnlockSettings(preferred: .biometry), "settings.preferred"),
      (V1.UnlockSettings(biometryEnabled: true, preferred: .gesture), "settings.preferred"),
    ] as [(V1.UnlockSettings?, String)])
  func settingsThatMayNotBe(_ settings: V1.UnlockSettings?, _ field: String) async throws {
    let error = await refusal { try await service.set(settings) }
    #expect(error.code == .invalidArgument)
    #expect(error.fields == [field])
    #expect(service.events.isEmpty)
  }

  // R17: of changes at once, none is lost in half.
  @Test func parallelChangesFollowEachOther() async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: .later), connections: 2)
    let answers = try await inParallel(12) { try await service.set(V1.UnlockSettings(passcodeEnabled: true)) }
    #expect(answers.allSatisfy { $0.passcodeEnabled && !$0.biometryEnabled })
    #expect(service.events.filter { $0.kind == "settings.changed" }.count == 12)
  }
}
