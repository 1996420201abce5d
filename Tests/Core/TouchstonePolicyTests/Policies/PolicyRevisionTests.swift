// R36: an evaluation begun under other settings is void.

import Testing

@testable import TouchstonePolicy

struct PolicyRevisionTests {
  private static let unchanged = EvaluationPolicy(
    name: "login", purpose: .login, factors: [.biometry, .deviceOwner, .passkey, .passcode, .primary],
    tokenLifetime: .seconds(300))
  private static let changes: [@Sendable (inout EvaluationPolicy) -> Void] = [
    { $0.name = "logim" },
    { $0.purpose = .payment },
    { $0.factors = [.biometry] },
    { $0.factors.reverse() },
    { $0.attemptsPerEvaluation = 2 },
    { $0.failuresBeforeLockout = 4 },
    { $0.requiredKeyProtection = .biometryCurrentSet },
    { $0.requiresP256Keys = true },
    { $0.minimumAttestation = .app },
    { $0.minimumAttestation = .tee },
    { $0.requiresAppAssertion = true },
    { $0.requiresDeviceBoundPasskeys = true },
    { $0.minimumOSVersion = OSVersion(9) },
    { $0.minimumOSVersion = OSVersion(9, 1) },
    { $0.requiresDomainState = true },
    { $0.evaluationLifetime = .seconds(121) },
    { $0.tokenLifetime = nil },
    { $0.tokenLifetime = .seconds(1) },
    { $0.ladder = Ladder(rungs: [Ladder.Rung(failures: 5, effect: .disable)]) },
    { $0.ladder = Ladder(rungs: [Ladder.Rung(failures: 5, effect: .lock(.seconds(60)))]) },
    { $0.ladder = Ladder(rungs: [Ladder.Rung(failures: 6, effect: .lock(.seconds(60)))]) },
    { $0.ladder = Ladder(rungs: [Ladder.Rung(failures: 6, effect: .lock(.seconds(61)))]) },
    { $0.primaryFreshness = .seconds(60) },
    { $0.fallback = .automatic },
    { $0.isTokenSingleUse = true },
    { $0.presentation.fallback = "" },
    { $0.presentation.fallback = "PIN" },
    { $0.presentation.cancel = "" },
    { $0.presentation.cancel = "PIN" },
    { $0.presentation = EvaluationPolicy.Titles(fallback: "PI", cancel: "N") },
  ]

  // R36
  @Test func everySettingChangesTheRevision() {
    let policy = Self.unchanged
    let revisions = Self.changes.map { change in
      var changed = policy
      change(&changed)
      return changed.revision
    }
    #expect(Set(revisions + [policy.revision]).count == Self.changes.count + 1)
  }

  // R36: a setting that the list above lacks would otherwise go unnoticed.
  @Test func everySettingIsAmongTheChanges() {
    let policies = Self.changes.map { change in
      var policy = Self.unchanged
      change(&policy)
      return policy
    }
    for setting in PolicySetting.all {
      #expect(Set(policies.map { setting.printed(of: $0)?.words }).count > 1, "\(setting.key)")
    }
  }

  // R36: replicas and restarts must agree, so the value is pinned. A setting with its default adds nothing, so that one
  // that a later version brings changes nothing until it is used.
  @Test func theSameSettingsHaveTheSameRevisionEverywhere() {
    var policy = EvaluationPolicy(name: "a", purpose: .login, factors: [.biometry], tokenLifetime: .seconds(300))
    #expect(policy.revision == 0x2fa2_3341_7fd7_2f0b)
    policy.attemptsPerEvaluation = 2
    #expect(policy.revision == 0x2cbb_7950_f241_3d15)
  }

  // R36: nor may an update of the service end the evaluations of policies that stay as they are.
  @Test func revisionsOutliveUpdates() {
    let revisions = (EvaluationPolicy.builtIn + [Self.everythingSet]).map(\.revision)
    #expect(
      revisions == [
        0xcb7d_c66f_3615_ec8a, 0x3162_fa3b_f3ab_d66a, 0xaae8_dcb8_a355_356e, 0x83d2_3c15_41db_0cdd,
        0xfbec_b4bb_e927_2e62,
      ])
  }

  private static var everythingSet: EvaluationPolicy {
    var policy = EvaluationPolicy(
      name: "everything", purpose: .login, factors: [.biometry, .gesture, .primary], tokenLifetime: .seconds(45))
    policy.attemptsPerEvaluation = 2
    policy.failuresBeforeLockout = 4
    policy.ladder = Ladder(rungs: [
      Ladder.Rung(failures: 3, effect: .lock(.seconds(60))), Ladder.Rung(failures: 6, effect: .disable),
    ])
    policy.primaryFreshness = .seconds(90)
    policy.requiredKeyProtection = .biometryAny
    policy.requiresDomainState = true
    policy.minimumOSVersion = OSVersion(11, 2, 1)
    policy.evaluationLifetime = .seconds(30)
    policy.isTokenSingleUse = true
    policy.fallback = .automatic
    policy.presentation = EvaluationPolicy.Titles(fallback: "", cancel: "N\u{E3}o")
    return policy
  }
}
