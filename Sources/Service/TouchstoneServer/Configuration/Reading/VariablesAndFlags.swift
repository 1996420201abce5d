// Finds the setting that a variable of the environment or a flag sets. Pure.

internal import Encodings
internal import SettingFiles

/// One value that is given beside the file.
struct GivenValue: Sendable {
  let path: [String]
  /// The variable or the flag.
  let source: String
  let node: YAMLNode
}

extension [GivenValue] {
  /// If one value is for all of a section and another for a key in it, neither takes precedence.
  fileprivate var overlaps: [YAMLError] {
    flatMap { value in
      filter { $0.path.count > value.path.count && $0.path.starts(with: value.path) }.map { other in
        YAMLError(message: "\(value.source) is set, too: use one of them", place: YAMLPlace(wholeOf: other.source))
      }
    }
  }
}

/// The variables of `touchstone admin`, which an operator may have set in a shell from which they start other commands,
/// too.
package enum AdminVariables {
  package static let prefix = ConfigurationSetting.prefix + "ADMIN_"
}

/// The variables of the environment with the service's prefix.
enum SettingVariables {
  /// Variables that set no setting of the file.
  private static let others = ["TOUCHSTONE_DEBUGGABLE", defaultFile]
  /// Before the rest of a setting's variable: its default, which an image or a package gives and the file overrides.
  static let defaultPrefix = ConfigurationSetting.prefix + "DEFAULT_"
  /// The file that is read if no flag names one.
  static let defaultFile = defaultPrefix + "CONFIG"

  /// Collects each error: "VARIABLE: MESSAGE".
  static func values(
    in variables: [(name: String, text: String)]
  ) throws(ConfigurationErrors) -> (given: [GivenValue], defaults: [GivenValue]) {
    var settings = Dictionary(uniqueKeysWithValues: ConfigurationTable.settings.map { ($0.variable, $0) })
    // Only variables of settings are wiped after they were read, so a default holds no secret.
    for (variable, setting) in settings where !setting.mayHoldSecret && variable != KeySource.environmentVariable {
      settings[defaultPrefix + variable.dropFirst(ConfigurationSetting.prefix.count)] = setting
    }
    var values: (given: [GivenValue], defaults: [GivenValue]) = ([], [])
    var errors: [YAMLError] = []
    for (name, text) in variables.sorted(by: { $0.name < $1.name }) where !isOther(name) {
      if let setting = settings[name] {
        // Files that set every variable leave some of them empty. The keys' variable holds no path: see `KeySource`.
        guard !text.isEmpty, name != KeySource.environmentVariable else { continue }
        let texts = setting.row.shape.isOneOrList ? text.split(separator: ",").map(trimmed) : [text]
        guard let node = setting.node(texts, of: name, errors: &errors) else { continue }
        let value = GivenValue(path: setting.path, source: name, node: node)
        if name.hasPrefix(defaultPrefix) { values.defaults.append(value) } else { values.given.append(value) }
      } else if !KubernetesVariables.contain(name, text) {
        errors.append(unknown(name, among: Array(settings.keys)))
      }
    }
    errors += values.given.overlaps + values.defaults.overlaps
    guard errors.isEmpty else { throw ConfigurationErrors(nil, errors) }
    return values
  }

  private static func isOther(_ name: String) -> Bool {
    others.contains(name) || name.hasPrefix(AdminVariables.prefix)
  }

  /// Without the value, which may be a secret.
  private static func unknown(_ name: String, among known: [String]) -> YAMLError {
    let ofSection = known.filter { $0.hasPrefix(name + "_") }.min()
    let hint =
      ofSection.map { ": a section has a variable for each of its keys, such as \($0)" }
      ?? suggestion(for: name, among: known + others)
    return YAMLError(message: "there is no such setting\(hint)", place: YAMLPlace(wholeOf: name))
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}

/// Variables that Kubernetes sets in each container for a service, such as one that is named touchstone or
/// touchstone-http.
enum KubernetesVariables {
  private static let protocols = ["TCP", "UDP", "SCTP"]

  static func contain(_ name: String, _ text: String) -> Bool {
    let words = name.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
    // TOUCHSTONE_SERVICE_HOST, TOUCHSTONE_HTTP_SERVICE_PORT, TOUCHSTONE_SERVICE_PORT_GRPC
    for index in words.indices.dropFirst().dropLast() where words[index] == "SERVICE" {
      let rest = words[(index + 1)...]
      if rest == ["HOST"] || rest.first == "PORT" { return true }
    }
    // TOUCHSTONE_PORT, TOUCHSTONE_PORT_7443_TCP, TOUCHSTONE_PORT_7443_TCP_ADDR
    guard let index = words.lastIndex(of: "PORT"), index > 0 else { return false }
    let rest = Array(words[(index + 1)...])
    if rest.isEmpty {
      return isURL(text) || words.count > 3 && isPort(words[index - 2], words[index - 1])
    }
    guard rest.count >= 2, isPort(rest[0], rest[1]) else { return false }
    return rest.count == 2 ? isURL(text) : rest.count == 3 && ["PROTO", "PORT", "ADDR"].contains(rest[2])
  }

