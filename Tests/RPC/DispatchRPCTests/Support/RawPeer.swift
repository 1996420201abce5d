// A peer that sends any bytes that a test gives it: HTTP/2 frames by hand, or no HTTP/2 at all.

import CEpoll
import Dispatch
import Glibc

@testable import DispatchRPC

/// A blocking client on a queue of its own.
final class RawPeer: Sendable {
  /// The server is expected to act sooner; this only keeps a failing test from hanging.
  private static let patienceSeconds = 10

  private let descriptor: Int32
  private let queue = DispatchQueue(label: "test.raw-peer")

  /// - Parameter receiveBuffer: the size of the kernel's buffer for a peer that does not read, in bytes; `nil`:
  ///   megabytes.
  init(_ address: SocketAddress, receiveBuffer: CInt? = nil) {
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<CInt>.size))
    }
    var patience = timeval(tv_sec: Self.patienceSeconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    let result = address.withSocketAddress { Glibc.connect(descriptor, $0, $1) }
    precondition(result == 0, "the server under test listens")
  }

  deinit {
    close(descriptor)
  }

  /// Waits for no answer.
  func post(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  /// Returns the bytes that came until the peer closed; `nil` if it did not close. Sending stops when the peer no
  /// longer takes it.
  func exchange(_ bytes: [UInt8]) async -> [UInt8]? {
    await withCheckedContinuation { done in
      queue.async { [descriptor] in
        DispatchQueue.global().async {
          var rest = bytes[...]
          while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
          }
        }
        done.resume(returning: Self.readToEnd(descriptor))
      }
    }
  }

  /// Reads until `enough` returns true; returns the bytes so far.
  func exchange(_ bytes: [UInt8], until enough: @escaping @Sendable ([Frame]) -> Bool) async -> [Frame] {
    await withCheckedContinuation { done in
      queue.async { [descriptor] in
        _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        var received: [UInt8] = []
        while !enough(Frame.parse(received)), let piece = Self.read(descriptor), !piece.isEmpty { received += piece }
        done.resume(returning: Frame.parse(received))
      }
    }
  }

  private static func readToEnd(_ descriptor: Int32) -> [UInt8]? {
    var received: [UInt8] = []
    while let piece = read(descriptor) {
      if piece.isEmpty { return received }
      received += piece
    }
    return errno == EAGAIN ? nil : received
  }

  private static func read(_ descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 ? nil : Array(buffer[..<count])
  }
}

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

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }
}
