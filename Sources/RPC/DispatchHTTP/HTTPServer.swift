package import DispatchRPC
internal import Glibc
internal import Synchronization

/// A server for HTTP/1.1 on addresses of its own, with TLS or without. Each address has an event loop, so that what its
/// clients do delays no clients of another one.
///
/// A server that is dropped closes its connections at once, unless `shutDown` was called, which keeps it until it is
/// done.
package final class HTTPServer: Sendable {
  private struct Address: Sendable {
    var loop: EventLoop
    var acceptor: LoopConfined<Acceptor<HTTPConnections>>
    var connections: LoopConfined<HTTPConnections>
  }

  /// The label of an address's event loop.
  package static let label = "http.server"

  private let configuration: HTTPServerConfiguration
  private let addresses = Mutex<[Address]>([])

  package init(_ configuration: HTTPServerConfiguration) {
    self.configuration = configuration
  }

  deinit {
    for address in takeAddresses() {
      address.acceptor.execute { $0.stop() }
      address.connections.execute { $0.closeAll() }
    }
  }

  /// Adds an address, whose clients wait until `begin`. Traps when the process has no descriptors left for its event
  /// loop.
  ///
  /// - Parameters:
  ///   - socket: listens already, so that an address in use is found before anything is served.
  ///   - loop: of this address alone; `nil`: a new one.
  ///   - tls: plaintext where it is `nil`.
  ///   - takesCertificates: whether clients may show certificates of the authorities that `tls` names. None must.
  package func add(
    _ socket: ListeningSocket, on loop: EventLoop? = nil, tls: RPCServerTLS?, takesCertificates: Bool = false,
    router: HTTPRouter
  ) {
    let loop = loop ?? EventLoop(label: Self.label)
    let limits = configuration.limits
    let register = ConnectionRegister(limit: limits.connections, strangersPerAddress: limits.connectionsPerClient)
    let connections = LoopConfined(
      HTTPConnections(
        loop: loop, configuration: configuration, router: router, takesCertificates: takesCertificates,
        register: register),
      on: loop)
    register.onEviction { [weak self, id = ObjectIdentifier(loop)] eviction in
      let address = self?.addresses.withLock { $0.first { ObjectIdentifier($0.loop) == id } }
      address?.connections.execute { $0.evict(eviction.id) }
    }
    let acceptor = LoopConfined(
      Acceptor(
        listener: socket, tls: tls, loop: loop, loops: [connections], register: register,
        onOutOfDescriptors: configuration.onOutOfDescriptors),
      on: loop)
    addresses.withLock { $0.append(Address(loop: loop, acceptor: acceptor, connections: connections)) }
  }

  /// Serves the clients of all addresses from now on. Must be called once, and on no event loop.
  package func begin() throws(RPCServerError) {
    for address in addresses.withLock({ $0 }) {
      guard address.loop.sync({ address.acceptor.value.start() }) else {
        throw RPCServerError(reason: "the kernel cannot watch another listening socket")
      }
    }
  }

  /// Stops accepting, answers the requests that run, and closes what is left after the grace. Keeps the server alive
  /// until then.
  ///
  /// - Parameter completion: runs once, on an event loop, when no connection is left; at once if there is no address.
  package func shutDown(grace: Duration, completion: @escaping @Sendable () -> Void) {
    let addresses = takeAddresses()
    let remaining = Countdown(addresses.count) { withExtendedLifetime(self, completion) }
    for address in addresses {
      address.acceptor.execute { $0.stop() }
      address.connections.execute { $0.drain(grace: grace) { remaining.countDown() } }
    }
    if addresses.isEmpty { completion() }
  }

  private func takeAddresses() -> [Address] {
    addresses.withLock { addresses in
      defer { addresses = [] }
      return addresses
    }
  }
}

/// The settings that all addresses of a server share.
package struct HTTPServerConfiguration: Sendable {
  package var limits = HTTPServerLimits()
  /// Seconds since 1970, for the field Date.
  package var unixTime: @Sendable () -> Int64 = { Int64(time(nil)) }
  /// A client did not get through the TLS handshake: its address, and why, never in the client's words. Runs on the
  /// event loop, as often as clients like to fail: it must not block, and its owner limits what it writes.
  package var onHandshakeFailure: (@Sendable (_ client: SocketAddress, _ failure: RPCHandshakeFailure) -> Void)?
  /// A connection could not be accepted, because the process or the machine has no free descriptors or memory. As
  /// above.
  package var onOutOfDescriptors: (@Sendable () -> Void)?

  package init() {}
}
