/// A message on its way out: its prefix and bytes, written piece by piece into the DATA frames that nghttp2 asks for.
struct OutgoingMessage {
  private let message: [UInt8]
  private var offset = 0

  init(_ message: [UInt8] = []) {
    self.message = message
  }

  var messageBytes: Int { message.count }

  /// Some of it is in a DATA frame, so that the rest has to follow.
  var hasBegun: Bool { offset > 0 }

  /// With the prefix.
  var remainingBytes: Int { MessageDeframer.prefixBytes + message.count - offset }

  /// The number of bytes written; a peer with a tiny window gets even the prefix in pieces.
  mutating func write(to buffer: UnsafeMutablePointer<UInt8>, capacity: Int) -> Int {
    var written = 0
    if offset < MessageDeframer.prefixBytes {
      written = writePrefix(to: buffer, capacity: capacity)
      if offset < MessageDeframer.prefixBytes { return written }
    }
    let start = offset - MessageDeframer.prefixBytes
    let count = min(message.count - start, capacity - written)
    message.withUnsafeBufferPointer { bytes in
      guard count > 0 else { return }
      (buffer + written).update(from: bytes.baseAddress! + start, count: count)
    }
    offset += count
    return written + count
  }

  private mutating func writePrefix(to buffer: UnsafeMutablePointer<UInt8>, capacity: Int) -> Int {
    if offset == 0, capacity >= MessageDeframer.prefixBytes {
      MessageDeframer.writePrefix(messageBytes: message.count, to: buffer)
      offset = MessageDeframer.prefixBytes
      return offset
    }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: MessageDeframer.prefixBytes) { prefix in
      MessageDeframer.writePrefix(messageBytes: message.count, to: prefix.baseAddress!)
      let count = min(MessageDeframer.prefixBytes - offset, capacity)
      buffer.update(from: prefix.baseAddress! + offset, count: count)
      offset += count
      return count
    }
  }
}
