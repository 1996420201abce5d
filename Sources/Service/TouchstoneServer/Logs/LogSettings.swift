// `log:` of the configuration: which lines are written to stderr, and how.

package import Logging
internal import SettingFiles

package struct LogSettings: Hashable, Sendable {
  package enum Format: String, CaseIterable, Sendable {
    /// For people: TIME LEVEL MESSAGE KEY=VALUE…
    case text
    /// One object a line.
    case json
  }

  /// A line for each decision (info) is what operators look for first, and costs little (docs/PERFORMANCE.md).
  package var level = Logger.Level.info
  package var format = Format.text

  package init() {}
}

extension LogSettings {
  enum Key: String, CaseIterable {
    case level
    case format
  }

  static let levels = Logger.Level.allCases.map { ($0.rawValue, $0) }
  static let formats = Format.allCases.map { ($0.rawValue, $0) }

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    for entry in reader.mapping(node, "log", of: Key.names) ?? [] {
      let name = "log.\(entry.key.name)"
      switch Key(rawValue: entry.key.name) {
      case .level:
        if let read = reader.word(entry.value, name, among: Self.levels) { level = read }
      case .format:
        if let read = reader.word(entry.value, name, among: Self.formats) { format = read }
      case nil: break
      }
    }
  }
}
