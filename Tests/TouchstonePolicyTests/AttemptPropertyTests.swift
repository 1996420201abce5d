// What holds for every attempt in every world, and over any sequence of attempts.

import Testing
import TouchstonePolicy

@Suite struct AttemptPropertyTests {
  static let attempts: [Attempt] =
    Factor.allCases.flatMap { [.key(factor: $0, isValid: true), .key(factor: $0, isValid: false)] }
    + LAErrorCode.allCases.map { .report($0) } + [.report(nil)]
  static let evaluations = ["0", "2", "1."].map(EvaluationStanding.init(table:))

  /// Every world, evaluation and attempt: so many that failures are gathered instead of being expected one by one.
  private func forEach(_ body: (World, AttemptFacts, AttemptDecision) -> Bool) -> [String] {
    var failures: [String] = []
    for world in Worlds.all {
      for evaluation in Self.evaluations {
        for attempt in Self.attempts {
          let facts = AttemptFacts(
            posture: world.posture, binding: world.binding, device: world.device, profile: .none,
            evaluation: evaluation, now: .noon, attempt: attempt)
          if !body(world, facts, world.policy.decide(facts)) { failures.append("\(world): \(evaluation) \(attempt)") }
        }
      }
    }
    return failures
  }

  @Test("R11, R25, R37: only a right proof on an active binding, by a factor usable now, succeeds")
  func successNeedsProof() {
    var successes = 0
    let failures = forEach { world, facts, decision in
      guard decision.outcome == .succeeded else { return true }
      successes += 1
      guard case .key(let factor, isValid: true) = facts.attempt else { return false }
      let preflight = world.policy.preflight(
        posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile, now: facts.now)
      return preflight.factors.contains(factor) && !facts.evaluation.isFinished && decision.laError == nil
        && decision.evaluation?.isFinished == true && (decision.device ?? facts.device) == BiometryStanding()
    }
    #expect(failures.isEmpty)
    #expect(successes > 0)
  }

  @Test("R37: a binding that is not active answers as an active one does to a wrong proof")
  func inactiveIsWrong() {
    let failures = forEach { world, facts, _ in
      guard case .key(let factor, isValid: true) = facts.attempt else { return true }
      var inactive = facts
      inactive.binding.isActive = false
      var wrong = facts
      wrong.attempt = .key(factor: factor, isValid: false)
      return world.policy.decide(inactive) == world.policy.decide(wrong)
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
      let rules: [Bool] = [
        counted <= 1,
        countedOnDevice <= Int(counted) && (countedOnDevice >= 0 || decision.outcome == .succeeded),
        // A failure is counted somewhere, and on the device unless it is locked already.
        counted == 0 || countedOnDevice == 1 || facts.device.isLockedOut,
        // Nothing but a success unlocks, and a failure that reaches the limit locks.
        device.isLockedOut || !facts.device.isLockedOut || decision.outcome == .succeeded,
        countedOnDevice < 1 || device.isLockedOut == (device.consecutiveFailures >= world.policy.failuresBeforeLockout),
        // The budget.
        !facts.evaluation.isFinished || decision.evaluation == nil && decision.device == nil,
        counted == 0 || evaluation.isFinished || evaluation.failures < world.policy.attemptsPerEvaluation
          || world.policy.fallback == .automatic && !decision.nextFactors.contains(.biometry),
        decision.outcome != .tryAgain || counted == 1 && !evaluation.isFinished,
        // What is offered can be used; a finished evaluation offers nothing.
        decision.nextFactors.isEmpty || !evaluation.isFinished,
        decision.nextFactors.allSatisfy(world.policy.factors.contains),
        !decision.nextFactors.contains(.biometry) || !device.isLockedOut,
        // "As before" is said where it is as before, and only there.
        decision.device != facts.device && decision.evaluation != facts.evaluation,
      ]
      return rules.allSatisfy { $0 }
    }
    #expect(failures.isEmpty)
  }

  @Test("R7, R8, R35: over any sequence of attempts in parallel evaluations", arguments: 1...40 as ClosedRange<UInt64>)
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

extension EvaluationStanding {
  fileprivate var allFailures: UInt32 { failures + deviceOwnerFailures }
}

/// A device with two bindings, one of them revoked now and then, and four evaluations that are begun anew when they are
/// finished. Keeps its own simple count beside the rules' standing.
private struct RandomWalk {
  private(set) var successes = 0
  private(set) var lockouts = 0
  private var random: SeededGenerator
  private var device = BiometryStanding()
  private var evaluations: [EvaluationStanding] = Array(repeating: EvaluationStanding(), count: 4)
  private var bindings = [BindingStanding(table: "set presence")!, BindingStanding(table: "any passcode")!]
  /// Counted failures since the last success while the device was open.
  private var failuresWhileOpen = 0

  private let policy = EvaluationPolicy(table: "login")
  private let phones = ["9.3", "9.3", "9.3", "9.3 state=B", "9.3 no-state", "9.3 locked no-state", "8.4", "10.0"]
    .map(DevicePosture.init(table:))

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
  }

  /// What is wrong with the step, or `nil`.
  mutating func step() -> String? {
    let index = Int.random(in: 0..<4, using: &random)
    let bindingIndex = index % 2
    if Int.random(in: 0..<20, using: &random) == 0 { bindings[bindingIndex].isActive.toggle() }
    if evaluations[index].isFinished && Bool.random(using: &random) { evaluations[index] = EvaluationStanding() }

    let facts = AttemptFacts(
      posture: phones.randomElement(using: &random)!, binding: bindings[bindingIndex],
      device: device, profile: .none, evaluation: evaluations[index], now: .noon,
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
      guard case .key(_, isValid: true) = facts.attempt, facts.binding.isActive else { return "success without proof" }
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
