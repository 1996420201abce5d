// `retention:` of the configuration: how long events stay in the audit log, and the archive for older ones.

internal import TouchstonePolicy

package struct RetentionSettings: Hashable {
  /// Older events are archived.
  var age = Duration.zero
  /// The directory for their files.
  var archive = ""

  /// A second, for tests, to a century.
  static let ages = Duration.seconds(1)...Duration.seconds(36_525 * secondsPerDay)
  private static let secondsPerDay = 24 * 60 * 60
  package static let form = "an age such as 400d, 36h or 90m"

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

extension RetentionSettings: ConfigurationSection {
  static var keys: [ConfigurationKey<RetentionSettings>] {
    ConfigurationKey("events", .age, to: \.age, isRequired: true, "Older events move into the archive.")
    ConfigurationKey("archive", .path, to: \.archive, isRequired: true, "The archive's directory.")
  }
}
