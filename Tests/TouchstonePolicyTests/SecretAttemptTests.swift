// Passcode and gesture in evaluations, both phases at noon:
// phone | binding | device | profile | policy | evaluation | secret
// => outcome and code | next factors | attempts left | retry after | device | evaluation | the secret's standing.
// "=" says that a standing stays as it was.

import Testing
import TouchstonePolicy

@Suite struct SecretAttemptTests {
  @Test(
    "R13, R14: a wrong secret costs its ladder, and neither the evaluation nor the device",
    arguments: cases(
      """
      9.3 | set | 0  | passcode               | login        | 0 | passcode wrong => tryAgain -1  | bio,passcode | 4 | -    | = | = | 1
      9.3 | set | 0  | passcode=3             | login        | 2 | passcode wrong => tryAgain -1  | bio,passcode | 1 | -    | = | = | 4
      9.3 | set | 0  | passcode=4             | login        | 0 | passcode wrong => lockedOut -1 | bio          | 0 | 60   | = | = | 5!60
      9.3 | set | 0  | passcode=5             | login        | 0 | passcode wrong => lockedOut -1 | bio          | 0 | 300  | = | = | 6!300
      9.3 | set | 0  | passcode=8             | login        | 0 | passcode wrong => lockedOut -1 | bio          | 0 | 3600 | = | = | 9!3600
      9.3 | set | 0  | passcode=9             | login        | 0 | passcode wrong => lockedOut -1 | bio          | 0 | -    | = | = | 10!
      9.3 | set | 0  | gesture=4              | login        | 0 | gesture wrong  => lockedOut -1 | bio          | 0 | 60   | = | = | 5!60
      9.3 | set | 0  | gesture=1 passcode=3   | login        | 0 | gesture wrong  => tryAgain -1  | bio,gesture,passcode | 3 | - | = | = | 2
      9.3 | set | 5! | passcode=1             | login        | 0 | passcode wrong => tryAgain -1  | passcode     | 3 | -    | = | = | 2
      9.3 | set | 0  | passcode=1             | short-ladder | 0 | passcode wrong => lockedOut -1 | bio          | 0 | 30   | = | = | 2!30
      9.3 | set | 0  | passcode=3             | short-ladder | 0 | passcode wrong => lockedOut -1 | bio          | 0 | -    | = | = | 4!
      # Without a device there is nothing else to lock either.
      web | absent | 0 | passcode=2           | login        | 0 | passcode wrong => tryAgain -1  | passcode     | 2 | -    | = | = | 3
      web | absent | 0 | passcode=4           | secrets      | 0 | passcode wrong => lockedOut -1 | -            | 0 | 60   | = | = | 5!60
      """))
  func wrong(_ row: Case) { check(row) }

  @Test(
    "R13: locked or disabled is refused, right or wrong, and not counted",
    arguments: cases(
      """
      9.3 | set    | 0 | passcode=5!60           | login | 0 | passcode right => lockedOut -1 | bio         | 0 | 60 | = | = | =
      9.3 | set    | 0 | passcode=5!60           | login | 0 | passcode wrong => lockedOut -1 | bio         | 0 | 60 | = | = | =
      9.3 | set    | 0 | passcode=10!            | login | 0 | passcode right => lockedOut -1 | bio         | 0 | -  | = | = | =
      9.3 | set    | 0 | passcode=5!60 gesture   | login | 0 | passcode right => lockedOut -1 | bio,gesture | 0 | 60 | = | = | =
      9.3 | set    | 0 | gesture=10! passcode    | login | 0 | gesture right  => lockedOut -1 | bio,passcode | 0 | - | = | = | =
      web | absent | 0 | passcode=5!1            | login | 0 | passcode right => lockedOut -1 | -           | 0 | 1  | = | = | =
      # Without a lock, but beyond what this policy takes.
      9.3 | set    | 0 | passcode=4              | short-ladder | 0 | passcode right => lockedOut -1 | bio  | 0 | -  | = | = | =
      """))
  func locked(_ row: Case) { check(row) }

