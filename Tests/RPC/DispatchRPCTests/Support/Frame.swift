// HTTP/2 frames by hand.

import CEpoll
import Glibc
import RPCLoopback

@testable import DispatchRPC

/// One HTTP/2 frame (RFC 9113 §4.1).
struct Frame: Sendable {
  var type: UInt8
  var flags: UInt8 = 0
  var stream: UInt32 = 0
  var payload: [UInt8] = []

  static let endStream: UInt8 = 1
  static let acknowledgement: UInt8 = 1
  static let endHeaders: UInt8 = 4

  /// The client's preface and an empty SETTINGS.
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + settings().bytes

  static func data(_ stream: UInt32, _ payload: [UInt8], flags: UInt8 = 0) -> Frame {
    Frame(type: 0, flags: flags, stream: stream, payload: payload)
  }

  static func headers(_ stream: UInt32, _ fields: [(String, String)], flags: UInt8 = endHeaders) -> Frame {
    Frame(type: 1, flags: flags, stream: stream, payload: fields.flatMap(literal))
  }

  /// With CANCEL.
  static func reset(_ stream: UInt32, code: UInt32 = 8) -> Frame {
    Frame(type: 3, stream: stream, payload: bigEndian(code))
  }

  static func settings() -> Frame { Frame(type: 4) }
  static func ping() -> Frame { Frame(type: 6, payload: [1, 2, 3, 4, 5, 6, 7, 8]) }

  static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> Frame {
    Frame(type: 8, stream: stream, payload: bigEndian(increment))
  }

  static func continuation(_ stream: UInt32, _ payload: [UInt8]) -> Frame {
    Frame(type: 9, stream: stream, payload: payload)
  }

  /// The headers of a proper call.
  static func call(_ path: String) -> [(String, String)] {
    [
      (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "test"), ("te", "trailers"),
      ("content-type", "application/grpc"),
    ]
  }

  /// A whole call: its headers and its message, with its prefix.
  static func request(_ stream: UInt32, _ path: String, _ message: [UInt8] = [0, 0, 0, 0, 0]) -> [UInt8] {
    headers(stream, call(path)).bytes + data(stream, message, flags: endStream).bytes
  }

  var bytes: [UInt8] {
    let length = UInt32(payload.count)
    return [
      UInt8(length >> 16), UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length), type, flags,
    ]
      + Self.bigEndian(stream) + payload
  }

  /// The whole frames in the bytes.
  static func parse(_ bytes: [UInt8]) -> [Frame] {
    var frames: [Frame] = []
    var rest = bytes[...]
    while rest.count >= 9 {
      let head = Array(rest.prefix(9))
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      guard rest.count >= 9 + length else { break }
      let stream = head[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
      frames.append(
        Frame(type: head[3], flags: head[4], stream: stream, payload: Array(rest.dropFirst(9).prefix(length))))
      rest = rest.dropFirst(9 + length)
    }
    return frames
  }

  /// The first word of the payload: the error code of RST_STREAM, the increment of WINDOW_UPDATE.
  var firstWord: UInt32 { payload.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }

  var isReset: Bool { type == Frame.resetType }
  var isAcknowledgement: Bool { flags & Frame.acknowledgement != 0 }
  var endsAnswer: Bool { type == Frame.headersType && flags & Frame.endStream != 0 }

  func ends(_ id: UInt32) -> Bool { stream == id && flags & Frame.endStream != 0 }

  /// The error code, if this is GOAWAY.
  var goawayCode: HTTP2ErrorCode? {
    guard type == 7, payload.count >= 8 else { return nil }
    return HTTP2ErrorCode(rawValue: payload[4...7].reduce(0) { $0 << 8 | UInt32($1) })
  }

  /// GOAWAY's debug data.
  var debugText: String { String(decoding: payload.dropFirst(8), as: UTF8.self) }

  /// A literal field that is never indexed, lengths below 127 (RFC 7541 §6.2.3).
  private static func literal(_ name: String, _ value: String) -> [UInt8] {
    precondition(name.utf8.count < 127 && value.utf8.count < 127)
    return [0x10, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
  }

  fileprivate static func bigEndian(_ value: UInt32) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }
}

extension Frame {
  static let headersType: UInt8 = 1
  static let resetType: UInt8 = 3
  static let settingsType: UInt8 = 4
  static let pingType: UInt8 = 6
  static let windowUpdateType: UInt8 = 8

  static func responseHead(_ stream: UInt32, _ metadata: [(String, String)] = []) -> Frame {
    headers(stream, [(":status", "200"), ("content-type", "application/grpc")] + metadata)
  }

  static func trailers(_ stream: UInt32, status: Int = 0) -> Frame {
    headers(stream, [("grpc-status", "\(status)")], flags: endHeaders | endStream)
  }

  /// A whole message in one DATA frame.
  static func message(_ stream: UInt32, _ bytes: [UInt8]) -> Frame {
    data(stream, [0, 0, 0, UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes)
  }

  static func goaway(last: UInt32, code: UInt32 = 0, debug: String = "") -> Frame {
    Frame(type: 7, payload: bigEndian(last) + bigEndian(code) + Array(debug.utf8))
  }

  /// SETTINGS_MAX_CONCURRENT_STREAMS.
  static func maxStreams(_ count: UInt32) -> Frame {
    Frame(type: settingsType, payload: [0, 3] + bigEndian(count))
  }
}

extension RawPeer {
  /// The server may listen on a Unix socket, too.
  convenience init(at address: SocketAddress) {
    let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
    let isConnected = address.withSocketAddress { connect(descriptor, $0, $1) } == 0
    precondition(isConnected, "the server under test listens")
    self.init(connected: descriptor)
  }

  /// Returns the frames that came until they were enough, or no more came.
  func exchange(_ bytes: [UInt8], until areEnough: @escaping @Sendable ([Frame]) -> Bool) async -> [Frame] {
    Frame.parse(await answer(to: bytes, until: { areEnough(Frame.parse($0)) }))
  }
}
