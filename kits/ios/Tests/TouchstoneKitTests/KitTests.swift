// The kit on simulated phones, with a backend that lies, and things that happen at the wrong moment.

import Foundation
import LocalAuthentication
import SimulatedPhone
import Synchronization
import Testing
import TouchstoneCodec

@testable import TouchstoneKit
@testable import TouchstoneKitCore

@Suite("The kit on a phone")
struct KitTests {
  private static let coffee = Payment(amount: "3.20", currency: "EUR", payee: "Coffee Bar", reference: "order-1")

  private func refusal(_ body: () async throws -> TouchIDResult) async -> String? {
    do {
      let result = try await body()
      return "\(result.next.kind)"
    } catch {
      return (error as? Refusal)?.code ?? "\(error)"
    }
  }

  // MARK: Honest backends

  @Test("A payment is approved as it was shown")
  func pays() async throws {
    try await World.run { world async throws in
      let result = try await world.touchID.pay(Self.coffee)
      #expect(result.isSuccess && result.means == .success && result.token?.isEmpty == false)
      #expect(result.profile == "ada")
    }
  }

  @Test("A disabled phone has neither binding nor keys, and the service does not know it any more")
  func disables() async throws {
    try await World.run { world async throws in
      #expect(try await world.touchID.status().state == .ready)
      try await world.touchID.disable()
      #expect(world.items("keys") == 0)
      #expect(try await world.touchID.status().state == .notEnabled)
      #expect(try await world.touchID.login().next.kind == .bindAgain)
      #expect(try await world.server.events().contains("binding.revoked"))
      // The device's id stays.
      #expect(world.items("genp") == 1)
    }
  }

  @Test("A phone whose binding cannot be revoked stays enabled, unless the service does not know the binding any more")
  func disablesLater() async throws {
    try await World.run { world async throws in
      func touchID(_ status: String) -> TouchID {
        TouchID(backend: FailingBackend(error: CallFailure(status: status)), settings: world.settings)
      }
      await #expect(throws: CallFailure(status: "UNAVAILABLE")) { try await touchID("UNAVAILABLE").disable() }
      #expect(try await world.touchID.status().state == .ready)
      try await touchID("NOT_FOUND").disable()
      #expect(try await world.touchID.status().state == .notEnabled)
    }
  }

  @Test("A login's prompt has the service's reason, if a person may be shown it; a payment's shows what is signed")
  func reasons() async throws {
    let own = "Log in"
    let reasons = [
      "Log in to the shop": "Log in to the shop", "": own, "Log\u{202E} in": own, "Log\nin": own,
      String(repeating: "x", count: 513): own,
    ]
    try await World.run { world async throws in
      world.phone.setPerson(.absent)
      let touchID = world.touchID
      func reason(_ body: @escaping @Sendable () async throws -> TouchIDResult) async throws -> String? {
        let result = Task { try await body() }
        for await _ in world.phone.prompts { break }
        let shown = world.phone.prompt?.localizedReason
        world.phone.touch("thumb")
        #expect(try await result.value.isSuccess)
        return shown
      }
      for (sent, shown) in reasons {
        world.server.meddling.withLock { $0.evaluation = { $0.presentation?.localizedReason = sent } }
        #expect(try await reason { try await touchID.login() } == shown)
        #expect(try await reason { try await touchID.pay(Self.coffee) } == "Pay 3.20 EUR, Coffee Bar")
      }
    }
  }

  @Test("A prompt that ends while the phone is bound says what to do, and leaves the old binding")
  func endsWhileBinding() async throws {
    try await World.run { world async throws in
      for (person, next) in [
        (SimulatedPhone.Person(habitAtSensor: .tapCancel), NextStep.Kind.stay),
        (.presenting(.finger("stranger's")), .beginAgain), (.presenting(.finger("stranger's")), .logIn),
      ] {
        world.phone.setPerson(person)
        #expect(try await world.touchID.enable().next.kind == next)
        #expect(try await world.touchID.status().state == .ready)
      }
    }
  }

