// Bytes that no honest client sends, and peers that stall: the connection ends, the server lives.

import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct HostilePeerTests {
  @Test(arguments: [
    Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8),
    [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3] + [UInt8](repeating: 7, count: 40),
    [UInt8](repeating: 0, count: 100), [UInt8](repeating: 0xFF, count: 100_000),
    Frame.preface + [UInt8](repeating: 0xFF, count: 100_000),
    Frame.preface + Frame(type: 1, flags: 4, stream: 1, payload: [0xFF, 0xFF, 0xFF, 0xFF]).bytes,
    Frame.preface + Frame.data(1, [1]).bytes, Frame.preface + Frame(type: 8, payload: [0]).bytes,
    Frame.preface + Frame.headers(2, Frame.call("/test/Echo")).bytes,
  ])
  func garbageEndsTheConnection(_ bytes: [UInt8]) async throws {
    let loopback = try Loopback()
    #expect(await RawPeer(loopback.address).exchange(bytes) != nil)
    try await loopback.expectAlive()
  }

  @Test(arguments: [[], Array("PRI * HTTP/2.0\r\n".utf8)])
  func aPrefaceThatDoesNotComeInTime(_ bytes: [UInt8]) async throws {
    let loopback = try Loopback(.with { $0.handshakeTimeout = .milliseconds(50) })
    #expect(await RawPeer(loopback.address).exchange(bytes) != nil)
    try await loopback.expectAlive()
  }

  @Test(arguments: [
    Frame.headers(1, Frame.call("/test/Echo"), flags: 0).bytes,
    Frame.headers(1, Frame.call("/test/Echo")).bytes,
    Frame.headers(1, Frame.call("/test/Echo")).bytes + Frame.data(1, [0, 0, 0]).bytes,
  ])
  func aRequestThatStallsIsReset(_ bytes: [UInt8]) async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.requestTimeout = .milliseconds(50)
    configuration.housekeepingInterval = .milliseconds(20)
    let loopback = try Loopback(configuration)
    let frames = await RawPeer(loopback.address).exchange(Frame.preface + bytes) {
      $0.contains { $0.type == 3 && $0.stream == 1 }
    }
    #expect(frames.contains { $0.type == 3 && $0.stream == 1 })
  }

  @Test func anIdleConnectionIsAskedToLeave() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.idleTimeout = .milliseconds(50)
    configuration.housekeepingInterval = .milliseconds(20)
    let client = try await Loopback(configuration).connect()
    await client.expectGoingAway()
    _ = await client.closed()
  }

  @Test(arguments: [
    Attack("rapid reset", 1_500) { Frame.headers($0, Frame.call("/test/Hold")).bytes + Frame.reset($0).bytes },
    Attack("rapid reset of refused calls", 1_500) {
      Frame.headers($0, Frame.call("/test/Nowhere")).bytes + Frame.reset($0).bytes
    },
    Attack("rapid reset of calls without a body", 1_500) {
      Frame.headers($0, Frame.call("/test/Echo"), flags: Frame.endHeaders | Frame.endStream).bytes
        + Frame.reset($0).bytes
    },
    Attack("rapid reset without an error", 1_500) {
      Frame.headers($0, Frame.call("/test/Hold")).bytes + Frame.reset($0, code: 0).bytes
    },
    Attack("rapid reset of refused calls without an error", 1_500) {
      Frame.headers($0, Frame.call("/test/Nowhere")).bytes + Frame.reset($0, code: 0).bytes
    },
    Attack("an HPACK bomb in trailers", 1) {
      Frame.headers($0, Frame.call("/test/Echo")).bytes + Frame.trailers($0, repeating: 1_000).bytes
    },
    Attack("trailers above the limit", 100) {
      Frame.headers($0, Frame.call("/test/Echo")).bytes + Frame.trailers($0, repeating: 6).bytes
    },
    Attack("ping flood", 1_000) { _ in Frame.ping().bytes },
    Attack("ping acknowledgement flood", 1_000) { _ in
      Frame(type: 6, flags: Frame.acknowledgement, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes
    },
    Attack("priority flood", 1_000) { Frame(type: 2, stream: $0, payload: [0, 0, 0, 0, 16]).bytes },
    Attack("window update flood", 100_000) { _ in Frame.windowUpdate(0, 1).bytes },
    Attack("settings flood", 1_000) { _ in Frame.settings().bytes },
    Attack("empty data", 200) { id in
      (id == 1 ? Frame.headers(1, Frame.call("/test/Echo")).bytes : []) + Frame.data(1, []).bytes
    },
    Attack("window overflow", 1_500) {
      Frame.headers($0, Frame.call("/test/Hold")).bytes + Frame.windowUpdate($0, 0x7FFF_FFFF).bytes
    },
    // nghttp2's own limit: HPACK's state is lost with the block.
    Attack("header bombs without end", 200, endsWith: .protocolError) { id in
      id == 1
        ? Frame.headers(1, Frame.call("/test/Echo"), flags: 0).bytes
        : Frame.continuation(1, Array(Frame.headers(1, [("a", "b")]).payload)).bytes
    },
  ])
  func abuseEndsTheConnection(_ attack: Attack) async throws {
    let loopback = try Loopback()
    // The peer reads while it writes, and the server lingers, so that no TCP reset swallows the GOAWAY.
    let answer = await RawPeer(loopback.address).exchange(Frame.preface + attack.bytes)
    let received = try #require(answer, "the connection stays open")
    #expect(Frame.parse(received).compactMap(\.goawayCode) == [attack.goaway])
    try await loopback.expectAlive()
  }

  /// The connection ends though the socket never takes the last word.
  @Test func aPeerThatBreaksTheProtocolAndDoesNotReadIsClosed() async throws {
    let loopback = try Loopback(RPCServerConfiguration(eventLoops: 1)) { router in
      router.register("/test/Large") { call, _ in call.respond([UInt8](repeating: 1, count: 4 << 20 - 64)) }
    }
    // The kernel never gives up by itself on a Unix socket's peer.
    let directory = TemporaryDirectory()
    let peer = RawPeer(at: try loopback.server.listen(unixPath: directory.path("rpc.sock")))
    let settings = Frame(type: 4, payload: [0, 4, 0x7F, 0xFF, 0xFF, 0xFF])
    peer.post(Frame.preface + settings.bytes + Frame.windowUpdate(0, 0x7F00_0000).bytes)
    peer.post(
      Frame.request(1, "/test/Large"))
    // The server writes a MiB a round, until the socket is full.
    let client = try await loopback.connect()
    for _ in 0..<10 { try await client.expectEcho([1]) }
    peer.post(
      Frame.headers(3, Frame.call("/test/Echo"), flags: 0).bytes
        + (0..<20).flatMap { _ in Frame.continuation(3, []).bytes })
    await loopback.stop(grace: .seconds(600))
    withExtendedLifetime(peer) {}
  }

  @Test(
    arguments: [
      ([0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0], "13"), ([], "13"), ([0, 0, 0, 0, 9, 1], "13"), ([9, 0, 0, 0, 0], "13"),
      ([1, 0, 0, 0, 0], "13"), ([0, 0xFF, 0xFF, 0xFF, 0xFF], "8"),
    ] as [([UInt8], String)])
  func aBodyThatIsNotOneMessage(_ body: [UInt8], status: String) async throws {
    let loopback = try Loopback()
    let request = Frame.request(1, "/test/Echo", body)
    let frames = await RawPeer(loopback.address).exchange(Frame.preface + request) {
      $0.contains { $0.ends(1) }
    }
    let answer = try #require(frames.first { $0.stream == 1 && $0.type == 1 })
    // `grpc-status` is a new literal field with its value in plain or Huffman-coded digits.
    #expect(answer.payload.containsValue(status))
  }
}

