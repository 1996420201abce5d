// Attempts as tables: phone | binding | device | policy | evaluation | attempt
// => outcome and code | next factors | attempts left | domain state | device | evaluation.
// "5!" is a locked device, "3." a finished evaluation; "=" says that a standing stays as it was.

import Testing
import TouchstonePolicy

@Suite struct AttemptTests {
  @Test(
    "R7: wrong attempts end the evaluation, then lock the device",
    arguments: cases(
      """
      9.3 | set | 0 | bio       | 0 | bio wrong => tryAgain -1  | bio | 4 | same | 1  | 1
      9.3 | set | 1 | bio       | 1 | bio wrong => tryAgain -1  | bio | 3 | same | 2  | 2
      9.3 | set | 2 | bio       | 2 | bio wrong => failed -1    | -   | 2 | same | 3  | 3.
      9.3 | set | 3 | bio       | 0 | bio wrong => tryAgain -1  | bio | 1 | same | 4  | 1
      9.3 | set | 4 | bio       | 1 | bio wrong => lockedOut -8 | -   | 0 | same | 5! | 2.
      # The failure that locks may also be the evaluation's last.
      9.3 | set | 4 | bio       | 2 | bio wrong => lockedOut -8 | -   | 0 | same | 5! | 3.
      9.3 | set | 4 | bio       | 0 | bio wrong => lockedOut -8 | -   | 0 | same | 5! | 1.
      # Numbers of the policy.
      9.3 | set | 1 | two-tries | 1 | bio wrong => failed -1    | -   | 3 | same | 2  | 2.
      9.3 | set | 2 | strict    | 0 | bio wrong => lockedOut -8 | -   | 0 | same | 3! | 1.
      9.3 | set | 3 | patient   | 3 | bio wrong => tryAgain -1  | bio | 1 | same | 4  | 4
      9.3 | set | 4 | patient   | 4 | bio wrong => lockedOut -8 | -   | 0 | same | 5! | 5.
      # Success sets the device's count to zero, and writes nothing where it was zero.
      9.3 | set | 0 | bio       | 0 | bio right => succeeded    | -   | 5 | same | =  | 0.
      9.3 | set | 4 | bio       | 0 | bio right => succeeded    | -   | 5 | same | 0  | 0.
      9.3 | set | 2 | bio       | 2 | bio right => succeeded    | -   | 5 | same | 0  | 2.
      9.3 | any | 2 | bio       | 2 | bio right => succeeded    | -   | 5 | same | 0  | 2.
      """))
  func wrongAttempts(_ row: Case) { check(row) }

