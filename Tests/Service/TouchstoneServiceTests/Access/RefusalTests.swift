import DispatchRPC
import SimulatedPhone
import TestSupport
import Testing
import TouchstoneAttestation
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The promises of the protos' comments for each refusal: status, reason, field, and a word for the person.
struct RefusalTests {
  /// A person with a phone, a passcode and a gesture; and a device of bob's.
  private struct World: Sendable {
    let service: TestService
    let phone: TestPhone
    let bobs: TestPhone

    init() async throws {
      service = try await TestService.start { $0.enrolment.maximumBindingsPerProfile = 1 }
      var alice = TestPhone()
      alice.deviceOwnerKey = SoftwareKey()
      phone = try await service.bind(alice)
      bobs = try await service.bind(TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b", profileID: "bob"))
      _ = try await service.set(.passcode("2468"))
      _ = try await service.set(.gesture(0, 1, 2, 5))
    }

    func call<Request: WireMessage>(_ method: String, _ request: Request, language: String? = nil) async -> RPCError {
      await refusal { () async throws -> V1.Binding in
        try await service.call(method, request, language: language)
      }
    }
  }

  private typealias Make = @Sendable (World, String?) async throws -> RPCError

  /// Each FAILED_PRECONDITION and NOT_FOUND once.
  private struct Row: Sendable {
    var method: String
    /// `nil`: NOT_FOUND.
    var reason: String?
    var tellsThePerson: Bool
    /// The kind of the event that it leaves. `nil`: none.
    var event: String?
    /// It may be more precise than the caller's answer.
    var eventReason: String
    var make: Make

    init(
      _ method: String, _ reason: String?, tells: Bool = true, event: String?, because eventReason: String? = nil,
      make: @escaping Make
    ) {
      (self.method, self.reason, tellsThePerson, self.event, self.make) = (method, reason, tells, event, make)
      self.eventReason = eventReason ?? reason ?? "NOT_FOUND"
    }
  }

  private static let application = TestService.applicationID

