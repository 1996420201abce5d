// The client's end of a connection: three calls are made, and the server answers with any bytes.

import Synchronization

@testable import DispatchRPC

extension FuzzTarget {
  /// The first byte is the transport's mood. The server's SETTINGS are ours; the calls are streams 1 and 3 (unary) and 5.
  static let clientBytes = FuzzTarget("client-bytes", maximumBytes: 8 << 10) { input in
    var input = ByteReader(input)
    FuzzClient.shared.run(mood: input.byte(), input.remainder())
  }
}

/// One loop for all inputs; each has its own connection.
private final class FuzzClient: Sendable {
  static let shared = FuzzClient()

  private let loop: RPCShard
  /// What a call is cancelled through, which none is.
  private let slot: ShardConfined<ClientConnectionSlot>

  private init() {
    loop = RPCShard(label: "fuzz.client")
    guard let address = try? SocketAddress.resolve(host: "127.0.0.1", port: 1).first else { fatalError("no address") }
    slot = ShardConfined(
      ClientConnectionSlot(address: address, shard: loop, configuration: RPCClientConfiguration(), events: { _ in }))
  }

  /// How often each call ended, and whether the connection did.
  private final class Endings: Sendable {
    let calls = Mutex<[Int]>([0, 0, 0])
    let connection = Atomic<Int>(0)

    func callEnded(_ index: Int) {
      calls.withLock { $0[index] += 1 }
    }
  }

  func run(mood: UInt8, _ bytes: [UInt8]) {
    weak var remains: ClientConnection?
    let endings = Endings()
    do {
      let transport = ShardConfined(ScriptedTransport(mood: mood))
      let connection = connect(transport, endings)
      remains = connection.value
      makeCalls(on: connection, endings)
      feed(bytes, to: connection, transport)
      loop.execute { connection.value.close("the input has ended") }
      loop.sync {}
    }
    settle()
    settle()
    require(endings.calls.withLock { $0 } == [1, 1, 1], "each call ends once")
    require(endings.connection.load(ordering: .relaxed) == 1, "the connection ends once")
    require(remains == nil, "a connection outlives its end")
  }

  private func connect(
    _ transport: ShardConfined<ScriptedTransport>, _ endings: Endings
  ) -> ShardConfined<ClientConnection> {
    var configuration = RPCClientConfiguration()
    configuration.acceptsCompression = true
    configuration.maxResponseMessageBytes = 4 << 10
    configuration.maxHeaderListBytes = 1 << 10
    let connection = loop.sync {
      ShardConfined(
        ClientConnection(
          shard: loop, transport: transport.value, authority: "fuzz", configuration: configuration,
          events: { if case .closed = $0 { endings.connection.add(1, ordering: .relaxed) } }))
    }
    loop.execute {
      connection.value.start()
      connection.value.ready(.writable)
    }
    let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    feed(settings, to: connection, transport)
    return connection
  }

  private func makeCalls(on connection: ShardConfined<ClientConnection>, _ endings: Endings) {
    let (loop, slot) = (loop, slot)
    loop.execute {
      for index in 0..<2 {
        let request = RPCClientRequest(path: "/f/Echo", message: [1, 2, 3], metadata: [("key", "value")])
        let call = RPCClientCall(loop: loop, core: slot)
        connection.value.start(request, call: call) { _ in endings.callEnded(index) }
      }
      let stream = RPCClientStream(
        loop: loop, configuration: RPCClientConfiguration(), compression: .gzip,
        events: { stream, event in
          switch event {
          case .end: endings.callEnded(2)
          case .message: stream.request(1)
          case .initialMetadata, .writable: stream.send([4, 5, 6])
          }
        })
      connection.value.open(stream, RPCClientRequest(path: "/f/Chat", message: []))
      stream.request(1)
    }
  }

  private func feed(
    _ bytes: [UInt8], to connection: ShardConfined<ClientConnection>, _ transport: ShardConfined<ScriptedTransport>
  ) {
    loop.execute { transport.value.feed(bytes, to: connection.value) }
    loop.sync {}
  }

  /// All that was asked of the loop has been done.
  private func settle() {
    loop.execute {}
    loop.sync {}
  }
}