  @Test(
    "R1, R5: what no longer holds refuses the attempt, right or wrong, and counts nothing",
    arguments: cases(
      """
      7.1                 | set | 1  | bio | 1 | bio right => failed -6    | - | 4 | same    | = | =
      7.1                 | set | 1  | bio | 1 | bio wrong => failed -6    | - | 4 | same    | = | =
      9.3 no-passcode     | set | 0  | bio | 0 | bio right => failed -5    | - | 5 | same    | = | =
      9.3 no-passcode     | set | 0  | bio | 0 | bio wrong => failed -5    | - | 5 | same    | = | =
      9.3 sensor-off      | set | 0  | bio | 0 | bio right => failed -6    | - | 5 | same    | = | =
      9.3 no-fingers      | set | 0  | bio | 0 | bio right => failed -7    | - | 5 | same    | = | =
      9.3 no-fingers      | set | 0  | bio | 0 | bio wrong => failed -7    | - | 5 | same    | = | =
      10.3 face           | set | 0  | bio | 0 | bio right => failed -6    | - | 5 | same    | = | =
      9.3                 | set | 5! | bio | 0 | bio right => lockedOut -8 | - | 0 | same    | = | =
      9.3                 | set | 5! | bio | 0 | bio wrong => lockedOut -8 | - | 0 | same    | = | =
      9.3 locked          | set | 0  | bio | 0 | bio right => lockedOut -8 | - | 0 | same    | = | =
      9.3 locked no-state | set | 0  | bio | 0 | bio wrong => lockedOut -8 | - | 0 | unknown | = | =
      # Another factor may still be at hand in the same evaluation.
      9.3 sensor-off | set presence | 0  | login | 1 | bio right => failed -6    | owner | 5 | same | = | =
      9.3 no-fingers | set presence | 0  | login | 0 | bio wrong => failed -7    | owner | 5 | same | = | =
      9.3            | set presence | 5! | login | 0 | bio right => lockedOut -8 | owner | 0 | same | = | =
      # Locked elsewhere between begin and submit (R36).
      9.3 | set presence | 5! | login | 2 | bio right => lockedOut -8 | owner | 0 | same | = | =
      # A stricter policy than the one that counted.
      9.3 | set | 3 | strict | 0 | bio right => lockedOut -8 | - | 0 | same | = | =
      # Device owner has obstacles of its own.
      8.4             | presence | 0 | login | 0 | owner right => failed -6 | - | 5 | same | = | =
      9.3 no-passcode | presence | 0 | login | 0 | owner right => failed -5 | - | 5 | same | = | =
      8.4             | set      | 0 | apple | 0 | bio right   => failed -6 | - | 5 | same | = | =
      # Domain state is demanded of every attempt, too (R27, R38).
      8.4          | set              | 0 | stateful | 0 | bio right   => failed -6 | - | 5 | same  | = | =
      9.3 no-state | set no-base      | 0 | payment  | 0 | bio right   => failed -6 | - | 5 | never | = | =
      9.3 no-state | set no-base      | 0 | payment  | 0 | bio wrong   => failed -6 | - | 5 | never | = | =
      9.3 no-state | passcode no-base | 0 | payment  | 0 | owner right => failed -6 | - | 5 | never | = | =
      9.3          | set no-base      | 0 | payment  | 0 | bio right   => factorRequired -6 | - | 5 | never | = | =
      9.3          | presence no-base | 0 | payment  | 0 | owner right => factorRequired -6 | - | 5 | never | = | =
      9.3          | passcode no-base | 0 | payment  | 0 | owner right => succeeded | - | 5 | never | = | 0.
      """))
  func refused(_ row: Case) { check(row) }

  @Test(
    "R3: before iOS 9 a lockout is answered with -1",
    arguments: cases(
      """
      8.4     | set | 4  | bio | 1 | bio wrong => lockedOut -1 | - | 0 | same | 5! | 2.
      8.4     | set | 5! | bio | 0 | bio right => lockedOut -1 | - | 0 | same | =  | =
      8.4     | set | 0  | bio | 0 | report -8 => lockedOut -1 | - | 0 | same | 0! | =
      9.0     | set | 5! | bio | 0 | bio right => lockedOut -8 | - | 0 | same | =  | =
      android | set | 4  | bio | 1 | bio wrong => lockedOut -8 | - | 0 | same | 5! | 2.
      """))
  func lockoutCode(_ row: Case) { check(row) }

