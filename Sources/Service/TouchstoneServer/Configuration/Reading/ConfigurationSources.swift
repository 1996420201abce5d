// The sources of a process's settings. A flag takes precedence over a variable of the environment, a variable over the
// file, the file over a default that the environment gives (as an image's does), and that over the program's own.

internal import Glibc

/// The variables and flags of a process, over a file that each reload reads anew.
package struct ConfigurationSources: Sendable {
  /// Later ones take precedence.
  private let given: [GivenValue]
  /// The values of `TOUCHSTONE_DEFAULT_…`, which count where all others are silent.
  private let defaults: [GivenValue]
  /// The file that is read if the command names none. It was there at the start, so a reload refuses its loss.
  private var defaultFile: String?
  /// The same file, if it was missing at the start.
  package private(set) var missingDefaultFile: String?
  /// The value of TOUCHSTONE_KEYS.
  private let keys: KeySource?

  /// A file alone.
  package init() {
    (given, defaults, keys) = ([], [], nil)
  }

  /// Pure.
  init(
    variables: [(name: String, text: String)], keys: KeySource? = nil, flags: [String] = []
  ) throws(Failure) {
    let ofFlags = try SettingFlags.values(in: flags)
    let values = try failing { () throws(ConfigurationErrors) in try SettingVariables.values(in: variables) }
    (given, defaults) = (values.given + ofFlags, values.defaults)
    self.keys = keys
  }

  /// Takes secrets out of the environment, so that neither child processes nor readers of /proc/PID/environ see them.
  /// Must be called before there are other threads.
  ///
  /// - Parameter flags: the arguments that are flags of settings.
  package static func take(flags: [String] = []) throws(Failure) -> ConfigurationSources {
    // Both, whatever the other one is.
    let keys = KeySource.takeFromEnvironment()
    let variables = ProcessEnvironment.takeSettings()
    var sources = try ConfigurationSources(variables: variables, keys: keys, flags: flags)
    sources.lookForDefaultFile(in: variables)
    return sources
  }

  /// Only a file that does not exist is no file: one that cannot be reached is an error when it is read.
  private mutating func lookForDefaultFile(in variables: [(name: String, text: String)]) {
    guard let path = variables.last(where: { $0.name == SettingVariables.defaultFile })?.text, !path.isEmpty else {
      return
    }
    if access(path, F_OK) != 0, errno == ENOENT { missingDefaultFile = path } else { defaultFile = path }
  }

  /// - Parameter path: the file; `nil`: the default one, if there is one.
  package func load(
    _ path: String?, from trust: FileTrust = .ownersOnly
  ) throws(Failure) -> ProcessConfiguration {
    try read(path, from: trust).configuration
  }

  package func read(
    _ path: String?, from trust: FileTrust = .ownersOnly
  ) throws(Failure) -> EffectiveConfiguration {
    let path = path ?? defaultFile
    guard path != nil || !given.isEmpty || !defaults.isEmpty || keys != nil else { return EffectiveConfiguration() }
    var effective = try failing { () throws(ConfigurationErrors) in
      try EffectiveConfiguration(file: path, from: trust, under: given, over: defaults)
    }
    if let keys, !given.contains(where: { $0.path == ["keys"] }) { effective.take(keys) }
    return effective
  }
}

/// The environment of this process.
private enum ProcessEnvironment {
  /// Removes the settings that may hold secrets.
  static func takeSettings() -> [(name: String, text: String)] {
    let secret = Set(ConfigurationTable.settings.filter(\.mayHoldSecret).map(\.variable))
    let variables = all.filter { $0.name.hasPrefix(ConfigurationSetting.prefix) }
    for (name, _) in variables where secret.contains(name) { remove(name) }
    return variables
  }

  private static var all: [(name: String, text: String)] {
    var variables: [(name: String, text: String)] = []
    var next = environ
    while let entry = next.pointee {
      let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables.append((String(parts[0]), String(parts[1]))) }
      next += 1
    }
    return variables
  }

  private static func remove(_ name: String) {
    guard let value = getenv(name) else { return }
    explicit_bzero(value, strlen(value))
    unsetenv(name)
  }
}
