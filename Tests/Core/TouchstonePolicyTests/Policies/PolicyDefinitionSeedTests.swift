// Definitions by the thousand, from seeds: whatever is written, it is judged without a trap; and what is judged a
// policy is one that somebody can pass, by each of its factors.

import TestSupport
import Testing
import TouchstonePolicy

@Suite("Policy definitions, by seed") struct PolicyDefinitionSeedTests {
  @Test("no definition traps, and what is refused is refused for a reason", arguments: 1...8 as ClosedRange<UInt64>)
  func wild(seed: UInt64) {
    var author = Author(seed: seed, isWild: true)
    for step in 1...500 {
      let definition = author.write()
      do throws(PolicyDefects) {
        _ = try definition.policy()
      } catch {
        let isExplained = !error.defects.isEmpty || author.hasWrittenUnreadable
        #expect(isExplained, "seed \(seed), step \(step): \(definition)")
      }
    }
  }

  @Test("the author of these definitions writes every setting")
  func complete() {
    var author = Author(seed: 1, isWild: true)
    let neverWritten = (1...500).reduce(into: Set(author.write().unwrittenSettings)) { names, _ in
      names.formIntersection(author.write().unwrittenSettings)
    }
    #expect(neverWritten.isEmpty, "\(neverWritten)")
  }

  @Test("every factor of a policy can be offered, and succeeds", arguments: 1...8 as ClosedRange<UInt64>)
  func reachable(seed: UInt64) {
    var author = Author(seed: seed, isWild: false)
    var policies = 0
    for step in 1...500 {
      let definition = author.write()
      guard let policy = try? definition.policy() else { continue }
      policies += 1
      for factor in policy.factors {
        let fault = Applicant(policy: policy).fault(by: factor)
        #expect(fault == nil, "seed \(seed), step \(step): \(factor) \(fault ?? "") of \(policy)")
      }
    }
    #expect(policies > 20)
  }
}

/// Writes definitions: tame ones mostly make sense, wild ones have anything anywhere.
private struct Author {
  private(set) var hasWrittenUnreadable = false
  private var random: SeededGenerator
  private let isWild: Bool

  init(seed: UInt64, isWild: Bool) {
    random = SeededGenerator(seed: seed)
    self.isWild = isWild
  }

  mutating func write() -> PolicyDefinition {
    hasWrittenUnreadable = false
    var definition = PolicyDefinition(name: isWild ? one(of: ["", "a", "login", "\0", "\u{1F512}"]) : "mine")
    definition.purpose = required { $0.one(of: [.login, .payment]) }
    definition.factors = required { $0.factors() }
    definition.attempts = optional { $0.number(1...6) }
    definition.lockoutAfter = optional { $0.number(3...10) }
    definition.ladder = optional { author in
      (0..<author.count(5)).map { index in author.required { $0.rung(index) } }
    }
    definition.primaryFreshness = optional { $0.seconds(1...3_600) }
    definition.keyProtection = optional { $0.one(of: KeyProtection.allCases) }
    definition.keys = optional { $0.one(of: PolicyDefinition.Keys.allCases) }
    definition.minimumAttestation = optional { $0.one(of: ProofLevel.allCases) }
    definition.appAssertion = optional { $0.one(of: PolicyDefinition.AppAssertion.allCases) }
    definition.passkeys = optional { $0.one(of: PolicyDefinition.Passkeys.allCases) }
    definition.domainState = optional { $0.one(of: PolicyDefinition.DomainState.allCases) }
    definition.minimumOS = optional { OSVersion(UInt32(clamping: $0.number(1...99)), 3) }
    definition.evaluationLifetime = optional { $0.seconds(1...3_600) }
    definition.token = optional { $0.token() }
    definition.fallback = optional { $0.one(of: [.button, .automatic]) }
    definition.fallbackTitle = optional { $0.one(of: ["", "Passcode", "a\0b"]) }
    definition.cancelTitle = optional { $0.one(of: ["Not now", String(repeating: "x", count: 200)]) }
    return definition
  }

  /// Tame: none twice.
  private mutating func factors() -> [Setting<Factor>] {
    let shuffled = Factor.allCases.shuffled(using: &random)
    return (0..<count(4)).map { index in
      required { $0.isWild ? $0.one(of: Factor.allCases) : shuffled[index] }
    }
  }