  @Test(
    "R4, R12: device owner works on a locked device, and unlocks it",
    arguments: cases(
      """
      9.3           | presence     | 5! | login | 0 | owner right => succeeded    | -         | 5 | same    | 0  | 0.
      9.3           | passcode     | 5! | login | 2 | owner right => succeeded    | -         | 5 | same    | 0  | 2.
      9.3           | presence     | 1! | login | 0 | owner right => succeeded    | -         | 5 | same    | 0  | 0.
      9.3           | presence     | 0! | login | 0 | owner right => succeeded    | -         | 5 | same    | 0  | 0.
      9.3           | presence     | 3  | login | 0 | owner right => succeeded    | -         | 5 | same    | 0  | 0.
      9.3           | presence     | 0  | login | 0 | owner right => succeeded    | -         | 5 | same    | =  | 0.
      # It is read after the passcode was typed: by then the phone gives its domain state. Silent, it hides a change.
      9.3 locked    | presence     | 5! | login | 0 | owner right => succeeded    | -         | 3 | same    | 0  | 0.
      9.3 no-state  | presence     | 5! | login | 0 | owner right => factorRequired -6 | -    | 3 | changed | =  | =
      9.3 no-state locked | presence | 5! | login | 0 | owner right => factorRequired -6 | - | 3 | unknown | =  | =
      9.3 no-state locked | passcode | 5! | login | 0 | owner right => succeeded  | -         | 3 | unknown | 0  | 0.
      9.3 no-sensor | presence     | 0  | owner | 0 | owner right => succeeded    | -         | 5 | same    | =  | 0.
      # Wrong, it counts like biometrics; once the device is locked, the evaluation alone counts.
      9.3           | set presence | 0  | login | 0 | owner wrong => tryAgain -1  | bio,owner | 4 | same    | 1  | 1
      9.3           | set presence | 2  | login | 2 | owner wrong => failed -1    | -         | 2 | same    | 3  | 3.
      9.3           | set presence | 4  | login | 0 | owner wrong => lockedOut -8 | owner     | 2 | same    | 5! | 1
      9.3           | set presence | 5! | login | 0 | owner wrong => tryAgain -1  | owner     | 2 | same    | =  | 1
      9.3           | set presence | 5! | login | 1 | owner wrong => tryAgain -1  | owner     | 1 | same    | =  | 2
      9.3           | set presence | 5! | login | 2 | owner wrong => failed -1    | -         | 0 | same    | =  | 3.
      9.3 locked    | set presence | 0  | login | 0 | owner wrong => tryAgain -1  | owner     | 2 | same    | 1  | 1
      """))
  func deviceOwner(_ row: Case) { check(row) }

  @Test(
    "R9: where the device locks, the same evaluation goes on with device owner",
    arguments: cases(
      """
      9.3 | set presence | 4 | login | 0 | bio wrong => lockedOut -8 | owner | 0 | same | 5! | 1
      9.3 | set presence | 4 | login | 1 | bio wrong => lockedOut -8 | owner | 0 | same | 5! | 2
      # Not beyond its budget (R35), nor without a key for it, nor where the policy does not take it.
      9.3 | set presence | 4 | login | 2 | bio wrong => lockedOut -8 | -     | 0 | same | 5! | 3.
      9.3 | set          | 4 | login | 0 | bio wrong => lockedOut -8 | -     | 0 | same | 5! | 1.
      9.3 | set presence | 4 | bio   | 0 | bio wrong => lockedOut -8 | -     | 0 | same | 5! | 1.
      8.4 | set presence | 4 | login | 0 | bio wrong => lockedOut -1 | -     | 0 | same | 5! | 1.
      # At once where it is locked already.
      9.3 | set presence | 0 | login | 0 | report -8 => lockedOut -8 | owner | 0 | same | 0! | =
      """))
  func goesOn(_ row: Case) { check(row) }

