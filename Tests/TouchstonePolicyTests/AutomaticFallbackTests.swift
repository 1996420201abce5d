// R9: an evaluation that falls back by itself, as tables like those of `AttemptTests`, with the profile:
// phone | binding | device | profile | policy | evaluation | attempt
// => outcome and code | next factors | attempts left | device | evaluation.
// "3+1" is an evaluation with three biometric failures, and one by device owner.

import Testing
import TouchstonePolicy

@Suite struct AutomaticFallbackTests {
  @Test(
    "R9: after three failures the same evaluation goes on with what remains",
    arguments: cases(
      """
      9.3 | set presence | 0 | passcode | apple | 0 | bio wrong  => tryAgain -1       | bio,owner,passcode | 4 | 1 | 1
      9.3 | set presence | 1 | passcode | apple | 1 | bio wrong  => tryAgain -1       | bio,owner,passcode | 3 | 2 | 2
      9.3 | set presence | 2 | passcode | apple | 2 | bio wrong  => factorRequired -1 | owner,passcode     | 2 | 3 | 3
      9.3 | set presence | 2 | -        | apple | 2 | bio wrong  => factorRequired -1 | owner              | 2 | 3 | 3
      9.3 | set          | 2 | passcode | apple | 2 | report -1  => factorRequired -1 | passcode           | 2 | 3 | 3
      9.3 | touch-id     | 2 | passcode | apple | 2 | touch-id wrong => factorRequired -1 | passcode       | 2 | 3 | 3
      # A policy may say two.
      9.3 | set | 1 | passcode | falling-after-two | 1 | bio wrong => factorRequired -1 | passcode | 3 | 2 | 2
      # Where nothing remains, it has ended (R7).
      9.3 | set | 2 | -        | apple | 2 | bio wrong => failed -1 | - | 2 | 3 | 3.
      9.3 | set | 2 | passcode=5!60 | apple | 2 | bio wrong => failed -1 | - | 2 | 3 | 3.
      # Biometrics are over in this evaluation: right or wrong, and uncounted.
      9.3 | set presence | 3 | passcode | apple | 3 | bio right => factorRequired -6 | owner,passcode | 2 | = | =
      9.3 | set presence | 3 | passcode | apple | 3 | bio wrong => factorRequired -6 | owner,passcode | 2 | = | =
      9.3 | set presence | 3 | passcode | apple | 3 | report -1 => factorRequired -6 | owner,passcode | 2 | = | =
      9.3 | set presence | 0 | passcode | apple | 3 | bio right => factorRequired -6 | owner,passcode | 5 | = | =
      # What else a device says changes nothing.
      9.3 | set presence | 3 | passcode | apple | 3 | report -2 => canceled -2 | owner,passcode | 2 | = | =
      9.3 | set presence | 1 | passcode | apple | 1 | report -3 => fallback -3 | owner,passcode | 4 | = | =
      """))
  func afterFailures(_ row: Case) { check(row) }

  @Test(
    "R9: where biometrics are locked, at once",
    arguments: cases(
      """
      # The failure that locks says so; the next is told what else there is.
      9.3        | set presence | 4  | passcode | apple   | 0 | bio wrong => lockedOut -8      | owner,passcode | 0 | 5! | 1
      9.3        | set presence | 4  | passcode | apple   | 2 | bio wrong => lockedOut -8      | owner,passcode | 0 | 5! | 3
      9.3        | set          | 4  | -        | apple   | 0 | bio wrong => lockedOut -8      | -              | 0 | 5! | 1.
      9.3        | set          | 5! | passcode | apple   | 0 | bio right => factorRequired -8 | passcode       | 0 | =  | =
      9.3        | set          | 5! | passcode | apple   | 0 | bio wrong => factorRequired -8 | passcode       | 0 | =  | =
      9.3 locked | set          | 0  | passcode | apple   | 0 | bio right => factorRequired -8 | passcode       | 0 | =  | =
      9.3        | set          | 5! | -        | apple   | 0 | bio right => lockedOut -8      | -              | 0 | =  | =
      9.3        | set          | 0  | passcode | apple   | 0 | report -8 => lockedOut -8      | passcode       | 0 | 0! | =
      # Before iOS 9, -1, and the passcode at once (R3).
      8.4        | set          | 5! | passcode | falling | 0 | bio right => factorRequired -1 | passcode       | 0 | =  | =
      8.4        | set          | 4  | passcode | falling | 0 | bio wrong => lockedOut -1      | passcode       | 0 | 5! | 1
      # With a button, the person is told that it is locked.
      9.3        | set          | 5! | passcode | login   | 0 | bio right => lockedOut -8      | passcode       | 0 | =  | =
      9.3        | set          | 4  | passcode | login   | 0 | bio wrong => lockedOut -8      | passcode       | 0 | 5! | 1
      9.3        | set          | 2  | passcode | login   | 2 | bio wrong => failed -1         | -              | 2 | 3  | 3.
      """))
  func whereLocked(_ row: Case) { check(row) }

