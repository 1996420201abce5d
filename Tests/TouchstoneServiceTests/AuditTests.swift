import InMemoryLogging
import SimulatedPhone
import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// What every flow leaves in the audit log, in order, and what it must never leave (R41).
struct AuditTests {
  // R41
  @Test func aBindingIsOneEventOfWhoWhereAndWhen() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    #expect(
      service.events == [
        EventDraft(
          time: service.clock.now, kind: "binding.created", applicationID: TestService.applicationID,
          profileID: "alice", deviceID: "phone-1", bindingID: phone.bindingID, caller: "local")
      ])
  }

  // R41
  @Test func eachAttemptIsAnEventThatNamesPolicyFactorAndError() async throws {
    let service = try await TestService.start()
    var phone = TestPhone()
    phone.deviceOwnerKey = SoftwareKey()
    phone = try await service.bind(phone)
    let opened = try await service.begin(phone)
    _ = try await service.submit(phone, opened, phone.wrongProof(for: opened))
    for error: V1.LAError in [.userCancel, .userFallback, .biometryLockout, .biometryNotEnrolled] {
      _ = try await service.report(error, phone, opened)
    }
    _ = try await service.submit(phone, opened)
    _ = try await service.submit(phone, opened, phone.proof(for: opened, by: .deviceOwner))
    _ = try await service.submit(phone, opened)
    #expect(
      service.story.dropFirst() == [
        "evaluation.failed factor=biometry policy=login reason=-1",
        "evaluation.canceled policy=login reason=-2",
        "evaluation.fallback policy=login reason=-3",
        "evaluation.locked_out policy=login reason=-8",
        "evaluation.failed policy=login reason=-7",
        "evaluation.locked_out counted=no factor=biometry policy=login reason=-8",
        "evaluation.succeeded factor=device_owner policy=login",
        "evaluation.refused factor=biometry policy=login reason=-10",
      ])
    #expect(service.events.allSatisfy { $0.bindingID == phone.bindingID && $0.profileID == "alice" })
  }

  // R41: the attempt that locked is told from those that were refused while it was locked.
  @Test func aLockoutSaysWhetherItCounted() async throws {
    let service = try await TestService.start()
    _ = try await service.set(.passcode("2468"))
    let opened = try await service.begin(profileID: "alice")
    for _ in 0..<7 { _ = try await service.submit(opened, .typed("0000")) }
    let lockouts = service.events.filter { $0.kind == "evaluation.locked_out" }
    #expect(lockouts.map { $0.details.first { $0.key == "counted" }?.value } == ["yes", "no", "no"])
  }

  // R41
  @Test func aDenialAndAnEvaluationThatIsNoneAreEvents() async throws {
    let service = try await TestService.start()
    var phone = try await service.bind()
    var opened = try await service.begin(phone)
    phone.posture.passcodeSet = false
    _ = try await service.begin(phone)
    opened.evaluation[0] ^= 1
    _ = try await service.submit(phone, opened)
    #expect(
      service.story.dropFirst() == [
        "evaluation.denied policy=login reason=PASSCODE_NOT_SET", "evaluation.refused policy=",
      ])
    #expect(service.events.last?.bindingID == "")
  }

  // R41
  @Test func aPaymentsTokenLeavesATrailByItsID() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    let token = try await service.approve(.dinner, phone)
    let id = try #require(try await service.introspect(token).claims).tokenID
    _ = try await service.consume(token, nil)
    _ = try await service.consume(token)
    _ = try await service.consume(token)
    try await service.revoke(token: token)
    #expect(
      service.story.dropFirst(2) == [
        "token.refused reason=TRANSACTION_MISMATCH token_id=\(id)", "token.consumed token_id=\(id)",
        "token.refused reason=ALREADY_CONSUMED token_id=\(id)", "token.revoked token_id=\(id)",
      ])
  }

  // R41
  @Test func theChainOfAWholeStoryVerifies() async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: .later), connections: 2)
    _ = try await Secrets(ofStoryOn: service)
    var verifier = EventChainVerifier()
    for record in service.store.records.events { try verifier.verify(record) }
    try verifier.conclude(at: service.store.records.chain.head)
    #expect(verifier.verifiedCount > 10)
  }

  // R41
  @Test func noSecretOccursInAnyEventOrLogLine() async throws {
    let service = try await TestService.start()
    let secrets = try await Secrets(ofStoryOn: service)
    let texts = service.events.map(\.text) + service.log.entries.map { "\($0.message) \($0.metadata)" }
    #expect(service.log.entries.count == 1)
    #expect(secrets.all.count == 12)
    for secret in secrets.all {
      for form in secret.forms {
        #expect(!texts.contains { $0.contains(form) }, "\(form) occurs")
      }
    }
  }
}

/// All that a phone, a caller and the service told each other in a story that touches every kind of event.
private struct Secrets {
  struct Secret {
    var bytes: [UInt8]

    /// However somebody might have written it down.
    var forms: [String] {
      let base64URL = Base64URL.encode(bytes)
      let base64 = String(base64URL.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
      let hexDigits = Array("0123456789abcdef")
      let hex = String(bytes.flatMap { [hexDigits[Int($0 >> 4)], hexDigits[Int($0 & 15)]] })
      return [base64URL, base64, hex, hex.uppercased(), "\(bytes)", String(decoding: bytes, as: UTF8.self)]
    }
  }

  var all: [Secret] = []

  init(ofStoryOn service: TestService) async throws {
    let unbound = TestPhone()
    let begun = try await service.beginBinding(unbound)
    let keys = unbound.keys(signing: begun.signingInput)
    var phone = unbound
    phone.bindingID = try await service.completeBinding(phone, begun, keys: keys).bindingID
    _ = await refusal { try await service.completeBinding(phone, begun, keys: keys) }

    let login = try await service.begin(phone)
    let wrong = phone.wrongProof(for: login)
    let right = phone.proof(for: login)
    _ = try await service.submit(phone, login, wrong)
    let token = try await service.submit(phone, login, right).token
    _ = try await service.submit(phone, login, right)

    let payment = try await service.approve(.dinner, phone)
    _ = try await service.consume(payment, nil)
    _ = try await service.consume(payment)
    _ = try await service.consume("\(payment)x")
    try await service.revoke(token: token)

    let broken = try await service.begin(phone)
    try await service.invalidate(broken)
    service.store.failCommits(.unavailable, times: 1)
    _ = await refusal { try await service.submit(phone, broken) }
    try await service.revoke(phone)

    add(begun.ticket, begun.challenge, keys[0].signature)
    add(login.evaluation, login.challenge, broken.evaluation, phone.posture.domainState)
    for case .key(let proof) in [wrong, right] { add(proof.signature) }
    for token in [token, payment] { add(try #require(Base64URL.decode(Self.signature(of: token)))) }
    add(Array(payment.utf8))
  }

  private mutating func add(_ secrets: [UInt8]...) {
    all += secrets.map(Secret.init)
  }

  private static func signature(of token: String) -> String {
    String(token.split(separator: ".").last ?? "")
  }
}

extension TestService {
  /// Each event's kind and details, in order.
  fileprivate var story: [String] {
    events.map { event in
      ([event.kind] + event.details.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
    }
  }
}

extension EventDraft {
  fileprivate var text: String {
    let details = details.flatMap { [$0.key, $0.value] }
    return ([kind, applicationID, profileID, deviceID, bindingID, caller] + details).joined(separator: "\n")
  }
}