  @Test(
    "R10, R11, R21: what a device reports",
    arguments: cases(
      """
      # -1 counts like a wrong proof.
      9.3           | set          | 0  | bio     | 0 | report -1 => tryAgain -1       | bio   | 4 | same    | 1  | 1
      9.3           | set          | 2  | bio     | 2 | report -1 => failed -1         | -     | 2 | same    | 3  | 3.
      9.3           | set          | 4  | bio     | 0 | report -1 => lockedOut -8      | -     | 0 | same    | 5! | 1.
      9.3           | set presence | 4  | login   | 0 | report -1 => lockedOut -8      | owner | 0 | same    | 5! | 1
      9.3           | set          | 5! | bio     | 0 | report -1 => lockedOut -8      | -     | 0 | same    | =  | =
      9.3 state=B   | set          | 0  | bio     | 0 | report -1 => tryAgain -1       | -     | 4 | changed | 1  | 1
      9.3           | presence     | 0  | owner   | 0 | report -1 => tryAgain -1       | owner | 4 | same    | 1  | 1
      9.3 no-sensor | presence     | 0  | owner   | 2 | report -1 => failed -1         | -     | 4 | same    | 1  | 3.
      9.3           | set          | 0  | secrets | 0 | report -1 => factorRequired -6 | -     | 5 | same    | =  | =
      # Cancels: to be tried again.
      9.3 | set presence | 1  | login | 1 | report -2 => canceled -2 | bio,owner | 4 | same | = | =
      9.3 | set          | 0  | bio   | 0 | report -4 => canceled -4 | bio       | 5 | same | = | =
      9.3 | set          | 0  | bio   | 0 | report -9 => canceled -9 | bio       | 5 | same | = | =
      9.3 | set          | 5! | bio   | 0 | report -2 => canceled -2 | -         | 0 | same | = | =
      # Fallback: every factor but biometry.
      9.3 | set presence | 1 | login | 1 | report -3 => fallback -3 | owner | 4 | same | = | =
      9.3 | set          | 1 | bio   | 1 | report -3 => fallback -3 | -     | 4 | same | = | =
      # Obstacles, in the device's own words.
      9.3            | set          | 0 | bio   | 0 | report -5 => failed -5 | bio   | 5 | same | = | =
      9.3 sensor-off | set presence | 2 | login | 1 | report -6 => failed -6 | owner | 3 | same | = | =
      9.3 no-fingers | set presence | 2 | login | 1 | report -7 => failed -7 | owner | 3 | same | = | =
      # -8 locks the device, and leaves the evaluation its budget.
      9.3                 | set          | 2  | bio   | 1 | report -8 => lockedOut -8 | -     | 0 | same    | 2! | =
      9.3 locked no-state | set presence | 0  | login | 0 | report -8 => lockedOut -8 | -     | 0 | unknown | 0! | =
      9.3 locked no-state | set passcode | 0  | login | 0 | report -8 => lockedOut -8 | owner | 0 | unknown | 0! | =
      9.3                 | set          | 5! | bio   | 0 | report -8 => lockedOut -8 | -     | 0 | same    | =  | =
      9.3                 | presence     | 0  | owner | 0 | report -8 => lockedOut -8 | owner | 0 | same    | 0! | =
      # -10 ends the evaluation for good.
      9.3 | set presence | 1 | login | 1 | report -10 => invalidContext -10 | - | 4 | same | = | 1.
      # All else.
      9.3 | set | 0 | bio | 0 | report -11   => failed -11   | bio | 5 | same | = | =
      9.3 | set | 0 | bio | 0 | report -12   => failed -12   | bio | 5 | same | = | =
      9.3 | set | 0 | bio | 0 | report -13   => failed -13   | bio | 5 | same | = | =
      9.3 | set | 0 | bio | 0 | report -14   => failed -14   | bio | 5 | same | = | =
      9.3 | set | 0 | bio | 0 | report -1004 => failed -1004 | bio | 5 | same | = | =
      9.3 | set | 3 | bio | 0 | report ?     => failed ?     | bio | 2 | same | = | =
      """))
  func reports(_ row: Case) { check(row) }