  @Test(
    "R4, R12: a right passcode clears its failures and the device's; a right gesture its own alone",
    arguments: cases(
      """
      9.3 | set      | 0  | passcode             | login | 0 | passcode right => succeeded | - | 5 | - | =  | 0. | 0
      9.3 | set      | 5! | passcode=4           | login | 2 | passcode right => succeeded | - | 5 | - | 0  | 2. | 0
      9.3 | set      | 3  | passcode=9           | login | 1 | passcode right => succeeded | - | 5 | - | 0  | 1. | 0
      9.3 | set      | 1! | passcode             | apple | 0 | passcode right => succeeded | - | 5 | - | 0  | 0. | 0
      9.3 locked     | set | 0  | passcode       | login | 0 | passcode right => succeeded | - | 5 | - | =  | 0. | 0
      9.3 | set      | 5! | gesture=4            | login | 0 | gesture right  => succeeded | - | 5 | - | =  | 0. | 0
      9.3 | set      | 3  | gesture=4            | login | 0 | gesture right  => succeeded | - | 5 | - | =  | 0. | 0
      web | absent   | 0  | passcode=4           | login | 0 | passcode right => succeeded | - | 5 | - | =  | 0. | 0
      # Neither a device that lacks all else stands in the way (R4, R9).
      9.3 no-passcode | set | 0 | passcode       | apple | 0 | passcode right => succeeded | - | 5 | - | =  | 0. | 0
      9.3 no-fingers  | set | 0 | passcode       | apple | 0 | passcode right => succeeded | - | 5 | - | =  | 0. | 0
      8.4             | set | 5! | passcode      | login | 0 | passcode right => succeeded | - | 5 | - | 0  | 0. | 0
      8.4             | set | 0 | passcode       | apple | 0 | passcode right => failed -6 | - | 5 | - | =  | =  | =
      """))
  func right(_ row: Case) { check(row) }

  @Test(
    "R17: what is off or not set is not verified and not counted, and nobody learns which",
    arguments: cases(
      """
      9.3 | set | 0 | -                          | login   | 0 | passcode right => factorRequired -6 | bio          | 0 | - | = | = | =
      9.3 | set | 0 | passcode=3 passcode-off    | login   | 0 | passcode right => factorRequired -6 | bio          | 0 | - | = | = | =
      9.3 | set | 0 | passcode=5!60 passcode-off | login   | 0 | passcode right => factorRequired -6 | bio          | 0 | - | = | = | =
      9.3 | set | 0 | passcode=3 passcode-unset  | login   | 0 | passcode right => factorRequired -6 | bio          | 0 | - | = | = | =
      9.3 | set | 0 | passcode                   | login   | 0 | gesture right  => factorRequired -6 | bio,passcode | 0 | - | = | = | =
      # Nor what the policy does not take, or a payment (R38), or who named nobody.
      9.3 | set    | 0 | passcode                | bio     | 0 | passcode right => factorRequired -6 | bio          | 0 | - | = | = | =
      9.3 | set    | 0 | gesture                 | apple   | 0 | gesture right  => factorRequired -6 | bio          | 0 | - | = | = | =
      9.3 | set    | 0 | passcode gesture        | payment | 0 | passcode right => factorRequired -6 | bio          | 0 | - | = | = | =
      9.3 | set    | 0 | passcode gesture        | secret-payment | 0 | gesture right => factorRequired -6 | bio    | 0 | - | = | = | =
      9.3 | bearer | 0 | passcode                | login   | 0 | passcode right => factorRequired -6 | bio          | 0 | - | = | = | =
      """))
  func notOffered(_ row: Case) { check(row) }