  @Test(
    "R9: device owner has a budget of its own",
    arguments: cases(
      """
      9.3 | set presence | 3  | passcode | apple | 3   | owner wrong => tryAgain -1       | owner,passcode | 2 | 4  | 3+1
      9.3 | set presence | 5! | passcode | apple | 3   | owner wrong => tryAgain -1       | owner,passcode | 2 | =  | 3+1
      9.3 | set presence | 5! | passcode | apple | 3+1 | owner wrong => tryAgain -1       | owner,passcode | 1 | =  | 3+2
      9.3 | set presence | 5! | passcode | apple | 3+2 | owner wrong => factorRequired -1 | passcode       | 0 | =  | 3+3
      9.3 | set presence | 5! | -        | apple | 3+2 | owner wrong => failed -1         | -              | 0 | =  | 3+3.
      9.3 | set presence | 5! | passcode | apple | 3+3 | owner right => factorRequired -6 | passcode       | 0 | =  | =
      9.3 | set presence | 5! | passcode | apple | 3+2 | owner right => succeeded         | -              | 1 | 0  | 3+2.
      9.3 | set presence | 0  | passcode | apple | 0+2 | owner wrong => factorRequired -1 | bio,passcode   | 0 | 1  | 0+3
      """))
  func deviceOwnersBudget(_ row: Case) { check(row) }

  @Test("R9, R18: no fallback button, however many failures")
  func noButton() {
    for evaluation in ["0", "2", "3", "3+2"] {
      let decision = decide(
        cells: ["9.3", "set presence", "2", "passcode", "apple", evaluation, "bio wrong"])
      #expect(!decision.isFallbackVisible)
    }
    #expect(decide(cells: ["9.3", "set presence", "2", "passcode", "login", "1", "bio wrong"]).isFallbackVisible)
  }

  @Test(
    "R4: deviceOwnerAuthentication stays evaluable while a passcode exists, the device's or the service's",
    arguments: cases(
      """
      # phone | binding | device | profile => answer | factors
      9.3             | set          | 5! | passcode                   => yes                  | passcode
      9.3             | set presence | 5! | -                          => yes                  | owner
      9.3 no-passcode | set presence | 0  | passcode                   => yes                  | passcode
      9.3 no-passcode | set presence | 0  | -                          => -5 PASSCODE_NOT_SET  | -
      9.3             | set          | 5! | -                          => -8 BIOMETRY_LOCKOUT  | -
      9.3             | set          | 5! | gesture                    => -8 BIOMETRY_LOCKOUT  | -
      9.3             | set          | 5! | passcode=5!60              => -8 BIOMETRY_LOCKOUT  | -
      web             | absent       | 0  | passcode                   => yes                  | passcode
      web             | absent       | 0  | passcode=5!60              => -1 PASSCODE_LOCKED   | -
      web             | absent       | 0  | passcode=10!               => -1 PASSCODE_DISABLED | -
      web             | absent       | 0  | -                          => -6 NO_USABLE_FACTOR  | -
      8.4             | set          | 0  | passcode                   => -6 OS_TOO_OLD        | -
      """))
  func evaluable(_ row: Case) {
    let preflight = EvaluationPolicy(table: "apple").preflight(
      posture: DevicePosture(table: row.given[0]), binding: BindingStanding(table: row.given[1]),
      device: BiometryStanding(table: row.given[2]), profile: ProfileStanding(table: row.given[3]), now: .noon)
    #expect((preflight.denial.map { "\($0.code.rawValue) \($0.reason.rawValue)" } ?? "yes") == row.expected[0])
    #expect(preflight.factors == Factor.list(table: row.expected[1]))
  }

  private func check(_ row: Case) {
    let decision = decide(cells: row.given)
    let outcome = row.expected[0].words
    #expect(decision.outcome == Outcome(table: outcome[0]))
    #expect(decision.laError == (outcome.count > 1 ? LAErrorCode(table: outcome[1]) : nil))
    #expect(decision.nextFactors == Factor.list(table: row.expected[1]))
    #expect(decision.attemptsLeft == UInt32(row.expected[2]))
    #expect(decision.device == (row.expected[3] == "=" ? nil : BiometryStanding(table: row.expected[3])))
    #expect(decision.evaluation == (row.expected[4] == "=" ? nil : EvaluationStanding(table: row.expected[4])))
  }

  private func decide(cells: [String]) -> AttemptDecision {
    EvaluationPolicy(table: cells[4]).decide(
      AttemptFacts(
        posture: DevicePosture(table: cells[0]), binding: BindingStanding(table: cells[1])!,
        device: BiometryStanding(table: cells[2]), profile: ProfileStanding(table: cells[3]),
        evaluation: EvaluationStanding(table: cells[5]), now: .noon, attempt: Attempt(table: cells[6])))
  }
}
