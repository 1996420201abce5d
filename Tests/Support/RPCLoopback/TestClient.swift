// Clients whose calls, streams and events can be awaited.

public import DispatchRPC
public import TestSupport
public import Testing

/// A connection. It keeps the server that it is for.
public final class TestClient: Sendable {
  public let connection: RPCClientConnection
  public let events = Box<RPCConnectionEvent>()
  private let loop: EventLoop
  private let loopback: Loopback?

  public init(
    _ address: SocketAddress, _ configuration: RPCClientConfiguration = RPCClientConfiguration(),
    loop: EventLoop = EventLoop(label: "test.client"), keeping loopback: Loopback? = nil
  ) {
    self.loop = loop
    self.loopback = loopback
    let events = events
    connection = RPCClientConnection(address: address, loop: loop, configuration: configuration) { events.put($0) }
  }

  /// Until the server's SETTINGS are here.
  public func connect() async throws {
    connection.connect()
    switch await events.next() {
    case .connected: return
    case .closed(let error): throw error
    case .maxConcurrentStreamsChanged, .goingAway, .tooManyPings:
      throw RPCError(code: .unavailable, message: "no connection")
    }
  }

  public func call(
    _ method: String, _ message: [UInt8] = [], _ metadata: Metadata = [], timeout: Duration? = nil
  ) async throws(RPCError) -> RPCResponse {
    let deadline = timeout.map { MonotonicTime.now().advanced(by: $0) }
    let request = RPCClientRequest(
      path: "/test/\(method)", message: message, metadata: metadata, deadline: deadline)
    return try await withCheckedContinuation { done in
      connection.start(request) { done.resume(returning: $0) }
    }.get()
  }

  /// Returns the error of a call that must fail.
  public func failure(
    _ method: String, _ message: [UInt8] = [], _ metadata: Metadata = [], timeout: Duration? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async -> RPCError {
    do throws(RPCError) {
      let response = try await call(method, message, metadata, timeout: timeout)
      Issue.record("expected an error, not \(response.message.count) bytes", sourceLocation: sourceLocation)
      return RPCError(code: .ok, message: "")
    } catch {
      return error
    }
  }

  /// How a call ends.
  public func code(of method: String) async -> RPCCode {
    do throws(RPCError) {
      _ = try await call(method)
      return .ok
    } catch {
      return error.code
    }
  }

  /// Makes a call whose answer must be its request.
  public func expectEcho(
    _ message: [UInt8], by method: String = "Echo", sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let response = try await call(method, message)
    #expect(response.message == message, sourceLocation: sourceLocation)
  }

  /// The next event must be that the server asks the client to leave.
  public func expectGoingAway(sourceLocation: SourceLocation = #_sourceLocation) async {
    let event = await events.next()
    guard case .goingAway = event else {
      Issue.record("GOAWAY comes first, not \(event)", sourceLocation: sourceLocation)
      return
    }
  }

  /// Events up to the last.
  public func closed() async -> RPCError {
    while true {
      if case .closed(let error) = await events.next() { return error }
    }
  }

  /// Connects in vain.
  public func refusal() async -> RPCError {
    connection.connect()
    return await closed()
  }

  /// - Parameter demand: the number of messages to request at once; `nil` for none.
  public func open(
    _ method: String, metadata: Metadata = Metadata(), timeout: Duration? = nil, demand: Int? = .max
  ) -> TestStream {
    let seen = Box<Sighting>()
    let deadline = timeout.map { MonotonicTime.now().advanced(by: $0) }
    let stream = connection.openStream(
      "/stream/\(method)", metadata: metadata, deadline: deadline
    ) { _, event in seen.put(Sighting(event)) }
    if let demand { stream.request(demand) }
    return TestStream(client: self, stream: stream, seen: seen)
  }
}

/// An event that one side of a stream saw; messages as copies.
public enum Sighting: Hashable, Sendable {
  case initialMetadata(Metadata)
  case message([UInt8])
  case writable
  /// On the server: the client has sent all.
  case half
  case cancelled(RPCCancellation)
  case end(Result<Metadata, RPCError>)

  public init(_ event: RPCClientStreamEvent) {
    self =
      switch event {
      case .initialMetadata(let metadata): .initialMetadata(metadata)
      case .message(let bytes): .message(Array(bytes))
      case .writable: .writable
      case .end(let end): .end(end)
      }
  }
}

extension Box<Sighting> {
  /// The next cancellation; events before it are dropped.
  public func cancellation() async -> RPCCancellation {
    while true {
      if case .cancelled(let reason) = await next() { return reason }
    }
  }

  /// The rest of a conversation: its messages and its end.
  public func rest() async -> (messages: [[UInt8]], end: Result<Metadata, RPCError>) {
    var messages: [[UInt8]] = []
    while true {
      switch await next() {
      case .message(let message): messages.append(message)
      case .end(let end): return (messages, end)
      case .initialMetadata, .writable, .half, .cancelled: break
      }
    }
  }

  /// The error with which it ends; `nil`: it ends well.
  public func failure() async -> RPCError? {
    if case .failure(let error) = await rest().end { error } else { nil }
  }
}

/// A client's stream that records what it sees, and keeps its connection.
public struct TestStream: Sendable {
  public let client: TestClient
  public let stream: RPCClientStream
  public let seen: Box<Sighting>

  public func rest() async -> (messages: [[UInt8]], end: Result<Metadata, RPCError>) { await seen.rest() }

  /// The code of its end.
  public func errorCode() async -> RPCCode { await seen.failure()?.code ?? .ok }
}