  @Test(
    "R22, R25: a changed domain state asks for a factor that biometrics do not unlock",
    arguments: cases(
      """
      9.3 state=B  | set         | 0 | bio | 0 | bio right => factorRequired -6 | - | 5 | changed    | = | =
      9.3 state=B  | any         | 3 | bio | 2 | bio right => factorRequired -6 | - | 2 | changed    | = | =
      9.3 no-state | set         | 0 | bio | 0 | bio right => factorRequired -6 | - | 5 | changed    | = | =
      10.0 state=B | set         | 0 | bio | 0 | bio right => factorRequired -6 | - | 5 | changed-os | = | =
      10.0         | set         | 0 | bio | 0 | bio right => succeeded         | - | 5 | same       | = | 0.
      9.3 state=B  | set no-base | 0 | bio | 0 | bio right => succeeded         | - | 5 | never      | = | 0.
      # Right is right only with the key; wrong counts as ever.
      9.3 state=B | set          | 0 | bio   | 0 | bio wrong => tryAgain -1 | -     | 4 | changed | 1 | 1
      9.3 state=B | set passcode | 0 | login | 0 | bio wrong => tryAgain -1 | owner | 4 | changed | 1 | 1
      # The device's passcode serves; a key that the new finger may have unlocked does not.
      9.3 state=B | set passcode | 0  | login | 0 | bio right   => factorRequired -6 | owner | 5 | changed | = | =
      9.3 state=B | set passcode | 0  | login | 0 | owner right => succeeded         | -     | 5 | changed | = | 0.
      9.3 state=B | set presence | 0  | login | 0 | bio right   => factorRequired -6 | -     | 5 | changed | = | =
      9.3 state=B | set presence | 0  | login | 0 | owner right => factorRequired -6 | -     | 5 | changed | = | =
      9.3 state=B | set presence | 0  | login | 0 | owner wrong => tryAgain -1       | -     | 4 | changed | 1 | 1
      9.3 state=B | set presence | 5! | login | 0 | owner right => factorRequired -6 | -     | 3 | changed | = | =
      9.3 state=B | set passcode | 5! | login | 0 | owner right => succeeded         | -     | 5 | changed | 0 | 0.
      # While locked and silent, the device is not suspected.
      9.3 locked no-state | set presence | 5! | login | 0 | owner right => factorRequired -6 | - | 3 | unknown | = | =
      9.3 locked no-state | set presence | 0  | login | 0 | owner wrong => tryAgain -1 | - | 2 | unknown | 1 | 1
      # A payment, likewise.
      9.3         | set          | 0 | payment | 0 | bio right => succeeded         | -     | 5 | same    | = | 0.
      9.3 state=B | set passcode | 0 | payment | 0 | bio right => factorRequired -6 | owner | 5 | changed | = | =
      """))
  func changedDomainState(_ row: Case) { check(row) }

  @Test(
    "R31: the policy's factors and the keys it demands",
    arguments: cases(
      """
      9.3 | any          | 0 | set-only      | 0 | bio right      => factorRequired -6 | -     | 5 | same | = | =
      9.3 | any presence | 0 | set-only      | 0 | bio right      => factorRequired -6 | owner | 5 | same | = | =
      9.3 | any          | 0 | set-only      | 0 | bio wrong      => tryAgain -1       | -     | 4 | same | 1 | 1
      9.3 | set          | 0 | set-only      | 0 | bio right      => succeeded         | -     | 5 | same | = | 0.
      9.3 | set any      | 0 | set-only      | 0 | bio right      => factorRequired -6 | -     | 5 | same | = | =
      9.3 | presence     | 0 | passcode-only | 0 | owner right    => factorRequired -6 | -     | 5 | same | = | =
      9.3 | passcode     | 0 | passcode-only | 0 | owner right    => succeeded         | -     | 5 | same | = | 0.
      # Factors that the policy does not take, or that no key proves: not even a wrong proof counts.
      9.3 | set presence | 0 | bio           | 0 | owner right    => factorRequired -6 | bio   | 5 | same | = | =
      9.3 | set presence | 0 | bio           | 0 | owner wrong    => factorRequired -6 | bio   | 5 | same | = | =
      9.3 | set presence | 0 | owner         | 0 | bio right      => factorRequired -6 | owner | 5 | same | = | =
      9.3 | set          | 0 | all           | 0 | passcode right => factorRequired -6 | bio,primary | 5 | same | = | =
      9.3 | set          | 0 | all           | 0 | gesture right  => factorRequired -6 | bio,primary | 5 | same | = | =
      9.3 | set          | 0 | all           | 0 | passkey right  => factorRequired -6 | bio,primary | 5 | same | = | =
      9.3 | set          | 0 | all           | 0 | primary right  => factorRequired -6 | bio,primary | 5 | same | = | =
      # A proof claimed right for a key that is not there is none.
      9.3 | set          | 0 | login         | 0 | owner right    => factorRequired -6 | bio   | 5 | same | = | =
      9.3 | keyless      | 0 | login         | 0 | bio right      => factorRequired -6 | -     | 5 | same | = | =
      9.3 | touch-id     | 0 | payment       | 0 | bio right      => factorRequired -6 | -     | 5 | same | = | =
      """))
  func demands(_ row: Case) { check(row) }

