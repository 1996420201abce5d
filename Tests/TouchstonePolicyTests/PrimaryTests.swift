// The caller's own login as a factor (R25, R28).

import Testing
import TouchstonePolicy

@Suite struct PrimaryTests {
  @Test(
    "R25, R28: fresh primary authentication succeeds where the policy takes it, and clears nothing but itself (R12)",
    arguments: cases(
      """
      # phone | binding | device | policy | evaluation | attempt => outcome and code | next factors | device | evaluation
      9.3         | set          | 0  | all     | 0  | primary fresh  => succeeded            | -                 | = | 0.
      9.3         | set          | 5! | all     | 2  | primary fresh  => succeeded            | -                 | = | 2.
      9.3 state=B | set          | 0  | all     | 0  | primary fresh  => succeeded            | -                 | = | 0.
      web         | absent       | 0  | primary | 0  | primary fresh  => succeeded            | -                 | = | 0.
      7.1         | set          | 0  | all     | 0  | primary fresh  => succeeded            | -                 | = | 0.
      9.3         | set          | 0  | all     | 0  | primary old    => failed -1            | bio,primary       | = | =
      9.3         | set          | 0  | all     | 0  | primary future => failed -1            | bio,primary       | = | =
      9.3         | set inactive | 0  | all     | 0  | primary fresh  => failed -1            | bio,primary       | = | =
      9.3         | set          | 0  | login   | 0  | primary fresh  => factorRequired -6    | bio               | = | =
      9.3         | set          | 0  | secret-payment | 0 | primary fresh => factorRequired -6 | bio             | = | =
      9.3         | set          | 0  | all     | 0. | primary fresh  => invalidContext -10   | -                 | = | =
      """))
  func primary(_ row: Case) {
    let decision = EvaluationPolicy(table: row.given[3]).decide(
      AttemptFacts(
        posture: DevicePosture(table: row.given[0]), binding: BindingStanding(table: row.given[1])!,
        device: BiometryStanding(table: row.given[2]), profile: .none,
        evaluation: EvaluationStanding(table: row.given[4]), now: .noon, attempt: Attempt(table: row.given[5])))
    let outcome = row.expected[0].words
    #expect(decision.outcome == Outcome(table: outcome[0]))
    #expect(decision.laError == (outcome.count > 1 ? LAErrorCode(table: outcome[1]) : nil))
    #expect(decision.nextFactors == Factor.list(table: row.expected[1]))
    #expect(decision.device == (row.expected[2] == "=" ? nil : BiometryStanding(table: row.expected[2])))
    #expect(decision.evaluation == (row.expected[3] == "=" ? nil : EvaluationStanding(table: row.expected[3])))
  }
}
