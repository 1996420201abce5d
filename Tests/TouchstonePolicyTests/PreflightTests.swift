// canEvaluatePolicy as tables: phone | binding | device | policy => answer | domain state | factors | attempts left.
// The answer is "yes", or the denial's code and reason.

import Testing
import TouchstonePolicy

@Suite struct PreflightTests {
  @Test(
    "R1: the first obstacle in R1's order is the answer",
    arguments: cases(
      """
      9.3                                          | none | 0  | bio => yes                       | .       | bio | 5
      7.1 no-passcode sensor-off no-fingers locked | none | 5! | bio => -6 OS_TOO_OLD             | .       | -   | 0
      7.1                                          | none | 0  | bio => -6 OS_TOO_OLD             | .       | -   | 5
      9.3 no-passcode sensor-off no-fingers locked | none | 5! | bio => -5 PASSCODE_NOT_SET       | .       | -   | 0
      9.3 no-passcode                              | none | 0  | bio => -5 PASSCODE_NOT_SET       | .       | -   | 5
      9.3 no-passcode no-fingers                   | none | 0  | bio => -5 PASSCODE_NOT_SET       | .       | -   | 5
      9.3 sensor-off no-fingers locked             | none | 5! | bio => -6 BIOMETRY_NOT_AVAILABLE | .       | -   | 0
      9.3 sensor-off                               | none | 0  | bio => -6 BIOMETRY_NOT_AVAILABLE | .       | -   | 5
      9.3 no-sensor                                | none | 0  | bio => -6 BIOMETRY_NOT_AVAILABLE | .       | -   | 5
      9.3 no-sensor no-fingers                     | none | 0  | bio => -6 BIOMETRY_NOT_AVAILABLE | .       | -   | 5
      9.3 no-fingers locked                        | none | 5! | bio => -7 BIOMETRY_NOT_ENROLLED  | .       | -   | 0
      9.3 no-fingers                               | none | 0  | bio => -7 BIOMETRY_NOT_ENROLLED  | .       | -   | 5
      9.3 locked                                   | none | 0  | bio => -8 BIOMETRY_LOCKOUT       | .       | -   | 0
      9.3                                          | none | 5! | bio => -8 BIOMETRY_LOCKOUT       | .       | -   | 0
      9.3 locked                                   | none | 5! | bio => -8 BIOMETRY_LOCKOUT       | .       | -   | 0
      # With a binding nothing is different.
      7.1 no-passcode                              | set  | 5! | bio => -6 OS_TOO_OLD             | same    | -   | 0
      9.3 no-passcode sensor-off                   | set  | 5! | bio => -5 PASSCODE_NOT_SET       | same    | -   | 0
      9.3 sensor-off no-fingers                    | set  | 5! | bio => -6 BIOMETRY_NOT_AVAILABLE | same    | -   | 0
      9.3 no-fingers                               | set  | 5! | bio => -7 BIOMETRY_NOT_ENROLLED  | same    | -   | 0
      9.3 no-fingers no-state                      | set  | 0  | bio => -7 BIOMETRY_NOT_ENROLLED  | changed | -   | 5
      9.3                                          | set  | 5! | bio => -8 BIOMETRY_LOCKOUT       | same    | -   | 0
      """))
  func firstObstacle(_ row: Case) { check(row) }

