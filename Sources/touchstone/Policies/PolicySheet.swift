// Policies as lines for people.

internal import TouchstonePolicy

enum PolicySheet {
  /// One a line, in columns.
  static func list(_ policies: [EvaluationPolicy]) -> [String] {
    columns(
      policies.map { policy in
        [policy.name, policy.purpose.settingName, policy.factors.map(\.settingName).joined(separator: ", ")]
      })
  }

  /// Every setting that has an effect, in the configuration's words, so that it can be read back.
  static func settings(of policy: EvaluationPolicy) -> [String] {
    ["\(policy.name):"] + entries(of: policy).map { "  " + $0 }
  }

  private typealias Key = PolicyDefinition.Key

  private static func entries(of policy: EvaluationPolicy) -> [String] {
    let accepts = { (factors: [Factor]) in factors.contains(where: policy.factors.contains) }
    var lines = [
      entry(.purpose, policy.purpose.settingName),
      entry(.factors, "[\(policy.factors.map(\.settingName).joined(separator: ", "))]"),
    ]
    if accepts([.biometry, .deviceOwner]) {
      lines.append(entry(.attempts, "\(policy.attemptsPerEvaluation)"))
      lines.append(entry(.lockoutAfter, "\(policy.failuresBeforeLockout)"))
    }
    if accepts([.passcode, .gesture]) { lines += ladder(policy.ladder) }
    if accepts([.primary]) { lines.append(entry(.primaryFreshness, policy.primaryFreshness.settingName)) }
    if let protection = policy.requiredKeyProtection { lines.append(entry(.keyProtection, protection.settingName)) }
    if accepts([.biometry, .deviceOwner]) {
      let domainState: PolicyDefinition.DomainState = policy.requiresDomainState ? .required : .compared
      lines.append(entry(.domainState, domainState.settingName))
    }
    if let version = policy.minimumOSVersion { lines.append(entry(.minimumOS, "\"\(version.text)\"")) }
    lines.append(entry(.evaluationLifetime, policy.evaluationLifetime.settingName))
    lines.append(entry(.token, token(of: policy)))
    if accepts([.biometry, .deviceOwner]) { lines += prompt(of: policy) }
    return lines
  }

  private static func ladder(_ ladder: Ladder) -> [String] {
    let rungs = ladder.rungs.map { rung in
      switch rung.effect {
      case .lock(let duration): "  - {failures: \(rung.failures), lock: \(duration.settingName)}"
      case .disable: "  - {failures: \(rung.failures), disable: true}"
      }
    }
    return ["\(Key.ladder.rawValue):"] + rungs
  }

  private static func token(of policy: EvaluationPolicy) -> String {
    guard let lifetime = policy.tokenLifetime else { return "none" }
    return "{lifetime: \(lifetime.settingName), single_use: \(policy.isTokenSingleUse)}"
  }

  private static func prompt(of policy: EvaluationPolicy) -> [String] {
    var lines = [entry(.fallback, policy.fallback.settingName)]
    if let title = policy.presentation.fallback { lines.append(entry(.fallbackTitle, quoted(title))) }
    if let title = policy.presentation.cancel { lines.append(entry(.cancelTitle, quoted(title))) }
    return lines
  }

  private static func entry(_ key: Key, _ value: String) -> String {
    "\(key.rawValue): \(value)"
  }

  /// A title has no control characters, so that these two are all that YAML would read otherwise.
  private static func quoted(_ title: String) -> String {
    "\"" + title.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  /// Every column as wide as its widest cell.
  static func columns(_ rows: [[String]]) -> [String] {
    let widths = rows.reduce(into: [Int]()) { widths, row in
      for (index, cell) in row.enumerated() {
        if index < widths.count { widths[index] = max(widths[index], cell.count) } else { widths.append(cell.count) }
      }
    }
    return rows.map { row in
      let cells = row.enumerated().map { index, cell in
        index == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[index] - cell.count)
      }
      return cells.joined(separator: "  ")
    }
  }
}
