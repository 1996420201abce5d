// Header blocks in clear: nghttp2's HPACK decoder, for what a raw peer receives.

import CNGHTTP2

/// One connection's, in the order in which its blocks came.
final class HeaderReader {
  private let inflater: OpaquePointer

  init() {
    var inflater: OpaquePointer?
    let code = nghttp2_hd_inflate_new(&inflater)
    precondition(code == 0, "out of memory")
    self.inflater = inflater!
  }

  deinit {
    nghttp2_hd_inflate_del(inflater)
  }

  /// Returns the fields of a whole block; `nil` if it is malformed.
  func read(_ block: [UInt8]) -> [String: String]? {
    var fields: [String: String] = [:]
    var block = block[...]
    while true {
      var field = nghttp2_nv()
      var flags: Int32 = 0
      let count = block.withUnsafeBufferPointer {
        nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress, $0.count, 1)
      }
      guard count >= 0 else { return nil }
      block = block.dropFirst(count)
      if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
        fields[text(field.name, field.namelen)] = text(field.value, field.valuelen)
      }
      if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
        nghttp2_hd_inflate_end_headers(inflater)
        return fields
      }
    }
  }

  /// Returns the fields of all HEADERS frames, which end their blocks, one after the other.
  static func fields(of frames: [Frame]) -> [String: String]? {
    let reader = HeaderReader()
    var all: [String: String] = [:]
    for frame in frames where frame.type == 1 {
      guard let fields = reader.read(frame.payload) else { return nil }
      all.merge(fields) { _, later in later }
    }
    return all
  }

  private func text(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> String {
    String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}
