// `http:` of the configuration: the addresses of the HTTP server, and what each of them serves.

internal import SettingFiles

/// A part of the routes, which an address can serve. Beyond this machine the parts have an address each, because their
/// clients are others.
enum HTTPPart: String, CaseIterable {
  /// For services that verify tokens: keys and where they are.
  case everybody = "public"
  /// For monitoring and the service's operators: metrics, the console.
  case operators
}

package struct HTTPSettings: Hashable, Sendable {
  struct Address: Hashable, Sendable {
    /// Names the address in errors.
    var setting: String
    var text: String
    var parts: Set<HTTPPart>
  }

  let addresses: [Address]

  private init(addresses: [Address]) {
    self.addresses = addresses
  }

  /// One address for all parts, which only this machine reaches.
  package init(sharedBy text: String) {
    self.init(addresses: [Address(setting: "http", text: text, parts: Set(HTTPPart.allCases))])
  }
}

extension HTTPSettings {
  /// An address, or one for each part. Returns `nil` if there is an error in it.
  init?(_ node: YAMLNode, with reader: inout SettingReader) {
    guard case .mapping = node.content else {
      guard let text = reader.endpoint(node, "http") else { return nil }
      self.init(sharedBy: text)
      return
    }
    var addresses: [Address] = []
    let entries = reader.mapping(node, "http", of: HTTPPart.names) ?? []
    for entry in entries {
      let setting = "http.\(entry.key.name)"
      guard let part = HTTPPart(rawValue: entry.key.name), let text = reader.endpoint(entry.value, setting) else {
        continue
      }
      if let other = addresses.first(where: { $0.text == text }), !text.hasSuffix(":0") {
        reader.refuse(entry.value.place, "\(setting) is the address of \(other.setting): give it another one")
      }
      addresses.append(Address(setting: setting, text: text, parts: [part]))
    }
    if case .mapping(let written) = node.content, written.isEmpty {
      reader.refuse(node.place, "http needs an address, or one under public or operators")
    }
    guard !addresses.isEmpty else { return nil }
    self.init(addresses: addresses)
  }
}
