// A channel as the cases see it: calls that are awaited.

import DispatchRPC
import InteropSupport

struct TestChannel: Sendable {
  private let connection: RPCClientConnection

  /// Connected, or an error.
  init(to address: SocketAddress, configuration: RPCClientConfiguration) async throws(RPCError) {
    let loop = RPCShard(label: "interop-client")
    let (events, source) = AsyncStream<RPCConnectionEvent>.makeStream()
    connection = RPCClientConnection(address: address, loop: loop, configuration: configuration) { source.yield($0) }
    connection.connect()
    for await event in events {
      switch event {
      case .connected: return
      case .closed(let error): throw error
      case .maxConcurrentStreamsChanged, .goingAway: break
      }
    }
  }

  func call(
    _ method: TestMethod, _ message: [UInt8], metadata: Metadata = Metadata()
  ) async throws(RPCError) -> RPCResponse {
    let request = RPCClientRequest(path: method.path, message: message, metadata: metadata)
    return try await withCheckedContinuation { done in
      connection.start(request) { done.resume(returning: $0) }
    }.get()
  }

  /// Messages are asked for one by one, as the case awaits them.
  func open(_ method: TestMethod, metadata: Metadata = Metadata(), timeout: Duration? = nil) -> Conversation {
    let (events, source) = AsyncStream<Conversation.Event>.makeStream()
    let deadline = timeout.map { MonotonicTime.now().advanced(by: $0) }
    let stream = connection.openStream(method.path, metadata: metadata, deadline: deadline) { _, event in
      switch event {
      case .initialMetadata(let metadata): source.yield(.initialMetadata(metadata))
      case .message(let bytes): source.yield(.message(Array(bytes)))
      case .writable: break
      case .end(let outcome): source.yield(.end(outcome))
      }
    }
    return Conversation(stream: stream, events: events)
  }
}

/// One streaming call, for one task.
final class Conversation {
  enum Event: Sendable {
    case initialMetadata(Metadata)
    case message([UInt8])
    case end(Result<Metadata, RPCError>)
  }

  private let stream: RPCClientStream
  private var events: AsyncStream<Event>.AsyncIterator
  private(set) var initialMetadata = Metadata()
  private var outcome: Result<Metadata, RPCError>?

  init(stream: RPCClientStream, events: AsyncStream<Event>) {
    self.stream = stream
    self.events = events.makeAsyncIterator()
  }

  func send(_ message: some WireMessage) {
    stream.send(message.encoded())
  }

  func finishSending() {
    stream.finishSending()
  }

  func cancel() {
    stream.cancel()
  }

  /// `nil` once the call has ended.
  func nextMessage() async -> [UInt8]? {
    stream.request(1)
    while outcome == nil, let event = await events.next(isolation: #isolation) {
      switch event {
      case .initialMetadata(let metadata): initialMetadata = metadata
      case .message(let message): return message
      case .end(let end): outcome = end
      }
    }
    return nil
  }

  /// The trailing metadata, or the status. A message on the way there is a mistake of the server's.
  func end() async throws -> Result<Metadata, RPCError> {
    if let message = await nextMessage() { throw CaseFailure("a message of \(message.count) bytes instead of the end") }
    guard let outcome else { throw CaseFailure("a call without an end") }
    return outcome
  }
}