  @Test(
    "R2: the platform table",
    arguments: cases(
      """
      7.1.2             | none | 0 | bio     => -6 OS_TOO_OLD             | . | -         | 5
      8                 | none | 0 | bio     => yes                       | . | bio       | 5
      8.0               | none | 0 | bio     => yes                       | . | bio       | 5
      8.0.0             | none | 0 | bio     => yes                       | . | bio       | 5
      iPadOS-7.9        | none | 0 | bio     => -6 OS_TOO_OLD             | . | -         | 5
      iPadOS-13         | none | 0 | bio     => yes                       | . | bio       | 5
      # Face ID came with 11.0; other sensors have the oldest floor.
      10.3.4 face       | none | 0 | bio     => -6 OS_TOO_OLD             | . | -         | 5
      11.0 face         | none | 0 | bio     => yes                       | . | bio       | 5
      17.4 face         | none | 0 | bio     => yes                       | . | bio       | 5
      8.0 typeless      | none | 0 | bio     => yes                       | . | bio       | 5
      8.0 optic         | none | 0 | bio     => yes                       | . | bio       | 5
      # deviceOwnerAuthentication came with 9.0: Apple's policy as a whole, the factor in others.
      8.4               | none | 0 | apple   => -6 OS_TOO_OLD             | . | -         | 5
      9.0               | none | 0 | apple   => yes                       | . | bio,owner | 5
      8.4               | none | 0 | login   => yes                       | . | bio       | 5
      8.4               | none | 0 | owner   => -6 OS_TOO_OLD             | . | -         | 5
      9.0               | none | 0 | owner   => yes                       | . | owner     | 5
      10.3 face         | none | 0 | login   => yes                       | . | owner     | 5
      # Versions compare by number.
      10.0              | none | 0 | apple   => yes                       | . | bio,owner | 5
      8.10              | none | 0 | apple   => -6 OS_TOO_OLD             | . | -         | 5
      # 10.1 shows its prompt late; it is not refused.
      10.1              | none | 0 | bio     => yes                       | . | bio       | 5
      # Elsewhere there is no floor, nor need of a version.
      macOS             | none | 0 | apple   => yes                       | . | bio,owner | 5
      android-6         | none | 0 | apple   => yes                       | . | bio,owner | 5
      android           | none | 0 | payment => -6 PLATFORM_NOT_SERVED    | . | -         | 5
      macOS             | none | 0 | payment => yes                       | . | bio,owner | 5
      web               | none | 0 | bio     => yes                       | . | bio       | 5
      macOS-10.12 face  | none | 0 | bio     => yes                       | . | bio       | 5
      android no-sensor | none | 0 | bio     => -6 BIOMETRY_NOT_AVAILABLE | . | -         | 5
      """))
  func platformTable(_ row: Case) { check(row) }

  @Test(
    "R3: before iOS 9 a locked device answers -1",
    arguments: cases(
      """
      8.4        | none         | 5! | bio   => -1 BIOMETRY_LOCKOUT | .    | - | 0
      8.4 locked | none         | 0  | bio   => -1 BIOMETRY_LOCKOUT | .    | - | 0
      8.4        | set presence | 5! | login => -1 BIOMETRY_LOCKOUT | same | - | 0
      iPadOS-8.1 | set          | 5! | bio   => -1 BIOMETRY_LOCKOUT | same | - | 0
      9.0        | set          | 5! | bio   => -8 BIOMETRY_LOCKOUT | same | - | 0
      iPadOS-13  | set          | 5! | bio   => -8 BIOMETRY_LOCKOUT | same | - | 0
      android-6  | set          | 5! | bio   => -8 BIOMETRY_LOCKOUT | same | - | 0
      web        | set          | 5! | bio   => -8 BIOMETRY_LOCKOUT | same | - | 0
      """))
  func lockoutCode(_ row: Case) { check(row) }

  @Test(
    "R4: locked biometrics leave device owner, as long as there is a passcode",
    arguments: cases(
      """
      9.3 locked      | none         | 5! | apple       => yes                      | .    | owner     | 0
      9.3             | set presence | 5! | apple       => yes                      | same | owner     | 0
      9.3             | set passcode | 5! | login       => yes                      | same | owner     | 0
      9.3             | set passcode | 2! | login       => yes                      | same | owner     | 0
      9.3             | set passcode | 5! | owner       => yes                      | same | owner     | 0
      9.3 no-passcode | set presence | 5! | apple       => -5 PASSCODE_NOT_SET      | same | -         | 0
      9.3 no-passcode | set presence | 0  | apple       => -5 PASSCODE_NOT_SET      | same | -         | 5
      9.3 no-passcode | set presence | 0  | owner       => -5 PASSCODE_NOT_SET      | same | -         | 5
      9.3             | set          | 5! | login       => -8 BIOMETRY_LOCKOUT      | same | -         | 0
      # Neither a missing sensor nor missing fingers matter to device owner.
      9.3 no-sensor   | set presence | 0  | login       => yes                      | same | owner     | 5
      9.3 sensor-off  | set presence | 0  | login       => yes                      | same | owner     | 5
      9.3 no-fingers  | set presence | 0  | login       => yes                      | same | owner     | 5
      9.3 no-fingers  | set          | 0  | login       => -7 BIOMETRY_NOT_ENROLLED | same | -         | 5
      9.3 no-sensor   | none         | 0  | owner       => yes                      | .    | owner     | 5
      # The denial is that of the policy's first factor.
      8.4 no-fingers  | none         | 0  | login       => -7 BIOMETRY_NOT_ENROLLED | .    | -         | 5
      8.4 no-fingers  | none         | 0  | owner-first => -6 OS_TOO_OLD            | .    | -         | 5
      9.3             | none         | 0  | owner-first => yes                      | .    | owner,bio | 5
      """))
  func lockedOut(_ row: Case) { check(row) }