extension Frame {
  /// A field of 4 KB for HPACK's table, and as many references to it of a byte each (RFC 7541 §6.1, §6.2.1).
  fileprivate static func trailers(_ stream: UInt32, repeating count: Int) -> Frame {
    let field = [0x40, 1, UInt8(ascii: "x"), 0x7F, 0xA1, 0x1E] + [UInt8](repeating: UInt8(ascii: "v"), count: 4_000)
    return Frame(
      type: 1, flags: endHeaders | endStream, stream: stream,
      payload: field + [UInt8](repeating: 0xBE, count: count))
  }
}

/// Many frames; the closure gets odd stream identifiers in ascending order.
struct Attack: Sendable, CustomTestStringConvertible {
  let name: String
  /// The error code that the peer receives.
  let goaway: HTTP2ErrorCode
  let bytes: [UInt8]

  init(
    _ name: String, _ count: Int, endsWith goaway: HTTP2ErrorCode = .enhanceYourCalm, _ frames: (UInt32) -> [UInt8]
  ) {
    self.name = name
    self.goaway = goaway
    bytes = (0..<UInt32(count)).flatMap { frames($0 * 2 + 1) }
  }

  var testDescription: String { name }
}

extension [UInt8] {
  /// A header value of decimal digits at the end of `grpc-status`, as HPACK may spell it: plain, or Huffman-coded where
  /// that is no longer (RFC 7541 appendix B: '1' is 00001, '3' is 011001, '8' is 011110).
  fileprivate func containsValue(_ digits: String) -> Bool {
    let huffman: [String: [UInt8]] = ["13": [0x82, 0x0B, 0x3F], "8": [0x81, 0x7B]]
    let plain = [UInt8(digits.utf8.count)] + Array(digits.utf8)
    return contains(run: plain) || huffman[digits].map { contains(run: $0) } == true
  }

  private func contains(run: [UInt8]) -> Bool {
    indices.contains { self[$0...].starts(with: run) }
  }
}
