struct TargetError: Error, Equatable {
  let reason: String
}

/// The parts of a target's name (grpc/grpc doc/naming.md). Pure.
enum ChannelTarget: Equatable {
  struct Name: Equatable {
    var host: String
    var port: UInt16

    /// As in a URI: an IPv6 address in brackets.
    var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  /// In the order to prefer.
  case names([Name])
  case unix(path: String)

  /// `host:port`, `dns:///host:port`, `ipv4:address:port`, `ipv6:[address]:port`, `unix:path`, `unix:///path`; lists
  /// have commas between.
  init(_ text: String) throws(TargetError) {
    if let path = text.removing("unix://") ?? text.removing("unix:") {
      guard !path.isEmpty else { throw TargetError(reason: "the target '\(text)' has no path") }
      self = .unix(path: path)
    } else if let list = text.removing("dns:///") ?? text.removing("dns:") {
      // dns://server/name asks a DNS server of one's own; the resolver asks the system's.
      guard !list.hasPrefix("//") else { throw TargetError(reason: "the target '\(text)' names a DNS server") }
      self = .names(try Self.names(list, of: text))
    } else if let list = text.removing("ipv4:") {
      self = .names(try Self.names(list, of: text, where: Self.isIPv4))
    } else if let list = text.removing("ipv6:") {
      self = .names(try Self.names(list, of: text, where: Self.isIPv6))
    } else {
      self = .names(try Self.names(text, of: text))
    }
  }

  private static func names(
    _ list: String, of text: String, where fits: (String) -> Bool = { _ in true }
  ) throws(TargetError) -> [Name] {
    var names: [Name] = []
    for item in list.split(separator: ",", omittingEmptySubsequences: false) {
      guard let name = name(item), fits(name.host) else {
        throw TargetError(reason: "the target '\(text)' is not host:port")
      }
      names.append(name)
    }
    return names
  }

  private static func name(_ item: Substring) -> Name? {
    guard let colon = item.lastIndex(of: ":"), let port = UInt16(item[item.index(after: colon)...]) else { return nil }
    var host = item[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    return host.isEmpty ? nil : Name(host: String(host), port: port)
  }

  private static func isIPv4(_ host: String) -> Bool {
    host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
  }

  private static func isIPv6(_ host: String) -> Bool {
    host.utf8.contains(UInt8(ascii: ":"))
  }
}

extension String {
  fileprivate func removing(_ prefix: String) -> String? {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
  }
}
