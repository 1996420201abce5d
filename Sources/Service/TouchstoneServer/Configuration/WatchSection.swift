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

  init?(_ node: YAMLNode, _ name: String, with reader: inout SettingReader) {
    if case .scalar(Self.off) = node.content {
      self = .never
      return
    }
    guard case .scalar(let text) = node.content, let interval = Duration(settingName: text),
      Self.intervals.contains(interval)
    else {
      reader.refuse(node.place, "\(name) must be off, or a time from 1s to 1h, such as 10s")
      return nil
    }
    self = .every(interval)
  }
}
