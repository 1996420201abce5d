// `backup:` of the configuration: the backups that the running service makes.

struct BackupSettings: Hashable {
  /// The time from one backup to the next.
  var interval = Duration.zero
  /// The number of backups that stay.
  var count = 14
  /// The directory for them.
  var directory = ""

  /// Each start and each backup reads their list, and a year of daily backups is long.
  static let counts = 1...366
}

extension BackupSettings: ConfigurationSection {
  static var keys: [ConfigurationKey<BackupSettings>] {
    ConfigurationKey("every", .age, to: \.interval, isRequired: true, "The time from one backup to the next.")
    ConfigurationKey(
      "keep", .integer(counts), to: \.count,
      "How many backups stay. When there are more, the service removes the oldest of those that it made.")
    ConfigurationKey(
      "to", .path, to: \.directory, isRequired: true,
      "The directory for them, best on another disk. Made if its parent is there.")
  }
}
