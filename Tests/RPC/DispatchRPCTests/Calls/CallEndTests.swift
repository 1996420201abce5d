// How calls end early: deadlines, cancellation, limits, lost connections, and answers that come too late.

import Dispatch
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct CallEndTests {
  @Test func theClientGivesUpAtTheDeadline() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    // Until the handler began before it, on a machine that is busy.
    for timeout in [Duration.milliseconds(500), .seconds(5), .seconds(20)] where loopback.cancellations.count == 0 {
      let error = await client.failure("Hold", timeout: timeout)
      #expect(error.code == .deadlineExceeded)
      try await client.expectEcho([1])
    }
    let cancellation = await loopback.cancellations.next()
    #expect(cancellation == .deadline || cancellation == .reset)
    let call = await loopback.held.next()
    #expect(call.isCancelled)
    call.respond([1])
    try await client.expectEcho([2])
  }

  @Test func theServerEnforcesTheDeadlineItself() async throws {
    let loopback = try Loopback()
    let peer = RawPeer(loopback.address)
    let head = Frame.call("/test/Hold") + [("grpc-timeout", "50m")]
    let frames = await peer.exchange(
      Frame.preface + Frame.headers(1, head).bytes + Frame.data(1, [0, 0, 0, 0, 0], flags: Frame.endStream).bytes
    ) { $0.contains { $0.ends(1) } }
    #expect(frames.contains { $0.stream == 1 && $0.type == 1 })
    #expect(await loopback.cancellations.next() == .deadline)
    await loopback.held.next().respond([1])
  }

  @Test func aDeadlineInThePastIsNotSent() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let error = await client.failure("Hold", timeout: .zero)
    #expect(error.code == .deadlineExceeded)
    _ = try await client.call("Echo")
    #expect(loopback.held.count == 0)
  }

  @Test func cancellingReachesTheHandler() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let result = Box<Result<RPCResponse, RPCError>>()
    let call = client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { result.put($0) }
    let held = await loopback.held.next()
    call.cancel()
    #expect(await loopback.cancellations.next() == .reset)
    guard case .failure(let error) = await result.next() else { return #expect(Bool(false), "it was cancelled") }
    #expect(error.code == .cancelled)
    held.fail(RPCError(code: .internalError, message: "too late"))
    call.cancel()
    try await client.expectEcho([1])
  }

  @Test func cancellingBeforeItWasSent() async throws {
    let client = try await Loopback().connect()
    for _ in 0..<50 {
      let result = Box<Result<RPCResponse, RPCError>>()
      client.connection.start(RPCClientRequest(path: "/test/Echo", message: [])) { result.put($0) }.cancel()
      _ = await result.next()
    }
    try await client.expectEcho([1])
  }

  @Test func onCancelAfterTheFactRunsAtOnce() async throws {
    let loopback = try Loopback()
    let held = try await loopback.abandonedCalls(1, from: loopback.connect())[0]
    let again = Box<RPCCancellation>()
    held.onCancel { again.put($0) }
    #expect(await again.next() == .reset)
  }

  @Test func aLostConnectionReachesBothSides() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let result = Box<Result<RPCResponse, RPCError>>()
    client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { result.put($0) }
    let held = await loopback.held.next()
    client.connection.close()
    guard case .failure(let error) = await result.next() else { return #expect(Bool(false), "nobody answered") }
    #expect(error.code == .unavailable)
    #expect(!error.isUnprocessed)
    #expect(await client.closed().code == .unavailable)
    #expect(await loopback.cancellations.next() == .connectionLost)
    held.respond([1])
    let after = await client.failure("Echo")
    #expect(after.isUnprocessed)
  }

  @Test func aLostConnectionIsReportedBeforeItsCallsFail() async throws {
    let loopback = try Loopback()
    let heard = Box<String>()
    let connected = Box<Void>()
    let connection = RPCClientConnection(
      address: loopback.address, loop: EventLoop(label: "test.client"), configuration: RPCClientConfiguration()
    ) { event in
      switch event {
      case .connected: connected.put(())
      case .closed: heard.put("closed")
      case .goingAway, .maxConcurrentStreamsChanged, .tooManyPings: break
      }
    }
    connection.connect()
    await connected.next()
    for _ in 0..<2 {
      connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { _ in heard.put("call failed") }
      _ = await loopback.held.next()
    }
    await loopback.stop(grace: .zero)
    #expect(await [heard.next(), heard.next(), heard.next()] == ["closed", "call failed", "call failed"])
  }

  @Test func answersFromOtherThreadsRaceWithCancellation() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    for _ in 0..<200 {
      let result = Box<Result<RPCResponse, RPCError>>()
      let call = client.connection.start(RPCClientRequest(path: "/test/Later", message: [1])) { result.put($0) }
      DispatchQueue.global().async { call.cancel() }
      switch await result.next() {
      case .success(let response): #expect(response.message == [1])
      case .failure(let error): #expect(error.code == .cancelled)
      }
    }
  }

  @Test func messageLimitsHoldOnBothSides() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxRequestMessageBytes = 1_000
    configuration.maxResponseMessageBytes = 100
    let loopback = try Loopback(configuration)
    let client = try await loopback.connect()
    for count in [1_001, 2_000_000, 101] {
      let error = await client.failure("Echo", [UInt8](repeating: 1, count: count))
      #expect(error.code == .resourceExhausted)
    }
    let modest = try await loopback.connect(.with { $0.maxResponseMessageBytes = 10 })
    let error = await modest.failure("Echo", [UInt8](repeating: 1, count: 11))
    #expect(error.code == .resourceExhausted)
    try await modest.expectEcho([1])
  }

  @Test func runningHandlersAreCountedNotStreams() async throws {
    let loopback = try Loopback(.with { $0.maxRunningCallsPerLoop = 2 })
    let client = try await loopback.connect()
    let running = await loopback.abandonedCalls(2, from: client)
    let refused = await client.failure("Echo")
    #expect(refused.code == .unavailable)
    running[0].respond([])
    try await client.expectEcho([1])
  }

  @Test func callsBeyondThePeersLimitAreNotSent() async throws {
    let loopback = try Loopback(.with { $0.maxConcurrentStreams = 3 })
    let client = TestClient(loopback.address)
    client.connection.connect()
    guard case .connected(let maximum) = await client.events.next() else { return #expect(Bool(false)) }
    #expect(maximum == 3)
    for _ in 0..<3 { client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { _ in } }
    let error = await client.failure("Echo")
    #expect(error.code == .unavailable)
    #expect(error.isUnprocessed)
  }

  @Test func requestHeadersThatCannotBeSentFailTheCall() async throws {
    let client = try await Loopback().connect()
    let error = await client.failure("Echo", [], [("large", String(repeating: "x", count: 100_000))])
    #expect(error.code == .resourceExhausted)
    #expect(!error.isUnprocessed)
    try await client.expectEcho([1])
  }

  /// The server bounds what it sends; this is what happens if that should ever fail.
  @Test func responseHeadersThatCannotBeSentResetTheStream() async throws {
    let loopback = try Loopback { router in
      router.register("/test/Oversized") { call, _ in
        var block = HeaderBlock()
        block.add(":status", "200")
        block.add("large", String(repeating: "x", count: 100_000))
        // The first stream of the connection.
        block.withFields { call.connection.session.submitResponse(stream: 1, $0, $1, body: nil) }
        call.connection.scheduleWrite()
        call.onCancel { _ in call.fail(RPCError(code: .unknown, message: "too late")) }
      }
    }
    let client = try await loopback.connect()
    let error = await client.failure("Oversized")
    #expect(error.code == .internalError)
    try await client.expectEcho([1])
  }

  @Test func headersBeyondTheLimitFailTheCall() async throws {
    let client = try await Loopback().connect()
    let error = await client.failure("Echo", [], [("large", String(repeating: "x", count: 20_000))])
    #expect(error.code == .resourceExhausted)
    try await client.expectEcho([1])
  }

  @Test func answersWaitForAPeerThatDoesNotReadThem() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxBufferedResponseBytesPerConnection = 1 << 20
    configuration.maxBufferedRequestBytesPerConnection = 32 << 20
    let client = try await Loopback(configuration).connect()
    let message = [UInt8](repeating: 9, count: 1 << 20)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<30 { group.addTask { try await client.expectEcho(message) } }
      try await group.waitForAll()
    }
  }
}

extension Loopback {
  /// Calls that their handlers still hold, and their client has cancelled.
  fileprivate func abandonedCalls(_ count: Int, from client: TestClient) async -> [RPCServerCall] {
    var calls: [RPCServerCall] = []
    for _ in 0..<count {
      let call = client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { _ in }
      calls.append(await held.next())
      call.cancel()
      _ = await cancellations.next()
    }
    return calls
  }
}
