// `touchstone config print`: each setting in force, and where it comes from.

internal import Encodings
internal import SettingFiles
internal import TouchstonePolicy

/// A setting with its value and its source.
private struct ListedSetting {
  let setting: ConfigurationSetting
  /// `nil`: the default is no value.
  let value: PrintedValue?
  let source: String
  /// Words for the default without a value.
  var words = ""
}

extension EffectiveConfiguration {
  static let mask = "********"

  /// YAML that a configuration could be: each value has its source in a comment.
  package var yaml: [String] { lines(of: ConfigurationTable.rows, under: [], indentation: "") }

  /// An object from settings to their values and sources.
  package var json: String {
    PrintedValue.object(
      ConfigurationTable.settings.compactMap { setting in
        guard let listed = listed(setting), let value = listed.value else { return nil }
        return .init(setting.name, .object([.init("value", value), .init("source", .text(listed.source))]))
      }
    ).lines()
  }

  private func lines(of rows: [KeyRow], under path: [String], indentation: String) -> [String] {
    rows.flatMap { row -> [String] in
      let setting = ConfigurationSetting(path: path + [row.name], row: row)
      if let listed = listed(setting) { return listed.lines(indentation) }
      guard isWritten(setting.path) else {
        // As a comment, because some sections may not be written without a value of their own.
        return row.shape.isSetting ? [] : defaults(of: setting).map { "\(indentation)# \($0)" }
      }
      let inner = lines(of: row.shape.keys, under: setting.path, indentation: indentation + "  ")
      return ["\(indentation)\(row.name):"] + inner
    }
  }

  /// The lines of a section that is not written.
  private func defaults(of section: ConfigurationSetting) -> [String] {
    let inner = section.row.shape.keys.flatMap { row -> [String] in
      let setting = ConfigurationSetting(path: section.path + [row.name], row: row)
      guard row.shape.isSetting else { return defaults(of: setting) }
      return listed(setting).map { ["\(row.name): \($0.value?.yamlWord ?? $0.words) # \($0.source)"] } ?? []
    }
    return inner.isEmpty ? [] : ["\(section.row.name):"] + inner.map { "  \($0)" }
  }

  private func isWritten(_ path: [String]) -> Bool { root.value(at: path[...]) != nil }

  /// Returns `nil` if the setting has neither a value nor a default, or is a section with values of its own.
  fileprivate func listed(_ setting: ConfigurationSetting) -> ListedSetting? {
    guard setting.row.shape.isSetting else { return nil }
    guard let node = root.value(at: setting.path[...]) else { return standard(setting) }
    if case .mapping = node.content, !setting.row.shape.keys.isEmpty { return nil }
    return ListedSetting(setting: setting, value: shown(node, setting), source: source(of: node.place))
  }

  private func standard(_ setting: ConfigurationSetting) -> ListedSetting? {
    let section = setting.path.dropLast()
    let rows = section.reduce(ConfigurationTable.rows) { rows, name in rows.first { $0.name == name }?.shape.keys ?? []
    }
    // Without the section its keys mean nothing.
    guard root.value(at: section) != nil || !rows.contains(where: \.isRequired) else { return nil }
    switch setting.row.standard {
    case .value(let text):
      return ListedSetting(setting: setting, value: setting.row.shape.json(of: text), source: "default")
    case .words(let words):
      return ListedSetting(setting: setting, value: nil, source: "default", words: words)
    case nil: return nil
    }
  }

  private func shown(_ node: YAMLNode, _ setting: ConfigurationSetting) -> PrintedValue {
    if node.place.source == KeySource.environmentVariable { return .text(Self.mask) }
    if case .store = setting.row.shape, case .postgresql(let address) = configuration.store,
      configuration.store.hasSecret
    {
      return .text("\(StoreSetting.postgresName)://\(Self.mask)@\(address)")
    }
    return node.json(setting.row)
  }

  private func source(of place: YAMLPlace) -> String {
    place.source ?? "\(path ?? ConfigurationErrors.noFile):\(place.line)"
  }
}

extension ListedSetting {
  fileprivate func lines(_ indentation: String) -> [String] {
    guard let value else { return ["\(indentation)# \(setting.row.name): \(words) # \(source)"] }
    let name = value.isBlock ? "\(setting.row.name):" : "\(setting.row.name): \(value.yamlWord)"
    return ["\(indentation)\(name) # \(source)"] + (value.isBlock ? value.yamlLines(indentation + "  ") : [])
  }
}

extension YAMLNode {
  /// Secrets are masked. Values that no row describes are texts.
  fileprivate func json(_ row: KeyRow?) -> PrintedValue {
    if row?.isSecret == true { return .text(EffectiveConfiguration.mask) }
    switch content {
    case .scalar(let text): return row?.shape.json(of: text) ?? .text(text)
    case .sequence(let nodes):
      let element = row?.shape.elementShape.map { KeyRow($0, "") }
      return .list(nodes.map { $0.json(element) })
    case .mapping(let entries):
      return .object(entries.map { .init($0.key.name, $0.value.json(row?.shape.row(of: $0.key.name))) })
    }
  }
}

extension PrintedValue {
  /// Whether it takes lines of its own in YAML.
  fileprivate var isBlock: Bool {
    switch self {
    case .text, .integer, .number, .boolean: false
    case .list(let values): values.contains(where: \.isBlock) || yamlWord.utf8.count > 80
    case .object(let members): !members.isEmpty
    }
  }

  /// On one line.
  fileprivate var yamlWord: String {
    switch self {
    case .text(let text): Self.isPlain(text) ? text : JSONText.quoted(text)
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .boolean(let value): "\(value)"
    case .list(let values): "[\(values.map(\.yamlWord).joined(separator: ", "))]"
    case .object(let members):
      "{\(members.map { "\(PrintedValue.text($0.name).yamlWord): \($0.value.yamlWord)" }.joined(separator: ", "))}"
    }
  }

  fileprivate func yamlLines(_ indentation: String) -> [String] {
    switch self {
    case .text, .integer, .number, .boolean: ["\(indentation)\(yamlWord)"]
    case .list(let values):
      values.flatMap { value -> [String] in
        guard value.isBlock else { return ["\(indentation)- \(value.yamlWord)"] }
        let lines = value.yamlLines(indentation + "  ")
        return ["\(indentation)- \(lines[0].dropFirst(indentation.count + 2))"] + lines.dropFirst()
      }
    case .object(let members):
      members.flatMap { member -> [String] in
        let name = PrintedValue.text(member.name).yamlWord
        guard member.value.isBlock else { return ["\(indentation)\(name): \(member.value.yamlWord)"] }
        return ["\(indentation)\(name):"] + member.value.yamlLines(indentation + "  ")
      }
    }
  }

  /// Whether every reader of YAML takes the word for a text: no number, no boolean, and no sign of YAML's own.
  private static func isPlain(_ text: String) -> Bool {
    if Duration(settingName: text) != nil { return true }
    guard let first = text.utf8.first, first.isASCIILetter || first == UInt8(ascii: "/") else { return false }
    let others = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
    return !others.contains(text.lowercased())
      && text.utf8.allSatisfy { $0.isASCIILetter || "0123456789/._-+*@".utf8.contains($0) }
  }
}
