// How streaming calls end early: cancellation from both sides, deadlines, limits, lost connections, drain, hostile
// peers.

import Dispatch
import Synchronization
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct StreamEndTests {
  /// How far the call had come.
  enum Moment: CaseIterable {
    case atOnce
    case begun
    case afterMessages
    case afterTheClientFinished
    case withMessagesUnread
  }

  @Test(arguments: Moment.allCases)
  func cancellingReachesTheHandler(_ moment: Moment) async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let call = client.open("Hold")
    try await Self.reach(moment, call, loopback)
    call.stream.cancel()
    #expect(await call.errorCode() == .cancelled)
    if moment != .atOnce {
      #expect(await loopback.seen.cancellation() == .reset)
    }
    call.stream.cancel()
    call.stream.send([1])
    try await client.expectEcho([1])
    #expect(call.seen.count == 0)
  }

  @Test(arguments: Moment.allCases.filter { $0 != .atOnce })
  func aLostConnectionReachesBothSides(_ moment: Moment) async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let call = client.open("Hold")
    try await Self.reach(moment, call, loopback)
    client.connection.close()
    #expect(await call.errorCode() == .unavailable)
    #expect(await loopback.seen.cancellation() == .connectionLost)
  }

  @Test func aCancelledHandlerMaySayWhatItLikes() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let call = client.open("Hold")
    let handler = await loopback.heldStreams.next()
    call.stream.cancel()
    #expect(await loopback.seen.next() == .cancelled(.reset))
    #expect(handler.isCancelled)
    handler.request(5)
    handler.sendInitialMetadata([("a", "1")])
    handler.send([1])
    handler.finish()
    handler.fail(RPCError(code: .aborted, message: "too late"))
    try await client.expectEcho([2])
  }

  @Test func answersRaceWithCancellation() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    for _ in 0..<200 {
      let call = client.open("Chat")
      call.stream.send([1])
      call.stream.finishSending()
      DispatchQueue.global().async { call.stream.cancel() }
      let (messages, end) = await call.rest()
      switch end {
      case .success: #expect(messages == [[1]])
      case .failure(let error): #expect(error.code == .cancelled)
      }
    }
    #expect(await loopback.onLoop { true })
  }

  @Test func theClientGivesUpAtTheDeadline() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    // Until the handler began before it, on a machine that is busy.
    for seconds in [1, 5, 20] where loopback.heldStreams.count == 0 {
      #expect(await client.open("Hold", timeout: .seconds(seconds)).errorCode() == .deadlineExceeded)
      try await client.expectEcho([1])
    }
    #expect(await loopback.heldStreams.next().deadline != nil)
    let cancellation = await loopback.seen.next()
    #expect(cancellation == .cancelled(.deadline) || cancellation == .cancelled(.reset))
  }

  @Test(arguments: [false, true])
  func theServerEnforcesTheDeadlineItself(_ hasHead: Bool) async throws {
    let ended = Box<RPCCancellation>()
    let loopback = try Loopback { router in
      router.registerBidirectional("/stream/Greet") { stream in
        stream.onCancel { reason in
          stream.send([8])
          ended.put(reason)
        }
        if hasHead { stream.send([7]) }
        return { _, _ in }
      }
    }
    let peer = RawPeer(loopback.address)
    let head = Frame.call("/stream/Greet") + [("grpc-timeout", "100m")]
    let frames = await peer.exchange(Frame.preface + Frame.headers(1, head).bytes) {
      $0.contains { $0.ends(1) }
    }
    #expect(await ended.next() == .deadline)
    // Headers, the message, trailers; or trailers only. The client's side is not waited for.
    let types = frames.filter { $0.stream == 1 && $0.type != 3 }.map(\.type)
    #expect(types == (hasHead ? [1, 0, 1] : [1]))
  }

  @Test func messageLimitsHoldForEachMessage() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxRequestMessageBytes = 1_000
    configuration.maxResponseMessageBytes = 500
    let loopback = try Loopback(configuration)
    let client = try await loopback.connect()
    let call = client.open("Chat")
    for _ in 0..<10 { call.stream.send([UInt8](repeating: 1, count: 500)) }
    call.stream.send([UInt8](repeating: 1, count: 1_001))
    let (messages, end) = await call.rest()
    guard case .failure(let error) = end else { return #expect(Bool(false), "it is too large") }
    #expect(error.code == .resourceExhausted)
    #expect(messages.count <= 10)
    let second = client.open("Chat")
    second.stream.send([UInt8](repeating: 1, count: 501))
    #expect(await second.errorCode() == .resourceExhausted)

    let third = try await loopback.connect(.with { $0.maxResponseMessageBytes = 100 }).open("Chat")
    third.stream.send([UInt8](repeating: 1, count: 101))
    #expect(await third.errorCode() == .resourceExhausted)
  }

  @Test func anEndFromAnotherThreadDoesNotHideThatAMessageWasNotSent() async throws {
    let loopback = try Loopback(.with { $0.maxResponseMessageBytes = 500 })
    let client = try await loopback.connect()
    for _ in 0..<50 {
      let call = client.open("Hold")
      let handler = await loopback.heldStreams.next()
      handler.send([UInt8](repeating: 1, count: 501))
      handler.finish()
      #expect(await call.errorCode() == .resourceExhausted)
    }
  }

  @Test func theFirstFailureOfACallIsTheOneThatIsTold() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let call = client.open("Hold")
    _ = await loopback.heldStreams.next()
    call.stream.cancel()
    client.connection.close()
    #expect(await call.errorCode() == .cancelled)
    _ = await client.closed()
    #expect(call.seen.count == 0)
  }

  @Test func drainLetsRunningStreamsFinish() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let call = client.open("Chat")
    call.stream.send([1])
    #expect(await call.seen.next() == .initialMetadata([]))
    #expect(await call.seen.next() == .message([1]))
    async let stopped: Void = loopback.stop(grace: .seconds(30))
    await client.expectGoingAway()
    #expect(await client.open("Chat").errorCode() == .unavailable)
    call.stream.send([2])
    call.stream.finishSending()
    let (messages, end) = await call.rest()
    #expect(messages == [[2]])
    #expect(end == .success([]))
    await stopped
  }

  @Test func theGraceEndsStreamsToo() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect().open("Hold")
    _ = await loopback.heldStreams.next()
    await loopback.stop(grace: .milliseconds(30))
    #expect(await loopback.seen.next() == .cancelled(.connectionLost))
    #expect(await call.errorCode() == .unavailable)
  }

  @Test func aStreamOnAConnectionThatIsNone() async throws {
    let loop = EventLoop(label: "test.client")
    let address = try Loopback().address
    let client = TestClient(address, loop: loop)
    let (_, end) = await client.open("Chat").rest()
    guard case .failure(let error) = end else { return #expect(Bool(false), "there is no connection") }
    #expect(error.isUnprocessed)
  }

  @Test(arguments: [
    Misbehaviour("DATA after END_STREAM", Frame.data(1, [], flags: Frame.endStream).bytes + Frame.data(1, [1]).bytes),
    Misbehaviour(
      "more than the window", (0..<20).flatMap { _ in Frame.data(1, [UInt8](repeating: 0, count: 16_384)).bytes }),
    Misbehaviour("a window that overflows", Frame.windowUpdate(1, 0x7FFF_FFFF).bytes),
    Misbehaviour("headers in the middle", Frame.headers(1, [("a", "b")]).bytes),
    Misbehaviour("a reset", Frame.reset(1).bytes),
  ])
  func aStreamThatBreaksTheProtocolIsReset(_ misbehaviour: Misbehaviour) async throws {
    let loopback = try Loopback()
    let peer = RawPeer(loopback.address)
    _ = await peer.exchange(Frame.preface + Frame.headers(1, Frame.call("/stream/Hold")).bytes) { frames in
      frames.contains { $0.isAcknowledgement }
    }
    _ = await loopback.heldStreams.next()
    async let frames = peer.exchange(misbehaviour.bytes + Frame.ping().bytes) { frames in
      frames.contains { $0.type == 3 || $0.type == 6 || $0.type == 7 }
    }
    let reason = await loopback.seen.cancellation()
    #expect(reason == .reset || reason == .connectionLost)
    _ = await frames
    try await loopback.connect().expectEcho([1])
  }

  @Test(arguments: [[1, 0, 0, 0, 1, 7], [2, 0, 0, 0, 1, 7], [0, 0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]])
  func whatIsNoMessageEndsTheCall(_ bytes: [UInt8]) async throws {
    let loopback = try Loopback()
    let peer = RawPeer(loopback.address)
    let request = Frame.headers(1, Frame.call("/stream/Hold")).bytes + Frame.data(1, [0, 0, 0, 0, 1, 5] + bytes).bytes
    async let frames = peer.exchange(Frame.preface + request) {
      $0.contains { $0.ends(1) }
    }
    let handler = await loopback.heldStreams.next()
    handler.request(2)
    #expect(await loopback.seen.next() == .message([5]))
    #expect(await loopback.seen.next() == .cancelled(.refused))
    #expect(await frames.contains { $0.stream == 1 && $0.type == 1 })
  }

  /// Nothing of a stream stays behind, however it ended.
  @Test func endedStreamsLeaveNothingBehind() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    var connection: ServerConnection?
    for round in 0..<30 {
      let call = client.open("Hold", demand: round.isMultiple(of: 2) ? 1 : nil)
      let handler = await loopback.heldStreams.next()
      connection = handler.connection
      for _ in 0..<10 { call.stream.send([UInt8](repeating: 1, count: 10_000)) }
      for _ in 0..<10 { handler.send([UInt8](repeating: 1, count: 10_000)) }
      switch round % 3 {
      case 0: call.stream.cancel()
      case 1: handler.fail(RPCError(code: .aborted, message: ""))
      default: handler.finish()
      }
      call.stream.request(.max)
      _ = await call.rest()
    }
    let confined = LoopConfined(try #require(connection), on: loopback.server.eventLoops[0])
    let held = await loopback.onLoop {
      [confined.value.buffered.requests, confined.value.buffered.responses]
    }
    #expect(held == [0, 0])
    try await client.expectEcho([1])
    while await loopback.onLoop({ confined.value.server.runningCalls.load(ordering: .relaxed) }) > 0 {}
  }

  private static func reach(_ moment: Moment, _ call: TestStream, _ loopback: Loopback) async throws {
    guard moment != .atOnce else { return }
    let handler = await loopback.heldStreams.next()
    switch moment {
    case .atOnce, .begun:
      break
    case .afterMessages:
      handler.request(1)
      call.stream.send([1])
      #expect(await loopback.seen.next() == .message([1]))
      handler.send([2])
      #expect(await call.seen.next() == .initialMetadata([]))
      #expect(await call.seen.next() == .message([2]))
    case .afterTheClientFinished:
      call.stream.finishSending()
      #expect(await loopback.seen.next() == .half)
    case .withMessagesUnread:
      for _ in 0..<50 { call.stream.send([UInt8](repeating: 1, count: 10_000)) }
      handler.request(1)
      #expect(await loopback.seen.next() == .message([UInt8](repeating: 1, count: 10_000)))
    }
  }
}

/// Frames that a stream does not survive.
struct Misbehaviour: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let bytes: [UInt8]

  init(_ name: String, _ bytes: [UInt8]) {
    testDescription = name
    self.bytes = bytes
  }
}
