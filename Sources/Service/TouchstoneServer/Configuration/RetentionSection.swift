// `retention:` of the configuration: how long events stay in the audit log, and the archive for older ones.

internal import SettingFiles
internal import TouchstonePolicy

package struct RetentionSettings: Hashable {
  /// Older events are archived.
  var age: Duration
  /// The directory for their files.
  var archive: String

  enum Key: String, CaseIterable {
    case events
    case archive
  }

  /// A second, for tests, to a century.
  static let ages = Duration.seconds(1)...Duration.seconds(36_525 * secondsPerDay)
  private static let secondsPerDay = 24 * 60 * 60
  package static let form = "an age such as 400d, 36h or 90m"

  /// Returns `nil` and notes an error unless both settings are there.
  init?(_ section: YAMLEntry, with reader: inout SettingReader) {
    guard let entries = reader.mapping(section.value, "retention", of: Key.names) else { return nil }
    var age: Duration?
    var archive: String?
    for entry in entries {
      switch Key(rawValue: entry.key.name) {
      case .events: age = Self.readAge(entry.value, "retention.events", with: &reader)
      case .archive: archive = reader.path(entry.value, "retention.archive")
      case nil: break
      }
    }
    for key in Key.allCases where !entries.contains(where: { $0.key.name == key.rawValue }) {
      reader.refuse(section.key.place, "retention needs \(key.rawValue)")
    }
    guard let age, let archive else { return nil }
    self.init(age: age, archive: archive)
  }

  init(age: Duration, archive: String) {
    self.age = age
    self.archive = archive
  }

  static func readAge(_ node: YAMLNode, _ name: String, with reader: inout SettingReader) -> Duration? {
    guard let text = reader.text(node, name) else { return nil }
    guard let age = age(text) else {
      reader.refuse(node.place, "\(name) must be \(form), from 1s to 36525d")
      return nil
    }
    return age
  }

  /// Also takes days, unlike the times of calls.
  package static func age(_ text: String) -> Duration? {
    var age = Duration(settingName: text)
    if text.hasSuffix("d"), let days = Int(text.dropLast()), String(days) == text.dropLast() {
      let (seconds, hasOverflowed) = days.multipliedReportingOverflow(by: secondsPerDay)
      age = hasOverflowed ? nil : .seconds(seconds)
    }
    return age.flatMap { ages.contains($0) ? $0 : nil }
  }
}
