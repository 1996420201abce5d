// `log:` of the configuration: which lines are written to stderr, and how.

package import Logging

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

extension LogSettings: ConfigurationSection {
  static var keys: [ConfigurationKey<LogSettings>] {
    ConfigurationKey("level", .word, to: \.level, "From which level on lines are written.")
    ConfigurationKey("format", .word, to: \.format, "Lines for people, or one JSON object a line.")
  }
}
