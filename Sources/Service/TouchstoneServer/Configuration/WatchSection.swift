// `watch_files:` of the configuration: how often the service looks at its files.

internal import SettingFiles
internal import TouchstonePolicy

enum WatchSetting: Hashable, Sendable {
  case every(Duration)
  case never

  /// A look is a system call for each file. A change is in force within 60 s, also if its writer takes a while.
  static let standard = WatchSetting.every(.seconds(10))
  /// A second, for tests. With a longer one an operator would wait in vain, and rather use SIGHUP.
  static let intervals: ClosedRange<Duration> = .seconds(1) ... .seconds(3_600)
  static let off = "off"
}

extension ValueForm where Value == WatchSetting {
  static var watch: ValueForm {
    ValueForm(
      .either([.duration(WatchSetting.intervals), .word([WatchSetting.off])]),
      print: { if case .every(let interval) = $0 { interval.settingName } else { WatchSetting.off } }
    ) { entry, name, reader in
      if case .scalar(let text) = entry.value.content {
        if text == WatchSetting.off { return .never }
        if let interval = Duration(settingName: text), WatchSetting.intervals.contains(interval) {
          return .every(interval)
        }
      }
      reader.refuse(entry.value.place, "\(name) must be off, or a time from 1s to 1h, such as 10s")
      return nil
    }
  }
}
