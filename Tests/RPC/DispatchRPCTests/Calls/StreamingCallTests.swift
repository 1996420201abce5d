// Calls with several messages: the four kinds, what they carry, and in which order their sides may finish.

import Dispatch
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct StreamingCallTests {
  @Test(arguments: [0, 1, 3, 500])
  func bidirectionalCallsEchoEachMessage(_ count: Int) async throws {
    let call = try await Loopback().connect().open("Chat", metadata: [("a", "1")])
    let messages = (0..<count).map { Array("message \($0)".utf8) }
    for message in messages { call.stream.send(message) }
    call.stream.finishSending()
    let (echoes, end) = await call.rest()
    #expect(echoes == messages)
    #expect(end == .success([("a", "1")]))
  }

  @Test func aConversationTakesTurns() async throws {
    let call = try await Loopback().connect().open("Chat")
    for turn in 0..<50 as Range<UInt8> {
      call.stream.send([turn])
      if turn == 0 { #expect(await call.seen.next() == .initialMetadata([])) }
      #expect(await call.seen.next() == .message([turn]))
    }
    call.stream.finishSending()
    #expect(await call.seen.next() == .end(.success([])))
  }

  @Test(arguments: [0, 1, 1_000])
  func clientStreamingCallsHaveOneAnswer(_ count: Int) async throws {
    let call = try await Loopback().connect().open("Total")
    for _ in 0..<count { call.stream.send([1, 2, 3]) }
    call.stream.finishSending()
    let (answers, end) = await call.rest()
    #expect(answers == [Array("\(count * 3)".utf8)])
    #expect(end == .success([]))
  }

  @Test(arguments: [0, 1, 1_000])
  func serverStreamingCallsHaveOneRequest(_ count: Int) async throws {
    let call = try await Loopback().connect().open("Count")
    call.stream.send([UInt8](repeating: 0, count: count))
    call.stream.finishSending()
    let (messages, end) = await call.rest()
    #expect(messages == (0..<count).map { [UInt8(truncatingIfNeeded: $0)] })
    #expect(end == .success([]))
  }

  @Test func unaryCallsCanBeMadeWithAStream() async throws {
    let client = try await Loopback().connect()
    let seen = Box<Sighting>()
    let stream = client.connection.openStream("/test/Echo") { _, event in
      if case .message(let bytes) = event { seen.put(.message(Array(bytes))) }
      if case .end(let end) = event { seen.put(.end(end)) }
    }
    stream.request(2)
    stream.send([7])
    stream.finishSending()
    #expect(await seen.next() == .message([7]))
    #expect(await seen.next() == .end(.success([])))
  }

  @Test func anErrorComesAfterTheMessagesBeforeIt() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect().open("Hold")
    let handler = await loopback.heldStreams.next()
    var details: Metadata = [("why", "because")]
    details.append("grpc-status-details-bin", binary: [0, 255])
    var error = RPCError(code: .outOfRange, message: "grüße", metadata: details)
    handler.sendInitialMetadata([("early", "yes")])
    for index in 0..<20 as Range<UInt8> { handler.send([index]) }
    handler.fail(error)
    handler.send([99])
    handler.finish()
    #expect(await call.seen.next() == .initialMetadata([("early", "yes")]))
    let (messages, end) = await call.rest()
    error.progress = .answered
    #expect(messages == (0..<20).map { [$0] })
    #expect(end == .failure(error))
  }

  @Test func anErrorAloneIsTrailersOnly() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect().open("Hold")
    await loopback.heldStreams.next().fail(RPCError(code: .notFound, message: "nothing"))
    #expect(await call.seen.next() == .end(.failure(RPCError(code: .notFound, message: "nothing"))))
  }

  @Test func headersMayComeLongBeforeTheFirstMessage() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect().open("Hold")
    let handler = await loopback.heldStreams.next()
    handler.sendInitialMetadata([("a", "1")])
    #expect(await call.seen.next() == .initialMetadata([("a", "1")]))
    handler.sendInitialMetadata([("too", "late")])
    handler.send([1])
    #expect(await call.seen.next() == .message([1]))
    handler.finish(trailingMetadata: [("b", "2")])
    #expect(await call.seen.next() == .end(.success([("b", "2")])))
  }

  @Test func theServerMayFinishFirst() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let call = client.open("Hold")
    call.stream.send([1])
    await loopback.heldStreams.next().finish()
    #expect(await call.rest().end == .success([]))
    call.stream.send([2])
    call.stream.finishSending()
    call.stream.cancel()
    try await client.expectEcho([3])
  }

  @Test func theClientMayFinishFirst() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect().open("Hold")
    let handler = await loopback.heldStreams.next()
    call.stream.finishSending()
    #expect(await loopback.seen.next() == .half)
    handler.send([1])
    #expect(await call.seen.next() == .initialMetadata([]))
    #expect(await call.seen.next() == .message([1]))
    handler.finish()
    #expect(await call.seen.next() == .end(.success([])))
  }

  @Test func whatIsSentAfterFinishingIsNotSent() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect().open("Chat")
    call.stream.send([1])
    call.stream.finishSending()
    call.stream.send([2])
    #expect(await call.rest().messages == [[1]])
  }

  @Test func handlersMayAnswerFromOtherThreads() async throws {
    let loopback = try Loopback { router in
      router.registerServerStreaming("/stream/Elsewhere") { stream, _ in
        DispatchQueue.global().async {
          for index in 0..<100 as Range<UInt8> { stream.send([index]) }
          stream.finish()
        }
        return { _, _ in }
      }
    }
    let call = try await loopback.connect().open("Elsewhere")
    call.stream.send([])
    call.stream.finishSending()
    let (messages, end) = await call.rest()
    #expect(messages == (0..<100).map { [$0] })
    #expect(end == .success([]))
  }

  @Test func aClientStreamingHandlerGivesOneAnswer() async throws {
    let loopback = try Loopback { router in
      router.registerClientStreaming("/stream/None") { stream in
        stream.finish()
        return { _, _ in }
      }
      router.registerClientStreaming("/stream/Two") { stream in
        stream.send([1])
        stream.send([2])
        return { _, _ in }
      }
    }
    let client = try await loopback.connect()
    #expect(await client.open("None").errorCode() == .internalError)
    #expect(await client.open("Two").errorCode() == .internalError)
  }

  @Test func manyStreamsShareAConnection() async throws {
    let client = try await Loopback().connect()
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<100 as Range<UInt8> {
        group.addTask {
          let call = client.open("Chat")
          for round in 0..<50 as Range<UInt8> { call.stream.send([worker, round]) }
          call.stream.finishSending()
          #expect(await call.rest().messages == (0..<50).map { [worker, $0] })
        }
      }
    }
  }

  @Test func runningStreamsAreCountedAsRunningCalls() async throws {
    let loopback = try Loopback(.with { $0.maxRunningCallsPerLoop = 1 })
    let client = try await loopback.connect()
    let first = client.open("Hold")
    let handler = await loopback.heldStreams.next()
    #expect(await client.open("Chat").errorCode() == .unavailable)
    handler.finish()
    #expect(await first.errorCode() == .ok)
    let third = client.open("Chat")
    third.stream.finishSending()
    #expect(await third.errorCode() == .ok)
  }

  @Test(arguments: [("Count", [] as [[UInt8]]), ("Count", [[1], [2]]), ("Missing", [[1]])])
  func whatIsNoServerStreamingCallIsRefused(_ method: String, messages: [[UInt8]]) async throws {
    let call = try await Loopback().connect().open(method)
    for message in messages { call.stream.send(message) }
    call.stream.finishSending()
    #expect(await call.errorCode() == (method == "Missing" ? .unimplemented : .internalError))
  }
}
