// The sources of a process's settings. A flag takes precedence over a variable of the environment, a variable over the
// file, and the file over the default.

internal import Glibc
internal import SettingFiles

/// The variables and flags of a process, over a file that each reload reads anew.
package struct ConfigurationSources: Sendable {
  /// Later ones take precedence.
  private let given: [GivenValue]
  /// The value of TOUCHSTONE_KEYS.
  private let keys: KeySource?

  /// A file alone.
  package init() {
    (given, keys) = ([], nil)
  }

  /// Pure.
  init(
    variables: [(name: String, text: String)], keys: KeySource? = nil, flags: [String] = []
  ) throws(Failure) {
    let ofFlags = try SettingFlags.values(in: flags)
    do throws(ConfigurationErrors) {
      given = try SettingVariables.values(in: variables) + ofFlags
    } catch {
      throw Failure(error)
    }
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
    return try ConfigurationSources(variables: variables, keys: keys, flags: flags)
  }

  /// - Parameter path: the file; `nil`: there is none.
  package func load(
    _ path: String?, from trust: FileTrust = .ownersOnly
  ) throws(Failure) -> ProcessConfiguration {
    try read(path, from: trust).configuration
  }

  package func read(
    _ path: String?, from trust: FileTrust = .ownersOnly
  ) throws(Failure) -> EffectiveConfiguration {
    guard path != nil || !given.isEmpty || keys != nil else { return EffectiveConfiguration() }
    do throws(ConfigurationErrors) {
      var effective = try EffectiveConfiguration(file: path, from: trust, under: given)
      if let keys, !given.contains(where: { $0.path == ["keys"] }) { effective.take(keys) }
      return effective
    } catch {
      throw Failure(error)
    }
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
