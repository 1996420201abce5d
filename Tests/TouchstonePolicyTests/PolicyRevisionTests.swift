// R36: an evaluation begun under other settings is void.

import Testing

@testable import TouchstonePolicy

struct PolicyRevisionTests {
  private static let changes: [@Sendable (inout EvaluationPolicy) -> Void] = [
    { $0.name = "logim" },
    { $0.purpose = .payment },
    { $0.factors = [.biometry] },
    { $0.factors.reverse() },
    { $0.attemptsPerEvaluation = 2 },
    { $0.failuresBeforeLockout = 4 },
    { $0.requiredKeyProtection = .biometryCurrentSet },
    { $0.minimumOSVersion = OSVersion(9) },
    { $0.minimumOSVersion = OSVersion(9, 1) },
    { $0.requiresDomainState = true },
    { $0.evaluationLifetime = .seconds(121) },
    { $0.tokenLifetime = nil },
    { $0.tokenLifetime = .zero },
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
    let policy = EvaluationPolicy(
      name: "login", purpose: .login, factors: [.biometry, .deviceOwner], tokenLifetime: .seconds(300))
    let revisions = Self.changes.map { change in
      var changed = policy
      change(&changed)
      return changed.revision
    }
    #expect(Set(revisions + [policy.revision]).count == Self.changes.count + 1)
  }

  // R36: replicas and restarts must agree, so the value is pinned.
  @Test func theSameSettingsHaveTheSameRevisionEverywhere() {
    let policy = EvaluationPolicy(name: "a", purpose: .login, factors: [], tokenLifetime: nil)
    #expect(policy.revision == 0xeabc_fc9b_b317_79d1)
  }
}
