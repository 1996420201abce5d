// Reads scenarios from YAML. docs/LOAD.md describes the keys.

internal import LoadModel
internal import SettingFiles

/// A fault in a scenario's file: "FILE:LINE:COLUMN: MESSAGE".
package struct ScenarioError: Error, CustomStringConvertible {
  package let description: String
}

extension Scenario {
  private enum Key: String, CaseIterable {
    case application
    case loginPolicy = "login_policy"
    case paymentPolicy = "payment_policy"
    case credential
    case think
    case flows
  }

  /// - Parameter path: the file's name in errors. Its last component is the scenario's name.
  package init(yaml: [UInt8], path: String) throws(ScenarioError) {
    var reader = SettingReader()
    var read: Scenario?
    do throws(YAMLError) {
      var errors: [YAMLError] = []
      let root = try YAMLNode.parse(yaml, errors: &errors)
      reader.refuse(errors)
      read = Scenario(root, name: path.split(separator: "/").last.map(String.init) ?? path, with: &reader)
    } catch {
      throw ScenarioError(description: error.line(of: path))
    }
    if let first = reader.errors.min(by: { $0.place < $1.place }) {
      throw ScenarioError(description: first.line(of: path))
    }
    guard let read else { preconditionFailure("a scenario that could not be read has an error") }
    self = read
  }

  /// Returns `nil` if the reader noted an error that leaves no scenario.
  private init?(_ root: YAMLNode, name: String, with reader: inout SettingReader) {
    guard let entries = reader.mapping(root, "a scenario", of: Key.allCases.map(\.rawValue)) else { return nil }
    func value(_ key: Key) -> YAMLNode? { entries.first { $0.key.name == key.rawValue }?.value }
    let think = value(.think).flatMap { reader.think($0, "think") } ?? .zero ... .zero
    guard let node = value(.flows) else {
      reader.refuse(root.place, "a scenario needs flows")
      return nil
    }
    guard let nodes = reader.list(node, "flows", counts: Self.flowCounts) else { return nil }
    let kinds = PhoneCredential.allCases.map { ($0.rawValue, $0) }
    let credential =
      value(.credential).flatMap { reader.word($0, Key.credential.rawValue, among: kinds) } ?? .p256
    let flows = nodes.compactMap { Flow($0, think: think, credential, with: &reader) }
    for (index, flow) in flows.enumerated() where flows.prefix(index).contains(where: { $0.name == flow.name }) {
      reader.refuse(nodes[min(index, nodes.count - 1)].place, "two flows are named \(flow.name.debugDescription)")
    }
    guard !flows.isEmpty else { return nil }
    self.init(name, flows)
    self.credential = credential
    application = value(.application).flatMap { reader.name($0, Key.application.rawValue) } ?? application
    loginPolicy = value(.loginPolicy).flatMap { reader.name($0, Key.loginPolicy.rawValue) } ?? loginPolicy
    paymentPolicy = value(.paymentPolicy).flatMap { reader.name($0, Key.paymentPolicy.rawValue) } ?? paymentPolicy
  }

  /// More are no longer told apart in a report.
  private static let flowCounts = 1...64
}

extension Scenario.Flow {
  private enum Key: String, CaseIterable {
    case name
    case weight
    case think
    case actions
  }

  /// A person does not do more in one go.
  private static let actionCounts = 1...16
  private static let weights = 1...1_000_000

  /// - Parameter think: unless the flow has its own.
  fileprivate convenience init?(
    _ node: YAMLNode, think: ClosedRange<Duration>, _ credential: PhoneCredential, with reader: inout SettingReader
  ) {
    guard let entries = reader.mapping(node, "a flow", of: Key.allCases.map(\.rawValue)) else { return nil }
    func value(_ key: Key) -> YAMLNode? { entries.first { $0.key.name == key.rawValue }?.value }
    let name = value(.name).flatMap { reader.name($0, Key.name.rawValue) }
    let weight = value(.weight).flatMap { reader.integer($0, Key.weight.rawValue, in: Self.weights) }
    let think = value(.think).flatMap { reader.think($0, Key.think.rawValue) } ?? think
    guard let node = value(.actions) else {
      reader.refuse(node.place, "a flow needs actions")
      return nil
    }
    let words = Action.allCases.map { ($0.rawValue, $0) }
    let actions: [Action]
    if case .scalar = node.content {
      actions = reader.word(node, Key.actions.rawValue, among: words).map { [$0] } ?? []
    } else {
      let nodes = reader.list(node, Key.actions.rawValue, counts: Self.actionCounts) ?? []
      actions = nodes.compactMap { reader.word($0, "an action", among: words) }
    }
    for action in actions where !credential.serves(action) {
      reader.refuse(node.place, "\(action.rawValue) needs phones, and credential is \(credential.rawValue)")
    }
    guard !actions.isEmpty else { return nil }
    self.init(
      name ?? actions.map(\.rawValue).joined(separator: "+"), weight: weight ?? 1, think: think, actions)
  }
}

extension SettingReader {
  /// Longer ones are a slip of the unit.
  private static let maximumThink = Duration.seconds(3_600)

  /// An identifier of the service, in the characters that JSON never escapes.
  fileprivate mutating func name(_ node: YAMLNode, _ name: String) -> String? {
    guard let text = text(node, name, bytes: 1...128) else { return nil }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    else {
      refuse(node.place, "\(name) must be without control characters, quotes and backslashes")
      return nil
    }
    return text
  }

  fileprivate mutating func list(_ node: YAMLNode, _ name: String, counts: ClosedRange<Int>) -> [YAMLNode]? {
    guard let nodes = list(node, name) else { return nil }
    guard counts.contains(nodes.count) else {
      refuse(node.place, "\(name) must be \(counts.lowerBound) to \(counts.upperBound)")
      return nil
    }
    return nodes
  }

  /// "500ms", or "1s-3s" for a random time between the two.
  fileprivate mutating func think(_ node: YAMLNode, _ name: String) -> ClosedRange<Duration>? {
    guard let text = text(node, name) else { return nil }
    let times = text.split(separator: "-", omittingEmptySubsequences: false).map { Duration(loadTime: $0) }
    guard (1...2).contains(times.count), let first = times[0], let last = times[times.count - 1], first <= last,
      last <= Self.maximumThink
    else {
      refuse(node.place, "\(name) must be a time such as 500ms, 2s or 1m, or two as in 1s-3s, up to 1h")
      return nil
    }
    return first...last
  }
}
