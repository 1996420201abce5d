/// Follows a client's bytes from frame to frame, by their headers (RFC 9113 §4.1), because nghttp2 passes over some
/// without reporting them. nghttp2 checks the contents of the frames. Pure.
struct FrameScanner {
  struct Header: Equatable {
    var length: Int
    var type: UInt8
    var flags: UInt8
    var stream: UInt32
  }

  /// "PRI * HTTP/2.0…" (RFC 9113 §3.4).
  private static let prefaceBytes = 24
  /// Length, type and flags.
  private static let headBytes = 5
  /// With the stream, whose highest bit is reserved and means nothing.
  private static let headerBytes = 9
  private static let streamMask: UInt32 = 0x7FFF_FFFF

  /// Until the next frame's header.
  private(set) var skippedBytes = prefaceBytes
  private var head: UInt64 = 0
  private var stream: UInt32 = 0
  private var headerCount = 0

  /// The next frame whose header is complete, from `offset` on, which moves past it; `nil` when the bytes are used up.
  mutating func next(in bytes: UnsafeRawBufferPointer, from offset: inout Int) -> Header? {
    let skipped = min(skippedBytes, bytes.count - offset)
    skippedBytes -= skipped
    offset += skipped
    guard skippedBytes == 0 else { return nil }
    while headerCount < Self.headerBytes {
      guard offset < bytes.count else { return nil }
      if headerCount < Self.headBytes {
        head = head << 8 | UInt64(bytes[offset])
      } else {
        stream = stream << 8 | UInt32(bytes[offset])
      }
      headerCount += 1
      offset += 1
    }
    let header = Header(
      length: Int(head >> 16), type: UInt8(truncatingIfNeeded: head >> 8), flags: UInt8(truncatingIfNeeded: head),
      stream: stream & Self.streamMask)
    skippedBytes = header.length
    head = 0
    stream = 0
    headerCount = 0
    return header
  }
}
