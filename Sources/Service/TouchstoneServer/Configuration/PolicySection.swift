// `policies:` of the configuration. Nodes become definitions, and violations that the rules find get their place in the
// file.

internal import SettingFiles
internal import TouchstonePolicy
internal import TouchstoneService

struct PolicySection {
  /// The settings of the whole configuration, for policies without their own.
  struct Defaults {
    var evaluationLifetime: Duration?
    var tokenLifetime: Duration?

    /// For a built-in policy.
    func apply(to policy: inout EvaluationPolicy) {
      if let evaluationLifetime { policy.evaluationLifetime = evaluationLifetime }
      if let tokenLifetime { policy.tokenLifetime = tokenLifetime }
    }

    /// The definition's own settings take precedence.
    fileprivate func apply(to definition: inout PolicyDefinition) {
      if definition.evaluationLifetime == .absent, let evaluationLifetime {
        definition.evaluationLifetime = .value(evaluationLifetime)
      }
      guard let tokenLifetime else { return }
      switch definition.token {
      case .absent:
        definition.token = .value(.issued(lifetime: .value(tokenLifetime)))
      case .value(.issued(lifetime: .absent, let isSingleUse)):
        definition.token = .value(.issued(lifetime: .value(tokenLifetime), isSingleUse: isSingleUse))
      case .value, .unreadable:
        break
      }
    }
  }

  /// Enough for every product of a company. Every request's policy name is compared with each.
  static let maximumPolicies = 256

  let defaults: Defaults

  /// The policies without defects, in the file's order.
  func read(_ node: YAMLNode, with reader: inout SettingReader) -> [EvaluationPolicy] {
    reader.entries(node, "policies", atMost: Self.maximumPolicies).compactMap { entry in
      readPolicy(named: entry.key, entry.value, with: &reader)
    }
  }

  private func readPolicy(
    named key: YAMLKey, _ node: YAMLNode, with reader: inout SettingReader
  ) -> EvaluationPolicy? {
    var definition = PolicyDefinition(name: key.name)
    if Identifier.areEqual(key.name, ApplicationID.console) {
      reader.refuse(key.place, "a policy cannot be \"\(key.name)\", which is the console's own")
    }
    let known = PolicySetting.all.map(\.key)
    guard let entries = reader.mapping(node, key.name.debugDescription, of: known) else { return nil }
    for entry in entries {
      let source = YAMLSetting(node: entry.value, name: entry.key.name, reader: reader)
      PolicySetting.named(entry.key.name)?.read(source, into: &definition)
      reader = source.reader
    }
    defaults.apply(to: &definition)
    do throws(PolicyDefects) {
      return try definition.policy()
    } catch {
      for defect in error.defects {
        reader.refuse(defect.place(in: node, under: key), defect.message(for: key.name))
      }
      return nil
    }
  }
}

/// A setting's value as YAML. It takes and returns the reader, which keeps the errors.
private final class YAMLSetting: SettingSource {
  private let node: YAMLNode
  private let name: String
  private(set) var reader: SettingReader

  init(node: YAMLNode, name: String, reader: SettingReader) {
    self.node = node
    self.name = name
    self.reader = reader
  }

  func integer() -> Int? { reader.integer(node, name) }
  func duration() -> Duration? { reader.duration(node, name) }
  func version() -> OSVersion? { reader.version(node, name) }
  func text() -> String? { reader.text(node, name) }
  func word<Value>(among words: [(String, Value)]) -> Value? { reader.word(node, name, among: words) }
  func factors() -> [Setting<Factor>]? { reader.list(node, name)?.map { Self.readFactor($0, with: &reader) } }
  func ladder() -> [Setting<PolicyDefinition.Rung>]? {
    reader.list(node, name)?.map { Self.readRung($0, with: &reader) }
  }

  private static let factors = Factor.allCases.map { ($0.settingName, $0) }

  private static func readFactor(_ node: YAMLNode, with reader: inout SettingReader) -> Setting<Factor> {
    Setting(reader.word(node, "a factor", among: factors))
  }

  private static func readRung(
    _ node: YAMLNode, with reader: inout SettingReader
  ) -> Setting<PolicyDefinition.Rung> {
    var rung = PolicyDefinition.Rung()
    let keys = PolicyDefinition.Rung.keys
    // Without a judgement of missing keys, which is the policy's.
    let written = reader.read(YAMLEntry(element: node), "a rung", into: &rung, by: keys, prefix: "")
    return written == nil ? .unreadable : .value(rung)
  }

  /// "none", or the settings of the token.
  func token() -> PolicyDefinition.Token? {
    if case .scalar("none") = node.content { return PolicyDefinition.Token.none }
    guard case .mapping = node.content else {
      let known = IssuedToken.rows.map(\.name).joined(separator: ", ")
      reader.refuse(node.place, "token must be none, or a mapping of \(known)")
      return nil
    }
    let token = reader.section(YAMLEntry(element: node), name) ?? IssuedToken()
    return .issued(lifetime: token.lifetime, isSingleUse: token.isSingleUse)
  }
}

