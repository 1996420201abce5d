// Frames (RFC 9113) out of an input's bytes: near enough to what a client says that much of it is taken seriously.

import TestSupport

/// Writes frames one after the other. Each is a kind, which is the frame's type where HTTP/2 has it, and what the kind
/// asks for.
struct Dialogue {
  /// With an empty SETTINGS.
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

  private static let endStream: UInt8 = 1
  private static let endHeaders: UInt8 = 4

  private static let paths = [
    "/f/Echo", "/f/Fail", "/f/Hold", "/f/Count", "/f/Total", "/f/Chat", "/f/Held", "/f/None",
  ]
  /// One bit each of a byte.
  private static let extraFields: [[(String, String)]] = [
    [("grpc-encoding", "gzip")], [("grpc-accept-encoding", "gzip")], [("grpc-timeout", "1S")],
    [("key", "value"), ("key-bin", "AAEC")], [("grpc-encoding", "deflate")], [("grpc-timeout", "1n")],
    [("grpc-timeout", "x")], [("large", String(repeating: "x", count: 120))],
  ]

  private var frames: [UInt8] = []
  private var nextStream: UInt32 = 1

  mutating func takeFrames() -> [UInt8] {
    defer { frames = [] }
    return frames
  }

  mutating func addFrame(_ kind: UInt8, _ input: inout ByteReader) {
    switch kind & 0x1F {
    case 0: addMessage(&input, flags: input.byte())
    case 1: addCall(&input)
    case 2: add(2, 0, stream(&input), input.bytes(5))
    case 3: add(3, 0, stream(&input), [0, 0, 0, input.byte()])
    case 4: add(4, 0, 0, (0..<input.number(below: 4)).flatMap { _ in [0, input.byte()] + input.bytes(4) })
    case 6: add(6, input.byte() & 1, 0, input.bytes(8))
    case 7: add(7, 0, 0, input.bytes(8))
    case 8: add(8, 0, stream(&input), input.bytes(4))
    case 9: add(9, input.byte() & Self.endHeaders, stream(&input), input.bytes(input.number(below: 64)))
    case 10: add(1, input.byte(), stream(&input), input.bytes(input.number(below: 128)))
    case 11: add(0, input.byte(), stream(&input), input.bytes(input.number(below: 256)))
    case 12: addZeros(&input)
    case 13: add(input.byte(), input.byte(), input.word(), input.bytes(input.number(below: 256)))
    case 14: add(1, Self.endHeaders | Self.endStream, stream(&input), Self.literal("trailer", "value"))
    default: addMessage(&input, flags: kind >> 7 & Self.endStream)
    }
  }

  /// One of the last few that were opened, or the connection.
  private func stream(_ input: inout ByteReader) -> UInt32 {
    let back = UInt32(input.byte() & 7)
    return back == 7 ? 0 : nextStream &- 2 &* (back + 1)
  }

  private mutating func addCall(_ input: inout ByteReader) {
    let path = Self.paths[input.number(below: Self.paths.count)]
    let (extra, flags) = (input.byte(), input.byte())
    var fields = [
      (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "f"), ("te", "trailers"),
      ("content-type", "application/grpc"),
    ]
    for (index, field) in Self.extraFields.enumerated() where extra >> index & 1 == 1 { fields += field }
    add(1, flags & Self.endStream | Self.endHeaders, nextStream, fields.flatMap(Self.literal))
    nextStream &+= 2
  }

  /// A whole one, of bytes that the input names.
  private mutating func addMessage(_ input: inout ByteReader, flags: UInt8) {
    let stream = stream(&input)
    let message = input.bytes(input.number(below: 200))
    add(0, flags & Self.endStream, stream, [flags >> 1 & 1] + Self.bigEndian(UInt32(message.count)) + message)
  }

  /// Many in gzip, which the input could hardly hit upon.
  private mutating func addZeros(_ input: inout ByteReader) {
    let (stream, flags) = (stream(&input), input.byte())
    var message = gzipped([UInt8](repeating: 0, count: (input.number(below: 128) + 1) * 64))
    if flags & 2 != 0 { message[Int(input.byte()) % message.count] ^= 1 << (input.byte() & 7) }
    if flags & 4 != 0 { message = Array(message.prefix(Int(input.byte()))) }
    add(0, flags & Self.endStream, stream, [1] + Self.bigEndian(UInt32(message.count)) + message)
  }

  private mutating func add(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) {
    frames += Self.bigEndian(UInt32(payload.count)).dropFirst() + [type, flags] + Self.bigEndian(stream) + payload
  }

  /// Never indexed, lengths below 127 (RFC 7541 §6.2.3).
  private static func literal(_ name: String, _ value: String) -> [UInt8] {
    [0x10, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }
}
