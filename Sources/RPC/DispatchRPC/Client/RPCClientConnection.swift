import Glibc

/// One HTTP/2 connection to a gRPC server, with TLS or without (h2c, prior knowledge), with many calls at once. Events
/// and completions run on its loop. It connects once: a new attempt is a new connection, and when to make one is the
/// pool's affair.
///
/// Released without `close()`, it closes itself.
public final class RPCClientConnection: Sendable {
  private let configuration: RPCClientConfiguration
  private let slot: LoopConfined<ClientConnectionSlot>

  public init(
    address: SocketAddress, loop: EventLoop, configuration: RPCClientConfiguration,
    events: @escaping @Sendable (RPCConnectionEvent) -> Void
  ) {
    self.configuration = configuration
    slot = LoopConfined(
      ClientConnectionSlot(address: address, loop: loop, configuration: configuration, events: events), on: loop)
  }

  deinit {
    close()
  }

  /// Once; later calls do nothing. `connected` or `closed` follows.
  public func connect() {
    slot.execute { $0.connect() }
  }

  /// `closed` follows, then running calls fail with UNAVAILABLE.
  public func close() {
    slot.execute { $0.close() }
  }

  /// - Parameter completion: runs once, on the loop.
  @discardableResult
  public func start(
    _ request: RPCClientRequest, completion: @escaping @Sendable (Result<RPCResponse, RPCError>) -> Void
  ) -> RPCClientCall {
    startMeasured(request) { result, _ in completion(result) }
  }

  /// As `start`, for a caller that also measures.
  ///
  /// - Parameter completion: also gets the sizes of the call's messages.
  public func startMeasured(
    _ request: RPCClientRequest,
    completion: @escaping @Sendable (Result<RPCResponse, RPCError>, RPCMessageBytes) -> Void
  ) -> RPCClientCall {
    let call = RPCClientCall(slot)
    if slot.loop.isCurrent {
      slot.value.start(request, call: call, completion: completion)
    } else {
      slot.execute { $0.start(request, call: call, completion: completion) }
    }
    return call
  }

  /// Begins a call with several messages in at least one direction. All four kinds can be made with it: if one
  /// message is enough, send one and finish, or request one more than the one expected.
  ///
  /// - Parameter path: `/package.Service/Method`.
  /// - Parameter deadline: as in `RPCClientRequest`.
  /// - Parameter events: runs on the loop, for one event after the other; `.end` is the last and surely comes.
  public func openStream(
    _ path: String, metadata: Metadata = Metadata(), deadline: MonotonicTime? = nil,
    events: @escaping RPCClientStream.EventHandler
  ) -> RPCClientStream {
    let stream = RPCClientStream(loop: slot.loop, configuration: configuration, events: events)
    let request = RPCClientRequest(path: path, message: [], metadata: metadata, deadline: deadline)
    if slot.loop.isCurrent {
      slot.value.open(stream, request)
    } else {
      slot.execute { $0.open(stream, request) }
    }
    return stream
  }
}

/// One call that was started.
public final class RPCClientCall: @unchecked Sendable {
  // Sendable because: `streamID` is touched only on the loop, the rest is constant.

  private let slot: LoopConfined<ClientConnectionSlot>
  var streamID: Int32?

  init(_ slot: LoopConfined<ClientConnectionSlot>) {
    self.slot = slot
  }

  /// Fails the call with CANCELLED, and resets its stream if the server has it. Does nothing after the call's end.
  /// From any thread.
  public func cancel() {
    slot.execute { $0.cancel(self) }
  }
}

/// The connection before, while and after there is one. Confined to the event loop.
final class ClientConnectionSlot {
  private enum State {
    case idle
    case open(ClientConnection)
    case closed
  }

  private let address: SocketAddress
  private let loop: EventLoop
  private let configuration: RPCClientConfiguration
  private let events: @Sendable (RPCConnectionEvent) -> Void
  private var state = State.idle

  init(
    address: SocketAddress, loop: EventLoop, configuration: RPCClientConfiguration,
    events: @escaping @Sendable (RPCConnectionEvent) -> Void
  ) {
    self.address = address
    self.loop = loop
    self.configuration = configuration
    self.events = events
  }

  /// A Unix socket's path is no authority: gRPC sends "localhost" for it.
  private var authority: String {
    configuration.authority ?? (address.isUnix ? "localhost" : address.description)
  }

  func connect() {
    guard case .idle = state else { return }
    guard let transport = makeTransport() else {
      state = .closed
      events(.closed(RPCError(code: .unavailable, message: "cannot connect to \(address)")))
      return
    }
    let connection = ClientConnection(
      loop: loop, transport: transport, authority: authority, configuration: configuration, events: events)
    state = .open(connection)
    connection.start()
  }

  /// Connecting; `nil` when that failed at once.
  private func makeTransport() -> (any Transport)? {
    guard let descriptor = makeConnectingSocket(address) else { return nil }
    guard let tls = configuration.tls else { return SocketTransport(descriptor: descriptor) }
    guard let transport = tls.connect(descriptor, authority: authority) else {
      Glibc.close(descriptor)
      return nil
    }
    return transport
  }

  func close() {
    switch state {
    case .idle: events(.closed(RPCError(code: .unavailable, message: "closed before it was connected")))
    case .open(let connection): connection.close("closed by the client")
    case .closed: return
    }
    state = .closed
  }

  func start(_ request: RPCClientRequest, call: RPCClientCall, completion: @escaping CallCompletion) {
    guard case .open(let connection) = state else {
      loop.execute { completion(.failure(.unsent("the connection is not established")), RPCMessageBytes()) }
      return
    }
    connection.start(request, call: call, completion: completion)
  }

  func open(_ stream: RPCClientStream, _ request: RPCClientRequest) {
    if case .open(let connection) = state {
      connection.open(stream, request)
    } else {
      stream.fail(.unsent("the connection is not established"))
    }
  }

  func cancel(_ call: RPCClientCall) {
    if case .open(let connection) = state { connection.cancel(call) }
  }
}
