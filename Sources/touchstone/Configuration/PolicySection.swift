// `policies:` of the configuration. Here nodes become definitions, and what the rules find wrong with a definition gets
// its place in the file.

internal import TouchstonePolicy

struct PolicySection {
  /// What the whole configuration says of policies that do not say it themselves.
  struct Defaults {
    var evaluationLifetime: Duration?
    var tokenLifetime: Duration?

    /// A built-in one.
    func apply(to policy: inout EvaluationPolicy) {
      if let evaluationLifetime { policy.evaluationLifetime = evaluationLifetime }
      if let tokenLifetime { policy.tokenLifetime = tokenLifetime }
    }

    /// Beneath what it says itself.
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

  /// Enough for every product of a company; each is compared with every request's by name.
  static let maximumPolicies = 256

  private typealias Key = PolicyDefinition.Key

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
    let known = PolicyDefinition.Key.allCases.map(\.rawValue)
    guard let entries = reader.mapping(node, key.name.debugDescription, of: known) else { return nil }
    for entry in entries { Self.read(entry.key.name, entry.value, into: &definition, with: &reader) }
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

  // MARK: Settings

  private static func read(
    _ name: String, _ node: YAMLNode, into definition: inout PolicyDefinition, with reader: inout SettingReader
  ) {
    switch Key(rawValue: name) {
    case .purpose: definition.purpose = Setting(reader.word(node, name, among: purposes))
    case .factors: definition.factors = readList(node, name, with: &reader, Self.readFactor)
    case .attempts: definition.attempts = Setting(reader.integer(node, name))
    case .lockoutAfter: definition.lockoutAfter = Setting(reader.integer(node, name))
    case .ladder: definition.ladder = readList(node, name, with: &reader, Self.readRung)
    case .primaryFreshness: definition.primaryFreshness = Setting(reader.duration(node, name))
    case .keyProtection: definition.keyProtection = Setting(reader.word(node, name, among: keyProtections))
    case .domainState: definition.domainState = Setting(reader.word(node, name, among: domainStates))
    case .minimumOS: definition.minimumOS = Setting(reader.version(node, name))
    case .evaluationLifetime: definition.evaluationLifetime = Setting(reader.duration(node, name))
    case .token: definition.token = readToken(node, name, with: &reader)
    case .fallback: definition.fallback = Setting(reader.word(node, name, among: fallbacks))
    case .fallbackTitle: definition.fallbackTitle = Setting(reader.text(node, name))
    case .cancelTitle: definition.cancelTitle = Setting(reader.text(node, name))
    case nil: break
    }
  }

  private static let purposes = [EvaluationPolicy.Purpose.login, .payment].map { ($0.settingName, $0) }
  private static let factors = Factor.allCases.filter { $0 != .passkey }.map { ($0.settingName, $0) }
  private static let keyProtections = KeyProtection.allCases.map { ($0.settingName, $0) }
  private static let domainStates = PolicyDefinition.DomainState.allCases.map { ($0.settingName, $0) }
  private static let fallbacks = [EvaluationPolicy.Fallback.button, .automatic].map { ($0.settingName, $0) }

  private static func readList<Value>(
    _ node: YAMLNode, _ name: String, with reader: inout SettingReader,
    _ read: (YAMLNode, inout SettingReader) -> Setting<Value>
  ) -> Setting<[Setting<Value>]> {
    guard let nodes = reader.list(node, name) else { return .unreadable }
    return .value(nodes.map { read($0, &reader) })
  }

  private static func readFactor(_ node: YAMLNode, with reader: inout SettingReader) -> Setting<Factor> {
    // Known, but nothing to suggest: the rules say why.
    if case .scalar(Factor.passkey.settingName) = node.content { return .value(.passkey) }
    return Setting(reader.word(node, "a factor", among: factors))
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

  /// "none", or how it is issued.
  private static func readToken(
    _ node: YAMLNode, _ name: String, with reader: inout SettingReader
  ) -> Setting<PolicyDefinition.Token> {
    if case .scalar("none") = node.content { return .value(.none) }
    let known = PolicyDefinition.TokenKey.allCases.map(\.rawValue)
    guard case .mapping = node.content else {
      reader.refuse(node.place, "token must be none, or a mapping of \(known.joined(separator: ", "))")
      return .unreadable
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
    return .value(.issued(lifetime: lifetime, isSingleUse: isSingleUse))
  }
}

extension Setting {
  /// What was read where something is written.
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

  /// Of the value, where it is one word or an element; else of its key, which a reader finds sooner.
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
