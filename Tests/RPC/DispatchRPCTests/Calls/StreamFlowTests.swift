// Flow control from end to end: a slow side holds a window and a message, however much the other side would send.

import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct StreamFlowTests {
  private static let smallWindow = 10_000

  private var smallWindows: RPCServerConfiguration {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.streamWindowBytes = Self.smallWindow
    return configuration
  }

  private var smallClientWindow: RPCClientConfiguration {
    .with { $0.streamWindowBytes = Self.smallWindow }
  }

  @Test(arguments: [(1, 1_000_000), (100, 20_000), (5_000, 100), (3, 0)])
  func largeTransfersPassSmallWindows(_ count: Int, size: Int) async throws {
    let call = try await Loopback(smallWindows).connect(smallClientWindow).open("Chat")
    let messages = (0..<count).map { index in (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) } }
    // A producer that waits.
    var rest = messages[...]
    var echoes: [[UInt8]] = []
    while !rest.isEmpty {
      while call.stream.isWritable, let message = rest.popFirst() { call.stream.send(message) }
      guard !rest.isEmpty else { break }
      switch await call.seen.next() {
      case .message(let message): echoes.append(message)
      case .end(let end): Issue.record("it ended early: \(end)")
      case .writable, .initialMetadata, .half, .cancelled: break
      }
    }
    call.stream.finishSending()
    let (others, end) = await call.rest()
    #expect(echoes + others == messages)
    #expect(end == .success([]))
  }

  @Test func aHandlerThatAsksForNothingHoldsOneWindow() async throws {
    let loopback = try Loopback(smallWindows)
    let call = try await loopback.connect().open("Hold")
    let handler = await loopback.heldStreams.next()
    let message = [UInt8](repeating: 7, count: 995)
    for _ in 0..<100 { call.stream.send(message) }
    call.stream.finishSending()
    let held = { await loopback.onLoop { handler.connection.buffered.requests } }
    try await eventually { await held() >= Self.smallWindow }
    #expect(await held() == Self.smallWindow)
    #expect(loopback.seen.count == 0)
    // Each message that the handler requests makes room for one more.
    for _ in 0..<50 {
      handler.request(1)
      #expect(await loopback.seen.next() == .message(message))
      #expect(await held() <= Self.smallWindow)
    }
    handler.request(.max)
    for _ in 0..<50 { #expect(await loopback.seen.next() == .message(message)) }
    #expect(await loopback.seen.next() == .half)
    #expect(await held() == 0)
    handler.finish()
    #expect(await call.errorCode() == .ok)
  }

  @Test func aClientThatAsksForNothingHoldsOneWindow() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect(smallClientWindow).open("Hold", demand: nil)
    let handler = await loopback.heldStreams.next()
    let message = [UInt8](repeating: 7, count: 995)
    let cost = MessageOutbox.cost(of: message)
    for _ in 0..<100 { handler.send(message) }
    handler.finish()
    // Ten messages with their prefixes fill the window; nothing more leaves.
    let unsent = { await loopback.onLoop { handler.connection.buffered.responses } }
    try await eventually { await unsent() <= 90 * cost }
    #expect(await call.seen.next() == .initialMetadata([]))
    #expect(await unsent() == 90 * cost)
    for taken in 1...100 {
      call.stream.request(1)
      #expect(await call.seen.next() == .message(message))
      #expect(await unsent() >= max(0, 90 - taken) * cost)
    }
    #expect(await call.seen.next() == .end(.success([])))
    #expect(await unsent() == 0)
  }

  @Test func aSlowStreamDoesNotHoldUpTheOthers() async throws {
    let loopback = try Loopback(.with { $0.maxBufferedRequestBytesPerConnection = 16 << 20 })
    let client = try await loopback.connect()
    // More than the connection's window of 4 MiB in all.
    let slow = (0..<20).map { _ in client.open("Hold") }
    for call in slow {
      for _ in 0..<20 { call.stream.send([UInt8](repeating: 1, count: 50_000)) }
    }
    for _ in slow { _ = await loopback.heldStreams.next() }
    let quick = client.open("Chat")
    quick.stream.send([UInt8](repeating: 2, count: 2_000_000))
    quick.stream.finishSending()
    #expect(await quick.rest().messages == [[UInt8](repeating: 2, count: 2_000_000)])
    for call in slow { call.stream.cancel() }
    for call in slow { #expect(await call.errorCode() == .cancelled) }
  }

  @Test func unreadMessagesBeyondTheConnectionsShareFailTheirCall() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxRequestMessageBytes = 64 << 10
    configuration.maxBufferedRequestBytesPerConnection = 64 << 10
    let loopback = try Loopback(configuration)
    let call = try await loopback.connect().open("Hold")
    _ = await loopback.heldStreams.next()
    for _ in 0..<3 { call.stream.send([UInt8](repeating: 1, count: 30_000)) }
    #expect(await call.errorCode() == .resourceExhausted)
    #expect(await loopback.seen.next() == .cancelled(.refused))
  }

  @Test func aProducerThatWaitsIsToldWhenToGoOn() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect(smallClientWindow).open("Hold", demand: nil)
    let handler = await loopback.heldStreams.next()
    #expect(handler.isWritable)
    var sent = 0
    while handler.isWritable {
      handler.send([UInt8](repeating: 1, count: 1_000))
      sent += 1
    }
    #expect(sent <= SendQuota.highWaterBytes / 1_000 + Self.smallWindow / 1_000 + 1)
    call.stream.request(.max)
    #expect(await loopback.seen.next() == .writable)
    #expect(handler.isWritable)
    handler.finish()
    #expect(await call.rest().messages.count == sent)
  }

  @Test func aClientTooSlowForItsServerIsCutOff() async throws {
    let loopback = try Loopback(.with { $0.maxBufferedResponseBytesPerStream = 100_000 })
    let call = try await loopback.connect(smallClientWindow).open("Hold", demand: nil)
    let handler = await loopback.heldStreams.next()
    for _ in 0..<1_000 { handler.send([UInt8](repeating: 1, count: 1_000)) }
    // The handler may be told before that it can go on, however many of its messages are kept by then.
    #expect(await loopback.seen.next { $0 != .writable } == .cancelled(.refused))
    #expect(handler.isCancelled)
    call.stream.request(.max)
    let (messages, end) = await call.rest()
    // The messages that were on their way are whole.
    #expect(messages.count <= 12)
    #expect(messages.allSatisfy { $0.count == 1_000 })
    guard case .failure(let error) = end else { return #expect(Bool(false), "it was cut off") }
    #expect(error.code == .resourceExhausted)
    #expect(await loopback.onLoop { handler.connection.buffered.responses } == 0)
  }

  @Test func aServerTooSlowForItsClientFailsTheCall() async throws {
    var configuration = RPCClientConfiguration()
    configuration.maxBufferedRequestBytesPerStream = 100_000
    let loopback = try Loopback(smallWindows)
    let call = try await loopback.connect(configuration).open("Hold")
    _ = await loopback.heldStreams.next()
    for _ in 0..<1_000 { call.stream.send([UInt8](repeating: 1, count: 1_000)) }
    #expect(await call.errorCode() == .resourceExhausted)
    #expect(await loopback.seen.next() == .cancelled(.reset))
  }

  @Test func theLastStatusWaitsForTheMessagesBeforeIt() async throws {
    let loopback = try Loopback()
    let call = try await loopback.connect().open("Hold", demand: nil)
    let handler = await loopback.heldStreams.next()
    handler.send([1])
    handler.fail(RPCError(code: .aborted, message: "after it"))
    #expect(await call.seen.next() == .initialMetadata([]))
    call.stream.request(1)
    #expect(await call.seen.next() == .message([1]))
    #expect(await call.errorCode() == .aborted)
  }
}
