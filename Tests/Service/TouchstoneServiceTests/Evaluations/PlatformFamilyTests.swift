import SimulatedPhone
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

/// A binding is of the platform that it was made on (R38).
struct PlatformFamilyTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  // R38: who has the key of a phone chooses its posture, but not the rules that it is judged by.
  @Test(arguments: ["android", "web", "macOS"]) func aStolenKeyPaysOnNoOtherPlatform(_ platform: String) async throws {
    var phone = try await service.bind()
    let opened = try await service.begin(phone, policy: "payment", transaction: .dinner)
    phone.posture.platform = platform
    phone.posture.domainState = []
    let denial = try await service.begin(phone, policy: "payment", transaction: .dinner).denial
    #expect(denial?.reason == "PLATFORM_DIFFERS")
    #expect(denial?.detail.isEmpty == false && denial?.message?.text.isEmpty == false)
    let answer = try await service.submit(phone, opened)
    #expect(answer.outcome == .failed && answer.laError == .biometryNotAvailable && answer.token.isEmpty)
    #expect(try await service.begin(phone).denial?.reason == "PLATFORM_DIFFERS")
    #expect(service.events.last?.details.contains(EventDetail(key: "reason", value: "PLATFORM_DIFFERS")) == true)
  }

  @Test func anIPadMayCallItsSystemEither() async throws {
    var phone = try await service.bind()
    phone.posture.platform = "iPadOS"
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .succeeded)
  }

  // R38: of a binding that an older version made, no family is known; the first success fixes it.
  @Test func aBindingWithoutAFamilyGetsThatOfItsNextSuccess() async throws {
    var phone = try await service.bind()
    try change(phone, in: service) { $0.platformFamily = nil }
    let opened = try await service.begin(phone)
    _ = try await service.submit(phone, opened, phone.wrongProof(for: opened))
    #expect(service.store.records.binding(phone.bindingID)?.platformFamily == nil)
    // A passcode says nothing of the phone that it was typed on.
    _ = try await service.set(.passcode("2468"))
    var other = phone
    other.posture.platform = "web"
    #expect(try await service.submit(other, service.begin(other), .typed("2468")).outcome == .succeeded)
    #expect(service.store.records.binding(phone.bindingID)?.platformFamily == nil)
    #expect(try await service.submit(phone, opened).outcome == .succeeded)
    #expect(service.store.records.binding(phone.bindingID)?.platformFamily == .iOS)
    phone.posture.platform = "android"
    #expect(try await service.begin(phone).denial?.reason == "PLATFORM_DIFFERS")
  }

  // R38
  @Test(arguments: [("android", "LEVEL_TOO_LOW"), ("web", "PLATFORM_NOT_SERVED"), ("macos", nil)])
  func aPlatformWithoutDomainStateIsRefusedByName(_ platform: String, _ reason: String?) async throws {
    var phone = TestPhone()
    phone.posture.platform = platform
    if reason != nil { phone.posture.domainState = [] }
    phone = try await service.bind(phone)
    let opened = try await service.begin(phone, policy: "payment", transaction: .dinner)
    #expect(opened.denial?.reason == reason)
    // Nor on bytes of the app's own that it calls a domain state.
    phone.posture.domainState = Array("made up".utf8)
    let denial = try await service.begin(phone, policy: "payment", transaction: .dinner).denial
    #expect(denial?.reason == reason)
    let texts = [
      "PLATFORM_NOT_SERVED": "This can't be done on this kind of device yet.",
      "LEVEL_TOO_LOW": "To be used for this, this device needs to be set up again.",
    ]
    #expect(denial?.message?.text == reason.flatMap { texts[$0] })
    #expect((denial?.detail.isEmpty ?? true) == (reason == nil))
    if reason != nil { #expect(try await service.submit(phone, service.begin(phone)).outcome == .succeeded) }
  }

  // R27: made-up bytes meet no policy that requires a domain state, and become no baseline.
  @Test(arguments: [("android", "14"), ("web", "17"), ("ios", "8.4")])
  func bytesAreNoDomainStateWhereTheSystemHasNone(_ platform: String, _ version: String) async throws {
    service.replacePolicies([.stateful])
    _ = try await service.set(.passcode("2468"))
    var phone = TestPhone()
    phone.deviceOwnerKey = SoftwareKey()
    phone.posture = phone.posture.with { ($0.platform, $0.osVersion) = (platform, version) }
    phone = try await service.bind(phone)
    #expect(service.store.records.binding(phone.bindingID)?.baseline == nil)
    // As an older version made it: of no family, and with such bytes for a baseline.
    for baseline in [nil, DomainStateBaseline(domainState: phone.posture.domainState, osMajorVersion: 14)] {
      try change(phone, in: service) { ($0.platformFamily, $0.baseline) = (nil, baseline) }
      let opened = try await service.begin(phone.with { $0.posture = .healthy })
      for attempt in [phone.proof(for: opened), phone.proof(for: opened, by: .deviceOwner), .typed("2468")] {
        let answer = try await service.submit(phone, opened, attempt)
        #expect(answer.outcome == .failed && answer.laError == .biometryNotAvailable && answer.token.isEmpty)
      }
      #expect(service.store.records.binding(phone.bindingID)?.baseline == baseline)
      let denial = try await service.begin(phone).denial
      #expect(denial?.reason == (platform == "ios" ? "DOMAIN_STATE_REQUIRED" : "PLATFORM_NOT_SERVED"))
      for posture in [phone.posture, nil] {
        let explained: V1.ExplainEvaluationResponse = try await service.call(
          "AdministrationService/ExplainEvaluation",
          V1.ExplainEvaluationRequest(
            begin: V1.BeginEvaluationRequest(
              applicationID: TestService.applicationID, policy: EvaluationPolicy.stateful.name,
              bindingID: phone.bindingID, localizedReason: "Log in", posture: posture)))
        #expect(explained.answer?.denial == denial)
        #expect(explained.trace.contains { $0.rule == "R27" && !$0.passed })
      }
    }
  }

  // R27: a profile alone names no device whose state there would be to compare.
  @Test func aProfileAloneGoesOnWithItsSecretsOnTheWeb() async throws {
    service.replacePolicies([.stateful])
    _ = try await service.set(.passcode("2468"))
    var browser = TestPhone()
    browser.posture.platform = "web"
    for state in [[], Array("made up".utf8)] {
      browser.posture.domainState = state
      let opened = try await service.begin(browser)
      #expect(opened.denial == nil && opened.factors == [.passcode])
      #expect(try await service.submit(browser, opened, .typed("2468")).outcome == .succeeded)
    }
  }

  // R25: of an iPhone that an older version bound, no family is known: what it claims to be frees no other finger.
  @Test func anIPhoneThatClaimsAnotherPlatformIsComparedAllTheSame() async throws {
    var phone = try await service.bind()
    try change(phone, in: service) { $0.platformFamily = nil }
    let claims: [(inout V1.DevicePosture) -> Void] = [
      { ($0.platform, $0.domainState) = ("android", []) },
      { ($0.platform, $0.domainState) = ("web", Array("another finger".utf8)) },
      { ($0.osVersion, $0.domainState) = ("8.4", []) },
      { ($0.platform, $0.domainState, $0.biometryLockedOut) = ("android", [], true) },
    ]
    for claim in claims {
      phone.posture = .healthy
      let opened = try await service.begin(phone)
      claim(&phone.posture)
      let answer = try await service.submit(phone, opened)
      #expect(
        answer.outcome == (phone.posture.biometryLockedOut ? .lockedOut : .factorRequired) && answer.token.isEmpty)
    }
    let binding = service.store.records.binding(phone.bindingID)
    #expect(binding?.platformFamily == nil && binding?.baseline != nil)
  }

  private func change(
    _ phone: TestPhone, in service: TestService, _ body: (inout BindingRecord) -> Void
  ) throws {
    var binding = try #require(service.store.records.binding(phone.bindingID))
    body(&binding)
    try service.store.change(.putBinding(binding))
  }
}

extension EvaluationPolicy {
  /// A login that requires domain state.
  fileprivate static let stateful: EvaluationPolicy = {
    var policy = EvaluationPolicy.builtIn.first { $0.name == "login" }!
    policy.requiresDomainState = true
    return policy
  }()
}

extension TestPhone {
  fileprivate func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}