  @Test(
    "R35: a finished evaluation stays finished, and says nothing else",
    arguments: cases(
      """
      9.3 | set          | 0  | bio   | 0. | bio right   => invalidContext -10 | - | 0 | . | = | =
      9.3 | set          | 3  | bio   | 3. | bio right   => invalidContext -10 | - | 0 | . | = | =
      9.3 | set          | 3  | bio   | 3. | bio wrong   => invalidContext -10 | - | 0 | . | = | =
      9.3 | set presence | 5! | login | 1. | owner right => invalidContext -10 | - | 0 | . | = | =
      9.3 | set          | 0  | bio   | 1. | report -1   => invalidContext -10 | - | 0 | . | = | =
      9.3 | set          | 0  | bio   | 1. | report -8   => invalidContext -10 | - | 0 | . | = | =
      9.3 | set          | 0  | bio   | 1. | report -10  => invalidContext -10 | - | 0 | . | = | =
      9.3 | set          | 0  | bio   | 1. | report ?    => invalidContext -10 | - | 0 | . | = | =
      7.1 | set          | 0  | bio   | 1. | bio right   => invalidContext -10 | - | 0 | . | = | =
      """))
  func finished(_ row: Case) { check(row) }

  @Test(
    "R37: on a binding that is not active, right is wrong",
    arguments: cases(
      """
      9.3             | set      | 0  | bio      | 0 | bio right   => tryAgain -1  | bio   | 4 | same    | 1  | 1
      9.3             | set      | 2  | bio      | 2 | bio right   => failed -1    | -     | 2 | same    | 3  | 3.
      9.3             | set      | 4  | bio      | 0 | bio right   => lockedOut -8 | -     | 0 | same    | 5! | 1.
      9.3             | passcode | 5! | login    | 0 | owner right => tryAgain -1  | owner | 2 | same    | =  | 1
      9.3 state=B     | set      | 0  | bio      | 0 | bio right   => tryAgain -1  | -     | 4 | changed | 1  | 1
      9.3             | any      | 0  | set-only | 0 | bio right   => tryAgain -1  | -     | 4 | same    | 1  | 1
      9.3 no-passcode | set      | 0  | bio      | 0 | bio right   => failed -5    | -     | 5 | same    | =  | =
      """))
  func inactive(_ row: Case) { check(row, isActive: false) }

  private func check(_ row: Case, isActive: Bool = true) {
    var facts = AttemptFacts(
      posture: DevicePosture(table: row.given[0]), binding: BindingStanding(table: row.given[1])!,
      device: BiometryStanding(table: row.given[2]), profile: .none,
      evaluation: EvaluationStanding(table: row.given[4]), now: .noon, attempt: Attempt(table: row.given[5]))
    facts.binding.isActive = isActive
    let decision = EvaluationPolicy(table: row.given[3]).decide(facts)

    let outcome = row.expected[0].words
    #expect(decision.outcome == Outcome(table: outcome[0]))
    #expect(decision.laError == (outcome.count > 1 ? LAErrorCode(table: outcome[1]) : nil))
    #expect(decision.nextFactors == Factor.list(table: row.expected[1]))
    #expect(decision.attemptsLeft == UInt32(row.expected[2]))
    #expect(decision.domainState == DomainStateVerdict(table: row.expected[3]))
    #expect(decision.device == (row.expected[4] == "=" ? nil : BiometryStanding(table: row.expected[4])))
    #expect(decision.evaluation == (row.expected[5] == "=" ? nil : EvaluationStanding(table: row.expected[5])))
    // R18: from the evaluation's first failure on.
    let evaluation = decision.evaluation ?? facts.evaluation
    #expect(decision.isFallbackVisible == (evaluation.failures > 0 && decision.domainState != nil))
    #expect(decision.retryAfter == nil)
  }
}
