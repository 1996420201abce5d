// A server with a few telling methods, and clients for it, on the loopback interface and a free port.

import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import DispatchRPC

/// Ends with the test: the server closes what is left.
final class Loopback: Sendable {
  let server: RPCServer
  let address: SocketAddress
  /// The events that the handlers saw, for tests that wait for them.
  let cancellations = Box<RPCCancellation>()
  let held = Box<RPCServerCall>()

  init(
    _ configuration: RPCServerConfiguration = RPCServerConfiguration(eventLoops: 2),
    tls: RPCServerTLS? = nil,
    adding more: (inout RPCRouter) -> Void = { _ in },
    onRoundEnd: (@Sendable (EventLoop) -> Void)? = nil
  ) throws {
    var router = RPCRouter()
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
    let (held, cancellations) = (held, cancellations)
    router.register("/test/Hold") { call, _ in
      call.onCancel { cancellations.put($0) }
      held.put(call)
    }
    more(&router)
    server = RPCServer(configuration: configuration, router: router, onRoundEnd: onRoundEnd)
    address = try server.listen(host: "127.0.0.1", port: 0, tls: tls)
  }

  func connect(
    _ configuration: RPCClientConfiguration = RPCClientConfiguration(),
    loop: EventLoop = EventLoop(label: "test.client")
  ) async throws -> TestClient {
    let client = TestClient(address, configuration, loop: loop, keeping: self)
    try await client.connect()
    return client
  }

  /// The server still takes connections. Whether one is made in the time that the server gives is the machine's affair.
  func expectAlive(_ configuration: RPCClientConfiguration = RPCClientConfiguration()) async throws {
    while true {
      do {
        return try await connect(configuration).expectEcho([1])
      } catch let error as RPCError {
        // The suite's time is over.
        if Task.isCancelled { throw error }
      }
    }
  }

  func shutDown(grace: Duration) async {
    await withCheckedContinuation { done in server.shutDown(grace: grace) { done.resume() } }
  }
}

/// A connection whose calls and events can be awaited.
final class TestClient: Sendable {
  let connection: RPCClientConnection
  let events = Box<RPCConnectionEvent>()
  private let loop: EventLoop
  private let loopback: Loopback?

  init(
    _ address: SocketAddress, _ configuration: RPCClientConfiguration = RPCClientConfiguration(),
    loop: EventLoop = EventLoop(label: "test.client"), keeping loopback: Loopback? = nil
  ) {
    self.loop = loop
    self.loopback = loopback
    let events = events
    connection = RPCClientConnection(address: address, loop: loop, configuration: configuration) { events.put($0) }
  }

  /// Until the server's SETTINGS are here.
  func connect() async throws {
    connection.connect()
    switch await events.next() {
    case .connected: return
    case .closed(let error): throw error
    case .maxConcurrentStreamsChanged, .goingAway, .tooManyPings:
      throw RPCError(code: .unavailable, message: "no connection")
    }
  }

  func call(
    _ method: String, _ message: [UInt8] = [], _ metadata: Metadata = [], timeout: Duration? = nil
  ) async throws(RPCError) -> RPCResponse {
    let deadline = timeout.map { MonotonicTime.now().advanced(by: $0) }
    let request = RPCClientRequest(
      path: "/test/\(method)", message: message, metadata: metadata, deadline: deadline)
    return try await withCheckedContinuation { done in
      connection.start(request) { done.resume(returning: $0) }
    }.get()
  }

  /// How a call ends.
  func code(of method: String) async -> RPCCode {
    do throws(RPCError) {
      _ = try await call(method)
      return .ok
    } catch {
      return error.code
    }
  }

  /// Waits until all work that was queued for the connection before is done.
  func onLoop() async {
    await withCheckedContinuation { done in loop.execute { done.resume() } }
  }

  /// Makes a call whose answer must be its request.
  func expectEcho(
    _ message: [UInt8], by method: String = "Echo", sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let response = try await call(method, message)
    #expect(response.message == message, sourceLocation: sourceLocation)
  }

  /// Events up to the last.
  func closed() async -> RPCError {
    while true {
      if case .closed(let error) = await events.next() { return error }
    }
  }
}

/// The error of a call that must fail.
func failure(
  _ body: () async throws(RPCError) -> RPCResponse, sourceLocation: SourceLocation = #_sourceLocation
) async -> RPCError {
  do throws(RPCError) {
    let response = try await body()
    Issue.record("expected an error, not \(response.message.count) bytes", sourceLocation: sourceLocation)
    return RPCError(code: .ok, message: "")
  } catch {
    return error
  }
}

func seconds(_ value: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: value * 1_000_000_000) }
