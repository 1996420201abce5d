// Properties of every attempt in every world, and of any sequence of attempts.

import TestSupport
import Testing
import TouchstonePolicy

@Suite struct AttemptPropertyTests {
  static let attempts: [Attempt] =
    Factor.allCases.flatMap { [.key(factor: $0, isValid: true), .key(factor: $0, isValid: false)] }
    + [.profileTouchID(isValid: true), .profileTouchID(isValid: false), .primary(.fresh), .primary(.tooOld)]
    + LAErrorCode.allCases.map { .report($0) } + [.report(nil)]

  /// Every world and attempt: so many that failures are gathered instead of being expected one by one.
  private func forEach(_ body: (World, AttemptFacts, AttemptDecision) -> Bool) -> [String] {
    Worlds.all.flatMap { world in
      (Self.attempts.map { AttemptFacts(world.facts, attempt: $0) } + world.admittedSecrets)
        .filter { !body(world, $0, world.policy.decide($0)) }
        .map { "\(world): \($0.attempt)" }
    }
  }

  @Test("R11, R25, R37: only a right proof on an active binding, by a factor usable now, succeeds")
  func successNeedsProof() {
    var successes: Set<Factor> = []
    let failures = forEach { world, facts, decision in
      guard decision.outcome == .succeeded else { return true }
      guard let factor = facts.attempt.rightFactor, facts.binding.isActive else { return false }
      successes.insert(factor)
      // The budget in flight is this very attempt's.
      let preflight = world.policy.preflight(
        posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile, now: facts.now)
      let isOffered =
        preflight.factors.contains(factor) || factor == .primary && world.policy.factors.contains(.primary)
      return isOffered && !facts.evaluation.isFinished && decision.laError == nil
        && decision.evaluation?.isFinished == true && (decision.device == nil || decision.device == BiometryStanding())
    }
    #expect(failures.isEmpty)
    #expect(successes == [.biometry, .deviceOwner, .passcode, .gesture, .primary])
  }

  @Test("R12: a success clears the device's failures, unless by gesture or the caller's own login")
  func clearing() {
    let failures = forEach { world, facts, decision in
      guard decision.outcome == .succeeded, let factor = facts.attempt.rightFactor, facts.binding.scope == .device
      else { return true }
      let clears = factor != .gesture && factor != .primary
      return (decision.device ?? facts.device) == (clears ? BiometryStanding() : facts.device)
    }
    #expect(failures.isEmpty)
  }

  @Test("R10, R37: a binding that is not active ends the evaluation, says so and counts nothing")
  func inactiveSaysSo() {
    let failures = forEach { world, facts, _ in
      guard facts.binding.scope == .device, !facts.evaluation.isFinished else { return true }
      var inactive = facts
      inactive.admission.binding.state = .revoked
      let decision = world.policy.decide(inactive)
      if case .secret = facts.attempt {} else if decision.secret != nil { return false }
      return decision.outcome == .failed && decision.bindingDenial?.reason == .bindingRevoked
        && decision.device == nil && decision.evaluation == nil && decision.nextFactors.isEmpty
        && decision.domainState == nil && decision.attemptsLeft == 0
    }
    #expect(failures.isEmpty)
  }

  @Test("R37: an unknown profile answers as a known one does to a wrong proof")
  func unknownIsWrong() {
    let failures = forEach { world, facts, _ in
      guard facts.binding.scope != .device, let wrong = facts.attempt.madeWrong else { return true }
      // Where no secret is right, no verdict is.
      if case .secret = facts.attempt { return true }
      var unknown = facts
      unknown.admission.binding.state = .unknown
      var known = facts
      known.attempt = wrong
      var (one, other) = (world.policy.decide(unknown), world.policy.decide(known))
      // The cause is for the audit log alone, and differs between the two.
      (one.cause, other.cause) = (nil, nil)
      return one == other
    }
    #expect(failures.isEmpty)
  }

  @Test("R10, R35: outcome, count and budget always agree")
  func consistency() {
    let failures = forEach { world, facts, decision in
      let device = decision.device ?? facts.device
      let evaluation = decision.evaluation ?? facts.evaluation
      let counted = evaluation.allFailures - facts.evaluation.allFailures
      let countedOnDevice = Int(device.consecutiveFailures) - Int(facts.device.consecutiveFailures)
      let isDeviceKnown = facts.binding.scope == .device
      let rules: [Bool] = [
        counted <= 1,
        countedOnDevice <= Int(counted) && (countedOnDevice >= 0 || decision.outcome == .succeeded),
        // A failure is counted in some record, and on the device unless it is locked already, or unknown.
        counted == 0 || countedOnDevice == 1 || facts.device.isLockedOut || !isDeviceKnown,
        isDeviceKnown || decision.device == nil && decision.baseline == nil,
        // Nothing but a success unlocks, and a failure that reaches the limit locks.
        device.isLockedOut || !facts.device.isLockedOut || decision.outcome == .succeeded,
        countedOnDevice < 1 || device.isLockedOut == (device.consecutiveFailures >= world.policy.failuresBeforeLockout),
        // The budget.
        !facts.evaluation.isFinished || decision.evaluation == nil && decision.device == nil,
        counted == 0 || evaluation.isFinished || evaluation.failures < world.policy.attemptsPerEvaluation
          || world.policy.fallback == .automatic && !decision.nextFactors.contains(.biometry),
        decision.outcome != .tryAgain || (counted == 1 || facts.attempt.isSecret) && !evaluation.isFinished,
        // A secret costs neither the device nor the evaluation, and nothing else costs a secret.
        !facts.attempt.isSecret || decision.outcome == .succeeded || counted == 0 && decision.device == nil,
        facts.attempt.isSecret || decision.secret == nil,
        // A factor that is offered can be used; a finished evaluation offers nothing.
        decision.nextFactors.isEmpty || !evaluation.isFinished,
        decision.nextFactors.allSatisfy(world.policy.factors.contains),
        !decision.nextFactors.contains(.biometry) || !device.isLockedOut,
        // A decision holds a record only if that record changed.
        decision.device != facts.device && decision.evaluation != facts.evaluation,
      ]
      return rules.allSatisfy { $0 }
    }
    #expect(failures.isEmpty)
  }

