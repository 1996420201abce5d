// Definitions with one thing wrong each.

import Testing
import TouchstonePolicy

/// A definition, and the one complaint about it: its beginning.
struct Contradiction: Sendable, CustomTestStringConvertible {
  let complaint: String
  let definition: PolicyDefinition

  init(_ complaint: String, _ definition: PolicyDefinition, _ change: (inout PolicyDefinition) -> Void = { _ in }) {
    self.complaint = complaint
    self.definition = definition.with(change)
  }

  var testDescription: String { complaint }

  private static let payment = PolicyDefinition.smallest(.payment, [.biometry, .deviceOwner])
  private static let login = PolicyDefinition.smallest(.login, [.biometry, .passcode])
  private static let finger = PolicyDefinition.smallest(.login, [.biometry])
  private static let secret = PolicyDefinition.smallest(.login, [.passcode])
  private static let all = names + factors + numbers + ladders + devices + tokens + prompts

  static let table = all

  private static let names = [
    Contradiction(" is the name of a built-in policy", login) { $0.name = "login" },
    Contradiction(" is the name of a built-in policy", login) { $0.name = "deviceOwnerAuthentication" },
    Contradiction(" must be 1 to 64 ASCII", login) { $0.name = "" },
    Contradiction(" must be 1 to 64 ASCII", login) { $0.name = "two words" },
    Contradiction(" must be 1 to 64 ASCII", login) { $0.name = "caf\u{E9}" },
    // KELVIN SIGN, which Unicode holds for a K.
    Contradiction(" must be 1 to 64 ASCII", login) { $0.name = "\u{212A}" },
    Contradiction(" must be 1 to 64 ASCII", login) { $0.name = String(repeating: "a", count: 65) },
    Contradiction("purpose is required", login) { $0.purpose = .absent },
  ]

  private static let factors = [
    Contradiction("factors is required", login) { $0.factors = .absent },
    Contradiction("factors must name at least one", login) { $0.factors = .value([]) },
    Contradiction("factors[1] biometry appears twice", .smallest(.login, [.biometry, .biometry])),
    Contradiction("factors[1] passkey appears twice", .smallest(.login, [.passkey, .passkey])),
    Contradiction("factors[1] device_owner comes after primary", .smallest(.login, [.primary, .deviceOwner])),
    Contradiction("factors[1] passcode cannot pay", .smallest(.payment, [.biometry, .passcode])),
    Contradiction("factors[1] gesture cannot pay", .smallest(.payment, [.biometry, .gesture])),
    Contradiction("factors[1] primary cannot pay", .smallest(.payment, [.biometry, .primary])),
  ]

  private static let numbers = [
    Contradiction("attempts must be 1 to 10", login) { $0.attempts = .value(0) },
    Contradiction("attempts must be 1 to 10", login) { $0.attempts = .value(.max) },
    Contradiction("attempts is 6, more than lockout_after (5)", login) { $0.attempts = .value(6) },
    Contradiction("attempts is 3, more than lockout_after (2)", login) {
      ($0.attempts, $0.lockoutAfter) = (.value(3), .value(2))
    },
    Contradiction("attempts has no effect", secret) { $0.attempts = .value(3) },
    Contradiction("lockout_after must be 1 to 10", login) { $0.lockoutAfter = .value(11) },
    Contradiction("lockout_after must be 1 to 10", login) { $0.lockoutAfter = .value(.min) },
    Contradiction("lockout_after is 2, less than the 3 attempts", login) { $0.lockoutAfter = .value(2) },
    Contradiction("lockout_after has no effect", secret) { $0.lockoutAfter = .value(5) },
    Contradiction("primary_freshness has no effect", login) { $0.primaryFreshness = .value(.seconds(60)) },
    Contradiction("primary_freshness must be 1s to 1h", .smallest(.login, [.biometry, .primary])) {
      $0.primaryFreshness = .value(.seconds(3_601))
    },
    Contradiction("evaluation_lifetime must be 1s to 1h", login) { $0.evaluationLifetime = .value(.zero) },
    Contradiction("evaluation_lifetime must be 1s to 1h", login) { $0.evaluationLifetime = .value(.seconds(Int.max)) },
  ]

