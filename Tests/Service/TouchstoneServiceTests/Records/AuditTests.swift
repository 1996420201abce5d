import Encodings
import InMemoryLogging
import SimulatedPhone
import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The events that every flow leaves in the audit log, in order, and the contents that it must never leave (R41).
struct AuditTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  // R41
  @Test func aBindingIsOneEventOfWhoWhereAndWhen() async throws {
    let phone = try await service.bind()
    #expect(
      service.events == [
        EventDraft(
          time: service.clock.now, kind: "binding.created", applicationID: TestService.applicationID,
          profileID: "alice", deviceID: "phone-1-5f9c27e8ab4d6b", bindingID: phone.bindingID, caller: "local")
      ])
  }

  // R41
  @Test func eachAttemptIsAnEventThatNamesPolicyFactorAndError() async throws {
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
        "evaluation.failed factor=biometry la_error=-1 policy=login reason=SIGNATURE_INVALID",
        "evaluation.canceled la_error=-2 policy=login reason=REPORTED",
        "evaluation.fallback la_error=-3 policy=login reason=REPORTED",
        "evaluation.locked_out la_error=-8 policy=login reason=REPORTED",
        "evaluation.failed la_error=-7 policy=login reason=REPORTED",
        "evaluation.locked_out counted=no factor=biometry la_error=-8 policy=login reason=BIOMETRY_LOCKOUT",
        "evaluation.succeeded factor=device_owner policy=login",
        "evaluation.refused factor=biometry la_error=-10 policy=login reason=EVALUATION_FINISHED",
      ])
    #expect(service.events.allSatisfy { $0.bindingID == phone.bindingID && $0.profileID == "alice" })
  }

  // R41: the log tells the attempt that locked from those that were refused while it was locked.
  @Test func aLockoutSaysWhetherItCounted() async throws {
    _ = try await service.set(.passcode("2468"))
    let opened = try await service.begin(profileID: "alice")
    for _ in 0..<7 { _ = try await service.submit(opened, .typed("0000")) }
    let lockouts = service.events.filter { $0.kind == "evaluation.locked_out" }
    #expect(lockouts.map { $0.details.first { $0.key == "counted" }?.value } == ["yes", "no", "no"])
  }

  // R41
  @Test func aDenialAndAnEvaluationThatIsNoneAreEvents() async throws {
    var phone = try await service.bind()
    var opened = try await service.begin(phone)
    phone.posture.passcodeSet = false
    _ = try await service.begin(phone)
    opened.evaluation[0] ^= 1
    _ = try await service.submit(phone, opened)
    #expect(
      service.story.dropFirst() == [
        "evaluation.denied la_error=-5 policy=login reason=PASSCODE_NOT_SET",
        "evaluation.refused policy= reason=EVALUATION_UNKNOWN",
      ])
    #expect(service.events.last?.bindingID == "")
  }

  // R41
  @Test func aPaymentLeavesATrailByItsTransactionAndItsTokensID() async throws {
    let phone = try await service.bind()
    let digest = V1.Transaction.dinner.digest
    let token = try await service.approve(.dinner, phone)
    let id = try #require(try await service.introspect(token).claims).tokenID
    _ = try await service.consume(token, nil)
    _ = try await service.consume(token)
    _ = try await service.consume(token)
    // It stays consumed.
    try await service.revoke(token: token)
    let unused = try await service.approve(.dinner, phone)
    let unusedID = try #require(try await service.introspect(unused).claims).tokenID
    try await service.revoke(token: unused)
    #expect(
      service.story.dropFirst() == [
        "evaluation.succeeded factor=biometry policy=payment token_id=\(id) transaction=\(digest)",
        "token.refused reason=TRANSACTION_MISMATCH token_id=\(id) transaction=\(digest)",
        "token.consumed token_id=\(id) transaction=\(digest)",
        "token.refused reason=ALREADY_CONSUMED token_id=\(id) transaction=\(digest)",
        "evaluation.succeeded factor=biometry policy=payment token_id=\(unusedID) transaction=\(digest)",
        "token.revoked token_id=\(unusedID) transaction=\(digest)",
      ])
  }

  // R41: the log gives a refused payment the same name, whatever refused it.
  @Test func aRefusedPaymentSaysWhichTransactionAndWhy() async throws {
    let phone = try await service.bind()
    let digest = V1.Transaction.dinner.digest
    let payment = "policy=payment"
    var locked = phone
    locked.posture.passcodeSet = false
    _ = try await service.begin(locked, policy: "payment", transaction: .dinner)
    let opened = try await service.begin(phone, policy: "payment", transaction: .dinner)
    _ = try await service.submit(phone, opened, phone.wrongProof(for: opened))
    var changed = phone
    changed.posture.domainState = [9]
    _ = try await service.submit(changed, opened)
    try await service.revoke(phone)
    _ = try await service.submit(phone, opened)
    try await service.invalidate(opened)
    service.clock.advance(by: .seconds(120))
    _ = try await service.submit(phone, opened)
    #expect(
      service.story.dropFirst().filter { $0.hasPrefix("evaluation.") } == [
        "evaluation.denied la_error=-5 \(payment) reason=PASSCODE_NOT_SET transaction=\(digest)",
        "evaluation.failed factor=biometry la_error=-1 \(payment) reason=SIGNATURE_INVALID transaction=\(digest)",
        "evaluation.factor_required factor=biometry la_error=-6 \(payment) reason=DOMAIN_STATE_CHANGED "
          + "transaction=\(digest)",
        "evaluation.failed factor=biometry la_error=-6 \(payment) reason=BINDING_REVOKED transaction=\(digest)",
        "evaluation.invalidated \(payment) transaction=\(digest)",
        "evaluation.refused \(payment) reason=EVALUATION_EXPIRED transaction=\(digest)",
      ])
  }

  // R37: the log tells apart causes that the caller's answers do not.
  @Test func whyAProofIsWrongIsForTheLogAlone() async throws {
    let service = try await TestService.start { configuration in
      for index in configuration.policies.indices { configuration.policies[index].factors.append(.primary) }
    }
    _ = try await service.set(.passcode("2468"))
    let unknown = TestPhone(profileID: service.unknownProfileID(with: [.passcode]))
    for phone in [TestPhone(), unknown] {
      _ = try await service.submit(phone, service.begin(phone, policy: "login"), .typed("0000"))
    }
    let failures = service.events.filter { $0.kind == "evaluation.failed" || $0.kind == "evaluation.try_again" }
    #expect(failures.map(\.profileID) == ["alice", ""])
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
    let secrets = try await Secrets(ofStoryOn: service)
    let texts = service.events.map(\.text) + service.log.entries.map { "\($0.message) \($0.metadata)" }
    #expect(service.troubles.count == 1)
    #expect(secrets.all.count == 12)
    for secret in secrets.all {
      for form in secret.forms {
        #expect(!texts.contains { $0.contains(form) }, "\(form) occurs")
      }
    }
  }
}

/// The secrets that a phone, a caller and the service exchanged in a story that touches every kind of event.
private struct Secrets {
  struct Secret {
    var bytes: [UInt8]

    /// Every form in which it might have been written down.
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
    add(login.evaluation, login.signingInput, broken.evaluation, phone.posture.domainState)
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

extension V1.Transaction {
  /// As tokens and events name it.
  fileprivate var digest: String {
    let transaction = Transaction(amount: amount, currency: currency, payee: payee, reference: reference)
    return Base64URL.encode(sha256(transaction.canonicalBytes))
  }
}

extension EventDraft {
  fileprivate var text: String {
    let details = details.flatMap { [$0.key, $0.value] }
    return ([kind, applicationID, profileID, deviceID, bindingID, caller] + details).joined(separator: "\n")
  }
}