  @Test("R7, R8, R35: over any sequence of attempts in parallel evaluations", arguments: seeds(ofAll: 40))
  func randomWalk(seed: UInt64) {
    var walk = RandomWalk(seed: seed)
    for step in 1...500 {
      if let fault = walk.step() {
        Issue.record("seed \(seed), step \(step): \(fault)")
        return
      }
    }
    #expect(walk.successes > 0 && walk.lockouts > 0)
  }
}

extension Attempt {
  fileprivate var isSecret: Bool {
    if case .secret = self { true } else { false }
  }

  /// The factor that it proves, if it is right.
  fileprivate var rightFactor: Factor? {
    switch self {
    case .key(let factor, isValid: true): factor
    case .profileTouchID(isValid: true): .biometry
    case .secret(let factor, _, isRight: true): factor
    case .primary(.fresh): .primary
    case .passkey(refusal: nil): .passkey
    case .key, .profileTouchID, .passkey, .secret, .primary, .report: nil
    }
  }

  fileprivate var madeWrong: Attempt? {
    switch self {
    case .key(let factor, isValid: true): .key(factor: factor, isValid: false)
    case .profileTouchID(isValid: true): .profileTouchID(isValid: false)
    case .secret(let factor, let reservation, isRight: true): .secret(factor, reservation, isRight: false)
    case .primary(.fresh): .primary(.tooOld)
    case .passkey(refusal: nil): .passkey(refusal: .unknown)
    case .key, .profileTouchID, .passkey, .secret, .primary, .report: nil
    }
  }
}

extension EvaluationStanding {
  fileprivate var allFailures: UInt32 { failures + deviceOwnerFailures }
}

extension World {
  /// Passcode and gesture where they may be verified, right and wrong.
  fileprivate var admittedSecrets: [AttemptFacts] {
    [Factor.passcode, .gesture].flatMap { factor -> [AttemptFacts] in
      guard case .verify(let reservation, let counted) = policy.admitSecret(factor, facts) else { return [] }
      var admitted = facts
      if factor == .passcode { admitted.profile.passcode = counted } else { admitted.profile.gesture = counted }
      return [true, false].map { AttemptFacts(admitted, attempt: .secret(factor, reservation, isRight: $0)) }
    }
  }
}

/// A device with two bindings, one of them revoked now and then, and four evaluations that are begun anew when they are
/// finished. Keeps its own simple count beside the rules' standing.
private struct RandomWalk {
  private(set) var successes = 0
  private(set) var lockouts = 0
  private var random: SeededGenerator
  private var device = BiometryStanding()
  private var evaluations: [EvaluationStanding] = Array(repeating: EvaluationStanding(), count: 4)
  private var bindings = [BindingStanding(words: "set presence"), BindingStanding(words: "any passcode")]
  /// Counted failures since the last success while the device was open.
  private var failuresWhileOpen = 0

  private let policy = EvaluationPolicy(words: "login")
  private let phones = ["9.3", "9.3", "9.3", "9.3 state=B", "9.3 no-state", "9.3 locked no-state", "8.4", "10.0"]
    .map(DevicePosture.init(words:))

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
  }

  /// Returns the fault of the step, or `nil`.
  mutating func step() -> String? {
    let index = Int.random(in: 0..<4, using: &random)
    let bindingIndex = index % 2
    if Int.random(in: 0..<20, using: &random) == 0 {
      bindings[bindingIndex].state = bindings[bindingIndex].isActive ? .revoked : .active
    }
    if evaluations[index].isFinished && Bool.random(using: &random) { evaluations[index] = EvaluationStanding() }

    let facts = AttemptFacts(
      AdmissionFacts(
        posture: phones.randomElement(using: &random)!, binding: bindings[bindingIndex],
        device: device, profile: .none, evaluation: evaluations[index], now: .noon),
      attempt: AttemptPropertyTests.attempts.randomElement(using: &random)!)
    let decision = policy.decide(facts)
    defer {
      device = decision.device ?? device
      evaluations[index] = decision.evaluation ?? evaluations[index]
    }
    return fault(facts, decision)
  }

  private mutating func fault(_ facts: AttemptFacts, _ decision: AttemptDecision) -> String? {
    let after = decision.device ?? facts.device
    if facts.evaluation.isFinished && decision.outcome != .invalidContext { return "a finished evaluation went on" }
    if decision.outcome == .succeeded {
      guard facts.attempt.rightFactor != nil, facts.binding.isActive else { return "success without proof" }
      guard after == BiometryStanding() else { return "a success left failures" }
      successes += 1
      failuresWhileOpen = 0
      return nil
    }
    if after.consecutiveFailures < facts.device.consecutiveFailures { return "a count fell without success" }
    if facts.device.isLockedOut && !after.isLockedOut { return "a lock went without success" }
    let isCounted = decision.evaluation.map { $0.failures > facts.evaluation.failures } ?? false
    if isCounted && !facts.device.isLockedOut { failuresWhileOpen += 1 }
    if failuresWhileOpen != Int(after.consecutiveFailures) { return "the count is not that of the failures" }
    if after.consecutiveFailures >= policy.failuresBeforeLockout && !after.isLockedOut { return "five, and no lock" }
    if after.isLockedOut && !facts.device.isLockedOut { lockouts += 1 }
    return nil
  }
}
