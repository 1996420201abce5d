// A gRPC server in this process, for the tests of all who call one.

internal import Dispatch
public import DispatchRPC
internal import Synchronization
public import TestSupport
internal import Testing

/// A server that ends with the test and closes what is left. It listens on an address of its own, or over TLS on
/// 127.0.0.1, which the tests' certificates are for.
///
/// Under `/test/` it has the unary methods `Echo`, `Later` (an echo from another thread), `Fail`, `Hold` (the test
/// plays the handler) and `Who` (an echo, which puts its caller into `peers`). Under `/stream/` it has `Chat`
/// (bidirectional: echoes each message), `Total` (client-streaming: the bytes of all messages), `Count`
/// (server-streaming: as many messages as its request has bytes) and `Hold`.
public final class Loopback: Sendable {
  public let server: RPCServer
  public let address: SocketAddress
  /// The calls of the unary `Hold`, and why they ended early.
  public let held = Box<RPCServerCall>()
  public let cancellations = Box<RPCCancellation>()
  /// The streams of `Hold`, and what their handlers see.
  public let heldStreams = Box<RPCServerStream>()
  public let seen = Box<Sighting>()
  /// The callers of `Who`.
  public let peers = Box<RPCPeer>()

  public var target: String { address.description }

  /// - Parameter address: the address of a server that stopped; `nil`: an address of its own.
  public convenience init(
    _ configuration: RPCServerConfiguration = RPCServerConfiguration(eventLoops: 1), at address: SocketAddress? = nil,
    tls: RPCServerTLS? = nil, adding more: (inout RPCRouter) -> Void = { _ in },
    onRoundEnd: (@Sendable (EventLoop) -> Void)? = nil
  ) throws {
    try self.init(configuration, more, onRoundEnd) { server in
      let host = address?.host ?? (tls == nil ? .ownLoopbackHost() : "127.0.0.1")
      return try server.listen(host: host, port: address?.port ?? 0, tls: tls)
    }
  }

  public convenience init(unixPath path: String, permissions: UInt32 = 0o600) throws {
    try self.init(RPCServerConfiguration(eventLoops: 1), { _ in }, nil) { server in
      try server.listen(unixPath: path, permissions: permissions)
    }
  }

  private init(
    _ configuration: RPCServerConfiguration, _ more: (inout RPCRouter) -> Void,
    _ onRoundEnd: (@Sendable (EventLoop) -> Void)?, _ listen: (RPCServer) throws -> SocketAddress
  ) throws {
    var router = RPCRouter()
    Self.addUnary(to: &router, held, cancellations, peers)
    Self.addStreams(to: &router, heldStreams, seen)
    more(&router)
    server = RPCServer(configuration: configuration, router: router, onRoundEnd: onRoundEnd)
    address = try listen(server)
  }

  public func stop(grace: Duration = .zero) async {
    await withCheckedContinuation { done in server.shutDown(grace: grace) { done.resume() } }
  }

  /// Runs on the server's event loop, of which it has one.
  public func onLoop<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    let result = Box<Result>()
    server.eventLoops[0].execute { result.put(body()) }
    return await result.next()
  }

  // MARK: Clients

  public func connect(
    _ configuration: RPCClientConfiguration = RPCClientConfiguration(),
    loop: EventLoop = EventLoop(label: "test.client")
  ) async throws -> TestClient {
    let client = TestClient(address, configuration, loop: loop, keeping: self)
    try await client.connect()
    return client
  }

  /// The server still takes connections. Whether one is made in the time that the server gives is the machine's affair.
  public func expectAlive(_ configuration: RPCClientConfiguration = RPCClientConfiguration()) async throws {
    while true {
      do {
        return try await connect(configuration).expectEcho([1])
      } catch let error as RPCError {
        // The suite's time is over.
        if Task.isCancelled { throw error }
      }
    }
  }

  // MARK: Methods

  private static func addUnary(
    to router: inout RPCRouter, _ held: Box<RPCServerCall>, _ cancellations: Box<RPCCancellation>, _ peers: Box<RPCPeer>
  ) {
    router.register("/test/Echo") { call, message in
      call.respond(Array(message), initialMetadata: call.metadata, trailingMetadata: call.metadata)
    }
    router.register("/test/Later") { call, message in
      let message = Array(message)
      DispatchQueue.global().async { call.respond(message) }
    }
    router.register("/test/Fail") { call, _ in
      var metadata: Metadata = [("why", "because")]
      metadata.append("grpc-status-details-bin", binary: [0, 255, 7])
      call.fail(RPCError(code: .failedPrecondition, message: "grüße, 100 %\n", metadata: metadata))
    }
    router.register("/test/Hold") { call, _ in
      call.onCancel { cancellations.put($0) }
      held.put(call)
    }
    router.register("/test/Who") { call, message in
      peers.put(call.peer)
      call.respond(Array(message))
    }
  }

  private static func addStreams(
    to router: inout RPCRouter, _ held: Box<RPCServerStream>, _ seen: Box<Sighting>
  ) {
    // Echoes as fast as the client takes the echoes.
    router.registerBidirectional("/stream/Chat") { stream in
      stream.request(1)
      return { stream, event in
        switch event {
        case .message(let bytes):
          stream.send(Array(bytes))
          if stream.isWritable { stream.request(1) }
        case .writable: stream.request(1)
        case .end: stream.finish(trailingMetadata: stream.metadata)
        }
      }
    }
    router.registerClientStreaming("/stream/Total") { stream in
      stream.request(.max)
      let total = Atomic(0)
      return { stream, event in
        switch event {
        case .message(let bytes): total.add(bytes.count, ordering: .relaxed)
        case .end: stream.respond(Array("\(total.load(ordering: .relaxed))".utf8))
        case .writable: break
        }
      }
    }
    router.registerServerStreaming("/stream/Count") { stream, message in
      for index in 0..<message.count { stream.send([UInt8(truncatingIfNeeded: index)]) }
      stream.finish()
      return { _, _ in }
    }
    router.registerBidirectional("/stream/Hold") { stream in
      stream.onCancel { seen.put(.cancelled($0)) }
      held.put(stream)
      return { _, event in
        switch event {
        case .message(let bytes): seen.put(.message(Array(bytes)))
        case .end: seen.put(.half)
        case .writable: seen.put(.writable)
        }
      }
    }
  }
}

extension RPCServerConfiguration {
  /// One event loop, and what the test changes.
  public static func with(_ change: (inout RPCServerConfiguration) -> Void) -> RPCServerConfiguration {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    change(&configuration)
    return configuration
  }
}

extension RPCClientConfiguration {
  public static func with(_ change: (inout RPCClientConfiguration) -> Void) -> RPCClientConfiguration {
    var configuration = RPCClientConfiguration()
    change(&configuration)
    return configuration
  }
}
