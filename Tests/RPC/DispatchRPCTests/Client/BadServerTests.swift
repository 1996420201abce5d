// Servers that break off, change their minds or go too far: what the client's calls make of it. (After grpc's
// http2_test.)

import Dispatch
import Glibc
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct BadServerTests {
  // MARK: Calls that are broken off

  /// RST_STREAM with NO_ERROR is no end of a response.
  @Test(arguments: [0, 1, 2, 3])
  func aResetBeforeTheEndIsAnError(frames: Int) async throws {
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      let response = [
        Frame.responseHead(stream), Frame.data(stream, [0, 0, 0, 0, 2, 1]), Frame.data(stream, [2]),
      ]
      connection.send(Array(response.prefix(frames)) + [Frame.reset(stream, code: 0)])
    }
    let client = try await server.connect()
    let error = await client.failure("Any")
    #expect(error.code == .internalError)
    #expect(error.progress == (frames > 0 ? .answered : .sent))
  }

  @Test func aResponseMayEndBeforeTheRequestDoes() async throws {
    let reset = Box<Frame?>()
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      connection.send(.responseHead(stream), .message(stream, [7]), .trailers(stream))
      reset.put(connection.next { $0.type == Frame.resetType })
    }
    let call = try await server.connect().open("Any")
    call.stream.request(.max)
    #expect(await call.seen.next() == .initialMetadata([]))
    #expect(await call.seen.next() == .message([7]))
    #expect(await call.seen.next() == .end(.success([])))
    let frame = try #require(await reset.next())
    #expect(frame.firstWord == HTTP2ErrorCode.noError.rawValue)
  }

  /// One wake-up of the client finds both, and takes what the socket has first.
  @Test func aCancellationOnceTheDeadlinePassedIsTheDeadline() async throws {
    let isCalled = Box<Void>()
    let (mayReset, hasReset) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      isCalled.put(())
      mayReset.wait()
      connection.send(.reset(stream, code: 8))
      hasReset.signal()
    }
    let loop = EventLoop(label: "test.client")
    let client = TestClient(server.address, RPCClientConfiguration(), loop: loop)
    try await client.connect()
    let timeout = Duration.milliseconds(300)
    async let error = client.failure("Any", timeout: timeout)
    await isCalled.next()
    let deadline = MonotonicTime.now().advanced(by: timeout)
    loop.execute {
      mayReset.signal()
      hasReset.wait()
      while MonotonicTime.now() < deadline { usleep(1_000) }
    }
    #expect(await error.code == .deadlineExceeded)
  }

  @Test func aWholeResponseCountsWhateverItsResetSays() async throws {
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      connection.send(
        .responseHead(stream), .message(stream, [7]), .trailers(stream), .reset(stream, code: 8))
    }
    let response = try await server.connect().call("Any", [UInt8](repeating: 0, count: 1 << 20))
    #expect(response.message == [7])
  }

  // MARK: GOAWAY

  @Test func goawayLetsRunningCallsEndAndRefusesOthers() async throws {
    let isRefused = Box<Void>()
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      connection.send(.goaway(last: stream))
      // The client answers a PING after it has read what came before.
      connection.send(.ping())
      connection.next { $0.type == Frame.pingType }
      isRefused.put(())
      connection.send(.responseHead(stream), .message(stream, [7]), .trailers(stream))
    }
    let client = try await server.connect()
    async let response = client.call("Any")
    await client.expectGoingAway()
    let refused = await client.failure("Late")
    #expect(refused.progress == .unsent)
    await isRefused.next()
    #expect(try await response.message == [7])
  }

  @Test func goawayTellsWhatWasNotProcessed() async throws {
    let server = try ScriptedServer { connection in
      connection.nextCall()
      connection.send(.goaway(last: 0))
    }
    let client = try await server.connect()
    let error = await client.failure("Any")
    #expect(error.code == .unavailable && error.progress == .unprocessed)
  }

  /// gRFC A8.
  @Test func tooManyPingsAreTold() async throws {
    let server = try ScriptedServer { connection in
      connection.send(.goaway(last: 0, code: HTTP2ErrorCode.enhanceYourCalm.rawValue, debug: "too_many_pings"))
      connection.next { _ in false }
    }
    let client = try await server.connect()
    guard case .tooManyPings = await client.events.next() else { return #expect(Bool(false)) }
    await client.expectGoingAway()
  }

  // MARK: Settings and pings

  @Test func streamsAllowedMayChangeAndBeNone() async throws {
    let isSeen = DispatchSemaphore(value: 0)
    let server = try ScriptedServer { connection in
      for count in [5, 0, 1] as [UInt32] {
        connection.send(.maxStreams(count))
        isSeen.wait()
      }
      let stream = connection.nextCall()
      connection.send(.responseHead(stream), .message(stream, [7]), .trailers(stream))
    }
    let client = try await server.connect()
    for expected in [5, 0, 1] {
      guard case .maxConcurrentStreamsChanged(expected) = await client.events.next() else {
        return #expect(Bool(false))
      }
      if expected == 0 {
        let refused = await client.failure("None")
        #expect(refused.progress == .unsent)
      }
      isSeen.signal()
    }
    #expect(try await client.call("Any").message == [7])
  }

  @Test func everyPingIsAnswered() async throws {
    let count = 2_000
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      var answered = 0
      for _ in 0..<count / 100 {
        connection.send(Array(repeating: .ping(), count: 100))
        for _ in 0..<100 where connection.next(where: { $0.type == Frame.pingType }) != nil { answered += 1 }
      }
      connection.send(
        .responseHead(stream), .message(stream, [UInt8(answered == count ? 1 : 0)]), .trailers(stream))
    }
    #expect(try await server.connect().call("Any").message == [1])
  }

  // MARK: Frames from the server

  /// Padding counts for flow control (RFC 9113 §6.1): four windows of it, one byte of message in each frame.
  @Test func paddingIsGivenBack() async throws {
    let bytes = 4_096
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      connection.send(.responseHead(stream), .data(stream, [0, 0, 0, UInt8(bytes >> 8), 0]))
      var window = (256 << 10) - 5
      for _ in 0..<bytes {
        while window < 257, let update = connection.next(where: { $0.type == Frame.windowUpdateType }) {
          if update.stream == stream { window += Int(update.firstWord) }
        }
        let padded = Frame(type: 0, flags: 8, stream: stream, payload: [255, 9] + [UInt8](repeating: 0, count: 255))
        connection.send(padded)
        window -= 257
      }
      connection.send(.trailers(stream))
    }
    let response = try await server.connect().call("Any")
    #expect(response.message == [UInt8](repeating: 9, count: bytes))
  }

  @Test func moreMetadataThanAllowedEndsTheCallAtOnce() async throws {
    let value = String(repeating: "v", count: 120)
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      connection.send(.responseHead(stream, (0..<110).map { ("k\($0)", value) }))
      connection.next { $0.type == Frame.resetType }
    }
    let call = try await server.connect().open("Any")
    guard case .end(.failure(let error)) = await call.seen.next() else { return #expect(Bool(false)) }
    #expect(error.code == .resourceExhausted)
  }

  @Test func whoHoldsMostUnreadMakesRoom() async throws {
    let server = try ScriptedServer { connection in
      let (first, second) = (connection.nextCall(), connection.nextCall())
      connection.send(.responseHead(first), .responseHead(second))
      connection.send(.message(second, [UInt8](repeating: 2, count: 4_000)))
      for _ in 0..<2 { connection.send(.message(first, [UInt8](repeating: 1, count: 4_000))) }
      connection.next { $0.type == Frame.resetType && $0.stream == first }
      connection.send(.trailers(second))
    }
    let client = try await server.connect(.with { $0.maxUnreadBytesPerConnection = 10_000 })
    let (greedy, modest) = (client.open("Any"), client.open("Any"))
    // Whatever came with it, the client reports its own failure at once, and instead.
    var told = await greedy.seen.next()
    if told == .initialMetadata([]) { told = await greedy.seen.next() }
    guard case .end(.failure(let error)) = told else { return #expect(Bool(false)) }
    #expect(error.code == .resourceExhausted)
    modest.stream.request(2)
    #expect(await modest.seen.next() == .initialMetadata([]))
    #expect(await modest.seen.next() == .message([UInt8](repeating: 2, count: 4_000)))
    #expect(await modest.seen.next() == .end(.success([])))
  }
}
