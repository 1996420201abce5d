// The addresses to listen on, from a flag or the configuration, and whether any caller could call there.

package import DispatchRPC
internal import FilePermissions
internal import TouchstoneService

package enum Endpoint: Hashable {
  case tcp(host: String, port: UInt16)
  case unix(path: String)

  static let form = "HOST:PORT or unix:PATH"
  private static let unixScheme = "unix:"

  /// "127.0.0.1:7443", "localhost:0", "[::1]:7443", "unix:/run/touchstone.sock".
  package init(parsing text: String) throws(Failure) {
    if text.hasPrefix(Self.unixScheme) {
      self = .unix(path: String(text.dropFirst(Self.unixScheme.count)))
      _ = try resolved()
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw Failure(kind: .badConfiguration, message: "\"\(text)\" is not \(Self.form)")
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty else { throw Failure(kind: .badConfiguration, message: "\"\(text)\" names no host") }
    self = .tcp(host: String(host), port: port)
  }

  /// The first address of the name.
  package func resolved() throws(Failure) -> SocketAddress {
    let addresses: [SocketAddress]
    do throws(SocketAddressError) {
      addresses =
        switch self {
        case .unix(let path): [try SocketAddress.unix(path: path)]
        case .tcp(let host, let port): try SocketAddress.resolve(host: host, port: port)
        }
    } catch {
      throw Failure(kind: .unavailable, message: "\(error.host): \(error.reason)")
    }
    guard let address = addresses.first else {
      throw Failure(kind: .unavailable, message: "the name has no address")
    }
    return address
  }

  /// `nil`: it is a Unix socket.
  var host: String? {
    if case .tcp(let host, _) = self { host } else { nil }
  }

  var isUnix: Bool {
    if case .unix = self { true } else { false }
  }

  /// Returns a socket's path, and why other users can put their own socket there: callers would send it their
  /// passcodes. The text follows the path and ": ".
  var violation: (path: String, reason: String)? {
    guard case .unix(let path) = self else { return nil }
    return FileProtection.violation(onTheWayTo: path).map { (path, $0) }
  }
}

extension ProcessConfiguration {
  /// For each Unix socket that other users can replace.
  func socketFailures() throws(Failure) -> [Failure] {
    var failures: [Failure] = []
    let http = http?.addresses.map { (setting: $0.setting, text: $0.text) } ?? []
    for (setting, text) in listen.map({ (setting: "listen", text: $0) }) + http {
      guard let (path, reason) = try Endpoint(parsing: text).violation else { continue }
      failures.append(failure(of: setting, at: path, reason))
    }
    return failures
  }
}

/// A socket to listen on.
struct Listener {
  /// The text of the flag or the configuration.
  let text: String
  let endpoint: Endpoint
  let address: SocketAddress
  let isEncrypted: Bool

  /// All listeners of a configuration.
  static func all(of configuration: ProcessConfiguration) throws(Failure) -> [Listener] {
    var listeners: [Listener] = []
    if let failure = try configuration.socketFailures().first { throw failure }
    for text in configuration.listen {
      let endpoint = try Endpoint(parsing: text)
      listeners.append(
        Listener(
          text: text, endpoint: endpoint, address: try endpoint.resolved(),
          isEncrypted: configuration.tls != nil && !endpoint.isUnix))
    }
    return listeners
  }

  /// Throws if no caller could call there, because the configuration must be wrong then.
  func require(callers: [CallerDefinition]?, allowsPlaintext: Bool) throws(Failure) {
    guard let objection = objection(callers, allowsPlaintext) else { return }
    throw Failure(kind: .badConfiguration, message: "\(text): \(objection)")
  }

  private func objection(_ callers: [CallerDefinition]?, _ allowsPlaintext: Bool) -> String? {
    if isEncrypted {
      return callers == nil
        ? "over TLS only callers that the configuration names may call: name them under callers" : nil
    }
    guard !address.isLocal else { return nil }
    guard allowsPlaintext else {
      return "is reached from beyond this machine: use tls and callers; plaintext there needs --allow-plaintext"
    }
    let isGranted = callers?.contains { $0.name == CallerByPath.plaintext.rawValue } == true
    return isGranted
      ? nil
      : """
      in plaintext the service cannot identify callers from beyond this machine: use tls; or grant methods to all of them, \
      as the caller named \(CallerByPath.plaintext.rawValue), under callers
      """
  }
}
