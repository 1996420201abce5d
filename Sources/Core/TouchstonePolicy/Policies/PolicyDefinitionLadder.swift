// A ladder as the operator wrote it: rungs that rise, each with one effect, and none after a disabling one.

extension DefinitionReview {
  mutating func judgeLadder() {
    guard case .value(let rungs) = definition.ladder else { return }
    if rungs.isEmpty { refuse(.ladder, "must have at least one rung") }
    if rungs.count > PolicyDefinition.rungBounds.count {
      refuse(.ladder, "has more rungs than failures to count (\(PolicyDefinition.rungBounds.count))")
    }
    var failures = 0
    var longest = Duration.zero
    var isDisabled = false
    for (index, rung) in rungs.prefix(PolicyDefinition.rungBounds.count).enumerated() {
      guard case .value(let rung) = rung else { continue }
      if isDisabled { refuse(rung: index, nil, "comes after the secret is disabled") }
      judgeFailures(of: rung, at: index, after: &failures)
      judgeEffect(of: rung, at: index, after: &longest)
      isDisabled = isDisabled || rung.disable == .value(true)
    }
  }

  private mutating func judgeFailures(of rung: PolicyDefinition.Rung, at index: Int, after earlier: inout Int) {
    switch rung.failures {
    case .absent:
      refuse(rung: index, nil, "does not say at how many failures")
    case .unreadable:
      break
    case .value(let failures):
      let bounds = PolicyDefinition.rungBounds
      if !bounds.contains(failures) {
        refuse(rung: index, .failures, "must be \(bounds.lowerBound) to \(bounds.upperBound)")
      } else if failures <= earlier {
        refuse(rung: index, .failures, "must be more than the \(earlier) of an earlier rung")
      }
      earlier = max(earlier, failures)
    }
  }

  private mutating func judgeEffect(of rung: PolicyDefinition.Rung, at index: Int, after longest: inout Duration) {
    if rung.disable == .value(false) { refuse(rung: index, .disable, "can only be true, or be left out") }
    switch (rung.lock, rung.disable) {
    case (.absent, .absent):
      refuse(rung: index, nil, "must lock, or disable")
    case (.value, .value(true)), (.unreadable, .value(true)):
      refuse(rung: index, .lock, "has no effect on a secret that is disabled")
    case (.value(let lock), _):
      let bounds = PolicyDefinition.lockBounds
      if !bounds.contains(lock) {
        refuse(rung: index, .lock, Self.reason(bounds))
      } else if lock < longest {
        refuse(rung: index, .lock, "is shorter than an earlier lock (\(longest.settingName))")
      }
      longest = max(longest, lock)
    case (.unreadable, _), (.absent, _):
      break
    }
  }

  private mutating func refuse(rung index: Int, _ key: PolicyDefinition.RungKey?, _ reason: String) {
    let rung: [PolicyDefect.Step] = [.key(PolicySetting.ladder.key), .index(index)]
    refuse(rung + (key.map { [.key($0.rawValue)] } ?? []), reason)
  }
}
