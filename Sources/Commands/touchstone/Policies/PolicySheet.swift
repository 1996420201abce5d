// Policies as lines, for people or as JSON.

internal import Encodings
internal import TerminalText
internal import TouchstonePolicy

enum PolicySheet {
  /// One in each line, in columns.
  static func list(_ policies: [EvaluationPolicy]) -> [String] {
    aligned(
      policies.map { policy in
        [policy.name, policy.purpose.settingName, policy.factors.map(\.settingName).joined(separator: ", ")]
      })
  }

  static func json(_ policy: EvaluationPolicy) -> String {
    let factors = policy.factors.map { JSONText.quoted($0.settingName) }.joined(separator: ",")
    let purpose = JSONText.quoted(policy.purpose.settingName)
    return "{\"name\":\(JSONText.quoted(policy.name)),\"purpose\":\(purpose),\"factors\":[\(factors)]}"
  }

  /// Every setting with an effect, in the form of the configuration, so that it can be read back.
  static func settings(of policy: EvaluationPolicy) -> [String] {
    ["\(policy.name):"] + PolicySetting.all.flatMap { lines($0, policy) }.map { "  " + $0 }
  }

  private static func lines(_ setting: PolicySetting, _ policy: EvaluationPolicy) -> [String] {
    switch setting.printed(of: policy) {
    case nil: []
    case .word(let word): ["\(setting.key): \(word)"]
    case .text(let text): ["\(setting.key): \(quoted(text))"]
    case .list(let words): ["\(setting.key): [\(words.joined(separator: ", "))]"]
    case .mapping(let entries): ["\(setting.key): \(mapping(entries))"]
    case .mappings(let rows): ["\(setting.key):"] + rows.map { "  - \(mapping($0))" }
    }
  }

  private static func mapping(_ entries: [(name: String, word: String)]) -> String {
    "{\(entries.map { "\($0.name): \($0.word)" }.joined(separator: ", "))}"
  }

  /// A title has no control characters, so YAML would misread only these two.
  private static func quoted(_ title: String) -> String {
    "\"" + title.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}
