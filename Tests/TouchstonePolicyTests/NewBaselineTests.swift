// R26: what makes the present domain state the baseline.

import Testing
import TouchstonePolicy

@Suite struct NewBaselineTests {
  @Test(
    "R26: after a success by another factor, the state sent with it",
    arguments: cases(
      """
      # phone | binding | attempt => the new baseline
      9.3 state=B     | set              | passcode right => B@9
      9.3 state=B     | set              | gesture right  => B@9
      9.3 state=B     | set              | primary fresh  => B@9
      9.3 state=B     | set passcode     | owner right    => B@9
      10.0 state=B    | set              | passcode right => B@10
      9.3             | set no-base      | passcode right => A@9
      9.3             | passcode no-base | owner right    => A@9
      9.3 locked state=B | set           | passcode right => B@9
      android state=B | touch-id         | passcode right => B@14
      # Not by what biometrics unlock, changed or not.
      9.3             | set no-base      | bio right      => -
      9.3             | presence no-base | owner right    => -
      9.3             | touch-id no-base | touch-id right => -
      # Nor where nothing changed, or nothing was given (R24), nor without a success, nor without a binding.
      9.3             | set              | passcode right => -
      10.0            | set              | passcode right => -
      9.3 no-state    | set              | passcode right => -
      9.3 no-state locked | set no-base  | passcode right => -
      9.3 state=B     | set              | passcode wrong => -
      9.3 state=B     | set inactive     | passcode right => -
      9.3 state=B     | set              | bio right      => -
      9.3 state=B     | set              | bio wrong      => -
      9.3 state=B     | set              | primary old    => -
      9.3 state=B     | set              | report -2      => -
      9.3 state=B     | absent           | passcode right => -
      """))
  func afterSuccess(_ row: Case) {
    let decision = decide(row)
    let expected = row.expected[0] == "-" ? nil : BindingStanding(table: "set base=\(row.expected[0])")!.baseline
    #expect(decision.baseline == expected)
    if expected != nil { #expect(decision.outcome == .succeeded) }
  }

  private func decide(_ row: Case) -> AttemptDecision {
    var facts = AdmissionFacts(
      posture: DevicePosture(table: row.given[0]), binding: BindingStanding(table: row.given[1])!,
      device: BiometryStanding(), profile: ProfileStanding(table: "passcode gesture"),
      evaluation: EvaluationStanding(), now: .noon)
    let policy = EvaluationPolicy(table: "all")
    let words = row.given[2].words
    guard words[0] == "passcode" || words[0] == "gesture" else {
      return policy.decide(AttemptFacts(facts, attempt: Attempt(table: row.given[2])))
    }
    let factor = Factor(table: words[0])
    guard case .verify(let reservation, let counted) = policy.admitSecret(factor, facts) else {
      preconditionFailure("not admitted")
    }
    if factor == .passcode { facts.profile.passcode = counted } else { facts.profile.gesture = counted }
    return policy.decide(
      AttemptFacts(facts, attempt: .secret(factor, reservation, isRight: words[1] == "right")))
  }

  // MARK: AcceptDomainState

  private static let baseline = DomainStateBaseline(domainState: [UInt8]("B".utf8), osMajorVersion: 9)

  private func accept(_ evidence: DomainStateEvidence, phone: String = "9.3 state=B") -> DomainStateAcceptance {
    EnrolmentPolicy().acceptDomainState(of: DevicePosture(table: phone), on: evidence, now: .noon)
  }

  @Test("R26: on a token under five minutes old, by a factor other than biometrics, of the same profile")
  func tokens() {
    func token(seconds age: Int64, isForBinding: Bool = true, isByBiometrics: Bool = false) -> DomainStateAcceptance {
      accept(
        .token(issuedAt: .noon + .seconds(-age), isForBinding: isForBinding, isByBiometrics: isByBiometrics))
    }
    #expect(token(seconds: 0) == .accept(Self.baseline))
    #expect(token(seconds: 299) == .accept(Self.baseline))
    #expect(token(seconds: 300) == .refuse(.tokenTooOld))
    #expect(token(seconds: 86_400) == .refuse(.tokenTooOld))
    // Another replica's clock may run ahead, by as much as is tolerated everywhere.
    #expect(token(seconds: -30) == .accept(Self.baseline))
    #expect(token(seconds: -31) == .refuse(.tokenTooOld))
    #expect(token(seconds: 0, isForBinding: false) == .refuse(.tokenOfAnother))
    #expect(token(seconds: 0, isByBiometrics: true) == .refuse(.tokenByBiometrics))
  }

  @Test("R26: on fresh primary authentication")
  func primary() {
    #expect(accept(.primary(.fresh)) == .accept(Self.baseline))
    #expect(accept(.primary(.tooOld)) == .refuse(.primaryTooOld))
    #expect(accept(.primary(.inFuture)) == .refuse(.primaryInFuture))
  }

  @Test("R24, R26: an empty state is never accepted")
  func empty() {
    #expect(accept(.primary(.fresh), phone: "9.3 no-state") == .refuse(.noDomainState))
  }
}
