import DispatchRPC
import Encodings
import SimulatedPhone
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

/// A changed finger is accepted on evidence of a login by other means (R26).
struct DomainStateAcceptanceTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  private typealias Evidence = V1.AcceptDomainStateRequest.Evidence

  private static let newState = Array("a finger more".utf8)

  private func accept(
    _ service: TestService, _ phone: TestPhone, _ evidence: Evidence?, state: [UInt8] = newState,
    osVersion: String = "18.0", applicationID: String = TestService.applicationID
  ) async throws -> V1.Binding {
    let response: V1.AcceptDomainStateResponse = try await service.call(
      "BindingService/AcceptDomainState",
      V1.AcceptDomainStateRequest(
        applicationID: applicationID, bindingID: phone.bindingID, domainState: state, evidence: evidence,
        osVersion: osVersion))
    return try #require(response.binding)
  }

  private func baseline(_ service: TestService, _ phone: TestPhone) -> DomainStateBaseline? {
    service.store.records.binding(phone.bindingID)?.baseline
  }

  /// A phone with both kinds of keys and a passcode.
  private func bound(
    _ service: TestService, protection: V1.KeyProtection = .devicePasscode
  ) async throws -> TestPhone {
    var phone = TestPhone()
    phone.deviceOwnerKey = SoftwareKey()
    let begun = try await service.beginBinding(phone)
    var keys = phone.keys(signing: begun.signingInput)
    keys[1].protection = protection
    phone.bindingID = try await service.completeBinding(phone, begun, keys: keys).bindingID
    _ = try await service.set(.passcode("2468"))
    return phone
  }

  private func token(_ service: TestService, _ phone: TestPhone, by factor: Factor) async throws -> String {
    let opened = try await service.begin(phone)
    let attempt: Attempt =
      factor == .passcode ? .typed("2468") : phone.proof(for: opened, by: V1.Factor(rawValue: Int32(factor.rawValue)))
    let token = try await service.submit(phone, opened, attempt).token
    try #require(!token.isEmpty)
    return token
  }

  // R26
  @Test func aFreshLoginAcceptsAndTheNewFingerLogsIn() async throws {
    var phone = try await bound(service)
    phone.posture.domainState = Self.newState
    phone.posture.osVersion = "18.0"
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .factorRequired)
    let binding = try await accept(service, phone, .primary(service.primary()))
    #expect(binding.bindingID == phone.bindingID && binding.domainStateRecorded)
    #expect(baseline(service, phone) == DomainStateBaseline(domainState: Self.newState, osMajorVersion: 18))
    #expect(try await service.submit(phone, service.begin(phone)).outcome == .succeeded)
    let event = service.events.first { $0.kind == "binding.domain_state_accepted" }
    #expect(event?.details == [EventDetail(key: "evidence", value: "primary")])
    #expect(event?.bindingID == phone.bindingID)
  }

  // R26: what was accepted already is no change.
  @Test func acceptingTwiceIsAcceptingOnce() async throws {
    let phone = try await bound(service)
    let first = try await accept(service, phone, .primary(service.primary()))
    #expect(try await accept(service, phone, .primary(service.primary())) == first)
    #expect(service.events.filter { $0.kind == "binding.domain_state_accepted" }.count == 1)
  }

  // R26: a token serves as what proved it.
  @Test(arguments: [
    (Factor.passcode, V1.KeyProtection.devicePasscode, nil), (.deviceOwner, .devicePasscode, nil),
    (.deviceOwner, .userPresence, "TOKEN_BY_BIOMETRICS"), (.biometry, .devicePasscode, "TOKEN_BY_BIOMETRICS"),
  ])
  func aTokenByOtherMeansThanBiometricsAccepts(
    _ factor: Factor, _ protection: V1.KeyProtection, _ reason: String?
  ) async throws {
    let phone = try await bound(service, protection: protection)
    let before = baseline(service, phone)
    let token = try await token(service, phone, by: factor)
    guard let reason else {
      #expect(try await accept(service, phone, .token(token)).bindingID == phone.bindingID)
      return #expect(baseline(service, phone)?.domainState == Self.newState)
    }
    let error = await refusal { try await accept(service, phone, .token(token)) }
    #expect(error.code == .failedPrecondition && error.reason == reason)
    #expect(baseline(service, phone) == before)
  }

  // R26
  @Test func aTokenServesForFiveMinutesAndOfItsOwnProfile() async throws {
    service.replacePolicies(
      EvaluationPolicy.builtIn.map { policy in
        var patient = policy
        patient.tokenLifetime = .seconds(3_600)
        return patient
      })
    let phone = try await bound(service)
    let token = try await token(service, phone, by: .passcode)
    var bobs = TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b", profileID: "bob")
    bobs = try await service.bind(bobs)
    #expect(await refusal { try await accept(service, bobs, .token(token)) }.reason == "TOKEN_OF_ANOTHER_PROFILE")
    service.clock.advance(by: .seconds(299))
    _ = try await accept(service, phone, .token(token))
    service.clock.advance(by: .seconds(1))
    let error = await refusal { try await accept(service, phone, .token(token), state: [1]) }
    #expect(error.reason == "TOKEN_TOO_OLD")
    #expect(try await service.introspect(token).active)
  }

  // R26, R32
  @Test func aTokenThatIsNotActiveIsNoEvidence() async throws {
    let phone = try await bound(service)
    let revoked = try await token(service, phone, by: .passcode)
    try await service.revoke(token: revoked)
    let other = try await token(service, phone, by: .passcode)
    let elsewhere = try await TestService.start()
    let foreign = try await token(elsewhere, bound(elsewhere), by: .passcode)
    for token in [revoked, foreign, "\(other)x", "none"] {
      #expect(await refusal { try await accept(service, phone, .token(token)) }.reason == "TOKEN_INVALID")
    }
    #expect(service.events.last?.kind == "binding.refused")
  }

  // R28
  @Test func aLoginThatIsTooOldIsNoEvidence() async throws {
    let phone = try await bound(service)
    let error = await refusal { try await accept(service, phone, .primary(service.primary(.seconds(301)))) }
    #expect(error.code == .failedPrecondition && error.reason == "PRIMARY_AUTHENTICATION_TOO_OLD")
  }

  // R28: the binding was changed meanwhile, so that the call decides anew.
  @Test func aLoginMustBeFreshWhenTheStateIsAccepted() async throws {
    let phone = try await bound(service)
    service.store.beforeNextCommit { [service] records in
      service.clock.advance(by: EnrolmentPolicy().primaryFreshness)
      try? records.apply(ChangeSet(changes: [.putBinding(records.binding(phone.bindingID)!)]))
    }
    let error = await refusal { try await accept(service, phone, .primary(service.primary())) }
    #expect(error.reason == "PRIMARY_AUTHENTICATION_TOO_OLD")
    #expect(baseline(service, phone)?.domainState == phone.posture.domainState)
  }

  // R32
  @Test func aBindingThatIsRevokedOrUnknownTakesNone() async throws {
    let phone = try await bound(service)
    let foreign = await refusal {
      try await accept(service, phone, .primary(service.primary()), applicationID: "com.example.shop")
    }
    #expect(foreign.code == .notFound)
    try await service.revoke(phone)
    let error = await refusal { try await accept(service, phone, .primary(service.primary())) }
    #expect(error.code == .failedPrecondition && error.reason == "BINDING_REVOKED")
  }

  // R32: the evidence must hold when the change is made.
  @Test func evidenceThatIsRevokedMeanwhileIsNone() async throws {
    let phone = try await bound(service)
    let second = try await service.bind(TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b"))
    let opened = try await service.begin(second)
    let token = try await service.submit(second, opened, .typed("2468")).token
    service.store.beforeNextCommit { records in
      var revoked = records.binding(second.bindingID)!
      revoked.isRevoked = true
      try? records.apply(ChangeSet(changes: [.putBinding(revoked)]))
    }
    #expect(await refusal { try await accept(service, phone, .token(token)) }.reason == "TOKEN_INVALID")
    #expect(baseline(service, phone)?.domainState == phone.posture.domainState)
  }

  // R32
  @Test func aTokenThatIsRevokedMeanwhileIsNoEvidence() async throws {
    let phone = try await bound(service)
    let token = try await token(service, phone, by: .passcode)
    let claims = try #require(try await service.introspect(token).claims)
    let id = try #require(Base64URL.decode(claims.tokenID).flatMap { UniqueID(bytes: $0) })
    let expiresAt = UnixTime(seconds: try #require(claims.expiresAt).seconds)
    service.store.beforeNextCommit { records in
      let revoked = TokenRecord(
        key: ExpiringKey(expiresAt: expiresAt, id: id), state: .revoked, transaction: [], version: 0)
      try? records.apply(ChangeSet(changes: [.putToken(revoked)]))
    }
    #expect(await refusal { try await accept(service, phone, .token(token)) }.reason == "TOKEN_INVALID")
    #expect(baseline(service, phone)?.domainState == phone.posture.domainState)
  }

  // R24, R27: where a system has none, nothing is a baseline.
  @Test(arguments: [("android", "14", "14"), ("web", "17", "17"), ("ios", "18.0", "8.4")])
  func aSystemWithoutDomainStateHasNoneToAccept(
    _ platform: String, _ boundOn: String, _ version: String
  ) async throws {
    var phone = TestPhone()
    phone.posture = phone.posture.with { ($0.platform, $0.osVersion) = (platform, boundOn) }
    phone = try await service.bind(phone)
    let before = baseline(service, phone)
    for evidence in [Evidence.primary(service.primary()), .token(try await service.logIn(phone))] {
      let error = await refusal { try await accept(service, phone, evidence, osVersion: version) }
      #expect(error.code == .failedPrecondition && error.message.hasPrefix("domain_state: "))
      #expect(error.reason == "DOMAIN_STATE_REQUIRED")
    }
    #expect(baseline(service, phone) == before)
    #expect(service.events.last?.kind == "binding.refused")
  }

  // R24
  @Test func whatIsWrongWithTheRequest() async throws {
    let phone = try await bound(service)
    let primary = Evidence.primary(service.primary())
    let long = [UInt8](repeating: 1, count: 257)
    #expect(await refusal { try await accept(service, phone, primary, state: []) }.fields == ["domain_state"])
    #expect(await refusal { try await accept(service, phone, primary, state: long) }.fields == ["domain_state"])
    #expect(await refusal { try await accept(service, phone, primary, osVersion: "v1") }.fields == ["os_version"])
    #expect(await refusal { try await accept(service, phone, nil) }.fields == ["evidence"])
    #expect(await refusal { try await accept(service, phone, .token("")) }.fields == ["token"])
    let future = Evidence.primary(service.primary(.seconds(-31)))
    #expect(await refusal { try await accept(service, phone, future) }.fields == ["primary.authenticated_at"])
  }
}
