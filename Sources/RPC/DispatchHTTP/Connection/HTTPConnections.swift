internal import DispatchRPC
internal import Glibc

/// The connections of one address. Confined to the server's event loop.
final class HTTPConnections: ConnectionKeeper {
  /// For one read(2): a connection takes no more at a time.
  private static let readBytes = 16 << 10

  let loop: EventLoop
  let configuration: HTTPServerConfiguration
  let router: HTTPRouter
  /// Whether clients may show certificates.
  private let takesCertificates: Bool
  /// Connections take turns with it.
  let received = UnsafeMutableRawBufferPointer.allocate(byteCount: readBytes, alignment: 16)
  private let register: ConnectionRegister
  private var connections: [ConnectionSlots.ID: HTTPConnection] = [:]
  private(set) var isStopping = false
  private var onEmpty: (@Sendable () -> Void)?

  init(
    loop: EventLoop, configuration: HTTPServerConfiguration, router: HTTPRouter, takesCertificates: Bool,
    register: ConnectionRegister
  ) {
    self.loop = loop
    self.takesCertificates = takesCertificates
    self.configuration = configuration
    self.router = router
    self.register = register
  }

  deinit {
    received.deallocate()
  }

  func serve(_ descriptor: Int32, _ id: ConnectionSlots.ID, from address: SocketAddress, tls: RPCServerTLS?) {
    // It may have had to make room on its way here.
    let protocolName = takesCertificates ? ApplicationProtocol.http1WithCertificates : .http1
    guard !isStopping, register.holds(id), let transport = makeTransport(descriptor, tls, protocolName) else {
      close(descriptor)
      register.closed(id)
      return
    }
    let connection = HTTPConnection(id: id, of: self, transport: transport, client: address)
    connections[id] = connection
    connection.start()
  }

  func evict(_ id: ConnectionSlots.ID) {
    connections[id]?.close()
  }

  /// A connection whose request a handler has is the last to make room.
  func requestRuns(_ id: ConnectionSlots.ID, _ isRunning: Bool) {
    register.setRunning(id, isRunning)
  }

  /// False: it has no place of its caller's, and this is to be called again at the next request.
  func callAdmitted(_ id: ConnectionSlots.ID, of caller: String) -> Bool {
    register.callAdmitted(id, of: caller)
  }

  func connectionClosed(_ id: ConnectionSlots.ID) {
    guard connections.removeValue(forKey: id) != nil else { return }
    register.closed(id)
    reportIfEmpty()
  }

  /// Ends all connections, those that wait for a handler or have an answer under way after that; `completion` runs when
  /// they have.
  func drain(grace: Duration, completion: @escaping @Sendable () -> Void) {
    isStopping = true
    onEmpty = completion
    for connection in connections.values { connection.drain(grace: grace) }
    reportIfEmpty()
  }

  func closeAll() {
    isStopping = true
    for connection in connections.values { connection.close() }
  }

  private func reportIfEmpty() {
    guard connections.isEmpty, let completion = onEmpty else { return }
    onEmpty = nil
    completion()
  }
}