  private static let rows: [Row] = [
    Row("EvaluationService/SubmitAttempt", "PRIMARY_AUTHENTICATION_TOO_OLD", event: "evaluation.refused") {
      world, language in
      var policy = EvaluationPolicy(name: "vouched", purpose: .login, factors: [.primary], tokenLifetime: nil)
      policy.primaryFreshness = .seconds(60)
      world.service.replacePolicies([policy])
      let opened = try await world.service.begin(world.phone, policy: "vouched")
      return await world.call(
        "EvaluationService/SubmitAttempt",
        V1.SubmitAttemptRequest(
          applicationID: application, evaluation: opened.evaluation,
          attempt: .primary(world.service.primary(.seconds(61))), posture: .healthy), language: language)
    },
    // The app sends the attempt again by itself: the answer has no message for the person.
    Row(
      "EvaluationService/SubmitAttempt", "APP_ASSERTION_NOT_ACCEPTED", tells: false, event: "evaluation.refused",
      because: "APP_ATTEST_KEY_UNKNOWN"
    ) { world, language in
      let opened = try await world.service.begin(world.phone)
      let assertion: [UInt8] =
        [0xA2, 0x69] + "signature".utf8 + [0x41, 0, 0x71] + "authenticatorData".utf8 + [0x58, 37]
        + [UInt8](repeating: 0, count: 37)
      return await world.call(
        "EvaluationService/SubmitAttempt",
        V1.SubmitAttemptRequest(
          applicationID: application, evaluation: opened.evaluation,
          attempt: .key(V1.KeyProof(signature: [UInt8](repeating: 1, count: 64), factor: .biometry)), posture: .healthy,
          appAssertion: assertion), language: language)
    },
    Row("EvaluationService/SubmitAttempt", "APP_ASSERTION_REQUIRED", tells: false, event: "evaluation.refused") {
      world, language in
      var policy = EvaluationPolicy(name: "vouched", purpose: .login, factors: [.biometry], tokenLifetime: nil)
      policy.requiresAppAssertion = true
      world.service.replacePolicies([policy])
      let opened = try await world.service.begin(world.phone, policy: "vouched")
      return await world.call(
        "EvaluationService/SubmitAttempt",
        V1.SubmitAttemptRequest(
          applicationID: application, evaluation: opened.evaluation,
          attempt: .key(V1.KeyProof(signature: [UInt8](repeating: 1, count: 64), factor: .biometry)), posture: .healthy),
        language: language)
    },
    Row("BindingService/BeginBinding", "PRIMARY_AUTHENTICATION_TOO_OLD", event: "binding.denied") { world, language in
      await world.call(
        "BindingService/BeginBinding",
        V1.BeginBindingRequest(
          applicationID: application, profileID: "alice", deviceID: "phone-1-5f9c27e8ab4d6b",
          primary: world.service.primary(.seconds(301)), posture: .healthy), language: language)
    },
    Row("BindingService/BeginBinding", "PASSKEYS_NOT_SERVED", event: "binding.denied") { world, language in
      world.service.service.replaceApplications([:])
      return await world.call("BindingService/BeginBinding", newPasskey(of: world), language: language)
    },
    Row("BindingService/CompleteBinding", "TICKET_INVALID", event: "binding.refused") { world, language in
      await complete(world, TestPhone(), ticket: [1, 2, 3], language)
    },
    Row("BindingService/CompleteBinding", "DEVICE_BOUND_TO_ANOTHER_PROFILE", event: "binding.refused") {
      world, language in
      let phone = TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b", profileID: "carol")
      return await complete(world, phone, ticket: try await world.service.beginBinding(phone), language)
    },
    Row("BindingService/CompleteBinding", "TOO_MANY_BINDINGS", event: "binding.refused") { world, language in
      let phone = TestPhone(deviceID: "phone-3-5f9c27e8ab4d6b")
      return await complete(world, phone, ticket: try await world.service.beginBinding(phone), language)
    },
    Row("BindingService/CompleteBinding", "BIOMETRY_LOCKOUT", event: "binding.refused") { world, language in
      var phone = TestPhone()
      let begun = try await world.service.beginBinding(phone)
      phone.posture.biometryLockedOut = true
      return await complete(world, phone, ticket: begun, language)
    },
    Row("BindingService/CompleteBinding", "ATTESTATION_REQUIRED", event: "binding.refused") { world, language in
      let phone = TestPhone()
      let begun = try await world.service.beginBinding(phone)
      world.service.service.replaceApplications([application: AttestationRequirements(demand: .required)])
      return await complete(world, phone, ticket: begun, language)
    },
    Row("BindingService/CompleteBinding", "ATTESTATION_CONTRADICTS_PROTECTION", event: "binding.refused") {
      world, language in
      let maker = AndroidMaker()
      return await complete(world, maker, trusting: try AttestationTrust(maker), language) {
        $0.authenticators |= AndroidMaker.password
      }
    },
    Row("BindingService/CompleteBinding", "TRUST_DATA_TOO_OLD", event: "binding.refused") { world, language in
      let maker = AndroidMaker()
      var trust = try AttestationTrust(maker)
      trust.refusesWhenTooOld = true
      trust.dates = [TrustDate(setting: "list", .written(UnixTime(seconds: 0)), maximumAge: .seconds(1))]
      return await complete(world, maker, trusting: trust, language) { _ in }
    },
    Row("BindingService/CompleteBinding", "PASSKEYS_NOT_SERVED", event: "binding.refused") { world, language in
      let page = PasskeyRequirements(rpID: "example.com", origins: ["https://example.com"])
      world.service.service.replaceApplications([application: AttestationRequirements(passkeys: page)])
      let begun: V1.BeginBindingResponse = try await world.service.call(
        "BindingService/BeginBinding", newPasskey(of: world))
      world.service.service.replaceApplications([:])
      return await world.call(
        "BindingService/CompleteBinding",
        V1.CompleteBindingRequest(
          applicationID: application, ticket: begun.ticket,
          passkey: V1.PasskeyRegistration(attestationObject: [1], clientDataJSON: [1])), language: language)
    },
    Row("BindingService/GetBinding", nil, tells: false, event: "binding.refused") { world, language in
      await world.call(
        "BindingService/GetBinding", V1.GetBindingRequest(applicationID: application, bindingID: "none"),
        language: language)
    },
    Row("BindingService/RevokeBinding", nil, tells: false, event: "binding.refused") { world, language in
      await world.call(
        "BindingService/RevokeBinding",
        V1.RevokeBindingRequest(applicationID: "com.example.shop", bindingID: world.phone.bindingID, reason: "lost"),
        language: language)
    },
    Row("BindingService/AcceptDomainState", nil, tells: false, event: "binding.refused") { world, language in
      await accept(world, "none", .primary(world.service.primary()), language)
    },
    Row("BindingService/AcceptDomainState", "BINDING_REVOKED", tells: false, event: "binding.refused") {
      world, language in
      try await world.service.revoke(world.phone)
      return await accept(world, world.phone.bindingID, .primary(world.service.primary()), language)
    },
    Row("BindingService/AcceptDomainState", "TOKEN_INVALID", event: "binding.refused") { world, language in
      await accept(world, world.phone.bindingID, .token("a.b.c"), language)
    },
    Row("BindingService/AcceptDomainState", "TOKEN_OF_ANOTHER_PROFILE", event: "binding.refused") { world, language in
      let token = try await world.service.attempt(.typed("2468")).token
      return await accept(world, world.bobs.bindingID, .token(token), language)
    },
    Row("BindingService/AcceptDomainState", "TOKEN_BY_BIOMETRICS", event: "binding.refused") { world, language in
      await accept(world, world.phone.bindingID, .token(try await world.service.logIn(world.phone)), language)
    },
    Row("BindingService/AcceptDomainState", "TOKEN_TOO_OLD", event: "binding.refused") { world, language in
      let patient = EvaluationPolicy(
        name: "login", purpose: .login, factors: [.passcode], tokenLifetime: .seconds(3_600))
      world.service.replacePolicies([patient])
      let token = try await world.service.attempt(.typed("2468")).token
      world.service.clock.advance(by: .seconds(300))
      return await accept(world, world.phone.bindingID, .token(token), language)
    },
    Row("BindingService/AcceptDomainState", "PRIMARY_AUTHENTICATION_TOO_OLD", event: "binding.refused") {
      world, language in
      await accept(world, world.phone.bindingID, .primary(world.service.primary(.seconds(301))), language)
    },
    Row("BindingService/AcceptDomainState", "DOMAIN_STATE_REQUIRED", tells: false, event: "binding.refused") {
      world, language in
      await accept(world, world.phone.bindingID, .primary(world.service.primary()), osVersion: "8.4", language)
    },
    Row("SecretService/SetSecret", "PRIMARY_AUTHENTICATION_TOO_OLD", event: "secret.refused") { world, language in
      await world.call(
        "SecretService/SetSecret",
        V1.SetSecretRequest(
          applicationID: application, profileID: "alice", secret: .passcode("2468"), confirmation: .passcode("2468"),
          authority: .primary(world.service.primary(.seconds(301)))), language: language)
    },
    Row("SecretService/RemoveSecret", "PRIMARY_AUTHENTICATION_TOO_OLD", event: "secret.refused") { world, language in
      await world.call(
        "SecretService/RemoveSecret",
        V1.RemoveSecretRequest(
          applicationID: application, profileID: "alice", kind: .passcode,
          authority: .primary(world.service.primary(.seconds(301)))), language: language)
    },
    Row("SecretService/SetUnlockSettings", "SETTINGS_CHANGED", tells: false, event: nil) { world, language in
      let settings = V1.UnlockSettings(passcodeEnabled: true)
      return await world.call(
        "SecretService/SetUnlockSettings",
        V1.SetUnlockSettingsRequest(
          applicationID: application, profileID: "alice", settings: settings, expected: settings), language: language)
    },
    Row("AdministrationService/GetProfile", nil, tells: false, event: "profile.refused") { world, language in
      await world.call(
        "AdministrationService/GetProfile", V1.GetProfileRequest(applicationID: application, profileID: "carol"),
        language: language)
    },
    Row("AdministrationService/ExplainEvaluation", nil, tells: false, event: "profile.refused") { world, language in
      await world.call(
        "AdministrationService/ExplainEvaluation",
        V1.ExplainEvaluationRequest(
          begin: V1.BeginEvaluationRequest(applicationID: application, policy: "login", profileID: "carol")),
        language: language)
    },
    Row("AdministrationService/UnlockDevice", nil, tells: false, event: "device.refused") { world, language in
      await world.call(
        "AdministrationService/UnlockDevice",
        V1.UnlockDeviceRequest(applicationID: application, deviceID: "phone-9-5f9c27e8ab4d6b", reason: "support"),
        language: language)
    },
    Row("AdministrationService/UnlockSecret", nil, tells: false, event: "secret.refused") { world, language in
      await unlock(world, "bob", .passcode, language)
    },
    Row("AdministrationService/UnlockSecret", "PASSCODE_DISABLED", event: "secret.refused") { world, language in
      try world.service.changeProfile { $0.passcode?.standing.lock = .untilSetAnew }
      return await unlock(world, "alice", .passcode, language)
    },
    Row("AdministrationService/UnlockSecret", "GESTURE_DISABLED", event: "secret.refused") { world, language in
      try world.service.changeProfile { $0.gesture?.standing.lock = .untilSetAnew }
      return await unlock(world, "alice", .gesture, language)
    },
  ]