  @Test(
    "R7: attempts left before the device locks",
    arguments: cases(
      """
      9.3        | set | 1  | bio    => yes                 | same | bio | 4
      9.3        | set | 3  | bio    => yes                 | same | bio | 2
      9.3        | set | 4  | bio    => yes                 | same | bio | 1
      9.3        | set | 2  | strict => yes                 | same | bio | 1
      # A stricter policy takes the count another one left open for what it is to it.
      9.3        | set | 3  | strict => -8 BIOMETRY_LOCKOUT | same | -   | 0
      9.3        | set | 4  | strict => -8 BIOMETRY_LOCKOUT | same | -   | 0
      # A device locked by a report alone has no attempts left either.
      9.3        | set | 0! | bio    => -8 BIOMETRY_LOCKOUT | same | -   | 0
      9.3 locked | set | 1  | bio    => -8 BIOMETRY_LOCKOUT | same | -   | 0
      """))
  func attemptsLeft(_ row: Case) { check(row) }

  @Test(
    "R22, R25: a changed domain state denies nothing, but leaves no factor that biometrics unlock",
    arguments: cases(
      """
      9.3                 | set          | 0  | bio   => yes                 | same       | bio   | 5
      9.3 state=B         | set          | 0  | bio   => yes                 | changed    | -     | 5
      10.0 state=B        | set          | 0  | bio   => yes                 | changed-os | -     | 5
      9.3 no-state        | set          | 0  | bio   => yes                 | changed    | -     | 5
      9.3 state=B         | any          | 0  | bio   => yes                 | changed    | -     | 5
      9.3 state=B         | touch-id     | 0  | bio   => yes                 | changed    | -     | 5
      9.3 state=B         | set presence | 0  | login => yes                 | changed    | -     | 5
      9.3 state=B         | set passcode | 0  | login => yes                 | changed    | owner | 5
      10.0 state=B        | set passcode | 0  | login => yes                 | changed-os | owner | 5
      9.3 state=B         | presence     | 0  | owner => yes                 | changed    | -     | 5
      9.3 state=B         | passcode     | 0  | owner => yes                 | changed    | owner | 5
      9.3 state=B         | set no-base  | 0  | bio   => yes                 | never      | bio   | 5
      9.3 no-state        | set no-base  | 0  | bio   => yes                 | never      | bio   | 5
      # R1 comes first: locked is a denial, changed or not.
      9.3 state=B         | set          | 5! | bio   => -8 BIOMETRY_LOCKOUT | changed    | -     | 0
      9.3 no-state locked | set          | 0  | bio   => -8 BIOMETRY_LOCKOUT | unknown    | -     | 0
      9.3 no-state        | set          | 5! | bio   => -8 BIOMETRY_LOCKOUT | changed    | -     | 0
      # A lock that the phone claims hides no change; its passcode ends the lock, and then the phone can tell.
      9.3 no-state locked | set presence | 5! | login => yes                 | unknown    | -     | 0
      9.3 no-state locked | set passcode | 5! | login => yes                 | unknown    | owner | 0
      9.3                 | set presence | 5! | login => yes                 | same       | owner | 0
      9.3 no-state locked | presence no-base | 5! | login => yes             | unknown    | owner | 0
      9.3 state=B locked  | set presence | 5! | login => yes                 | changed    | -     | 0
      9.3 state=B locked  | set passcode | 5! | login => yes                 | changed    | owner | 0
      """))
  func changedDomainState(_ row: Case) { check(row) }