extension PolicyDefinition.Rung: ConfigurationSection {
  static var keysStandAlone: Bool { true }

  static var keys: [ConfigurationKey<Self>] {
    ConfigurationKey(
      PolicyDefinition.RungKey.failures.rawValue,
      .written(.integer(PolicyDefinition.rungBounds)) { $2.integer($0, $1) },
      to: \.failures, isRequired: true, "The number of failures.")
    ConfigurationKey(
      PolicyDefinition.RungKey.lock.rawValue, .written(.duration(PolicyDefinition.lockBounds)) { $2.duration($0, $1) },
      to: \.lock, "How long the secret is locked then.")
    ConfigurationKey(
      PolicyDefinition.RungKey.disable.rawValue, .written(.boolean) { $2.boolean($0, $1) }, to: \.disable,
      "Whether it is disabled then.")
  }
}

/// A token that is issued, as a policy's `token:` has it.
private struct IssuedToken: ConfigurationSection {
  var lifetime = Setting<Duration>.absent
  var isSingleUse = Setting<Bool>.absent

  static var keysStandAlone: Bool { true }

  static var keys: [ConfigurationKey<Self>] {
    ConfigurationKey(
      PolicyDefinition.TokenKey.lifetime.rawValue,
      .written(.duration(PolicyDefinition.lifetimeBounds)) { $2.duration($0, $1) }, to: \.lifetime,
      "How long the token is valid.")
    ConfigurationKey(
      PolicyDefinition.TokenKey.singleUse.rawValue, .written(.boolean) { $2.boolean($0, $1) }, to: \.isSingleUse,
      "Whether it serves once.")
  }
}

extension ValueForm {
  /// A value whose bounds the policy's own rules judge.
  fileprivate static func written<Written>(
    _ shape: ValueShape, _ read: @escaping @Sendable (YAMLNode, String, inout SettingReader) -> Written?
  ) -> ValueForm where Value == Setting<Written> {
    ValueForm(shape) { Setting(read($0.value, $1, &$2)) }
  }
}

extension Setting {
  /// The value that was read, if there is one.
  fileprivate init(_ read: Value?) {
    self = read.map { .value($0) } ?? .unreadable
  }
}

extension PolicyDefect {
  /// "ladder[2].lock is shorter than …".
  fileprivate func message(for name: String) -> String {
    var words = ""
    for step in path {
      switch step {
      case .key(let key): words += words.isEmpty ? key : ".\(key)"
      case .index(let index): words += "[\(index)]"
      }
    }
    return "\(words.isEmpty ? name.debugDescription : words) \(reason)"
  }

  /// The place of a value that is one word or an element; otherwise the place of its key, which is easier to find.
  fileprivate func place(in node: YAMLNode, under key: YAMLKey) -> YAMLPlace {
    var node = node
    var place = key.place
    for step in path {
      switch (step, node.content) {
      case (.key(let name), .mapping(let entries)):
        guard let entry = entries.first(where: { $0.key.name == name }) else { return place }
        node = entry.value
        if case .scalar = node.content { place = node.place } else { place = entry.key.place }
      case (.index(let index), .sequence(let nodes)) where nodes.indices.contains(index):
        node = nodes[index]
        place = node.place
      case (.key, _), (.index, _):
        return place
      }
    }
    return place
  }
}

// MARK: Rows

extension PolicySection {
  /// A policy's settings, as their own table reads them (`PolicySetting`).
  static let shape = ValueShape.section(
    PolicySetting.all.map { setting in
      let probe = ShapeProbe()
      var definition = PolicyDefinition(name: "")
      setting.read(probe, into: &definition)
      return KeyRow(probe.shape, isRequired: required.contains(setting.key), "").named(setting.key)
    })

  /// The settings without a default.
  private static let required = ["purpose", "factors"]
}

/// Notes as which kind a setting is read.
private final class ShapeProbe: SettingSource {
  private(set) var shape = ValueShape.form("")

  private func note<Value>(_ shape: ValueShape) -> Value? {
    self.shape = shape
    return nil
  }

  func integer() -> Int? { note(.integer(PolicyDefinition.lockoutBounds)) }
  func duration() -> Duration? { note(.duration(PolicyDefinition.lifetimeBounds)) }
  func version() -> OSVersion? { note(.version) }
  func text() -> String? { note(.text(bytes: 0...PolicyDefinition.maximumTitleBytes)) }
  func word<Value>(among words: [(String, Value)]) -> Value? { note(.word(words.map(\.0))) }

  func factors() -> [Setting<Factor>]? {
    note(.list(.word(Factor.allCases.map(\.settingName)), 1...Factor.allCases.count))
  }

  func ladder() -> [Setting<PolicyDefinition.Rung>]? {
    note(.list(.section(PolicyDefinition.Rung.rows), 1...PolicyDefinition.rungBounds.count))
  }

  func token() -> PolicyDefinition.Token? {
    note(.either([.word(["none"]), .section(IssuedToken.rows)]))
  }
}