  private static let ladders = [
    Contradiction("ladder has no effect", finger) { $0.ladder = .value([.lock(5, 60)]) },
    Contradiction("ladder must have at least one rung", login) { $0.ladder = .value([]) },
    Contradiction("ladder has more rungs than failures", login) {
      $0.ladder = .value((1...101).map { .lock(min($0, 100), 60) })
    },
    Contradiction("ladder[1].failures must be more than the 5", login) {
      $0.ladder = .value([.lock(5, 60), .lock(5, 60)])
    },
    Contradiction("ladder[0].failures must be 1 to 100", login) { $0.ladder = .value([.lock(0, 60)]) },
    Contradiction("ladder[0].failures must be 1 to 100", login) { $0.ladder = .value([.disable(101)]) },
    Contradiction("ladder[0] does not say at how many", login) {
      $0.ladder = .value([.rung { $0.lock = .value(.seconds(60)) }])
    },
    Contradiction("ladder[1].lock is shorter than an earlier lock (1m)", login) {
      $0.ladder = .value([.lock(5, 60), .lock(6, 59)])
    },
    Contradiction("ladder[0].lock must be 1s to ", login) { $0.ladder = .value([.lock(5, 0)]) },
    Contradiction("ladder[0] must lock, or disable", login) {
      $0.ladder = .value([.rung { $0.failures = .value(5) }])
    },
    Contradiction("ladder[1] comes after the secret is disabled", login) {
      $0.ladder = .value([.disable(5), .lock(6, 60)])
    },
    Contradiction("ladder[0].lock has no effect", login) {
      $0.ladder = .value([.rung { ($0.failures, $0.lock, $0.disable) = (.value(5), .value(.seconds(1)), .value(true)) }]
      )
    },
    Contradiction("ladder[0].disable can only be true", login) {
      $0.ladder = .value([
        .rung { ($0.failures, $0.lock, $0.disable) = (.value(5), .value(.seconds(1)), .value(false)) }
      ])
    },
  ]

  private static let devices = [
    Contradiction("key_protection device_passcode protects keys of device_owner", login) {
      $0.keyProtection = .value(.devicePasscode)
    },
    Contradiction("key_protection user_presence has no effect", payment) {
      $0.keyProtection = .value(.userPresence)
    },
    Contradiction("key_protection biometry_current_set protects keys of biometry", secret) {
      $0.keyProtection = .value(.biometryCurrentSet)
    },
    Contradiction("keys has no effect", secret) { $0.keys = .value(.p256) },
    Contradiction("minimum_attestation has no effect", secret) { $0.minimumAttestation = .value(.tee) },
    Contradiction("app_assertion has no effect", secret) { $0.appAssertion = .value(.required) },
    Contradiction("passkeys has no effect", secret) { $0.passkeys = .value(.deviceBound) },
    Contradiction("domain_state has no effect", secret) { $0.domainState = .value(.required) },
    Contradiction("domain_state must be required for payments", payment) { $0.domainState = .value(.compared) },
    Contradiction("minimum_os must be a version from 1 to 99", login) { $0.minimumOS = .value(OSVersion(0, 9)) },
    Contradiction("minimum_os must be a version from 1 to 99", login) { $0.minimumOS = .value(OSVersion(2_026)) },
    Contradiction("minimum_os has no effect: what this policy asks for needs 8.0 anyway", finger) {
      $0.minimumOS = .value(OSVersion(8))
    },
    Contradiction("minimum_os has no effect: what this policy asks for needs 9.0 anyway", payment) {
      $0.minimumOS = .value(OSVersion(8))
    },
    Contradiction("minimum_os has no effect", .smallest(.login, [.deviceOwner])) {
      $0.minimumOS = .value(OSVersion(9))
    },
    Contradiction("minimum_os has no effect", .smallest(.login, [.deviceOwner, .biometry])) {
      $0.minimumOS = .value(OSVersion(8))
    },
    Contradiction("minimum_os has no effect", .smallest(.login, [.biometry, .passcode])) {
      ($0.minimumOS, $0.domainState) = (.value(OSVersion(9)), .value(.required))
    },
  ]

  private static let tokens = [
    Contradiction("token cannot be none for payments", payment) { $0.token = .value(.none) },
    Contradiction("token.single_use cannot be false for payments", payment) {
      $0.token = .value(.issued(isSingleUse: .value(false)))
    },
    Contradiction("token.lifetime must be 1s to 1h", login) {
      $0.token = .value(.issued(lifetime: .value(.seconds(7_200))))
    },
  ]

  private static let prompts = [
    Contradiction("fallback automatic has nothing to fall back to", finger) { $0.fallback = .value(.automatic) },
    Contradiction("fallback automatic falls back from biometry", .smallest(.login, [.passcode, .biometry])) {
      $0.fallback = .value(.automatic)
    },
    Contradiction("fallback automatic falls back from biometry", .smallest(.login, [.deviceOwner, .passcode])) {
      $0.fallback = .value(.automatic)
    },
    Contradiction("fallback has no effect", secret) { $0.fallback = .value(.button) },
    Contradiction("fallback_title is never shown", login) {
      ($0.fallback, $0.fallbackTitle) = (.value(.automatic), .value("Passcode"))
    },
    Contradiction("fallback_title has no effect", secret) { $0.fallbackTitle = .value("Passcode") },
    Contradiction("fallback_title is longer than 128 bytes", login) {
      $0.fallbackTitle = .value(String(repeating: "\u{E9}", count: 65))
    },
    Contradiction("fallback_title contains a control character", login) { $0.fallbackTitle = .value("a\nb") },
    Contradiction("cancel_title must not be empty", login) { $0.cancelTitle = .value("") },
    Contradiction("cancel_title contains a control character", login) { $0.cancelTitle = .value("\u{7F}") },
    Contradiction("cancel_title has no effect", secret) { $0.cancelTitle = .value("Not now") },
  ]
}
