// RFC 9113's rules for single frames, as h2spec plays them: frames that end a connection, frames that end one stream,
// and frames that are passed over. Tests/Interop/README.md lists the cases that a gRPC service cannot meet.

import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct FrameRuleTests {
  @Test(arguments: [
    Case("4.2 HEADERS beyond the largest frame", Frame(type: 1, flags: 4, stream: 1, payload: large), .frameSizeError),
    Case("4.2 DATA beyond the largest frame", open, Frame.data(1, large), .frameSizeError),
    Case("4.3 a header block that is none", Frame(type: 1, flags: 5, stream: 1, payload: [0x40]), .compressionError),
    Case("4.3 PRIORITY within a header block", begun, Frame(type: 2, stream: 1, payload: priority), .protocolError),
    Case("4.3 another stream's HEADERS within one", begun, Frame.headers(3, Frame.call("/test/Echo")), .protocolError),
    Case("5.1 DATA while idle", Frame.data(1, [1]), .protocolError),
    Case("5.1 RST_STREAM while idle", Frame.reset(1), .protocolError),
    Case("5.1 WINDOW_UPDATE while idle", Frame.windowUpdate(1, 1), .protocolError),
    Case("5.1 CONTINUATION while idle", Frame.continuation(1, [0x82]), .protocolError),
    Case("5.1 DATA after the end", ended, Frame.data(1, [1]), .streamClosed),
    Case("5.1 HEADERS after the end", ended, Frame.headers(1, [("a", "b")], flags: 5), .streamClosed),
    Case("5.1.1 an even stream", Frame.headers(2, Frame.call("/test/Echo")), .protocolError),
    Case(
      "5.1.1 a stream below another", Frame.headers(5, Frame.call("/test/Hold")),
      Frame.headers(3, Frame.call("/test/Hold")), .protocolError),
    Case(
      "5.1.1 a stream below the last", Frame.headers(0x7FFF_FFFF, Frame.call("/test/Hold")),
      Frame.headers(1, Frame.call("/test/Hold")), .protocolError),
    Case("6.1 DATA on stream 0", Frame.data(0, [1]), .protocolError),
    Case("6.1 more padding than payload", open, Frame.data(1, [9, 1, 1], flags: 8), .protocolError),
    Case("6.2 HEADERS on stream 0", Frame.headers(0, Frame.call("/test/Echo")), .protocolError),
    Case("6.3 PRIORITY on stream 0", Frame(type: 2, payload: priority), .protocolError),
    Case("6.3 PRIORITY on stream 0, reserved bit", Frame(type: 2, stream: 1 << 31, payload: priority), .protocolError),
    Case("6.3 PRIORITY of four bytes", open, Frame(type: 2, stream: 1, payload: [0, 0, 0, 1]), .frameSizeError),
    Case("6.4 RST_STREAM on stream 0", Frame.reset(0), .protocolError),
    Case("6.4 RST_STREAM of three bytes", open, Frame(type: 3, stream: 1, payload: [0, 0, 0]), .frameSizeError),
    Case("6.5 an acknowledgement that says something", Frame(type: 4, flags: 1, payload: [0]), .frameSizeError),
    Case("6.5 SETTINGS on a stream", Frame(type: 4, stream: 1), .protocolError),
    Case("6.5 SETTINGS of five bytes", Frame(type: 4, payload: [0, 3, 0, 0, 0]), .frameSizeError),
    Case("6.5.2 ENABLE_PUSH of 2", Frame.setting(2, 2), .protocolError),
    Case("6.5.2 INITIAL_WINDOW_SIZE of 2^31", Frame.setting(4, 1 << 31), .flowControlError),
    Case("6.5.2 MAX_FRAME_SIZE below the least", Frame.setting(5, 16_383), .protocolError),
    Case("6.5.2 MAX_FRAME_SIZE above the greatest", Frame.setting(5, 1 << 24), .protocolError),
    Case("6.6 PUSH_PROMISE", open, Frame(type: 5, flags: 4, stream: 1, payload: [0, 0, 0, 2, 0x82]), .protocolError),
    Case("6.7 PING on a stream", Frame(type: 6, stream: 1, payload: eight), .protocolError),
    Case("6.7 PING of seven bytes", Frame(type: 6, payload: eight.dropLast()), .frameSizeError),
    Case("6.8 GOAWAY on a stream", Frame(type: 7, stream: 1, payload: eight), .protocolError),
    Case("6.9 WINDOW_UPDATE by 0", Frame.windowUpdate(0, 0), .protocolError),
    Case("6.9 WINDOW_UPDATE of a stream by 0", open, Frame.windowUpdate(1, 0), .protocolError),
    Case("6.9 WINDOW_UPDATE of three bytes", Frame(type: 8, payload: [0, 0, 1]), .frameSizeError),
    Case("6.9.1 a window beyond 2^31 - 1", Frame.windowUpdate(0, 0x7FFF_FFFF), .flowControlError),
    Case("6.10 CONTINUATION after the last", open, Frame.continuation(1, [0x82]), .protocolError),
    Case("6.10 CONTINUATION on stream 0", begun, Frame.continuation(0, [0x82]), .protocolError),
  ])
  func aFrameThatEndsTheConnection(_ test: Case) async throws {
    let loopback = try Loopback()
    let answer = await RawPeer(loopback.address).exchange(Frame.preface + test.bytes)
    let received = try #require(answer, "the connection stays open")
    #expect(Frame.parse(received).compactMap(\.goawayCode) == [test.error])
  }

  @Test(arguments: [
    Case("6.9.1 a window beyond 2^31 - 1", open, Frame.windowUpdate(1, 0x7FFF_FFFF), .flowControlError),
    Case("8.1 a second HEADERS that ends nothing", open, Frame.headers(1, [("a", "b")]), .protocolError),
    Case("8.2.1 a name in upper case", Frame.call(with: ("Upper", "x")), .protocolError),
    Case("8.2.2 a connection's header", Frame.call(with: ("connection", "keep-alive")), .protocolError),
    Case("8.3 an unknown pseudo-header", Frame.call(with: (":unknown", "x")), .protocolError),
    Case("8.3 a response's pseudo-header", Frame.call(with: (":status", "200")), .protocolError),
    Case("8.3.1 no path", Frame.headers(1, Frame.call("").filter { $0.0 != ":path" }), .protocolError),
    Case("8.3.1 two methods", Frame.headers(1, [(":method", "POST")] + Frame.call("/test/Echo")), .protocolError),
  ])
  func aFrameThatEndsItsStreamAlone(_ test: Case) async throws {
    let loopback = try Loopback()
    let peer = RawPeer(loopback.address)
    let frames = await peer.exchange(Frame.preface + test.bytes + Frame.ping().bytes) { frames in
      frames.contains { $0.type == 3 } && frames.contains { $0.type == 6 }
    }
    #expect(frames.filter { $0.type == 3 }.map(\.firstWord) == [test.error.rawValue])
    #expect(frames.allSatisfy { $0.goawayCode == nil })
  }

  @Test(arguments: [
    Case("4.1 a frame of an unknown type", Frame(type: 0xFA, flags: 0xFF, stream: 1, payload: [1])),
    Case("5.1 PRIORITY while idle", Frame(type: 2, stream: 1, payload: priority)),
    Case("5.1 PRIORITY of a closed stream", ended, Frame(type: 2, stream: 1, payload: priority)),
    Case("6.5.2 an unknown setting", Frame.setting(0xFF, 1)),
    Case("6.7 flags that PING does not have", Frame(type: 6, flags: 0xFE, payload: eight)),
  ])
  func aFrameThatIsPassedOver(_ test: Case) async throws {
    let loopback = try Loopback()
    let peer = RawPeer(loopback.address)
    let call = Frame.headers(5, Frame.call("/test/Echo")).bytes + Frame.data(5, [0, 0, 0, 0, 0], flags: 1).bytes
    let frames = await peer.exchange(Frame.preface + test.bytes + call) {
      $0.contains { $0.type == 1 && $0.ends(5) }
    }
    #expect(frames.contains { $0.type == 1 && $0.ends(5) })
    #expect(frames.allSatisfy { $0.goawayCode == nil && !($0.type == 3 && $0.firstWord != 0) })
  }

  /// Over TCP nghttp2 checks a request's fields, and on a Unix socket the server does.
  @Test(arguments: [("Bearer\tkey", "Bearer?key"), ("key ", "key"), (" key", "key")], [false, true])
  func aValueThatIsNotAllowedIsNotAbsent(_ value: (sent: String, read: String), isUnix: Bool) async throws {
    let texts = Box<String?>()
    let loopback = try Loopback { router in
      router.register("/test/Text") { call, _ in
        texts.put(call.metadata("authorization"))
        call.respond([])
      }
    }
    let directory = TemporaryDirectory()
    let address = isUnix ? try loopback.server.listen(unixPath: directory.path("rpc.sock")) : loopback.address
    let peer = RawPeer(at: address)
    peer.post(
      Frame.preface + Frame.headers(1, Frame.call("/test/Text") + [("authorization", value.sent)]).bytes
        + Frame.data(1, [0, 0, 0, 0, 0], flags: Frame.endStream).bytes)
    #expect(await texts.next() == value.read)
    withExtendedLifetime(peer) {}
  }

  /// One field of 200 KiB. The server gives its block up before it has all of it, and says why.
  @Test func aHeaderBlockInTooManyFramesEndsTheConnectionWithItsReason() async throws {
    let loopback = try Loopback()
    // A literal field with a name of one byte, and the length in seven bits after another (RFC 7541 §5.1, §6.2.2).
    let length = (200 << 10) - 127
    let head: [UInt8] =
      [0, 1, UInt8(ascii: "a"), 0x7F]
      + [length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14]
      .map { UInt8($0) }
    let piece = [UInt8](repeating: UInt8(ascii: "v"), count: 16_384)
    let block =
      Self.begun.bytes + ([head] + Array(repeating: piece, count: 13)).flatMap { Frame.continuation(1, $0).bytes }
    let answer = await RawPeer(loopback.address).exchange(Frame.preface + block)
    let goaways = Frame.parse(try #require(answer)).filter { $0.goawayCode != nil }
    #expect(goaways.map(\.goawayCode) == [.protocolError])
    #expect(goaways.map(\.debugText) == ["Too many CONTINUATION frames following a HEADER frame"])
  }

  private static let large = [UInt8](repeating: 0, count: 16_385)
  private static let eight: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]
  private static let priority: [UInt8] = [0, 0, 0, 0, 15]
  /// A stream that runs, one that the client has ended, and one whose header block goes on.
  private static let open = Frame.headers(1, Frame.call("/test/Hold"))
  private static let ended = Frame.headers(1, Frame.call("/test/Hold"), flags: 5)
  private static let begun = Frame.headers(1, Frame.call("/test/Hold"), flags: 0)
}

/// A case: frames, and the error with which the server answers the last one.
struct Case: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let error: HTTP2ErrorCode
  let bytes: [UInt8]

  init(_ name: String, _ frames: Frame..., error: HTTP2ErrorCode = .noError) {
    testDescription = name
    self.error = error
    bytes = frames.flatMap(\.bytes)
  }

  init(_ name: String, _ frame: Frame, _ error: HTTP2ErrorCode) {
    self.init(name, frame, error: error)
  }

  init(_ name: String, _ first: Frame, _ frame: Frame, _ error: HTTP2ErrorCode) {
    self.init(name, first, frame, error: error)
  }
}

extension Frame {
  fileprivate static func setting(_ identifier: UInt8, _ value: UInt32) -> Frame {
    Frame(type: 4, payload: [0, identifier] + withUnsafeBytes(of: value.bigEndian) { Array($0) })
  }

  fileprivate static func call(with field: (String, String)) -> Frame {
    field.0.hasPrefix(":") ? headers(1, [field] + call("/test/Echo")) : headers(1, call("/test/Echo") + [field])
  }
}
