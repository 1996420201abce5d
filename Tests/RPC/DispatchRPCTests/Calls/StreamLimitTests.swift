// More streams than a connection may have: each one too many is refused alone, and the others are answered.

import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct StreamLimitTests {
  private static let refused = HTTP2ErrorCode.refusedStream.rawValue

  /// The client has acknowledged how many it may have, or is yet to.
  @Test(arguments: [true, false])
  func threeStreamsTooManyInOneWriteAreRefusedAndTheOthersRun(hasAcknowledged: Bool) async throws {
    let loopback = try Loopback(RPCServerConfiguration(eventLoops: 1))
    let limit = UInt32(RPCServerConfiguration().maxConcurrentStreams)
    let excess: [UInt32] = (limit..<limit + 3).map { (index: UInt32) in index * 2 + 1 }
    let peer = RawPeer(loopback.address)
    var bytes = Frame.preface
    if hasAcknowledged { bytes += Frame(type: 4, flags: Frame.acknowledgement).bytes }
    for index in 0..<limit + 3 { bytes += Frame.request(index * 2 + 1, "/test/Hold") }
    let frames = await peer.exchange(bytes) { $0.filter(\.isReset).count == 3 }
    #expect(frames.filter(\.isReset).map(\.stream) == excess)
    #expect(frames.filter(\.isReset).allSatisfy { $0.firstWord == Self.refused })
    #expect(frames.allSatisfy { $0.goawayCode == nil })

    for _ in 0..<limit { (await loopback.held.next()).respond([]) }
    let answers = await peer.exchange([]) { $0.filter(\.endsAnswer).count == Int(limit) }
    #expect(Set(answers.filter(\.endsAnswer).map(\.stream)).count == Int(limit))
    // The client sends a refused call again.
    let again = await peer.exchange(Frame.request(limit * 2 + 7, "/test/Echo")) { $0.contains(where: \.endsAnswer) }
    #expect(again.contains { $0.endsAnswer && $0.stream == limit * 2 + 7 })
  }

  @Test func theClientIsToldTheLimitThatIsEnforced() async throws {
    let loopback = try Loopback(.with { $0.maxConcurrentStreams = 3 })
    let frames = await RawPeer(loopback.address).exchange(Frame.preface) { !$0.isEmpty }
    let settings = try #require(frames.first)
    #expect(settings.type == 4)
    #expect(settings.settings[3] == 3)
  }

  /// Messages that are too many hold up nothing: their bytes do not count against the connection's window.
  @Test func bodiesOfRefusedStreamsArePassedOver() async throws {
    let loopback = try Loopback(.with { $0.maxConcurrentStreams = 1 })
    let peer = RawPeer(loopback.address)
    let refused = (1...20 as ClosedRange<UInt32>).flatMap { id in
      Frame.headers(id * 2 + 1, Frame.call("/test/Hold")).bytes
        + (0..<4).flatMap { _ in Frame.data(id * 2 + 1, [UInt8](repeating: 0, count: 16 << 10)).bytes }
    }
    let calls = Frame.request(1, "/test/Hold") + refused
    let frames = await peer.exchange(Frame.preface + calls) { $0.filter(\.isReset).count == 20 }
    #expect(frames.filter(\.isReset).count == 20)
    (await loopback.held.next()).respond([])
    _ = await peer.exchange([]) { $0.contains { $0.endsAnswer && $0.stream == 1 } }
    let answers = await peer.exchange(Frame.request(101, "/test/Echo")) { $0.contains(where: \.endsAnswer) }
    #expect(answers.contains { $0.endsAnswer && $0.stream == 101 })
  }

  @Test func aClientThatKeepsOpeningStreamsIsSentAway() async throws {
    let loopback = try Loopback(RPCServerConfiguration(eventLoops: 1))
    let flood = Attack("streams without end", 400) { Frame.headers($0, Frame.call("/test/Hold")).bytes }
    let answer = await RawPeer(loopback.address).exchange(Frame.preface + flood.bytes)
    let received = try #require(answer, "the connection stays open")
    #expect(Frame.parse(received).compactMap(\.goawayCode) == [.enhanceYourCalm])
  }
}

extension Frame {
  fileprivate var settings: [UInt16: UInt32] {
    var settings: [UInt16: UInt32] = [:]
    for entry in stride(from: 0, to: payload.count - 5, by: 6) {
      let identifier = UInt16(payload[entry]) << 8 | UInt16(payload[entry + 1])
      settings[identifier] = payload[entry + 2..<entry + 6].reduce(0) { $0 << 8 | UInt32($1) }
    }
    return settings
  }
}
