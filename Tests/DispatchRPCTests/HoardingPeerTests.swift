// Peers that make the server hold memory for them: each has its share, and who takes most is the first to go.

import Testing

@testable import DispatchRPC

@Suite(.timeLimit(.minutes(1))) struct HoardingPeerTests {
  /// SETTINGS_INITIAL_WINDOW_SIZE of zero: no answer's DATA can ever leave.
  private static let zeroWindow = Frame(type: 4, payload: [0, 4, 0, 0, 0, 0]).bytes
  private static let message = [UInt8](repeating: 7, count: 512 << 10)

  @Test func answersThatNobodyReadsAreHeldUpToTheLimitAndOneMore() async throws {
    let configuration = RPCServerConfiguration(shards: 1)
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
    let connection = ShardConfined(calls[0].connection)
    loopback.server.shards[0].execute { buffered.put(connection.value.bufferedResponseBytes) }
    #expect(await buffered.next() == limit + Self.message.count)
  }

  @Test func theConnectionWithMostUnreadAnswersIsClosedFirst() async throws {
    var configuration = RPCServerConfiguration(shards: 1)
    configuration.maxBufferedResponseBytesPerShard = 1 << 20
    let loopback = try Loopback(configuration)
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

  private static func calls(_ count: UInt32) -> [UInt8] {
    (0..<count).flatMap { index in
      Frame.headers(index * 2 + 1, Frame.call("/test/Hold")).bytes
        + Frame.data(index * 2 + 1, [0, 0, 0, 0, 0], flags: Frame.endStream).bytes
    }
  }
}
