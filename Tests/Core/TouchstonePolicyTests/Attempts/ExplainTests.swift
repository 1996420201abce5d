// The trace is a by-product of the decision: the answer is the same, and the rule that said no is in it.

import Testing
import TouchstonePolicy

@Suite struct ExplainTests {
  @Test("R6: explaining answers as asking does, everywhere")
  func sameAnswers() {
    let faults = Worlds.sample.filter { world in
      let policy = world.policy
      let preflight = policy.preflight(
        posture: world.posture, binding: world.binding, device: world.device, profile: world.profile, now: .noon)
      let areAdmissionsEqual = [Factor.passcode, .gesture].allSatisfy {
        policy.explainAdmission(of: $0, world.facts).0 == policy.admitSecret($0, world.facts)
      }
      let areDecisionsEqual = AttemptPropertyTests.attempts.allSatisfy {
        let facts = AttemptFacts(world.facts, attempt: $0)
        return policy.explainAttempt(facts).0 == policy.decide(facts)
      }
      return world.explain().0 != preflight || !areAdmissionsEqual || !areDecisionsEqual
    }
    #expect(faults.isEmpty)
  }

  @Test("R1–R38: where the answer is no, the rule that said so is in the trace")
  func theRuleThatSaidNo() {
    let rules: [Denial.Reason: [String]] = [
      .osTooOld: ["R2"], .passcodeNotSet: ["R1"], .biometryNotAvailable: ["R1"], .biometryNotEnrolled: ["R1"],
      .biometryLockout: ["R4"], .domainStateRequired: ["R27"], .noUsableFactor: ["R31", "R38"],
      .passcodeLocked: ["R13"], .gestureLocked: ["R13"], .passcodeDisabled: ["R13"], .gestureDisabled: ["R13"],
      .factorNotOffered: ["R17", "R31"], .platformNotServed: ["R27", "R38"], .platformDiffers: ["R38"],
      .levelTooLow: ["R38", "R42"], .appNotProven: ["R38"],
      .keyNotDeviceBound: ["R46"],
    ]
    var reasons: Set<Denial.Reason> = []
    let faults = Worlds.all.filter { world in
      let (answer, trace) = world.explain()
      guard let denial = answer.denial else { return false }
      reasons.insert(denial.reason)
      return !trace.contains { !$0.passed && rules[denial.reason]!.contains($0.rule) }
    }
    #expect(faults.isEmpty)
    #expect(reasons.count >= 8)
  }

  @Test("every row names a rule and says something, but never a domain state")
  func rows() {
    let rules = Set(RuleTrace.knownRules.map { "R\($0)" })
    for world in Worlds.all {
      for row in world.explain().1 {
        #expect(rules.contains(row.rule) && row.detail.count > 10)
      }
    }
    var telling = DevicePosture(words: "9.3")
    telling.domainState = [UInt8]("SECRET-STATE".utf8)
    let (_, trace) = EvaluationPolicy(words: "payment").explain(
      posture: telling, binding: BindingStanding(words: "set"), device: BiometryStanding(), profile: .none, now: .noon)
    #expect(!trace.isEmpty && !trace.contains { $0.detail.contains("SECRET") })
  }

  @Test("a trace reads in the order in which the rules were asked")
  func inOrder() {
    let (answer, trace) = EvaluationPolicy(words: "login").explain(
      posture: DevicePosture(words: "9.3 no-fingers state=B"), binding: BindingStanding(words: "set presence"),
      device: BiometryStanding(), profile: ProfileStanding(words: "passcode=5!60"), now: .noon)
    #expect(answer.denial == nil && answer.factors == [])
    let lines = trace.map { "\($0.rule) \($0.passed ? "yes" : "no") \($0.detail)" }
    #expect(
      lines == [
        "R2 yes biometry: needs 8.0, runs iOS 9.3",
        "R1 yes biometry: the device has a passcode",
        "R1 yes biometry: the sensor works",
        "R1 no biometry: something is not enrolled",
        "R2 yes device_owner: needs 9.0, runs iOS 9.3",
        "R1 yes device_owner: the device has a passcode",
        "R31 yes device_owner: the binding can prove it to this policy",
        "R17 yes device_owner: unlocking by biometrics is switched on",
        "R25 no device_owner: the domain state is changed",
        "R46 no passkey: the binding is no passkey",
        "R17 no gesture: is off, and not set",
        "R17 yes passcode: is on, and set",
        "R13 no passcode: locked for 1m after 5 failures",
      ])
  }

  @Test(
    "an attempt's trace begins with the evaluation, the binding and the proof",
    arguments: [
      ("set", ["R35 yes", "R11 yes", "R37 yes"]), ("set revoked", ["R35 yes", "R37 no"]),
      ("bearer", ["R35 yes", "R11 yes", "R37 no"]),
    ])
  func attempt(_ binding: String, _ expected: [String]) {
    let facts = AdmissionFacts(
      posture: DevicePosture(words: "9.3"), binding: BindingStanding(words: binding),
      device: BiometryStanding(), profile: .none, evaluation: EvaluationStanding(), now: .noon)
    let (_, trace) = EvaluationPolicy(words: "bio").explainAttempt(
      AttemptFacts(facts, attempt: .key(factor: .biometry, isValid: true)))
    #expect(trace.prefix(expected.count).map { "\($0.rule) \($0.passed ? "yes" : "no")" } == expected)
  }
}

extension World {
  fileprivate func explain() -> (Preflight, [RuleTrace]) {
    policy.explain(posture: posture, binding: binding, device: device, profile: profile, now: .noon)
  }
}