  private static func complete(
    _ world: World, _ phone: TestPhone, ticket begun: V1.BeginBindingResponse, _ language: String?
  ) async -> RPCError {
    await world.call(
      "BindingService/CompleteBinding",
      V1.CompleteBindingRequest(
        applicationID: application, ticket: begun.ticket, keys: phone.keys(signing: begun.signingInput),
        posture: phone.posture), language: language)
  }

  private static func complete(
    _ world: World, _ phone: TestPhone, ticket: [UInt8], _ language: String?
  ) async -> RPCError {
    await complete(world, phone, ticket: V1.BeginBindingResponse(ticket: ticket), language)
  }

  /// A key that the maker's hardware describes so.
  private static func complete(
    _ world: World, _ maker: AndroidMaker, trusting trust: AttestationTrust, _ language: String?,
    _ change: (inout AndroidMaker.KeyDescription) -> Void
  ) async -> RPCError {
    world.service.service.replaceAttestationTrust(trust)
    var phone = TestPhone()
    (phone.posture.platform, phone.posture.domainState) = ("android", [])
    do {
      let begun = try await world.service.beginBinding(phone)
      var description = AndroidMaker.KeyDescription(challenge: sha256(begun.signingInput))
      change(&description)
      let made = maker.key(description)
      phone.biometryKey = try #require(SoftwareKey(scalar: made.scalar))
      var keys = phone.keys(signing: begun.signingInput)
      keys[0].certificateChain = made.chain
      return await world.call(
        "BindingService/CompleteBinding",
        V1.CompleteBindingRequest(
          applicationID: application, ticket: begun.ticket, keys: keys, posture: phone.posture), language: language)
    } catch {
      Issue.record("\(error)")
      return RPCError(code: .unknown, message: "")
    }
  }

