// Values that only the configuration of a service has.

internal import SettingFiles
internal import TouchstonePolicy

extension SettingReader {
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
