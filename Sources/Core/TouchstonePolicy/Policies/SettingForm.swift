/// How values of one kind are read, judged by themselves and printed.
struct SettingForm<Value: Sendable & Hashable>: Sendable {
  let read: @Sendable (any SettingSource) -> Value?
  /// Returns the fault of a value, in words that follow the setting's name; `nil` if there is none.
  var violation: @Sendable (Value) -> String? = { _ in nil }
  let print: @Sendable (Value) -> PrintedSetting
}

extension SettingForm where Value == Int {
  static func count(_ bounds: ClosedRange<Int>) -> SettingForm {
    SettingForm(
      read: { $0.integer() },
      violation: { bounds.contains($0) ? nil : "must be \(bounds.lowerBound) to \(bounds.upperBound)" },
      print: { .word("\($0)") })
  }
}

extension SettingForm where Value == Duration {
  static func duration(_ bounds: ClosedRange<Duration>) -> SettingForm {
    SettingForm(
      read: { $0.duration() }, violation: { bounds.contains($0) ? nil : DefinitionReview.reason(bounds) },
      print: { .word($0.settingName) })
  }
}

extension SettingForm where Value == OSVersion {
  static func version(_ majors: ClosedRange<UInt32>) -> SettingForm {
    SettingForm(
      read: { $0.version() },
      violation: {
        majors.contains($0.major) ? nil : "must be a version from \(majors.lowerBound) to \(majors.upperBound)"
      },
      // Not as a word, because 9.0 would be a number.
      print: { .text($0.text) })
  }
}

extension SettingForm where Value == String {
  /// The title of a phone's button. An empty one hides it.
  static var title: SettingForm {
    SettingForm(
      read: { $0.text() },
      violation: { title in
        title.isEmpty ? nil : Identifier.violation(in: title, maximumBytes: PolicyDefinition.maximumTitleBytes)
      },
      print: { .text($0) })
  }
}

extension SettingForm where Value: SettingWord {
  static func word() -> SettingForm {
    SettingForm(
      read: { $0.word(among: Value.allCases.map { ($0.settingName, $0) }) }, print: { .word($0.settingName) })
  }
}

extension SettingForm where Value == [Setting<Factor>] {
  static var factors: SettingForm {
    SettingForm(read: { $0.factors() }, print: { .list($0.written().map(\.settingName)) })
  }
}

extension SettingForm where Value == [Setting<PolicyDefinition.Rung>] {
  static var ladder: SettingForm {
    SettingForm(read: { $0.ladder() }, print: { .mappings($0.written().map(\.printed)) })
  }
}

extension PolicyDefinition.Rung {
  fileprivate var printed: [(name: String, word: String)] {
    typealias Key = PolicyDefinition.RungKey
    var entries: [(name: String, word: String)] = []
    if case .value(let failures) = failures { entries.append((Key.failures.rawValue, "\(failures)")) }
    if case .value(let lock) = lock { entries.append((Key.lock.rawValue, lock.settingName)) }
    if case .value(let disable) = disable { entries.append((Key.disable.rawValue, "\(disable)")) }
    return entries
  }
}

extension SettingForm where Value == PolicyDefinition.Token {
  static var token: SettingForm {
    SettingForm(read: { $0.token() }, print: \.printed)
  }
}

extension PolicyDefinition.Token {
  fileprivate var printed: PrintedSetting {
    typealias Key = PolicyDefinition.TokenKey
    guard case .issued(let lifetime, let isSingleUse) = self else { return .word("none") }
    var entries: [(name: String, word: String)] = []
    if case .value(let lifetime) = lifetime { entries.append((Key.lifetime.rawValue, lifetime.settingName)) }
    if case .value(let isSingleUse) = isSingleUse { entries.append((Key.singleUse.rawValue, "\(isSingleUse)")) }
    return .mapping(entries)
  }
}

/// One written setting, in any notation. If the value is not of the requested kind, the source reports it and returns
/// `nil`.
public protocol SettingSource: AnyObject {
  func integer() -> Int?
  func duration() -> Duration?
  func version() -> OSVersion?
  func text() -> String?
  func word<Value>(among words: [(String, Value)]) -> Value?
  func factors() -> [Setting<Factor>]?
  func ladder() -> [Setting<PolicyDefinition.Rung>]?
  func token() -> PolicyDefinition.Token?
}

public enum PrintedSetting: Sendable {
  /// Letters, digits and underscores.
  case word(String)
  /// Anything but control characters.
  case text(String)
  /// A list of words.
  case list([String])
  /// From names to words.
  case mapping([(name: String, word: String)])
  /// A list of mappings, one on each line.
  case mappings([[(name: String, word: String)]])

  /// All names and words, in their order.
  var words: [String] {
    switch self {
    case .word(let word), .text(let word): [word]
    case .list(let words): words
    case .mapping(let entries): entries.flatMap { [$0.name, $0.word] }
    case .mappings(let rows): rows.joined().flatMap { [$0.name, $0.word] }
    }
  }
}