  private static func accept(
    _ world: World, _ bindingID: String, _ evidence: V1.AcceptDomainStateRequest.Evidence,
    osVersion: String = "17.2", _ language: String?
  ) async -> RPCError {
    await world.call(
      "BindingService/AcceptDomainState",
      V1.AcceptDomainStateRequest(
        applicationID: application, bindingID: bindingID, domainState: [1], evidence: evidence, osVersion: osVersion),
      language: language)
  }

  private static func newPasskey(of world: World) -> V1.BeginBindingRequest {
    V1.BeginBindingRequest(
      applicationID: application, profileID: "alice", primary: world.service.primary(),
      passkey: V1.NewPasskey(userName: "alice"))
  }

  private static func unlock(
    _ world: World, _ profileID: String, _ kind: V1.SecretKind, _ language: String?
  ) async -> RPCError {
    await world.call(
      "AdministrationService/UnlockSecret",
      V1.UnlockSecretRequest(applicationID: application, profileID: profileID, kind: kind, reason: "support"),
      language: language)
  }

  // R20, R41
  @Test(arguments: rows.indices) func aRefusalHasItsReasonItsEventAndItsWord(_ index: Int) async throws {
    let row = Self.rows[index]
    let world = try await World()
    for (language, locale) in [(nil, "en"), ("zh-CN,en;q=0.5", "zh-Hans")] {
      let error = try await row.make(world, language)
      let left = world.service.events.last
      #expect(error.code == (row.reason == nil ? .notFound : .failedPrecondition), "\(row.method)")
      #expect(error.reason == row.reason, "\(row.method)")
      #expect(error.fields.isEmpty)
      #expect(error.personMessage?.locale == (row.tellsThePerson ? locale : nil), "\(row.method) \(error.reason ?? "")")
      guard let event = row.event else { continue }
      #expect(left?.kind == event, "\(row.method)")
      #expect(left?.details.first { $0.key == "reason" }?.value == row.eventReason)
    }
  }