  @Test(
    "R27: a policy that requires domain state refuses devices that give none, by whatever factor of a binding",
    arguments: cases(
      """
      8.4          | set         | 0 | passcode | stateful | 0 | passcode right => failed -6 | - | 5 | - | = | =  | =
      9.3 no-state | set no-base | 0 | passcode | stateful | 0 | passcode right => failed -6 | - | 5 | - | = | =  | =
      9.3          | set         | 0 | passcode | stateful | 0 | passcode right => succeeded | - | 5 | - | = | 0. | 0
      web          | absent      | 0 | passcode | stateful | 0 | passcode right => succeeded | - | 5 | - | = | 0. | 0
      # No device is named: there is nothing to compare.
      web no-state | absent      | 0 | passcode | stateful | 0 | passcode right => succeeded | - | 5 | - | = | 0. | 0
      8.4          | absent      | 0 | passcode | stateful | 0 | passcode right => failed -6 | - | 5 | - | = | =  | =
      """))
  func domainStateRequired(_ row: Case) { check(row) }

  @Test(
    "R35, R36, R37: a finished evaluation refuses; on a binding that is not active, right is wrong",
    arguments: cases(
      """
      9.3 | set          | 0 | passcode   | login | 1. | passcode right => invalidContext -10 | -            | 0 | -  | = | = | =
      9.3 | set          | 0 | passcode=1 | login | 1. | passcode wrong => invalidContext -10 | -            | 0 | -  | = | = | =
      9.3 | set inactive | 0 | passcode=1 | login | 0  | passcode right => tryAgain -1        | bio,passcode | 3 | -  | = | = | 2
      9.3 | set inactive | 0 | passcode=1 | login | 0  | passcode wrong => tryAgain -1        | bio,passcode | 3 | -  | = | = | 2
      9.3 | set inactive | 0 | passcode=4 | login | 0  | passcode right => lockedOut -1       | bio          | 0 | 60 | = | = | 5!60
      """))
  func noSuccess(_ row: Case) { check(row) }

  // MARK: Between the phases

  @Test("R35: another attempt finished the evaluation meanwhile: no success, but the verdict is settled")
  func finishedMeanwhile() {
    var attempt = SecretAttempt(profile: "passcode=3")
    attempt.admit()
    attempt.facts.evaluation.isFinished = true
    let decision = attempt.decide(isRight: true)
    #expect((decision.outcome, decision.laError) == (.invalidContext, .invalidContext))
    #expect(decision.nextFactors.isEmpty && decision.domainState == nil && decision.attemptsLeft == 0)
    #expect(decision.secret?.failures == 0 && decision.device == nil && decision.evaluation == nil)
    #expect(attempt.decide(isRight: false).secret?.inFlight == 0)
  }

  @Test("R17, R36: switched off, or revoked, meanwhile: no success, but the verdict is settled")
  func switchedOffMeanwhile() {
    var off = SecretAttempt(profile: "passcode=3")
    off.admit()
    off.facts.profile.settings.isPasscodeEnabled = false
    let decision = off.decide(isRight: true)
    #expect((decision.outcome, decision.laError) == (.factorRequired, .biometryNotAvailable))
    #expect(decision.secret?.failures == 0 && decision.evaluation == nil)

    var revoked = SecretAttempt(profile: "passcode=3")
    revoked.admit()
    revoked.facts.binding.isActive = false
    #expect(revoked.decide(isRight: true) == revoked.decide(isRight: false))
    #expect(revoked.decide(isRight: true).outcome == .tryAgain)
    #expect(revoked.decide(isRight: true).secret?.failures == 4)
  }

  @Test("R14: while the budget is in flight, others wait, and Begin denies nothing")
  func pending() {
    var attempt = SecretAttempt(profile: "passcode=4")
    attempt.admit()
    #expect(attempt.policy.admitSecret(.passcode, attempt.facts) == .wait)
    let preflight = attempt.policy.preflight(
      posture: attempt.facts.posture, binding: attempt.facts.binding, device: attempt.facts.device,
      profile: attempt.facts.profile, now: attempt.facts.now)
    #expect(preflight.factors == [.biometry, .passcode])
  }

  @Test("R14: a verdict that comes after its time is up is right all the same")
  func lateVerdict() {
    var attempt = SecretAttempt(profile: "passcode=4")
    attempt.admit()
    attempt.facts.now = attempt.facts.now + SecretRules.verificationTimeLimit
    #expect(attempt.decide(isRight: true).outcome == .succeeded)
  }

