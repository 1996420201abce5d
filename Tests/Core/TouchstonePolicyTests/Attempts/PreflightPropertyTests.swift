// Properties of canEvaluatePolicy in every world. Tests/DecisionTables has its answers, case by case.

import Testing
import TouchstonePolicy

@Suite struct PreflightPropertyTests {
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
}

extension World {
  fileprivate func preflight(with binding: BindingStanding) -> Preflight {
    policy.preflight(posture: posture, binding: binding, device: device, profile: profile, now: .noon)
  }
}
