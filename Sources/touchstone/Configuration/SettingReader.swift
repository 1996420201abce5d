// Values from nodes. What is none is noted with its place, and the reading goes on, so that one run names everything.

internal import TouchstonePolicy

struct SettingReader {
  /// One more than is told, so that it is known that there are more.
  private(set) var errors: [YAMLError] = []

  private var isFull: Bool { errors.count > ConfigurationErrors.maximumCount }

  mutating func refuse(_ place: YAMLPlace, _ message: @autoclosure () -> String) {
    if !isFull { errors.append(YAMLError(message: message(), place: place)) }
  }

  mutating func refuse(_ more: [YAMLError]) {
    for error in more { refuse(error.place, error.message) }
  }

  // MARK: Shapes

  /// The entries, without those whose key is none of the known ones.
  mutating func mapping(_ node: YAMLNode, _ name: String, of known: [String]) -> [YAMLEntry]? {
    guard let entries = mapping(node, name) else { return nil }
    return entries.filter { entry in
      if known.contains(entry.key.name) { return true }
      let key = entry.key
      refuse(
        key.place,
        "\(key.name.debugDescription) is not a setting of \(name)\(suggestion(for: key.name, among: known))")
      return false
    }
  }

  mutating func mapping(_ node: YAMLNode, _ name: String) -> [YAMLEntry]? {
    guard case .mapping(let entries) = node.content else {
      refuse(node.place, "\(name) must be a mapping of settings")
      return nil
    }
    return entries
  }

  mutating func list(_ node: YAMLNode, _ name: String) -> [YAMLNode]? {
    guard case .sequence(let nodes) = node.content else {
      refuse(node.place, "\(name) must be a list")
      return nil
    }
    return nodes
  }

  // MARK: Values

  mutating func text(_ node: YAMLNode, _ name: String) -> String? {
    guard case .scalar(let text) = node.content else {
      refuse(node.place, "\(name) must be a text")
      return nil
    }
    return text
  }

  mutating func text(_ node: YAMLNode, _ name: String, bytes: ClosedRange<Int>) -> String? {
    guard let text = text(node, name) else { return nil }
    guard bytes.contains(text.utf8.count) else {
      refuse(node.place, "\(name) must be \(bytes.lowerBound) to \(bytes.upperBound) bytes")
      return nil
    }
    return text
  }

  mutating func integer(_ node: YAMLNode, _ name: String) -> Int? {
    guard case .scalar(let text) = node.content, let number = Int(text) else {
      refuse(node.place, "\(name) must be a whole number")
      return nil
    }
    return number
  }

  mutating func integer(_ node: YAMLNode, _ name: String, in range: ClosedRange<Int>) -> Int? {
    guard let number = integer(node, name) else { return nil }
    guard range.contains(number) else {
      refuse(node.place, "\(name) must be \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
    return number
  }

  mutating func boolean(_ node: YAMLNode, _ name: String) -> Bool? {
    word(node, name, among: [("true", true), ("false", false)])
  }

  mutating func duration(_ node: YAMLNode, _ name: String) -> Duration? {
    guard case .scalar(let text) = node.content, let duration = Duration(settingName: text) else {
      refuse(node.place, "\(name) must be a time such as 30s, 5m or 1h")
      return nil
    }
    return duration
  }

  mutating func version(_ node: YAMLNode, _ name: String) -> OSVersion? {
    guard case .scalar(let text) = node.content, let version = OSVersion(text) else {
      refuse(node.place, "\(name) must be a version such as 9, 9.3 or 9.3.5")
      return nil
    }
    return version
  }

  mutating func word<Value>(_ node: YAMLNode, _ name: String, among words: [(String, Value)]) -> Value? {
    let known = words.map(\.0)
    guard case .scalar(let text) = node.content else {
      refuse(node.place, "\(name) must be one of \(known.joined(separator: ", "))")
      return nil
    }
    guard let value = words.first(where: { $0.0 == text })?.1 else {
      let hint = suggestion(for: text, among: known)
      refuse(node.place, "\(name) must be one of \(known.joined(separator: ", ")), not \(text.debugDescription)\(hint)")
      return nil
    }
    return value
  }
}
