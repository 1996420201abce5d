// `policies:` of the configuration. Nodes become definitions, and violations that the rules find get their place in the file.

internal import SettingFiles
internal import TouchstonePolicy

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
    guard let entries = reader.mapping(node, "policies") else { return [] }
    if entries.count > Self.maximumPolicies {
      reader.refuse(node.place, "policies must be at most \(Self.maximumPolicies)")
    }
    return entries.prefix(Self.maximumPolicies).compactMap { entry in
      readPolicy(named: entry.key, entry.value, with: &reader)
    }
  }

  private func readPolicy(
    named key: YAMLKey, _ node: YAMLNode, with reader: inout SettingReader
  ) -> EvaluationPolicy? {
    var definition = PolicyDefinition(name: key.name)
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
    let known = PolicyDefinition.RungKey.allCases.map(\.rawValue)
    guard let entries = reader.mapping(node, "a rung", of: known) else { return .unreadable }
    var rung = PolicyDefinition.Rung()
    for entry in entries {
      let name = entry.key.name
      switch PolicyDefinition.RungKey(rawValue: name) {
      case .failures: rung.failures = Setting(reader.integer(entry.value, name))
      case .lock: rung.lock = Setting(reader.duration(entry.value, name))
      case .disable: rung.disable = Setting(reader.boolean(entry.value, name))
      case nil: break
      }
    }
    return .value(rung)
  }

  /// "none", or the settings of the token.
  func token() -> PolicyDefinition.Token? {
    if case .scalar("none") = node.content { return PolicyDefinition.Token.none }
    let known = PolicyDefinition.TokenKey.allCases.map(\.rawValue)
    guard case .mapping = node.content else {
      reader.refuse(node.place, "token must be none, or a mapping of \(known.joined(separator: ", "))")
      return nil
    }
    var lifetime = Setting<Duration>.absent
    var isSingleUse = Setting<Bool>.absent
    for entry in reader.mapping(node, name, of: known) ?? [] {
      let name = entry.key.name
      switch PolicyDefinition.TokenKey(rawValue: name) {
      case .lifetime: lifetime = Setting(reader.duration(entry.value, name))
      case .singleUse: isSingleUse = Setting(reader.boolean(entry.value, name))
      case nil: break
      }
    }
    return .issued(lifetime: lifetime, isSingleUse: isSingleUse)
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
