// `http:` of the configuration: the addresses of the HTTP server, and what each of them serves.

internal import SettingFiles

/// A part of the routes, which an address can serve. Beyond this machine the parts have an address each, because their
/// clients are others.
enum HTTPPart: String, CaseIterable {
  /// For services that verify tokens, and for callers without gRPC: keys and where they are, the API's methods.
  case everybody = "public"
  /// For monitoring and the service's operators: metrics, the console.
  case operators

  fileprivate var row: KeyRow {
    switch self {
    case .everybody:
      KeyRow(
        .endpoint, "The address for services that verify tokens (the keys, and where they are) and for calls as JSON.")
    case .operators: KeyRow(.endpoint, "The address for monitoring and operators: metrics, the console.")
    }
  }
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

extension ValueForm where Value == HTTPSettings {
  /// An address, or one for each part.
  static var http: ValueForm {
    ValueForm(.either([.endpoint, .section(HTTPPart.allCases.map { $0.row.named($0.rawValue) })])) {
      entry, name, reader in
      guard case .mapping(let written) = entry.value.content else {
        return reader.endpoint(entry.value, name).map { HTTPSettings(sharedBy: $0) }
      }
      if written.isEmpty {
        reader.refuse(entry.value.place, "\(name) needs an address, or one under public or operators")
      }
      let entries = reader.mapping(entry.value, name, of: HTTPPart.allCases.map(\.rawValue)) ?? []
      return HTTPSettings(entries, name, with: &reader)
    }
  }
}

extension HTTPSettings {
  /// Returns `nil` without a readable address.
  fileprivate init?(_ entries: [YAMLEntry], _ name: String, with reader: inout SettingReader) {
    var addresses: [Address] = []
    for entry in entries {
      let setting = "\(name).\(entry.key.name)"
      guard let part = HTTPPart(rawValue: entry.key.name), let text = reader.endpoint(entry.value, setting) else {
        continue
      }
      if let other = addresses.first(where: { $0.text == text }), !text.hasSuffix(":0") {
        reader.refuse(entry.value.place, "\(setting) is the address of \(other.setting): give it another one")
      }
      addresses.append(Address(setting: setting, text: text, parts: [part]))
    }
    guard !addresses.isEmpty else { return nil }
    self.init(addresses: addresses)
  }
}
