// A server connection without a socket: the input feeds it, and the target checks the result.

import Synchronization

@testable import DispatchRPC

/// One event loop for all inputs; each has its own connection.
final class FuzzServer: Sendable {
  static let shared = FuzzServer()

  /// Small, so that inputs reach them.
  private static let configuration = {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxRequestMessageBytes = 4 << 10
    configuration.maxResponseMessageBytes = 8 << 10
    configuration.maxConcurrentStreams = 8
    configuration.streamWindowBytes = 8 << 10
    configuration.maxHeaderListBytes = 1 << 10
    configuration.maxBufferedRequestBytesPerConnection = 16 << 10
    configuration.maxBufferedResponseBytesPerConnection = 16 << 10
    configuration.maxBufferedResponseBytesPerStream = 8 << 10
    return configuration
  }()

  let loop: EventLoop
  private let peer: RPCPeer
  private let part: LoopConfined<ServerLoop>
  /// Calls of `Hold`, for the input to play their handler.
  private let held = Mutex<[RPCServerContext]>([])

  private init() {
    loop = EventLoop(label: "fuzz.server")
    // No peer has this address: the server only reads it.
    guard let address = try? SocketAddress.resolve(host: "127.0.0.1", port: 1).first else { fatalError("no address") }
    peer = RPCPeer(address: address)
    let keep = Keeper()
    part = LoopConfined(
      ServerLoop(
        loop: loop, configuration: Self.configuration, routes: RouteTable(Self.router(keep)),
        register: ConnectionRegister(limit: .max, strangersPerAddress: .max)), on: loop)
    keep.server = self
  }

  /// Feeds the input of `drive` to a new connection, and looks at what is left of it.
  func run(mood: UInt8, _ drive: (Connection) -> Void) {
    weak var remains: ServerConnection?
    do {
      let connection = Connection(self, mood: mood)
      remains = loop.sync { connection.connection.value }
      drive(connection)
      connection.end()
    }
    held.withLock { $0 = [] }
    settle()
    settle()
    require(remains == nil, "a connection outlives its end")
    require(loop.sync { part.value.runningCalls.load(ordering: .relaxed) } == 0, "a call runs on")
  }

  /// Waits until all work that was queued on the event loop is done.
  fileprivate func settle() {
    loop.execute {}
    loop.sync {}
  }

  fileprivate func keep(_ call: RPCServerContext) {
    held.withLock { $0.append(call) }
  }

  fileprivate func call(_ index: Int) -> RPCServerContext? {
    held.withLock { $0.isEmpty ? nil : $0[index % $0.count] }
  }
}

extension FuzzServer {
  struct Connection {
    let connection: LoopConfined<ServerConnection>
    private let server: FuzzServer
    private let transport: LoopConfined<ScriptedTransport>

    fileprivate init(_ server: FuzzServer, mood: UInt8) {
      self.server = server
      let transport = ScriptedTransport(mood: mood)
      self.transport = LoopConfined(transport, on: server.loop)
      connection = server.loop.sync {
        LoopConfined(
          ServerConnection(id: 0, server: server.part.value, transport: transport, peer: server.peer), on: server.loop)
      }
      connection.execute { _ = $0.start() }
    }

    /// To the last byte, or until the connection has had enough. In one wake-up: changing threads costs more than all
    /// else.
    func feed(_ bytes: [UInt8]) {
      let transport = transport
      onLoop { transport.value.feed(bytes, to: $0) }
    }

    func onLoop(_ body: @escaping @Sendable (ServerConnection) -> Void) {
      connection.execute(body)
      server.loop.sync {}
    }

    func heldCall(_ index: Int) -> RPCServerContext? {
      server.call(index)
    }

    fileprivate func end() {
      let transport = transport
      onLoop { connection in
        transport.value.isEnded = true
        if connection.isOpen { connection.ready(.readable) }
        connection.close("the input has ended")
        require(connection.streams.isEmpty, "streams outlive their connection")
        require(connection.buffered.requests == 0, "\(connection.buffered.requests) bytes of requests are left")
        require(connection.buffered.responses == 0, "\(connection.buffered.responses) bytes of answers are left")
        require(connection.buffered.metadata == 0, "\(connection.buffered.metadata) bytes of metadata are left")
      }
    }
  }

  /// Where the router's handlers find the server, which needs the router first.
  private final class Keeper: @unchecked Sendable {
    // Sendable because: it is set before the first connection, and only read after that.
    weak var server: FuzzServer?
  }

  private static func router(_ keeper: Keeper) -> RPCRouter {
    var router = RPCRouter()
    router.register("/f/Echo") { call, message in
      call.respond(Array(message), initialMetadata: call.metadata, trailingMetadata: call.metadata)
    }
    router.register("/f/Fail") { call, _ in
      call.fail(RPCError(code: .aborted, message: "grüße, 100 %\n", metadata: call.metadata))
    }
    router.register("/f/Hold") { call, _ in keeper.server?.keep(call) }
    router.registerServerStreaming("/f/Count") { stream, message in
      for index in 0..<message.count { stream.send([UInt8](repeating: 7, count: index)) }
      stream.finish(trailingMetadata: stream.metadata)
      return { _, _ in }
    }
    router.registerClientStreaming("/f/Total") { stream in
      stream.request(.max)
      return { stream, event in
        if case .end = event { stream.respond([1, 2, 3]) }
      }
    }
    router.registerBidirectional("/f/Chat") { stream in
      stream.sendInitialMetadata([])
      stream.request(1)
      return { stream, event in
        switch event {
        case .message(let bytes):
          stream.send(Array(bytes))
          stream.request(1)
        case .writable: stream.send([1])
        case .end: stream.finish()
        }
      }
    }
    router.registerBidirectional("/f/Held") { stream in
      keeper.server?.keep(stream)
      stream.onCancel { _ in stream.fail(RPCError(code: .aborted, message: "too late")) }
      return { _, _ in }
    }
    return router
  }
}