  @Test func everyRefusalThatAMethodsCommentNamesIsInTheTable() {
    let rows = Set(Self.rows.map { "\($0.method) \($0.reason ?? "NOT_FOUND")" })
    #expect(Promises.refusals.subtracting(rows) == [])
  }

  // R20: their own entry is theirs to mend.
  @Test(arguments: [
    (V1.Secret.passcode("1111"), V1.Secret.passcode("1111"), "4 to 64"), (.gesture(0, 1), .gesture(0, 1), "4 to 9"),
    (.passcode("2468"), .passcode("2469"), "didn't match"),
  ]) func aPersonIsToldWhatIsWrongWithTheirSecret(
    _ secret: V1.Secret, _ confirmation: V1.Secret, _ words: String
  ) async throws {
    let service = try await TestService.start()
    let error = await refusal { try await service.set(secret, confirmation: confirmation) }
    #expect(error.code == .invalidArgument)
    #expect(error.personMessage?.message.contains(words) == true)
  }

  // R20
  @Test func whoMustComeAgainIsToldSo() async throws {
    let service = try await TestService.start()
    service.store.failCommits(.unavailable)
    let error = await refusal { try await service.set(.passcode("2468")) }
    #expect(error.code == .unavailable)
    #expect(error.personMessage?.message == "The service is busy at the moment. Please try again.")
    service.store.failCommits(.conflict)
    #expect(await refusal { try await service.set(.passcode("2468")) }.code == .aborted)
  }
}

extension RPCError {
  fileprivate var personMessage: RPCDetail.LocalizedMessage? {
    guard let bytes = metadata.firstBinary("grpc-status-details-bin"),
      let status = try? RPCDetail.Status.decoded(from: bytes)
    else { return nil }
    for case .localizedMessage(let message) in status.details { return message }
    return nil
  }
}

extension AttestationTrust {
  /// Trusts this make alone.
  init(_ maker: AndroidMaker) throws {
    self.init()
    roots = try Certificate.readPEM(String(decoding: maker.rootPEM, as: UTF8.self))
  }
}
