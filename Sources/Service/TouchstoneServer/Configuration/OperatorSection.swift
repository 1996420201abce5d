// `operators:` of the configuration: the accounts of the console.

internal import SettingFiles
internal import TouchstoneConsole
internal import TouchstoneCrypto
internal import TouchstoneService

/// A mapping from an operator's name to the account.
struct OperatorSection {
  static var shape: ValueShape { .map(.section(Account.rows), atMost: OperatorDefinition.maximumOperators) }

  private(set) var operators: [OperatorDefinition] = []

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    for entry in reader.entries(node, "operators", atMost: OperatorDefinition.maximumOperators) {
      read(entry, with: &reader)
    }
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
    if let violation = CallerDefinition.violation(inName: name) {
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
    guard let account: Account = reader.section(entry, setting, lacksAt: .sectionKey),
      let password = account.password, let role = account.role, let applications = account.applications
    else { return }
    operators.append(OperatorDefinition(name: name, password: password, role: role, applications: applications))
  }

  /// Returns the place of a hash that lacks quotes in `{…}`, where YAML reads the rest of it as keys.
  private static func cutHash(in node: YAMLNode) -> YAMLPlace? {
    guard let password = node.value(at: ["password"]), case .scalar(let text) = password.content,
      text.hasPrefix(PasswordHash.prefix), !text.contains(",")
    else { return nil }
    return password.place
  }
}

/// An element of `operators:`.
private struct Account: ConfigurationSection {
  var password: PasswordHash?
  var role: OperatorRole?
  var applications: ApplicationGrant?

  static var keys: [ConfigurationKey<Account>] {
    ConfigurationKey(
      "password", .passwordHash, isRequired: true, isSecret: true, "The hash of the operator's password."
    ) { $0.password = $1 }
    ConfigurationKey("role", .word, to: \.role, isRequired: true, "What the operator may do.")
    ConfigurationKey("applications", .applications, isRequired: true, "The applications that the operator sees.") {
      $0.applications = $1
    }
  }
}

extension ValueForm where Value == PasswordHash {
  /// No error quotes the text, which may be the password itself.
  fileprivate static var passwordHash: ValueForm {
    .form("a hash as `touchstone operators hash` prints it") { text throws(FormViolation) in
      do throws(PasswordHash.Malformed) {
        return try PasswordHash(parsing: text)
      } catch {
        throw FormViolation(reason: error.reason)
      }
    }
  }
}

extension ValueForm where Value == ConsoleURL {
  static var consoleURL: ValueForm {
    .form("a URL that ends with /console") { text throws(FormViolation) in
      guard let url = ConsoleURL(text) else { throw FormViolation(reason: ConsoleURL.violation(in: text) ?? "") }
      return url
    }
  }
}
