// Values that only the configuration of a service has.

internal import SettingFiles
internal import TouchstonePolicy

extension SettingReader {
  static let listenerCounts = 1...16
  /// From a second, for tests, to an hour. An evaluation that is open longer is no longer one login.
  static let lifetimeSeconds = 1...3_600

  mutating func lifetime(_ node: YAMLNode, _ name: String) -> Duration? {
    integer(node, name, in: Self.lifetimeSeconds).map { .seconds($0) }
  }

  mutating func store(_ node: YAMLNode, _ name: String) -> StoreSetting? {
    guard let text = text(node, name) else { return nil }
    do throws(StoreSetting.Malformed) {
      return try StoreSetting(parsing: text)
    } catch {
      refuse(node.place, "\(name) \(error.message)")
      return nil
    }
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

  /// One, or a list.
  mutating func endpoints(_ node: YAMLNode, _ name: String) -> [String]? {
    guard case .sequence(let nodes) = node.content else { return endpoint(node, name).map { [$0] } }
    guard Self.listenerCounts.contains(nodes.count) else {
      refuse(node.place, "\(name) must be 1 to \(Self.listenerCounts.upperBound)")
      return nil
    }
    return nodes.compactMap { endpoint($0, name) }
  }

  mutating func endpoint(_ node: YAMLNode, _ name: String) -> String? {
    guard let text = text(node, name) else { return nil }
    do throws(Failure) {
      _ = try Endpoint(parsing: text)
      return text
    } catch {
      refuse(node.place, "\(name) must be \(Endpoint.form)")
      return nil
    }
  }
}
