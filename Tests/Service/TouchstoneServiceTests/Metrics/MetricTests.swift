// Each metric of the service rises when what it counts happens, and for nothing else.

import Testing
import TouchstoneCodec
import TouchstoneMetrics
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

@Suite("Metrics of the service")
struct MetricTests {
  private let registry: MetricRegistry
  private let service: TestService

  init() async throws {
    let registry = MetricRegistry()
    self.registry = registry
    service = try await TestService.start(metrics: registry)
  }

  /// The number of one series; `nil`: there is no such series.
  private func number(_ series: String) -> Double? {
    registry.text().split(separator: "\n").first { $0.hasPrefix(series + " ") }
      .flatMap { Double($0.dropFirst(series.count + 1)) }
  }

  /// Expects that each of the series rises by this much.
  @discardableResult
  private func expect<Value>(
    _ rises: [String: Double], sourceLocation: SourceLocation = #_sourceLocation,
    when body: () async throws -> Value
  ) async throws -> Value {
    let before = Dictionary(uniqueKeysWithValues: rises.keys.map { ($0, number($0) ?? 0) })
    let value = try await body()
    for (series, rise) in rises {
      #expect(number(series) == (before[series] ?? 0) + rise, "\(series)", sourceLocation: sourceLocation)
    }
    return value
  }

  private func attempts(_ factor: String, _ outcome: String, policy: String = "login") -> String {
    "touchstone_attempts_total{policy=\"\(policy)\",factor=\"\(factor)\",outcome=\"\(outcome)\"}"
  }

  private func evaluations(_ result: String, policy: String = "login") -> String {
    "touchstone_evaluations_total{policy=\"\(policy)\",result=\"\(result)\"}"
  }

  private static let verdicts = "touchstone_domain_state_verdicts_total"

  @Test("Bindings by what is proven of their keys, and their revocations by cause")
  func bindings() async throws {
    let created = "touchstone_bindings_created_total{attestation=\"none\"}"
    let replaced = "touchstone_bindings_revoked_total{cause=\"replaced\"}"
    let requested = "touchstone_bindings_revoked_total{cause=\"requested\"}"
    let phone = try await expect([created: 1, replaced: 0, requested: 0]) { try await service.bind() }
    let again = try await expect([created: 1, replaced: 1, requested: 0]) { try await service.bind(phone) }
    try await expect([created: 0, replaced: 0, requested: 1]) { try await service.revoke(again) }
    // It is revoked already.
    try await expect([requested: 0]) { try await service.revoke(again) }
  }

  @Test("A device id of too many profiles counts when that is news")
  func sharedDevices() async throws {
    let shared = "touchstone_shared_devices_total"
    try await expect([shared: 1]) {
      for profile in 1...10 {
        _ = try await service.bind(TestPhone(profileID: "person-\(profile)"), replacing: true)
      }
    }
  }

  @Test("A login: opened, its verdict, its outcome, its commit")
  func login() async throws {
    let phone = try await service.bind()
    let opened = try await expect([
      evaluations("opened"): 1, "\(Self.verdicts){call=\"begin\",verdict=\"unchanged\"}": 1,
    ]) { try await service.begin(phone) }
    let answer = try await expect([
      attempts("biometry", "succeeded"): 1, attempts("biometry", "try_again"): 0,
      "touchstone_store_commit_duration_seconds_count": 1,
    ]) { try await service.submit(phone, opened) }
    #expect(answer.outcome == .succeeded)
    // Used: it changes nothing.
    _ = try await expect([attempts("biometry", "invalid_context"): 1, attempts("biometry", "succeeded"): 0]) {
      try await service.submit(phone, opened)
    }
    _ = try await expect([
      attempts("none", "canceled"): 1, evaluations("invalidated"): 1, evaluations("opened"): 1,
    ]) {
      let other = try await service.begin(phone)
      _ = try await service.report(.userCancel, phone, other)
      try await service.invalidate(other)
    }
  }

  @Test("A factor that the policy does not accept counts as other")
  func otherFactor() async throws {
    let phone = try await service.bind()
    let opened = try await service.begin(phone, policy: "payment", transaction: .dinner)
    #expect(attemptsByOther == 0)
    _ = try await service.submit(phone, opened, .typed("2468"))
    #expect(attemptsByOther == 1)
    #expect(!registry.text().contains("policy=\"payment\",factor=\"passcode\""))
  }

