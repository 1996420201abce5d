// The client's end of a connection: three calls are made, and the server answers with any bytes.

import Synchronization

@testable import DispatchRPC

extension FuzzTarget {
  /// The first byte is the transport's mood. The server's SETTINGS are ours; the calls are streams 1 and 3 (unary) and
  /// 5.
  static let clientBytes = FuzzTarget("client-bytes", maximumBytes: 8 << 10) { input in
    var input = ByteReader(input)
    FuzzClient.shared.run(mood: input.byte(), input.remainder())
  }
}

/// One loop for all inputs; each has its own connection.
private final class FuzzClient: Sendable {
  static let shared = FuzzClient()

  private let loop: EventLoop
  /// The slot through which calls are cancelled; no call is.
  private let slot: LoopConfined<ClientConnectionSlot>

  private init() {
    loop = EventLoop(label: "fuzz.client")
    guard let address = try? SocketAddress.resolve(host: "127.0.0.1", port: 1).first else { fatalError("no address") }
    slot = LoopConfined(
      ClientConnectionSlot(address: address, loop: loop, configuration: RPCClientConfiguration(), events: { _ in }),
      on: loop)
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
      let transport = LoopConfined(ScriptedTransport(mood: mood), on: loop)
      let connection = connect(transport, endings)
      remains = loop.sync { connection.value }
      makeCalls(on: connection, endings)
      feed(bytes, to: connection, transport)
      connection.execute { $0.close("the input has ended") }
      loop.sync {}
    }
    settle()
    settle()
    require(endings.calls.withLock { $0 } == [1, 1, 1], "each call ends once")
    require(endings.connection.load(ordering: .relaxed) == 1, "the connection ends once")
    require(remains == nil, "a connection outlives its end")
  }

  private func connect(
    _ transport: LoopConfined<ScriptedTransport>, _ endings: Endings
  ) -> LoopConfined<ClientConnection> {
    var configuration = RPCClientConfiguration()
    configuration.maxResponseMessageBytes = 4 << 10
    configuration.maxHeaderListBytes = 1 << 10
    let connection = loop.sync {
      LoopConfined(
        ClientConnection(
          loop: loop, transport: transport.value, authority: "fuzz", configuration: configuration,
          events: { if case .closed = $0 { endings.connection.add(1, ordering: .relaxed) } }), on: loop)
    }
    connection.execute {
      $0.start()
      $0.ready(.writable)
    }
    let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    feed(settings, to: connection, transport)
    return connection
  }

  private func makeCalls(on connection: LoopConfined<ClientConnection>, _ endings: Endings) {
    let (loop, slot) = (loop, slot)
    loop.execute {
      for index in 0..<2 {
        let request = RPCClientRequest(path: "/f/Echo", message: [1, 2, 3], metadata: [("key", "value")])
        let call = RPCClientCall(slot)
        connection.value.start(request, call: call, completion: { _, _ in endings.callEnded(index) })
      }
      let stream = RPCClientStream(
        loop: loop, configuration: RPCClientConfiguration(),
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
    _ bytes: [UInt8], to connection: LoopConfined<ClientConnection>, _ transport: LoopConfined<ScriptedTransport>
  ) {
    loop.execute { transport.value.feed(bytes, to: connection.value) }
    loop.sync {}
  }

  /// Waits until all work that was queued on the loop is done.
  private func settle() {
    loop.execute {}
    loop.sync {}
  }
}
