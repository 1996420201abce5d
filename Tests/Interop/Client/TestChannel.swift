// A channel as the cases see it: calls that are awaited.

import DispatchRPC
import InteropSupport
import RPCChannel

struct TestChannel: Sendable {
  private let channel: RPCChannel

  init(to target: String, configuration: RPCChannelConfiguration) {
    channel = RPCChannel(target: target, configuration: configuration)
  }

  func call(
    _ method: TestMethod, _ message: [UInt8], metadata: Metadata = Metadata()
  ) async throws(RPCError) -> RPCResponse {
    let options = RPCCallOptions(waitForReady: true, metadata: metadata)
    return try await channel.call(method.path, message, options: options)
  }

  /// Without waiting for a connection that does not come about.
  func outcome(_ method: TestMethod, timeout: Duration) async -> Result<RPCResponse, RPCError> {
    do throws(RPCError) {
      return .success(try await channel.call(method.path, [], options: RPCCallOptions(timeout: timeout)))
    } catch {
      return .failure(error)
    }
  }

  /// Messages are asked for one by one, as the case awaits them.
  func open(
    _ method: TestMethod, metadata: Metadata = Metadata(), timeout: Duration? = nil
  ) -> Conversation {
    let options = RPCCallOptions(timeout: timeout, waitForReady: true, metadata: metadata)
    let (events, source) = AsyncStream<Conversation.Event>.makeStream()
    let stream = channel.openStream(method.path, options: options) { _, event in
      switch event {
      case .initialMetadata(let metadata): source.yield(.initialMetadata(metadata))
      case .message(let bytes): source.yield(.message(Array(bytes)))
      case .writable: break
      case .end(let outcome): source.yield(.end(outcome))
      }
    }
    return Conversation(stream: stream, events: events)
  }

  func close() async {
    await channel.close()
  }
}

/// One streaming call, for one task.
final class Conversation {
  enum Event: Sendable {
    case initialMetadata(Metadata)
    case message([UInt8])
    case end(Result<Metadata, RPCError>)
  }

  private let stream: RPCChannelStream
  private var events: AsyncStream<Event>.AsyncIterator
  private(set) var initialMetadata = Metadata()
  private var outcome: Result<Metadata, RPCError>?

  init(stream: RPCChannelStream, events: AsyncStream<Event>) {
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