  @Test(
    "R27, R38: a policy that compares domain state refuses devices that give none",
    arguments: cases(
      """
      8.4              | none        | 0 | stateful         => -6 DOMAIN_STATE_REQUIRED | .     | -         | 5
      8.4              | set         | 0 | stateful         => -6 DOMAIN_STATE_REQUIRED | same  | -         | 5
      8.4              | none        | 0 | payment          => -6 DOMAIN_STATE_REQUIRED | .     | -         | 5
      8.4 no-state     | set no-base | 0 | payment          => -6 DOMAIN_STATE_REQUIRED | never | -         | 5
      8.4              | none        | 0 | careless-payment => -6 DOMAIN_STATE_REQUIRED | .     | -         | 5
      8.4              | none        | 0 | login            => yes                      | .     | bio       | 5
      9.0              | none        | 0 | payment          => yes                      | .     | bio,owner | 5
      9.0 no-state     | none        | 0 | payment          => -6 DOMAIN_STATE_REQUIRED | .     | -         | 5
      9.0 no-state     | set no-base | 0 | payment          => -6 DOMAIN_STATE_REQUIRED | never | -         | 5
      9.0 no-state     | set no-base | 0 | careless-payment => -6 DOMAIN_STATE_REQUIRED | never | -         | 5
      # Without a baseline, nothing shows whose fingers they are: what is left records one.
      9.0              | set no-base | 0 | payment          => yes                      | never | -         | 5
      9.0              | set presence no-base | 0 | payment => yes                      | never | -         | 5
      9.0              | set passcode no-base | 0 | payment => yes                      | never | owner     | 5
      9.0              | set no-base | 0 | stateful         => yes                      | never | -         | 5
      9.0              | touch-id no-base | 0 | stateful    => yes                      | never | -         | 5
      # Without a binding there is nothing to compare.
      9.0              | bearer      | 0 | stateful         => yes                      | .     | bio       | 3
      android no-state | set no-base | 0 | payment          => -6 PLATFORM_NOT_SERVED   | never | -         | 5
      # With a baseline, none given is a change: the evaluation opens and asks for another factor.
      9.0 no-state | set | 0 | payment => yes | changed | - | 5
      # A device that says it is locked is excused, but its word opens nothing that biometrics unlock.
      9.0 no-state locked | presence         | 5! | payment => yes                   | unknown | -     | 0
      9.0 no-state locked | presence no-base | 5! | payment => yes                   | unknown | -     | 0
      9.0 no-state locked | passcode         | 5! | payment => yes                   | unknown | owner | 0
      9.0 no-state locked | passcode no-base | 5! | payment => yes                   | unknown | owner | 0
      9.0 no-state locked | none             | 0  | payment => yes                   | .       | owner | 0
      9.0 no-state        | none             | 5! | payment => -8 BIOMETRY_LOCKOUT   | .       | -     | 0
      9.0 no-state        | set              | 5! | payment => -8 BIOMETRY_LOCKOUT   | changed | -     | 0
      # R1's obstacles come first.
      7.1                     | none | 0 | payment => -6 OS_TOO_OLD             | . | - | 5
      8.4 no-passcode         | none | 0 | payment => -5 PASSCODE_NOT_SET       | . | - | 5
      9.0 no-state no-fingers | none | 0 | payment => -7 BIOMETRY_NOT_ENROLLED  | . | - | 5
      9.0 no-state no-sensor  | none | 0 | payment => -6 BIOMETRY_NOT_AVAILABLE | . | - | 5
      """))
  func domainStateRequired(_ row: Case) { check(row) }

