// The header fields that nearly every response has, laid out once for the whole program.

import CNGHTTP2

enum ResponseFields {
  /// The limit of one header block that we send, counted as in RFC 9113 §6.5.2. Common clients take this much (gRPC's C
  /// core: 8 KiB for sure, more by chance), and nghttp2 sends no block above 64 KiB at all.
  static let listLimitBytes = 8 << 10

  // Unsafe only in name: written once before the first read, and never freed.
  nonisolated(unsafe) static let head = allocate([
    nghttp2_nv(static: ":status", "200"), nghttp2_nv(static: "content-type", "application/grpc"),
    nghttp2_nv(static: "grpc-accept-encoding", RPCCompression.acceptedEncodings),
  ])

  /// The encodings that we read, for the clients that name theirs.
  static func headCount(namingEncodings: Bool) -> Int { namingEncodings ? 3 : 2 }

  /// The one trailer of a success.
  nonisolated(unsafe) static let okTrailer = allocate([nghttp2_nv(static: "grpc-status", "0")])

  static func addHead(to block: inout HeaderBlock, namingEncodings: Bool) {
    block.add(":status", "200")
    block.add("content-type", "application/grpc")
    if namingEncodings { block.add("grpc-accept-encoding", RPCCompression.acceptedEncodings) }
  }

  private static func allocate(_ fields: [nghttp2_nv]) -> UnsafePointer<nghttp2_nv> {
    let pointer = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: fields.count)
    pointer.initialize(from: fields, count: fields.count)
    return UnsafePointer(pointer)
  }
}
