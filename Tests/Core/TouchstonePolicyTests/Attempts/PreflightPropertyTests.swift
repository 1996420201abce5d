// Properties of canEvaluatePolicy in every world. Tests/DecisionTables has its answers, case by case.

import Testing
import TouchstonePolicy

@Suite struct PreflightPropertyTests {
  @Test("R37: a revoked or unknown binding is told so, and an unknown profile answers as a known one")
  func onlyBindingsSayThatTheyAreNotActive() {
    let faults = Worlds.all.filter { world in
      [(BindingStanding.State.revoked, Denial.Reason.bindingRevoked), (.unknown, .bindingUnknown)].contains {
        state, reason in
        var inactive = world.binding
        inactive.state = state
        let answer = world.preflight(with: inactive)
        guard inactive.scope == .device else { return answer != world.preflight(with: world.binding) }
        return answer.denial?.reason != reason || answer.denial?.retryAfter != nil || answer.domainState != nil
          || !answer.factors.isEmpty || answer.biometryAttemptsLeft != 0
      }
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