  private var attemptsByOther: Int {
    let prefix = "touchstone_attempts_total{policy=\"payment\",factor=\"other\""
    return registry.text().split(separator: "\n").filter { $0.hasPrefix(prefix) }
      .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }.reduce(0, +)
  }

  @Test("A device's lockout counts once, and what it denies by reason")
  func deviceLockout() async throws {
    let phone = try await service.bind()
    let lock = "touchstone_lockouts_total{kind=\"device\"}"
    let denials = "touchstone_evaluation_denials_total{reason=\"BIOMETRY_LOCKOUT\"}"
    try await expect([lock: 1, attempts("biometry", "locked_out"): 1, attempts("biometry", "try_again"): 4]) {
      for _ in 0..<5 {
        let opened = try await service.begin(phone)
        _ = try await service.submit(phone, opened, phone.wrongProof(for: opened))
      }
    }
    _ = try await expect([lock: 0, denials: 1, evaluations("denied"): 1]) { try await service.begin(phone) }
  }

  @Test("Another finger is a changed domain state")
  func changedFinger() async throws {
    var phone = try await service.bind()
    phone.posture.domainState = Array("another finger".utf8)
    _ = try await expect(["\(Self.verdicts){call=\"begin\",verdict=\"changed\"}": 1]) { try await service.begin(phone) }
  }

  @Test("A passcode: its time, its lock, and no other one while it stands")
  func secrets() async throws {
    let hashed = "touchstone_secret_hash_duration_seconds_count"
    let lock = "touchstone_lockouts_total{kind=\"passcode\"}"
    _ = try await expect([hashed: 1]) { try await service.set(.passcode("2468")) }
    _ = try await expect([hashed: 1, attempts("passcode", "succeeded"): 1, lock: 0]) {
      try await service.attempt(.typed("2468"))
    }
    let opened = try await service.begin(profileID: "alice")
    _ = try await expect([lock: 1]) {
      for _ in 0..<5 { _ = try await service.attempt(.typed("1357")) }
    }
    // The lock stands, and a sixth is not verified.
    let answer = try await expect([lock: 0, hashed: 0, attempts("passcode", "succeeded"): 0]) {
      try await service.submit(opened, .typed("2468"))
    }
    #expect(answer.outcome != .succeeded)
  }

  @Test("Old secrets by factor: right ones and wrong ones, also of a profile that has none")
  func oldSecrets() async throws {
    func checks(_ factor: String, _ result: String) -> String {
      "touchstone_old_secret_checks_total{factor=\"\(factor)\",result=\"\(result)\"}"
    }
    let all = [("passcode", "right"), ("passcode", "wrong"), ("gesture", "right"), ("gesture", "wrong")]
    for (factor, result) in all { #expect(number(checks(factor, result)) == 0) }
    _ = try await service.set(.passcode("2468"))
    _ = try await service.set(.gesture(0, 1, 2, 5))
    try await expect([checks("passcode", "wrong"): 1, checks("passcode", "right"): 1, checks("gesture", "wrong"): 0]) {
      let refused = try await service.set(.passcode("8642"), by: .oldSecret(.passcode("1357")))
      let accepted = try await service.set(.passcode("8642"), by: .oldSecret(.passcode("2468")))
      #expect(!refused.accepted && accepted.accepted)
    }
    // The fifth locks. The sixth is not verified.
    try await expect([checks("gesture", "wrong"): 5, checks("gesture", "right"): 0, checks("passcode", "wrong"): 0]) {
      for _ in 0..<6 { _ = try await service.remove(.gesture, by: .oldSecret(.gesture(0, 3, 6, 7))) }
    }
    try await expect([checks("passcode", "wrong"): 1]) {
      _ = try await service.set(.passcode("8642"), by: .oldSecret(.passcode("1357")), of: "nobody")
    }
  }

  @Test("Passcodes that are hashed, and those that wait for a place")
  func secretLoad() async throws {
    let secrets = TestSecrets(threads: 1)
    let service = try await TestService.start(secrets: secrets)
    #expect(service.service.secretLoad == (0, 0, 0))
    secrets.hold()
    async let set = service.set(.passcode("2468"))
    await secrets.untilHeld(1)
    #expect(service.service.secretLoad == (0, 0, 1))
    secrets.goOn()
    _ = try await set
  }

  @Test("Tokens: introspections by result, consumptions by reason")
  func tokens() async throws {
    let phone = try await service.bind()
    let token = try await service.approve(.dinner, phone)
    func introspections(_ result: String) -> String { "touchstone_token_introspections_total{result=\"\(result)\"}" }
    func consumptions(_ result: String) -> String { "touchstone_token_consumptions_total{result=\"\(result)\"}" }
    _ = try await expect([introspections("active"): 1, introspections("inactive"): 0]) {
      try await service.introspect(token)
    }
    _ = try await expect([introspections("inactive"): 1]) { try await service.introspect("none") }
    _ = try await expect([consumptions("CONSUMED"): 1, consumptions("INVALID"): 0]) {
      try await service.consume(token)
    }
    _ = try await expect([consumptions("CONSUMED"): 0, consumptions("ALREADY_CONSUMED"): 1]) {
      try await service.consume(token)
    }
    _ = try await expect([consumptions("INVALID"): 1]) { try await service.consume("none") }
  }

  @Test("Refusals by reason, by status, and because of the caller")
  func refusals() async throws {
    func refusals(_ reason: String) -> String { "touchstone_refusals_total{reason=\"\(reason)\"}" }
    _ = try await expect([refusals("INVALID_ARGUMENT"): 1]) {
      await refusal { try await service.begin(profileID: "alice", policy: "no such policy") }
    }
    _ = try await expect([refusals("TICKET_INVALID"): 1]) {
      await refusal { try await service.completeBinding(TestPhone(), V1.BeginBindingResponse(ticket: [1, 2, 3])) }
    }
    _ = try await expect(["touchstone_evaluation_refusals_total{reason=\"unknown\"}": 1]) {
      try await service.submit(V1.BeginEvaluationResponse(evaluation: [1, 2, 3]), .typed("2468"))
    }
    service.replaceCallers([])
    _ = try await expect(["touchstone_caller_refusals_total{reason=\"CREDENTIALS_MISSING\"}": 1]) {
      await refusal { try await service.introspect("none") }
    }
  }

  @Test("An evaluation that expired, or whose policy changed")
  func contexts() async throws {
    func refusals(_ reason: String) -> String { "touchstone_evaluation_refusals_total{reason=\"\(reason)\"}" }
    let (phone, opened) = try await service.beginOnNewPhone()
    service.clock.advance(by: .seconds(121))
    _ = try await expect([refusals("expired"): 1, refusals("policy_changed"): 0]) {
      try await service.submit(phone, opened)
    }
    let other = try await service.begin(phone)
    service.replacePolicies([])
    _ = try await expect([refusals("policy_changed"): 1]) { try await service.submit(phone, other) }
  }

  @Test("Events that are left out, and a store that fails")
  func suppressed() async throws {
    let (phone, opened) = try await service.beginOnNewPhone()
    let leftOut = Double(15 - RefusalThrottle.burst)
    try await expect(["touchstone_events_suppressed_total": leftOut, attempts("none", "canceled"): 15]) {
      for _ in 0..<15 { _ = try await service.report(.userCancel, phone, opened) }
    }
    service.store.failReads(.unavailable)
    _ = try await expect(["touchstone_store_failures_total{code=\"unavailable\"}": 1]) {
      await refusal { try await service.submit(phone, opened) }
    }
  }

  @Test("A policy that a reload adds has its series at once")
  func reloaded() async throws {
    #expect(number(evaluations("opened", policy: "evening")) == nil)
    let policy = try #require(EvaluationPolicy.builtIn.first { $0.name == "login" })
    var evening = policy
    evening.name = "evening"
    service.replacePolicies([policy, evening])
    #expect(number(evaluations("opened", policy: "evening")) == 0)
    // The others keep their counts.
    #expect(number(evaluations("opened")) == 0)
  }

  @Test("Nothing that a caller sends is in the text")
  func secrecy() async throws {
    let plants = ["planted-profile", "planted-reason", "planted-policy", "planted-token", "7531902468"]
    var phone = TestPhone(deviceID: "planted-device-5f9c27e8ab4d6b", profileID: plants[0])
    phone = try await service.bind(phone)
    let opened = try await service.begin(phone)
    _ = try await service.submit(phone, opened, .typed(plants[4]))
    let token = try await service.logIn(phone)
    _ = try await service.introspect(plants[3])
    _ = await refusal { try await service.begin(profileID: plants[0], policy: plants[2]) }
    try await service.revoke(phone)
    _ = try await service.set(.passcode(plants[4]), of: plants[0])
    let text = registry.text()
    for plant in plants + [token, phone.bindingID, phone.deviceID, TestService.applicationID, "planted", "alice"] {
      #expect(!text.contains(plant), "\(plant)")
    }
    #expect(registry.refusedSeries == 0)
  }
}
