// The interface for reading and printing settings in any notation.

/// One written setting. If the value is not of the requested kind, the source reports it and returns `nil`.
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
}