  private static func isPort(_ number: String, _ name: String) -> Bool {
    UInt16(number) != nil && protocols.contains(name)
  }

  private static func isURL(_ text: String) -> Bool {
    protocols.contains { text.hasPrefix("\($0.lowercased())://") }
  }
}

/// The flags of the settings: `--name VALUE` or `--name=VALUE`.
package enum SettingFlags {
  /// - Parameter arguments: those that are no flags of the command's own.
  static func values(in arguments: [String]) throws(Failure) -> [GivenValue] {
    let settings = ConfigurationTable.settings
    var given: [(setting: ConfigurationSetting, texts: [String])] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let setting = settings.first(where: { $0.flag == parts[0] }) else { throw unknown(parts[0]) }
      guard let text = parts.count == 2 ? parts[1] : rest.popFirst(), parts.count == 2 || !text.hasPrefix("--") else {
        throw Failure(kind: .usage, message: "\(setting.flag) needs a value")
      }
      if let index = given.firstIndex(where: { $0.setting.path == setting.path }) {
        given[index].texts.append(text)
      } else {
        given.append((setting, [text]))
      }
    }
    let values = try given.map { given throws(Failure) in try value(of: given.setting, given.texts) }
    guard values.overlaps.isEmpty else { throw Failure(ConfigurationErrors(nil, values.overlaps)) }
    return values
  }

  private static func value(of setting: ConfigurationSetting, _ texts: [String]) throws(Failure) -> GivenValue {
    var errors: [YAMLError] = []
    guard let node = setting.node(texts, of: setting.flag, errors: &errors), errors.isEmpty else {
      throw Failure(ConfigurationErrors(nil, errors))
    }
    if node.holdsSecret(setting.row) {
      if setting.row.shape == .store { throw .passwordInFlag(setting.flag, variable: setting.variable) }
      throw Failure(
        kind: .usage,
        message:
          "\(setting.flag): a list of processes would show the secret: give it in \(setting.variable) or the configuration"
      )
    }
    return GivenValue(path: setting.path, source: setting.flag, node: node)
  }

  private static func unknown(_ flag: String) -> Failure {
    guard flag.hasPrefix("-") else {
      // It is not shown: it may be a store's address with a password whose flag is missing.
      return Failure(kind: .usage, message: "an argument belongs to no flag: settings begin with --")
    }
    let hint = suggestion(
      for: flag, among: ConfigurationTable.settings.map(\.flag) + ["--config", "--allow-plaintext"])
    return Failure(kind: .usage, message: "there is no flag \(flag)\(hint)")
  }

  /// For a command's help, and for shells.
  package static let all = ConfigurationTable.settings.map { setting in
    // The marks of Markdown, and links to other pages.
    var meaning = setting.row.meaning.replacing("`", with: "").replacing(#/ \(\[[^\]]*\]\([^)]*\)\)/#, with: "")
    switch setting.row.standard {
    case .value(let standard), .words(let standard): meaning += " Default: \(standard)."
    case nil: break
    }
    return SettingFlag(
      name: String(setting.flag.dropFirst(2)), values: setting.row.shape.flagWords, meaning: meaning,
      choices: setting.row.shape.choices)
  }
}

/// The flag of a setting, as help and shells show it.
package struct SettingFlag: Sendable {
  /// Without the dashes.
  package let name: String
  /// The form of its value.
  package let values: String
  package let meaning: String
  package let choices: Choices

  /// What a shell offers for its value.
  package enum Choices: Sendable {
    case paths
    case words([String])
    case nothing
  }
}

extension ValueShape {
  /// The form of a flag's value.
  fileprivate var flagWords: String {
    switch self {
    case .either(let shapes) where isOneOrList: "\(shapes[0].words); may be given several times"
    case .either(let shapes) where !isScalar && takesText: shapes[0].words
    case _ where takesText: words
    default: "YAML"
    }
  }

  fileprivate var choices: SettingFlag.Choices {
    switch self {
    case .path: .paths
    case .word(let words): .words(words)
    case .boolean: .words(["true", "false"])
    default: .nothing
    }
  }
}

extension Failure {
  package static func passwordInFlag(_ flag: String, variable: String) -> Failure {
    Failure(
      kind: .usage,
      message: "\(flag): a list of processes would show the password: keep it in a file that the URI names "
        + "(passfile=), or give the URI in \(variable) or the configuration")
  }
}
