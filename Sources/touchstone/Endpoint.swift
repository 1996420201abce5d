// Where to listen, as a flag or the configuration says it, and whether anybody could call there.

internal import DispatchRPC
internal import TouchstoneService

enum Endpoint: Hashable {
  case tcp(host: String, port: UInt16)
  case unix(path: String)

  static let form = "HOST:PORT or unix:PATH"
  private static let unixScheme = "unix:"

  /// "127.0.0.1:7443", "localhost:0", "[::1]:7443", "unix:/run/touchstone.sock".
  init(parsing text: String) throws(Failure) {
    if text.hasPrefix(Self.unixScheme) {
      self = .unix(path: String(text.dropFirst(Self.unixScheme.count)))
      _ = try resolved()
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw Failure(status: .badConfiguration, message: "\"\(text)\" is not \(Self.form)")
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty else { throw Failure(status: .badConfiguration, message: "\"\(text)\" names no host") }
    self = .tcp(host: String(host), port: port)
  }

  /// The first address that the name stands for.
  func resolved() throws(Failure) -> SocketAddress {
    let addresses: [SocketAddress]
    do throws(SocketAddressError) {
      addresses =
        switch self {
        case .unix(let path): [try SocketAddress.unix(path: path)]
        case .tcp(let host, let port): try SocketAddress.resolve(host: host, port: port)
        }
    } catch {
      throw Failure(status: .unavailable, message: "\(error.host): \(error.reason)")
    }
    guard let address = addresses.first else {
      throw Failure(status: .unavailable, message: "the name has no address")
    }
    return address
  }

  var isUnix: Bool {
    if case .unix = self { true } else { false }
  }
}

/// A socket to listen on.
struct Listener {
  /// As it was asked for.
  let text: String
  let endpoint: Endpoint
  let address: SocketAddress
  let isEncrypted: Bool

  /// All that a configuration listens on.
  static func all(of configuration: ProcessConfiguration) throws(Failure) -> [Listener] {
    var listeners: [Listener] = []
    for text in configuration.listen {
      let endpoint = try Endpoint(parsing: text)
      listeners.append(
        Listener(
          text: text, endpoint: endpoint, address: try endpoint.resolved(),
          isEncrypted: configuration.tls != nil && !endpoint.isUnix))
    }
    return listeners
  }

  /// Refuses to serve where nobody could call: whoever configured it meant something else.
  func require(callers: [CallerDefinition]?, allowsPlaintext: Bool) throws(Failure) {
    guard let objection = objection(callers, allowsPlaintext) else { return }
    throw Failure(status: .badConfiguration, message: "\(text): \(objection)")
  }

  private func objection(_ callers: [CallerDefinition]?, _ allowsPlaintext: Bool) -> String? {
    if isEncrypted {
      return callers == nil
        ? "over TLS nobody may call whom the configuration does not name: say who, under callers" : nil
    }
    guard !address.isLocal else { return nil }
    guard allowsPlaintext else {
      return "is reached from beyond this machine: use tls and callers; plaintext there needs --allow-plaintext"
    }
    let isGranted = callers?.contains { $0.name == CallerByPath.plaintext.rawValue } == true
    return isGranted
      ? nil
      : """
      in plaintext nobody from beyond this machine shows who they are: use tls; or grant something to all of them, as \
      the caller named \(CallerByPath.plaintext.rawValue), under callers
      """
  }
}
