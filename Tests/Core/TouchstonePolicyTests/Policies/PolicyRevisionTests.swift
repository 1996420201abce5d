// R36: an evaluation begun under other settings is void.

import Testing

@testable import TouchstonePolicy

struct PolicyRevisionTests {
  private static let unchanged = EvaluationPolicy(
    name: "login", purpose: .login, factors: [.biometry, .deviceOwner], tokenLifetime: .seconds(300))
  private static let changes: [@Sendable (inout EvaluationPolicy) -> Void] = [
    { $0.name = "logim" },
    { $0.purpose = .payment },
    { $0.factors = [.biometry] },
    { $0.factors.reverse() },
    { $0.attemptsPerEvaluation = 2 },
    { $0.failuresBeforeLockout = 4 },
    { $0.requiredKeyProtection = .biometryCurrentSet },
    { $0.minimumAttestation = .app },
    { $0.minimumAttestation = .tee },
    { $0.requiresAppAssertion = true },
    { $0.requiresDeviceBoundPasskeys = true },
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
      for part in setting.digests {
        let values = policies.map { policy in
          var digest = PolicyDigest()
          part.add(policy, &digest)
          return digest.value
        }
        #expect(Set(values).count > 1, "\(setting.key), place \(part.place)")
      }
    }
  }

  // R36: replicas and restarts must agree, so the value is pinned.
  @Test func theSameSettingsHaveTheSameRevisionEverywhere() {
    let policy = EvaluationPolicy(name: "a", purpose: .login, factors: [], tokenLifetime: nil)
    #expect(policy.revision == 0xeabc_fc9b_b317_79d1)
  }

  // R36: nor may an update of the service end the evaluations of policies that stay as they are.
  @Test func revisionsOutliveUpdates() {
    let revisions = (EvaluationPolicy.builtIn + [Self.everythingSet]).map(\.revision)
    #expect(
      revisions == [
        0x5bd6_d82f_6fa3_d719, 0x2312_f9c0_914b_a01f, 0x5dbc_fbfa_ab4a_ba52, 0x323c_015d_da2a_7c2e,
        0xd897_c47e_fd92_5e84,
      ])
  }

  // R36: two settings at one place would be digested in an order that the next release may change.
  @Test func everySettingHasItsOwnPlace() {
    let places = PolicySetting.all.flatMap(\.digests).map(\.place)
    #expect(places.sorted() == Array(1...places.count))
  }

  // R36: a setting that a later version brings.
  @Test func aLaterSettingCountsOnceItIsUsed() {
    let setting = PolicySetting(
      "attempts", \.attempts, .count(1...10), at: 99, get: { Int($0.attemptsPerEvaluation) },
      set: { $0.attemptsPerEvaluation = UInt32($1) })
    func digest(_ attempts: UInt32) -> UInt64 {
      var policy = EvaluationPolicy.builtIn[0]
      policy.attemptsPerEvaluation = attempts
      var digest = PolicyDigest()
      for part in setting.digests { part.add(policy, &digest) }
      return digest.value
    }
    #expect(digest(3) == PolicyDigest().value)
    #expect(Set([digest(2), digest(3), digest(4)]).count == 3)
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