  private mutating func rung(_ index: Int) -> PolicyDefinition.Rung {
    var rung = PolicyDefinition.Rung()
    rung.failures = required { $0.number(index * 5 + 1...index * 5 + 5) }
    if Int.random(in: 0..<6, using: &random) == 0 {
      rung.disable = required { _ in true }
    } else {
      rung.lock = required { $0.seconds(index * 60 + 1...index * 60 + 60) }
    }
    return rung
  }

  private mutating func token() -> PolicyDefinition.Token {
    guard Int.random(in: 0..<4, using: &random) > 0 else { return .none }
    return .issued(lifetime: optional { $0.seconds(1...3_600) }, isSingleUse: optional { $0.one(of: [true, false]) })
  }

  // MARK: Dice

  private mutating func required<Value>(_ value: (inout Author) -> Value) -> Setting<Value> {
    guard isWild, Int.random(in: 0..<8, using: &random) == 0 else { return .value(value(&self)) }
    guard Bool.random(using: &random) else { return .absent }
    hasWrittenUnreadable = true
    return .unreadable
  }

  private mutating func optional<Value>(_ value: (inout Author) -> Value) -> Setting<Value> {
    Int.random(in: 0..<(isWild ? 2 : 5), using: &random) == 0 ? required(value) : .absent
  }

  private mutating func count(_ maximum: Int) -> Int {
    Int.random(in: (isWild ? 0 : 1)...(isWild ? 120 : maximum), using: &random)
  }

  private mutating func number(_ sensible: ClosedRange<Int>) -> Int {
    guard isWild, Int.random(in: 0..<3, using: &random) == 0 else { return Int.random(in: sensible, using: &random) }
    return one(of: [.min, -1, 0, 1_000_000, .max])
  }

  private mutating func seconds(_ sensible: ClosedRange<Int>) -> Duration {
    .seconds(Int64(number(sensible)))
  }

  private mutating func one<Value>(of values: [Value]) -> Value {
    values[Int.random(in: values.indices, using: &random)]
  }
}

/// Somebody with the newest phone, every key, both secrets and a fresh login.
private struct Applicant {
  let policy: EvaluationPolicy
  private let facts = AdmissionFacts(
    posture: DevicePosture(
      platform: .iOS, osVersion: OSVersion(100), biometryType: .touchID, isBiometryAvailable: true,
      isBiometryEnrolled: true, isBiometryLockedOut: false, isPasscodeSet: true, domainState: [1]),
    binding: Self.binding,
    device: BiometryStanding(),
    profile: ProfileStanding(
      settings: UnlockSettings(isGestureEnabled: true, isPasscodeEnabled: true),
      passcode: SecretStanding(isSet: true), gesture: SecretStanding(isSet: true)),
    evaluation: EvaluationStanding(), now: UnixTime(seconds: 1_000_000))

  /// One with every kind of credential, which no device has.
  private static let binding: BindingStanding = {
    var binding = BindingStanding(
      keyProtections: [.biometryCurrentSet, .devicePasscode], holdsProfileTouchID: false,
      baseline: DomainStateBaseline(domainState: [1], osMajorVersion: 100), platformFamily: .iOS,
      provenKeys: ProvenKeys(all: .app))
    (binding.holdsPasskey, binding.passkeyLevel, binding.isPasskeyDeviceBound) = (true, .tee, true)
    return binding
  }()

  init(policy: EvaluationPolicy) {
    self.policy = policy
  }

  /// Why the factor is of no use; `nil` where it is.
  func fault(by factor: Factor) -> String? {
    let preflight = policy.preflight(
      posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile, now: facts.now)
    guard preflight.denial == nil else { return "is denied" }
    guard preflight.factors.contains(factor) else { return "is not offered" }
    guard let attempt = attempt(factor) else { return "is not admitted" }
    let outcome = policy.decide(AttemptFacts(facts, attempt: attempt)).outcome
    return outcome == .succeeded ? nil : "ends as \(outcome)"
  }

  private func attempt(_ factor: Factor) -> Attempt? {
    switch factor {
    case .biometry, .deviceOwner: return .key(factor: factor, isValid: true)
    case .primary: return .primary(.fresh)
    case .passkey: return .passkey(refusal: nil)
    case .passcode, .gesture:
      guard case .verify(let reservation, _) = policy.admitSecret(factor, facts) else { return nil }
      return .secret(factor, reservation, isRight: true)
    }
  }
}
