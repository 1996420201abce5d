// The HTTP addresses of a running service: who may reach them, their sockets, their end.

internal import DispatchHTTP
internal import DispatchRPC
internal import TouchstoneService

/// An address of HTTP, and what it serves there.
struct HTTPListener {
  let settings: HTTPSettings.Address
  let endpoint: Endpoint
  let address: SocketAddress
  let isEncrypted: Bool

  /// All of a configuration. Throws if one of them would be reached by those that it is not for.
  static func all(of configuration: ProcessConfiguration) throws(Failure) -> [HTTPListener] {
    var listeners: [HTTPListener] = []
    for settings in configuration.http?.addresses ?? [] {
      let endpoint = try Endpoint(parsing: settings.text)
      let address = try endpoint.resolved()
      // Nothing on the way to this machine's own processes could be read by others.
      let isEncrypted = configuration.tls != nil && !address.isLocal
      let listener = HTTPListener(settings: settings, endpoint: endpoint, address: address, isEncrypted: isEncrypted)
      if let objection = listener.objection(allowsPlaintext: configuration.allowsPlaintextBeyondLoopback) {
        throw Failure(kind: .badConfiguration, message: "\(settings.setting) \(settings.text): \(objection)")
      }
      listeners.append(listener)
    }
    return listeners
  }

  private func objection(allowsPlaintext: Bool) -> String? {
    guard !address.isLocal else { return nil }
    guard settings.parts.count == 1 else {
      return """
        is reached from beyond this machine, where metrics need an address of their own: name one under http.public and \
        one under http.operators
        """
    }
    return isEncrypted || allowsPlaintext
      ? nil : "is reached from beyond this machine: use tls; plaintext there needs --allow-plaintext"
  }

  fileprivate func socket() throws(Failure) -> ListeningSocket {
    do throws(RPCServerError) {
      return switch endpoint {
      case .unix(let path): try ListeningSocket(unixPath: path)
      // By number, because a name may have another address by now.
      case .tcp(_, let port): try ListeningSocket(host: address.host, port: port)
      }
    } catch {
      throw Failure(kind: .unavailable, message: "cannot listen on \(settings.text): \(error.reason)")
    }
  }
}

/// The HTTP server of a process.
final class HTTPService: Sendable {
  /// The last calls end meanwhile: a passcode waits up to 5 s for its turn.
  private static let grace = Duration.seconds(6)

  /// One for each address, in the order of the configuration.
  let urls: [String]
  private let server: HTTPServer

  /// Takes the addresses, whose clients wait until `begin`. Returns `nil` if there are none.
  ///
  /// - Parameter loopIndex: the service's event loop for calls that come by HTTP.
  init?(
    on listeners: [HTTPListener], tls: RPCServerTLS?, routes: HTTPRoutes, loopIndex: Int,
    configuration: HTTPServerConfiguration
  ) throws(Failure) {
    guard !listeners.isEmpty else { return nil }
    server = HTTPServer(configuration)
    var urls: [String] = []
    for listener in listeners {
      let socket = try listener.socket()
      let loop = EventLoop(label: HTTPServer.label, index: loopIndex)
      let parts = listener.settings.parts
      let router = routes.router(for: parts, at: listener.endpoint.host, on: loop)
      if parts.contains(.everybody) {
        loop.execute { [service = routes.service] in loop.onRoundEnd = { service.roundEnded(on: $0) } }
      }
      // Browsers would prompt operators for a certificate.
      server.add(
        socket, on: loop, tls: listener.isEncrypted ? tls : nil, takesCertificates: !parts.contains(.operators),
        router: router)
      urls.append("\(listener.isEncrypted ? "https" : "http")://\(socket.address)")
    }
    self.urls = urls
  }

  func begin() throws(Failure) {
    do throws(RPCServerError) {
      try server.begin()
    } catch {
      throw Failure(kind: .unavailable, message: "cannot serve HTTP: \(error.reason)")
    }
  }

  func shutDown(completion: @escaping @Sendable () -> Void) {
    server.shutDown(grace: Self.grace, completion: completion)
  }
}
