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
  var mayHoldSecret: Bool { row.isSecret || row.shape == .store }
}

extension ConfigurationSetting {
  /// Makes the value of a variable or a flag a node, as the file would have it: words as they are, lists and mappings as YAML.
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
