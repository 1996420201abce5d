internal import CZlib

/// Returns the bytes as one gzip member (RFC 1952), as clients send compressed messages.
public func gzipped(_ bytes: [UInt8]) -> [UInt8] {
  var stream = z_stream()
  let (window, memoryLevel, size) = (MAX_WBITS + 16, Int32(8), Int32(MemoryLayout<z_stream>.size))
  let code = deflateInit2_(
    &stream, Z_BEST_SPEED, Z_DEFLATED, window, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
  precondition(code == Z_OK)
  defer { deflateEnd(&stream) }
  let capacity = Int(deflateBound(&stream, UInt(bytes.count)))
  return [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
    bytes.withUnsafeBufferPointer { input in
      stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.avail_in = UInt32(input.count)
      stream.next_out = output.baseAddress
      stream.avail_out = UInt32(capacity)
      precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END)
    }
    count = capacity - Int(stream.avail_out)
  }
}
