// Attempts that the service never hands to the rules, which refuse them all the same.

import Testing
import TouchstonePolicy

@Suite struct UncalledAttemptTests {
  private let policy = EvaluationPolicy(words: "all")

  private func facts(profile: String) -> AdmissionFacts {
    AdmissionFacts(
      posture: DevicePosture(words: "9.3"), binding: BindingStanding(words: "set"), device: BiometryStanding(),
      profile: ProfileStanding(words: profile), evaluation: EvaluationStanding(), now: .noon)
  }

  @Test("R31: a key proves no secret and no login", arguments: [Factor.passcode, .gesture, .primary])
  func keyOfNoKey(factor: Factor) {
    let decision = policy.decide(AttemptFacts(facts(profile: "-"), attempt: .key(factor: factor, isValid: true)))
    #expect((decision.outcome, decision.laError) == (.factorRequired, .biometryNotAvailable))
    #expect(decision.nextFactors == [.biometry, .primary] && decision.device == nil && decision.evaluation == nil)
  }

  @Test(
    "R14: a factor that is no secret is neither admitted nor decided as one", arguments: [Factor.biometry, .primary])
  func noSecret(factor: Factor) {
    let facts = facts(profile: "passcode")
    guard case .refuse(let refusal) = policy.admitSecret(factor, facts) else {
      Issue.record("admitted")
      return
    }
    let decision = policy.decide(
      AttemptFacts(facts, attempt: .secret(factor, .init(generation: 0, failures: 1), isRight: true)))
    #expect(refusal.outcome == .factorRequired && decision.outcome == .factorRequired && decision.secret == nil)
  }

  @Test("R26, R28: a login that is not fresh proves nothing", arguments: [PrimaryVerdict.tooOld, .inFuture])
  func staleLogin(verdict: PrimaryVerdict) {
    var facts = facts(profile: "-")
    facts.posture = DevicePosture(words: "9.3 state=B")
    let decision = policy.decide(AttemptFacts(facts, attempt: .primary(verdict)))
    #expect((decision.outcome, decision.laError) == (.failed, .authenticationFailed))
    #expect(decision.nextFactors == [.primary] && decision.baseline == nil)
    #expect(decision.device == nil && decision.evaluation == nil)
  }
}