  @Test(
    "R31, R38: only what the binding can prove is usable",
    arguments: cases(
      """
      9.3 | set          | 0 | login         => yes                 | same | bio       | 5
      9.3 | any          | 0 | login         => yes                 | same | bio       | 5
      9.3 | presence     | 0 | login         => yes                 | same | owner     | 5
      9.3 | passcode     | 0 | login         => yes                 | same | owner     | 5
      9.3 | presence any | 0 | login         => yes                 | same | bio,owner | 5
      9.3 | presence     | 0 | bio           => -6 NO_USABLE_FACTOR | same | -         | 5
      9.3 | keyless      | 0 | login         => -6 NO_USABLE_FACTOR | same | -         | 5
      8.4 | presence     | 0 | login         => -6 OS_TOO_OLD       | same | -         | 5
      # What a policy demands of keys concerns those of the same factor.
      9.3 | set          | 0 | set-only      => yes                 | same | bio       | 5
      9.3 | any          | 0 | set-only      => -6 NO_USABLE_FACTOR | same | -         | 5
      9.3 | any presence | 0 | set-only      => yes                 | same | owner     | 5
      9.3 | set any      | 0 | set-only      => -6 NO_USABLE_FACTOR | same | -         | 5
      9.3 | set          | 0 | any-bio       => yes                 | same | bio       | 5
      9.3 | any          | 0 | any-bio       => yes                 | same | bio       | 5
      9.3 | set presence | 0 | passcode-only => yes                 | same | bio       | 5
      9.3 | set passcode | 0 | passcode-only => yes                 | same | bio,owner | 5
      9.3 | presence     | 0 | any-owner     => yes                 | same | owner     | 5
      9.3 | passcode     | 0 | any-owner     => yes                 | same | owner     | 5
      # A ProfileTouchID serves biometry, but meets no demand and pays nothing.
      9.3 | touch-id     | 0 | login         => yes                 | same | bio       | 5
      9.3 | touch-id     | 0 | payment       => -6 NO_USABLE_FACTOR | same | -         | 5
      9.3 | touch-id     | 0 | set-only      => -6 NO_USABLE_FACTOR | same | -         | 5
      9.3 | touch-id     | 0 | passcode-only => yes                 | same | bio       | 5
      9.3 | touch-id     | 0 | owner         => -6 NO_USABLE_FACTOR | same | -         | 5
      # Secrets are offered where they are set (R17); the caller's own login always, and last.
      9.3 | set presence | 0 | all           => yes                 | same | bio,owner,primary | 5
      9.3 | none         | 0 | all           => yes                 | .    | bio,owner,primary | 5
      9.3 | set          | 0 | secrets       => -6 FACTOR_NOT_OFFERED | same | -       | 5
      9.3 | none         | 0 | secrets       => -6 FACTOR_NOT_OFFERED | .    | -       | 5
      """))
  func credentials(_ row: Case) { check(row) }

  @Test("R37: a revoked or unknown binding answers as an active one")
  func activityMakesNoDifference() {
    let faults = Worlds.all.filter { world in
      var inactive = world.binding
      inactive.isActive = false
      return world.preflight(with: inactive) != world.preflight(with: world.binding)
    }
    #expect(faults.isEmpty)
  }

  @Test("R4, R6: an answer holds together, whatever is asked")
  func consistency() {
    let faults = Worlds.all.filter { world in
      let answer = world.preflight(with: world.binding)
      let rules: [Bool] = [
        answer.denial == nil || answer.factors.isEmpty,
        // Nothing is left only where the fingers are not shown to be the same.
        answer.denial != nil || !answer.factors.isEmpty || answer.domainState.map { $0 != .unchanged } == true,
        answer.biometryAttemptsLeft > 0 || !answer.factors.contains(.biometry),
        Set(answer.factors).isSubset(of: world.policy.factors) && Set(answer.factors).count == answer.factors.count,
        !answer.factors.dropLast().contains(.primary),
      ]
      return rules.contains(false)
    }
    #expect(faults.isEmpty)
  }

  private func check(_ row: Case) {
    let answer = EvaluationPolicy(table: row.given[3]).preflight(
      posture: DevicePosture(table: row.given[0]), binding: BindingStanding(table: row.given[1]),
      device: BiometryStanding(table: row.given[2]), profile: .none, now: .noon)
    #expect((answer.denial.map { "\($0.code.rawValue) \($0.reason.rawValue)" } ?? "yes") == row.expected[0])
    #expect(answer.domainState == DomainStateVerdict(table: row.expected[1]))
    #expect(answer.factors == Factor.list(table: row.expected[2]))
    #expect(answer.biometryAttemptsLeft == UInt32(row.expected[3]))
    #expect(answer.denial?.retryAfter == nil)
  }
}

extension World {
  fileprivate func preflight(with binding: BindingStanding) -> Preflight {
    policy.preflight(posture: posture, binding: binding, device: device, profile: profile, now: .noon)
  }
}
