// `operators:` of the configuration: the accounts of the console.

internal import SettingFiles
internal import TouchstoneConsole
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService

/// A mapping from an operator's name to the account.
struct OperatorSection {
  enum Key: String, CaseIterable {
    case password
    case role
    case applications
  }

  private(set) var operators: [OperatorDefinition] = []

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    let entries = reader.mapping(node, "operators") ?? []
    if entries.count > OperatorDefinition.maximumOperators {
      reader.refuse(node.place, "operators must be at most \(OperatorDefinition.maximumOperators)")
    }
    for entry in entries.prefix(OperatorDefinition.maximumOperators) { read(entry, with: &reader) }
    // Names are told apart by time if their checks take longer or shorter.
    if let first = operators.first?.password.parameters, operators.contains(where: { $0.password.parameters != first })
    {
      reader.warn(
        node.place,
        "the operators' hashes have different costs, so the time of a sign-in shows which names exist: make them alike")
    }
  }

  private mutating func read(_ entry: YAMLEntry, with reader: inout SettingReader) {
    let name = entry.key.name
    if let violation = OperatorDefinition.violation(inName: name) {
      reader.refuse(entry.key.place, "an operator's name \(violation)")
    }
    let setting = "operators.\(name)"
    if let place = Self.cutHash(in: entry.value) {
      reader.refuse(
        place,
        "\(setting).password ends at the hash's first comma: put the hash into quotes, as `touchstone operators hash` prints it"
      )
      return
    }
    guard let entries = reader.mapping(entry.value, setting, of: Key.names) else { return }
    func value(_ key: Key) -> YAMLNode? {
      if let value = entries.first(where: { $0.key.name == key.rawValue })?.value { return value }
      reader.refuse(entry.key.place, "\(setting) needs \(key.rawValue)")
      return nil
    }
    let (password, role, applications) = (value(.password), value(.role), value(.applications))
    let hash = password.flatMap { Self.hash($0, "\(setting).password", with: &reader) }
    let roles = OperatorRole.allCases.map { ($0.rawValue, $0) }
    let known = role.flatMap { reader.word($0, "\(setting).role", among: roles) }
    let grant = applications.map { reader.applications($0, "\(setting).applications") }
    guard let hash, let known, let grant else { return }
    operators.append(OperatorDefinition(name: name, password: hash, role: known, applications: grant))
  }

  /// Returns the place of a hash that lacks quotes in `{…}`, where YAML reads the rest of it as keys.
  private static func cutHash(in node: YAMLNode) -> YAMLPlace? {
    guard let password = node.value(at: [Key.password.rawValue]), case .scalar(let text) = password.content,
      text.hasPrefix(PasswordHash.prefix), !text.contains(",")
    else { return nil }
    return password.place
  }

  /// No error quotes the text, which may be the password itself.
  private static func hash(_ node: YAMLNode, _ name: String, with reader: inout SettingReader) -> PasswordHash? {
    guard let text = reader.text(node, name) else { return nil }
    do throws(PasswordHash.Malformed) {
      return try PasswordHash(parsing: text)
    } catch {
      reader.refuse(node.place, "\(name) \(error.reason)")
      return nil
    }
  }
}

extension SettingReader {
  mutating func consoleURL(_ node: YAMLNode, _ name: String) -> ConsoleURL? {
    guard let text = text(node, name) else { return nil }
    if let violation = ConsoleURL.violation(in: text) { refuse(node.place, "\(name) \(violation)") }
    return ConsoleURL(text)
  }

  /// A list of applications, or "*" for all of them.
  fileprivate mutating func applications(_ node: YAMLNode, _ name: String) -> ApplicationGrant {
    if case .scalar("*") = node.content { return .all }
    guard case .sequence(let nodes) = node.content, (1...CallerSection.maximumApplications).contains(nodes.count) else {
      refuse(node.place, "\(name) must be a list of 1 to \(CallerSection.maximumApplications), or \"*\"")
      return .these([])
    }
    var applications: [String] = []
    for node in nodes {
      guard let text = text(node, "an application") else { continue }
      if let violation = ApplicationID.violation(in: text) {
        refuse(node.place, "an application \(violation)")
      } else if applications.contains(where: { Identifier.areEqual($0, text) }) {
        refuse(node.place, "\(text.debugDescription) appears twice")
      }
      applications.append(text)
    }
    return .these(applications)
  }
}
