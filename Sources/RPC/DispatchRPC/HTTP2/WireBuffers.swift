// Memory that the connections of one event loop take turns with, as each of them uses it for a moment.

/// Large buffers and zlib's state would be too much for each connection.
final class WireBuffers: LoopLocal {
  /// For one read(2) or send(2) each.
  private static let ioBytes = 128 << 10

  let received = UnsafeMutableRawBufferPointer.allocate(byteCount: ioBytes, alignment: 16)
  let sending = UnsafeMutableRawBufferPointer.allocate(byteCount: ioBytes, alignment: 16)
  /// Header fields on their way into nghttp2.
  var headerBlock = HeaderBlock()
  let gzip = Gzip()

  init(on loop: EventLoop) {}

  deinit {
    received.deallocate()
    sending.deallocate()
  }
}