  @Test("A revoked binding is forgotten, and the app told to bind again")
  func revoked() async throws {
    try await World.run { world async throws in
      let keychain = Keychain(service: world.settings.keychainService, sharedGroup: nil)
      let binding = try #require(try keychain.binding())
      try await world.server.revokeBinding(binding.bindingId)
      #expect(try await world.touchID.login().next.kind == .bindAgain)
      #expect(try keychain.binding() == nil && world.items("keys") == 0)
    }
  }

  @Test("Cancel, fallback, failure and lockout are told apart")
  func endings() async throws {
    let wrong = SimulatedPhone.PersonAction.present(.finger("stranger's"))
    let endings: [(SimulatedPhone.Person, PhoneAnswer.Meaning, NextStep.Kind)] = [
      (.init(habitAtSensor: .tapCancel), .cancel, .stay),
      (.init(habitAtSensor: .pressHome), .cancel, .stay),
      (.init(script: [wrong, .tapFallback]), .fallback, .useFactor),
      (.presenting(.finger("stranger's")), .failure, .tryAgain),
      (.presenting(.finger("stranger's")), .lockout, .useFactor),
    ]
    try await World.run { world async throws in
      for (person, means, next) in endings {
        world.phone.setPerson(person)
        let result = try await world.touchID.login()
        #expect(result.means == means && result.next.kind == next, "\(means)")
        if next == .useFactor { #expect(result.factors.contains(.gesture)) }
        // The service did not count this finger, and the phone forgets it.
        if means == .fallback { world.phone.unlock(presenting: .finger("thumb")) }
      }
    }
  }

  @Test("Wrong passcodes of the phone count nowhere but on the phone")
  func wrongPasscode() async throws {
    try await World.run { world async throws in
      world.phone.enroll("index")
      world.phone.setPerson(.presenting(.finger("thumb"), passcode: "0000"))
      let result = try await world.touchID.login()
      #expect(result.means == .failure && result.next.kind == .tryAgain && result.next.factor == .deviceOwner)
      #expect(try await !world.server.events().contains("evaluation.failed"))
    }
  }

  // MARK: A backend that lies

  /// The person has not touched anything, and the evaluation is over.
  @Test("Nothing is signed but what is the app's own")
  func swapped() async throws {
    func input(_ application: String, _ binding: String, _ more: [[UInt8]], policy: String = "login") -> Data {
      let texts = [application, binding, policy].map { Array($0.utf8) }
      return Data(Fields.encode("touchstone evaluation v1", [[UInt8](repeating: 7, count: 32)] + texts + more))
    }
    try await World.run { world async throws in
      let binding = try #require(try Keychain(service: world.settings.keychainService, sharedGroup: nil).binding())
      let id = binding.bindingId
      let login: [[UInt8]] = [[1], []]
      let swaps: [(Data, String)] = [
        (input("bank", id, login), "other-application"), (input("com.example.app", "b_other", login), "other-binding"),
        (input("com.example.app", id, [[2], Self.coffee.bytes]), "transaction-not-shown"),
        (input("com.example.app", id, login) + [0], "leftover-bytes"), (Data(), "truncated"),
        (input("com.example.app", id, login, policy: "at-night"), "other-policy"),
        (Data(Fields.encode("touchstone binding v1", [[], [], [], []])), "wrong-tag"),
      ]
      for (index, (bytes, code)) in swaps.enumerated() {
        world.server.meddling.withLock { $0.evaluation = { $0.signingInput = bytes } }
        #expect(await refusal { try await world.touchID.login() } == code)
        #expect(world.phone.prompt == nil && world.server.meddling.withLock { $0.invalidated } == index + 1)
      }
      #expect(try await !world.server.events().contains("evaluation.succeeded"))
    }
  }

  @Test("A payment that differs in a byte from the one that is shown is not signed")
  func otherPayment() async throws {
    try await World.run { world async throws in
      var dearer = Self.coffee
      dearer.amount = "32.00"
      world.server.meddling.withLock { $0.transaction = dearer }
      #expect(await refusal { try await world.touchID.pay(Self.coffee) } == "other-transaction")
      #expect(try await !world.server.events().contains("evaluation.succeeded"))
    }
  }

  @Test("New keys sign no other ticket, and are gone then")
  func otherTicket() async throws {
    try await World.run { world async throws in
      let keys = world.items("keys")
      world.server.meddling.withLock { $0.ticket = { $0.challenge = Data(repeating: 1, count: 32) } }
      #expect(await refusal { try await world.touchID.enable() } == "other-challenge")
      let other = Fields.encode(
        "touchstone binding v1",
        [[UInt8](repeating: 1, count: 32)] + ["com.example.app", "ada", "other"].map { Array($0.utf8) })
      world.server.meddling.withLock { $0.ticket = { $0.signingInput = Data(other) } }
      #expect(await refusal { try await world.touchID.enable() } == "other-device")
      // The old binding still serves.
      world.server.meddling.withLock { $0.ticket = { _ in } }
      #expect(world.items("keys") == keys)
      #expect(try await world.touchID.login().isSuccess)
    }
  }

  // MARK: The wrong moment

  @Test("Keys that die between begin and sign: the phone's passcode serves, and the app binds again")
  func dyingKeys() async throws {
    try await World.run { world async throws in
      world.server.meddling.withLock { [phone = world.phone] in $0.beforeEvaluation = { phone.enroll("index") } }
      let touchID = world.touchID
      let result = try await touchID.login()
      #expect(result.means == .keyGone && result.next.kind == .bindAgain && result.next.factor == .deviceOwner)
      let proven = try await touchID.prove(by: .deviceOwner)
      #expect(proven.isSuccess && proven.next.notices == ["bind-again"])
      // The next login does not ask for a finger, and says the same.
      let later = try await touchID.login()
      #expect(later.next.factor == .deviceOwner)
      #expect(try await touchID.prove(by: .deviceOwner).next.notices == ["bind-again"])
      let status = try await touchID.status()
      #expect(status.state == .bindAgain && !status.haveFingersChanged)
      try await world.enable()
      let login = try await touchID.login()
      #expect(login.isSuccess && login.next.notices.isEmpty)
    }
  }

  @Test("A key that dies during the prompt signs nothing")
  func dyingAtThePrompt() async throws {
    try await World.run { world async throws in
      world.phone.setPerson(.absent)
      let touchID = world.touchID
      let login = Task { try await touchID.login() }
      for await _ in world.phone.prompts { break }
      #expect(await refusal { try await touchID.login() } == "busy")
      world.phone.enroll("index")
      world.phone.touch("index")
      let result = try await login.value
      #expect(result.means == .keyGone && result.next.kind == .bindAgain)
      #expect(try await !world.server.events().contains("evaluation.succeeded"))
    }
  }

  @Test("After the app was removed and installed again, keychain and binding are not believed")
  func reinstalled() async throws {
    try await World.run { world async throws in
      try FileManager.default.removeItem(at: world.settings.installationFile)
      #expect(try await world.touchID.status().state == .reinstalled)
      #expect(try await world.touchID.login().next.kind == .bindAgain)
      #expect(world.items("keys") == 0)
      // The device's id is the same, so the new binding takes the place of the old one.
      try await world.enable()
      #expect(try await world.touchID.login().isSuccess)
      #expect(try await world.server.events().filter { $0 == "binding.revoked" }.count == 1)
    }
  }

  @Test(
    "A clock that is off ends no login; an evaluation that is over prompts for no finger",
    arguments: [
      "1970-01-01T00:00:00Z", "2999-12-31T23:59:59.999999999Z", "yesterday",
    ])
  func clock(expiry: String) async throws {
    try await World.run { world async throws in
      world.server.meddling.withLock { $0.evaluation = { $0.expiresAt = expiry } }
      let touchID = world.touchID
      #expect(try await touchID.login().isSuccess)
      var evaluation = Evaluation()
      evaluation.expiresAt = expiry
      #expect(evaluation.lifetime == 120)
      evaluation.expiresAt = ISO8601DateFormatter().string(from: Date().addingTimeInterval(60))
      #expect((1...60).contains(evaluation.lifetime))
      // Nothing is open any more, so there is no prompt.
      #expect(try await touchID.prove(by: .biometry).next.kind == .beginAgain)
    }
  }

  @Test("A call that fails says what to do; what is not the service's is thrown on")
  func failures() async throws {
    try await World.run { world async throws in
      let touchID = TouchID(
        backend: FailingBackend(error: CallFailure(status: "UNAVAILABLE")), settings: world.settings)
      let result = try await touchID.login()
      #expect(result.next.kind == .wait && result.next.seconds == 1)
      let offline = TouchID(backend: FailingBackend(error: Offline()), settings: world.settings)
      await #expect(throws: Offline.self) { try await offline.login() }
    }
  }

  // MARK: App Attest and hybrid keys

  @Test("The app vouches for keys and attempts; its key vouches again when the phone is bound anew")
  func vouches() async throws {
    let authority = AppAttestAuthority()
    let voucher = SimulatedVoucher(authority)
    try await World.run(trusting: authority, settings: { $0.appAttest = voucher }) { world async throws in
      let keychain = Keychain(service: world.settings.keychainService, sharedGroup: nil)
      let first = try #require(try keychain.binding())
      #expect(try await world.server.attestationLevel(of: first.bindingId) == .app)
      #expect(try await world.touchID.login().isSuccess)
      try await world.enable()
      let second = try #require(try keychain.binding())
      #expect(second.appAttestKey == first.appAttestKey && second.bindingId != first.bindingId)
      #expect(second.slot != first.slot && world.items("keys") == 2)

      // An assertion that another one overtook is made anew, once.
      let calls = Mutex(0)
      world.server.meddling.withLock {
        $0.attempt = { attempt in
          let number = calls.withLock { calls in
            calls += 1
            return calls
          }
          if number == 1 { attempt.appAssertion?[40] ^= 1 }
        }
      }
      #expect(try await world.touchID.login().isSuccess)
      #expect(calls.withLock { $0 } == 2)
    }
  }

  @Test("Hybrid keys sign twice")
  func hybrid() async throws {
    try await World.run(settings: { $0.hybridKeys = SimulatedHybridKeys() }) { world async throws in
      #expect(try await world.touchID.login().isSuccess)
      #expect(try await world.touchID.pay(Self.coffee).isSuccess)
      // Without the other half's maker nothing is sent.
      var settings = world.settings
      settings.hybridKeys = nil
      #expect(try await TouchID(backend: world.server, settings: settings).login().means == .keyGone)
      // The service takes no half of it.
      world.server.meddling.withLock { $0.attempt = { $0.key?.mlDsa65Signature = nil } }
      #expect(try await world.touchID.login().means == .failure)
    }
  }

  // MARK: JSON

  @Test("No text of a backend stops the app", arguments: ["nans", "infs", "-infs", "-5s", "s", "", "1e999s", "٣s"])
  func strangeWaits(text: String) {
    let step = NextStep(failure: CallFailure(status: "UNAVAILABLE", retryAfter: text))
    #expect((1...86_400).contains(step.seconds ?? 0))
  }

  @Test("The service's errors are read from Connect's JSON")
  func connectErrors() {
    let body = #"""
      {"code": "failed_precondition", "message": "too old", "details": [
        {"type": "google.rpc.ErrorInfo", "value": "CgA", "debug": {"reason": "PRIMARY_AUTHENTICATION_TOO_OLD"}},
        {"type": "google.rpc.RetryInfo", "value": "CgA", "debug": {"retryDelay": "2.500s"}}, {"type": "x", "value": ""}]}
      """#
    let failure = CallFailure(connect: Data(body.utf8))
    #expect(failure?.reason == "PRIMARY_AUTHENTICATION_TOO_OLD" && failure?.retryAfter == "2.500s")
    #expect(failure.map { NextStep(failure: $0).kind } == .logIn)
    #expect(CallFailure(connect: Data(#"{"code": "canceled"}"#.utf8))?.status == "CANCELLED")
    #expect(CallFailure(connect: Data("<html>".utf8)) == nil)
  }

  @Test("A backend that passes JSON on gets the API's names")
  func json() async throws {
    let backend = RecordingBackend()
    let posture = try Posture(platform: "ios", osVersion: "17.4", deviceModel: "")
    let evaluation = try await backend.beginEvaluation(
      EvaluationRequest(policy: "login", bindingId: "b", localizedReason: "Log in", posture: posture))
    #expect(evaluation.factors == [.biometry, "7"] && evaluation.signingInput == Data([1, 2]))
    #expect(evaluation.domainState == "DOMAIN_STATE_VERDICT_UNCHANGED" && evaluation.denial == nil)
    let sent = try #require(backend.sent.withLock { $0.last })
    #expect(sent.method == "BeginEvaluation")
    let fields = try #require(JSONSerialization.jsonObject(with: sent.body) as? [String: Any])
    #expect(Set(fields.keys) == ["policy", "bindingId", "localizedReason", "posture"])
    let names = ["platform", "osVersion", "deviceModel", "biometryType", "biometryAvailable", "biometryEnrolled"]
    #expect(
      Set((fields["posture"] as? [String: Any] ?? [:]).keys)
        == Set(names + ["biometryLockedOut", "passcodeSet", "domainState"]))
  }
}

private struct Offline: Error {}

private struct FailingBackend: TouchIDBackend {
  let application = "com.example.app"
  let error: any Error

  func beginBinding(_ request: BindingRequest) async throws -> BindingTicket { throw error }
  func completeBinding(_ binding: NewBinding) async throws -> BoundPhone { throw error }
  func beginEvaluation(_ request: EvaluationRequest) async throws -> Evaluation { throw error }
  func submitAttempt(_ attempt: Attempt) async throws -> Answer { throw error }
  func revokeBinding(_ bindingId: String) async throws { throw error }
}

private final class RecordingBackend: JSONBackend, Sendable {
  struct Sent: Sendable {
    let method: String
    let body: Data
  }

  let application = "com.example.app"
  let sent = Mutex<[Sent]>([])

  func post(_ method: String, _ body: Data) async throws -> Data {
    sent.withLock { $0.append(Sent(method: method, body: body)) }
    return Data(
      #"{"signingInput": "AQI=", "factors": ["FACTOR_BIOMETRY", 7], "domainState": "DOMAIN_STATE_VERDICT_UNCHANGED"}"#
        .utf8)
  }
}

/// In memory, in the place of the Secure Enclave.
private final class SimulatedHybridKeys: HybridKeyMaker, Sendable {
  private let keys = Mutex<[HybridKey]>([])

  func makeKey(_ accessControl: SecAccessControl) throws -> (sealed: Data, publicKey: Data) {
    let key = HybridKey()
    let number = keys.withLock { keys in
      keys.append(key)
      return keys.count - 1
    }
    return (Data([UInt8(number)]), Data(key.mlDSA65PublicKey))
  }

  func signature(of bytes: Data, bySealed key: Data, context: LAContext) throws -> Data {
    Data(keys.withLock { $0[Int(key[0])] }.signByMLDSA65(Array(bytes)))
  }
}
