// A key that can be set by itself: in the file, by a variable of the environment, or by a flag.

internal import SettingFiles

struct ConfigurationSetting: Sendable {
  /// From the top of the file.
  let path: [String]
  let row: KeyRow

  /// "limits.connections"
  var name: String { path.joined(separator: ".") }
  /// "TOUCHSTONE_LIMITS_CONNECTIONS"
  var variable: String { Self.prefix + path.joined(separator: "_").uppercased() }
  /// "--limits-connections"
  var flag: String { "--" + path.joined(separator: "-").map { $0 == "_" ? "-" : String($0) }.joined() }

  static let prefix = "TOUCHSTONE_"

  /// Whether the value is secret, or may hold a secret.
  var mayHoldSecret: Bool { row.mayHoldSecret }
}

extension ConfigurationSetting {
  /// Makes the value of a variable or a flag a node, as the file would have it: words as they are, lists and mappings
  /// as YAML.
  ///
  /// - Parameter texts: more than one only of a flag that is given several times.
  func node(_ texts: [String], of source: String, errors: inout [YAMLError]) -> YAMLNode? {
    let place = YAMLPlace(wholeOf: source)
    if row.shape.isOneOrList {
      return YAMLNode(content: .sequence(texts.map { YAMLNode(content: .scalar($0), place: place) }), place: place)
    }
    guard let text = texts.last else { return nil }
    if row.shape.takesText {
      return YAMLNode(content: .scalar(text), place: place)
    }
    do throws(YAMLError) {
      return try YAMLNode.parse(Array(text.utf8), of: source, errors: &errors)
    } catch {
      errors.append(error)
      return nil
    }
  }
}

// MARK: Secrets

extension KeyRow {
  var mayHoldSecret: Bool { isSecret || shape.mayHoldSecret }
}

extension ValueShape {
  fileprivate var mayHoldSecret: Bool {
    switch self {
    case .store: true
    case .list(let shape, _), .map(let shape, _): shape.mayHoldSecret
    case .either(let shapes): shapes.contains(where: \.mayHoldSecret)
    case .section(let rows): rows.contains(where: \.mayHoldSecret)
    default: false
    }
  }

  /// The kind of a list's elements.
  var elementShape: ValueShape? {
    switch self {
    case .list(let shape, _): shape
    case .either(let shapes): shapes.lazy.compactMap(\.elementShape).first
    default: nil
    }
  }

  /// The row of a mapping's value.
  func row(of key: String) -> KeyRow? {
    switch self {
    case .map(let shape, _): KeyRow(shape, "").named(key)
    case .section, .either: keys.first { $0.name == key }
    default: nil
    }
  }
}

extension YAMLNode {
  /// Whether a secret is written in it. The place of a store may have a password.
  func holdsSecret(_ row: KeyRow) -> Bool {
    if row.isSecret { return true }
    switch (content, row.shape) {
    case (.scalar(let text), .store): return (try? StoreSetting(parsing: text))?.hasSecret == true
    case (.scalar, _): return false
    case (.sequence(let nodes), let shape):
      guard let element = shape.elementShape else { return false }
      return nodes.contains { $0.holdsSecret(KeyRow(element, "")) }
    case (.mapping(let entries), let shape):
      return entries.contains { entry in shape.row(of: entry.key.name).map(entry.value.holdsSecret) ?? false }
    }
  }
}

/// Every key of the configuration, by the rows of the sections. The variables, the flags, the schema and
/// docs/CONFIGURATION.md follow from these rows.
enum ConfigurationTable {
  static let rows = ProcessConfiguration.rows
  /// All keys with values of their own, in the table's order.
  static let settings = settings(of: rows, under: [])

  private static func settings(of rows: [KeyRow], under path: [String]) -> [ConfigurationSetting] {
    rows.flatMap { row in
      let setting = ConfigurationSetting(path: path + [row.name], row: row)
      return (row.shape.isSetting ? [setting] : []) + settings(of: row.shape.keys, under: setting.path)
    }
  }
}
