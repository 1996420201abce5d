// A server with streaming methods of every kind, and clients' streams whose events can be awaited.

import Synchronization
import TestSupport
import Testing

@testable import DispatchRPC

/// An event that one side of a stream saw; messages as copies.
enum Sighting: Hashable, Sendable {
  case initialMetadata(Metadata)
  case message([UInt8])
  case writable
  /// On the server: the client has sent all.
  case half
  case cancelled(RPCCancellation)
  case end(Result<Metadata, RPCError>)
}

/// The methods `Chat` (bidirectional: echoes each message), `Total` (client-streaming: the bytes of all messages),
/// `Count` (server-streaming: as many messages as its request has bytes) and `Hold` (bidirectional: the test plays the
/// handler).
final class StreamingLoopback: Sendable {
  let loopback: Loopback
  /// The streams of `Hold`, and what they see.
  let held: Box<RPCServerStream>
  let seen: Box<Sighting>

  init(
    _ configuration: RPCServerConfiguration = RPCServerConfiguration(eventLoops: 1),
    adding more: (inout RPCRouter) -> Void = { _ in }, onRoundEnd: (@Sendable (EventLoop) -> Void)? = nil
  ) throws {
    let (held, seen) = (Box<RPCServerStream>(), Box<Sighting>())
    (self.held, self.seen) = (held, seen)
    loopback = try Loopback(
      configuration,
      adding: { router in
        router.registerBidirectional("/stream/Chat", Self.chat)
        router.registerClientStreaming("/stream/Total", Self.total)
        router.registerServerStreaming("/stream/Count", Self.count)
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
        more(&router)
      }, onRoundEnd: onRoundEnd)
  }

  func connect(_ configuration: RPCClientConfiguration = RPCClientConfiguration()) async throws -> TestClient {
    try await loopback.connect(configuration)
  }

  /// The server's only one.
  var loop: EventLoop { loopback.server.eventLoops[0] }

  /// Runs on the server's event loop.
  func onLoop<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    let result = Box<Result>()
    loop.execute { result.put(body()) }
    return await result.next()
  }

  /// Echoes as fast as the client takes the echoes.
  private static func chat(_ stream: RPCServerStream) -> RPCServerStream.EventHandler {
    stream.request(1)
    return { stream, event in
      switch event {
      case .message(let bytes):
        stream.send(Array(bytes))
        if stream.isWritable { stream.request(1) }
      case .writable:
        stream.request(1)
      case .end:
        stream.finish(trailingMetadata: stream.metadata)
      }
    }
  }

  private static func total(_ stream: RPCServerStream) -> RPCServerStream.EventHandler {
    stream.request(.max)
    let total = Atomic(0)
    let sum = Shared(total)
    return { stream, event in
      switch event {
      case .message(let bytes): sum.value.add(bytes.count, ordering: .relaxed)
      case .end: stream.respond(Array("\(sum.value.load(ordering: .relaxed))".utf8))
      case .writable: break
      }
    }
  }

  private static func count(
    _ stream: RPCServerStream, _ message: UnsafeRawBufferPointer
  ) -> RPCServerStream.EventHandler {
    for index in 0..<message.count { stream.send([UInt8(truncatingIfNeeded: index)]) }
    stream.finish()
    return { _, _ in }
  }
}

/// Keeps an atomic where closures can share it.
final class Shared: Sendable {
  let value: Atomic<Int>

  init(_ value: consuming Atomic<Int>) {
    self.value = value
  }
}

/// A client's stream that records what it sees, and keeps its connection.
struct TestStream: Sendable {
  let client: TestClient
  let stream: RPCClientStream
  let seen: Box<Sighting>

  /// The echo of a whole conversation: its messages and its end.
  func rest() async -> (messages: [[UInt8]], end: Result<Metadata, RPCError>) {
    var messages: [[UInt8]] = []
    while true {
      switch await seen.next() {
      case .message(let message): messages.append(message)
      case .end(let end): return (messages, end)
      case .initialMetadata, .writable, .half, .cancelled: break
      }
    }
  }

  /// The code of its end, which must be an error.
  func errorCode() async -> RPCCode {
    switch await rest().end {
    case .success: .ok
    case .failure(let error): error.code
    }
  }
}

extension TestClient {
  /// - Parameter demand: the number of messages to request at once; `nil` for none.
  func open(
    _ method: String, metadata: Metadata = Metadata(), timeout: Duration? = nil, demand: Int? = .max
  ) -> TestStream {
    let seen = Box<Sighting>()
    let deadline = timeout.map { MonotonicTime.now().advanced(by: $0) }
    let stream = connection.openStream(
      "/stream/\(method)", metadata: metadata, deadline: deadline
    ) { _, event in
      switch event {
      case .initialMetadata(let metadata): seen.put(.initialMetadata(metadata))
      case .message(let bytes): seen.put(.message(Array(bytes)))
      case .writable: seen.put(.writable)
      case .end(let end): seen.put(.end(end))
      }
    }
    if let demand { stream.request(demand) }
    return TestStream(client: self, stream: stream, seen: seen)
  }
}