  @Test(
    "R14: a factor that is no secret is neither admitted nor decided as one", arguments: [Factor.biometry, .primary])
  func noSecret(factor: Factor) {
    let attempt = SecretAttempt(profile: "passcode", policy: "all")
    guard case .refuse(let refusal) = attempt.policy.admitSecret(factor, attempt.facts) else {
      Issue.record("admitted")
      return
    }
    let decision = attempt.policy.decide(
      AttemptFacts(
        attempt.facts, attempt: .secret(factor, .init(generation: 0, failures: 1), isRight: true)))
    #expect(refusal.outcome == .factorRequired && decision.outcome == .factorRequired && decision.secret == nil)
  }

  private func check(_ row: Case) {
    let words = row.given[6].words
    let factor = Factor(table: words[0])
    var attempt = SecretAttempt(
      profile: row.given[3], policy: row.given[4], phone: row.given[0], binding: row.given[1], device: row.given[2],
      evaluation: row.given[5])
    let before = attempt.facts
    let decision: AttemptDecision
    switch attempt.policy.admitSecret(factor, attempt.facts) {
    case .verify(let reservation, let counted):
      #expect(reservation.failures == counted.failures)
      attempt.apply(factor, counted)
      decision = attempt.decide(factor, reservation, isRight: words[1] == "right")
    case .refuse(let refusal):
      #expect(refusal.secret == nil)
      decision = refusal
    case .wait:
      Issue.record("nothing is in flight")
      return
    }

    let outcome = row.expected[0].words
    #expect(decision.outcome == Outcome(table: outcome[0]))
    #expect(decision.laError == (outcome.count > 1 ? LAErrorCode(table: outcome[1]) : nil))
    #expect(decision.nextFactors == Factor.list(table: row.expected[1]))
    #expect(decision.attemptsLeft == UInt32(row.expected[2]))
    #expect(decision.retryAfter == Int64(row.expected[3]).map { .seconds($0) })
    #expect(decision.device == (row.expected[4] == "=" ? nil : BiometryStanding(table: row.expected[4])))
    #expect(decision.evaluation == (row.expected[5] == "=" ? nil : EvaluationStanding(table: row.expected[5])))
    let secret = decision.secret ?? attempt.facts.profile.secret(for: factor)
    let expected =
      row.expected[6] == "=" ? before.profile.secret(for: factor) : SecretStanding(table: row.expected[6])
    #expect((secret.failures, secret.lock, secret.inFlight) == (expected.failures, expected.lock, 0))
  }
}

/// What the service would do with the answers.
private struct SecretAttempt {
  let policy: EvaluationPolicy
  var facts: AdmissionFacts
  private var reservation: SecretAdmission.Reservation?

  init(
    profile: String, policy: String = "login", phone: String = "9.3", binding: String = "set", device: String = "0",
    evaluation: String = "0"
  ) {
    self.policy = EvaluationPolicy(table: policy)
    facts = AdmissionFacts(
      posture: DevicePosture(table: phone), binding: BindingStanding(table: binding)!,
      device: BiometryStanding(table: device), profile: ProfileStanding(table: profile),
      evaluation: EvaluationStanding(table: evaluation), now: .noon)
  }

  mutating func admit() {
    guard case .verify(let reservation, let counted) = policy.admitSecret(.passcode, facts) else {
      preconditionFailure("not admitted")
    }
    self.reservation = reservation
    facts.profile.passcode = counted
  }

  mutating func apply(_ factor: Factor, _ standing: SecretStanding) {
    if factor == .passcode { facts.profile.passcode = standing } else { facts.profile.gesture = standing }
  }

  func decide(isRight: Bool) -> AttemptDecision {
    decide(.passcode, reservation!, isRight: isRight)
  }

  func decide(_ factor: Factor, _ reservation: SecretAdmission.Reservation, isRight: Bool) -> AttemptDecision {
    policy.decide(AttemptFacts(facts, attempt: .secret(factor, reservation, isRight: isRight)))
  }
}
