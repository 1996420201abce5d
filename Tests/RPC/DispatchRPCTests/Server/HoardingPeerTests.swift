// Peers that make the server hold memory for them: each has its share, and who takes most is the first to go.

import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct HoardingPeerTests {
  /// SETTINGS_INITIAL_WINDOW_SIZE of zero: no answer's DATA can ever leave.
  private static let zeroWindow = Frame(type: 4, payload: [0, 4, 0, 0, 0, 0]).bytes
  private static let message = [UInt8](repeating: 7, count: 512 << 10)

  @Test func answersThatNobodyReadsAreHeldUpToTheLimitAndOneMore() async throws {
    let configuration = RPCServerConfiguration(eventLoops: 1)
    let limit = configuration.maxBufferedResponseBytesPerConnection
    let loopback = try Loopback(configuration)
    let held = limit / Self.message.count + 1
    let peer = RawPeer(loopback.address)
    async let exchanged = peer.exchange(Frame.preface + Self.zeroWindow + Self.calls(128)) { frames in
      frames.count { $0.type == 1 } == 128
    }
    var calls: [RPCServerCall] = []
    for _ in 0..<128 { calls.append(await loopback.held.next()) }
    for call in calls { call.respond(Self.message) }
    let answers = await exchanged.filter { $0.type == 1 }
    #expect(answers.count { $0.flags & Frame.endStream == 0 } == held)
    #expect(answers.count { $0.flags & Frame.endStream != 0 } == 128 - held)
    let buffered = Box<Int>()
    LoopConfined(calls[0].connection, on: calls[0].loop).execute { buffered.put($0.buffered.responses) }
    #expect(await buffered.next() == limit + Self.message.count)
  }

  @Test func theConnectionWithMostUnreadAnswersIsClosedFirst() async throws {
    let loopback = try Loopback(.with { $0.maxBufferedResponseBytesPerLoop = 1 << 20 })
    let modest = try await loopback.connect()
    async let modestAnswer = modest.call("Hold")
    let modestCall = await loopback.held.next()
    let hoarder = RawPeer(loopback.address)
    async let end = hoarder.exchange(Frame.preface + Self.zeroWindow + Self.calls(3))
    for _ in 0..<3 { await loopback.held.next().respond(Self.message) }
    #expect(await end != nil, "the connection stays open")
    modestCall.respond(Self.message)
    #expect(try await modestAnswer.message == Self.message)
  }

  /// The stream is over by then: only the connection holds it. All calls come before the first answer: what a client
  /// sends behind a full window may wait for its retransmission, a minute and more.
  @Test func whatTheSocketDoesNotTakeCountsAsUnread() async throws {
    let loopback = try Loopback(RPCServerConfiguration(eventLoops: 1))
    let peer = RawPeer(loopback.address, receiveBuffer: 4 << 10)
    let wideWindows =
      Frame(type: 4, payload: [0, 4, 0x7F, 0xFF, 0xFF, 0xFF]).bytes + Frame.windowUpdate(0, 0x7000_0000).bytes
    peer.post(Frame.preface + wideWindows + Self.calls(128))
    var calls: [RPCServerCall] = []
    for _ in 0..<128 { calls.append(await loopback.held.next()) }
    let held = Box<(isBlocked: Bool, streams: Int, bytes: Int)>()
    for (index, call) in calls.enumerated() {
      let connection = LoopConfined(call.connection, on: call.loop)
      call.respond([UInt8](repeating: 7, count: 64 << 10))
      // In the round after the one that writes the answer.
      loopback.server.eventLoops[0].execute {
        connection.execute { connection in
          held.put((!connection.blocked.isEmpty, connection.streams.count, connection.buffered.responses))
        }
      }
      let state = await held.next()
      guard state.isBlocked else { continue }
      #expect(state.streams == 127 - index && state.bytes > 0)
      return
    }
    Issue.record("the socket takes everything")
  }

  @Test func unfinishedRequestsAreRefusedBeyondTheConnectionsShare() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxRequestMessageBytes = 64 << 10
    configuration.maxBufferedRequestBytesPerConnection = 64 << 10
    let loopback = try Loopback(configuration)
    let hoarder = RawPeer(loopback.address)
    // The fifth goes beyond the share; it is refused, and what it had is let go, so that each next one is refused as
    // well.
    let frames = await hoarder.exchange(Frame.preface + Self.unfinishedRequests(8, bytes: 16_000)) { frames in
      frames.count { $0.type == 3 } == 4
    }
    #expect(frames.filter { $0.type == 1 }.map(\.stream) == [9, 11, 13, 15])
    // An honest client's largest request is taken meanwhile.
    try await loopback.connect().expectEcho([UInt8](repeating: 1, count: 64 << 10))
  }

  @Test func theConnectionWithMostUnfinishedRequestsIsClosedFirst() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxRequestMessageBytes = 64 << 10
    configuration.maxBufferedRequestBytesPerLoop = 64 << 10
    let loopback = try Loopback(configuration)
    let modest = RawPeer(loopback.address)
    let part = Frame.headers(1, Frame.call("/test/Echo")).bytes + Frame.data(1, [0, 0, 0, 0, 2, 1]).bytes
    _ = await modest.exchange(Frame.preface + part) { $0.contains { $0.isAcknowledgement } }
    #expect(await RawPeer(loopback.address).exchange(Frame.preface + Self.unfinishedRequests(5, bytes: 16_000)) != nil)
    let answer = await modest.exchange(Frame.data(1, [2], flags: Frame.endStream).bytes) {
      $0.contains { $0.ends(1) }
    }
    #expect(answer.contains { $0.type == 0 && $0.payload == [0, 0, 0, 0, 2, 1, 2] })
  }

  @Test func metadataOfUnfinishedRequestsAreRefusedBeyondTheConnectionsShare() async throws {
    let loopback = try Loopback(.with { $0.maxBufferedMetadataBytesPerConnection = 1_000 })
    let head = Frame.call("/test/Echo") + (0..<3).map { ("m\($0)", String(repeating: "x", count: 100)) }
    let ids = (0..<6).map { UInt32($0 * 2 + 1) }
    // Three fit; the others are refused, and theirs let go.
    let hoarder = RawPeer(loopback.address)
    let frames = await hoarder.exchange(Frame.preface + ids.flatMap { Frame.headers($0, head).bytes }) { frames in
      frames.count { $0.type == 3 } == 3
    }
    #expect(frames.filter { $0.type == 1 }.map(\.stream) == [7, 9, 11])
    // A call that was handed over no longer counts.
    let end: [UInt8] = [0, 0, 0, 0, 0]
    let more = Frame.headers(13, head).bytes + Frame.data(13, end, flags: Frame.endStream).bytes
    _ = await hoarder.exchange(Frame.data(1, end, flags: Frame.endStream).bytes) { frames in
      frames.contains { $0.ends(1) }
    }
    let answers = await hoarder.exchange(more) { frames in
      frames.contains { $0.ends(13) }
    }
    #expect(answers.contains { $0.stream == 13 && $0.type == 0 })
  }

  /// Each lacks its last byte.
  private static func unfinishedRequests(_ count: UInt32, bytes: Int) -> [UInt8] {
    let length = UInt16(bytes + 1)
    let prefix: [UInt8] = [0, 0, 0, UInt8(length >> 8), UInt8(truncatingIfNeeded: length)]
    let body = prefix + [UInt8](repeating: 1, count: bytes)
    return (0..<count).flatMap { index -> [UInt8] in
      let id = index * 2 + 1
      return Frame.headers(id, Frame.call("/test/Echo")).bytes + Frame.data(id, body).bytes
    }
  }

  private static func calls(_ count: UInt32) -> [UInt8] {
    let body: [UInt8] = [0, 0, 0, 0, 0]
    return (0..<count).flatMap { index -> [UInt8] in
      let id = index * 2 + 1
      return Frame.request(id, "/test/Hold", body)
    }
  }
}
