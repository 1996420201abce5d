internal import Encodings
internal import Glibc

/// Reads values from nodes. An error is noted with its place and the reading goes on, so that one run lists every
/// error.
package struct SettingReader {
  /// Holds one more than is printed, so that the output can state that there are more.
  package private(set) var errors: [YAMLError] = []
  /// Settings that are right, and may surprise.
  package private(set) var warnings: [YAMLError] = []
  /// The places that name files and directories, by setting. Defects of those are only found after the reading.
  package private(set) var paths: [String: YAMLPlace] = [:]

  /// More errors are too many to read at once.
  package static let maximumErrors = 100

  package init() {}

  private var isFull: Bool { errors.count > Self.maximumErrors }

  package mutating func refuse(_ place: YAMLPlace, _ message: @autoclosure () -> String) {
    if !isFull { errors.append(YAMLError(message: message(), place: place)) }
  }

  package mutating func warn(_ place: YAMLPlace, _ message: String) {
    warnings.append(YAMLError(message: message, place: place))
  }

  package mutating func refuse(_ more: [YAMLError]) {
    for error in more { refuse(error.place, error.message) }
  }

  // MARK: Shapes

  /// Returns the entries with known keys.
  package mutating func mapping(_ node: YAMLNode, _ name: String, of known: [String]) -> [YAMLEntry]? {
    guard let entries = mapping(node, name) else { return nil }
    return entries.filter { entry in
      if known.contains(entry.key.name) { return true }
      let key = entry.key
      refuse(
        key.place,
        "\(key.shownName) is not a setting of \(name)\(suggestion(for: key.name, among: known))")
      return false
    }
  }

  package mutating func mapping(_ node: YAMLNode, _ name: String) -> [YAMLEntry]? {
    guard case .mapping(let entries) = node.content else {
      refuse(node.place, "\(name) must be a mapping of settings")
      return nil
    }
    return entries
  }

  package mutating func list(_ node: YAMLNode, _ name: String) -> [YAMLNode]? {
    guard case .sequence(let nodes) = node.content else {
      refuse(node.place, "\(name) must be a list")
      return nil
    }
    return nodes
  }

  // MARK: Values

  package mutating func text(_ node: YAMLNode, _ name: String) -> String? {
    guard case .scalar(let text) = node.content else {
      refuse(node.place, "\(name) must be a text")
      return nil
    }
    return text
  }

  package mutating func text(_ node: YAMLNode, _ name: String, bytes: ClosedRange<Int>) -> String? {
    guard let text = text(node, name) else { return nil }
    guard bytes.contains(text.utf8.count) else {
      refuse(node.place, "\(name) must be \(bytes.lowerBound) to \(bytes.upperBound) bytes")
      return nil
    }
    return text
  }

  package mutating func path(_ node: YAMLNode, _ name: String) -> String? {
    paths[name] = node.place
    return text(node, name, bytes: 1...Int(PATH_MAX))
  }

  package mutating func integer(_ node: YAMLNode, _ name: String) -> Int? {
    guard case .scalar(let text) = node.content, let number = Int(text) else {
      refuse(node.place, "\(name) must be a whole number")
      return nil
    }
    return number
  }

  package mutating func integer(_ node: YAMLNode, _ name: String, in range: ClosedRange<Int>) -> Int? {
    guard let number = integer(node, name) else { return nil }
    guard range.contains(number) else {
      refuse(node.place, "\(name) must be \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
    return number
  }

  package mutating func boolean(_ node: YAMLNode, _ name: String) -> Bool? {
    word(node, name, among: [("true", true), ("false", false)])
  }

  package mutating func word<Value>(_ node: YAMLNode, _ name: String, among words: [(String, Value)]) -> Value? {
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
