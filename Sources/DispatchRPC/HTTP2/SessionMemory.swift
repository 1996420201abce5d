// Memory for nghttp2's sessions.

import CNGHTTP2
import Glibc

extension nghttp2_mem {
  /// malloc(3), except that the pages of a large block are untouched when it is handed out. A session has one: 16 KB for a
  /// frame that it sends, of which an idle connection hardly ever wrote more than the first hundred bytes. Where the heap
  /// lends it a place that was in use before, say by a TLS handshake, all of its pages would stay in memory.
  static var givingPagesBack: nghttp2_mem {
    nghttp2_mem(
      mem_user_data: nil,
      malloc: { count, _ in SessionMemory.untouched(Glibc.malloc(count), count: count) },
      free: { block, _ in Glibc.free(block) },
      calloc: { count, size, _ in Glibc.calloc(count, size) },
      // How nghttp2 makes its buffers.
      realloc: { block, count, _ in
        let moved = Glibc.realloc(block, count)
        return block == nil ? SessionMemory.untouched(moved, count: count) : moved
      })
  }
}

private enum SessionMemory {
  /// HTTP/2's smallest bound of a frame (RFC 9113, section 4.2), which is what nghttp2 reserves.
  static let largeBlockBytes = 16_384
  static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

  /// Gives the whole pages within a new block back: what the heap knows of it stands before and behind.
  static func untouched(_ block: UnsafeMutableRawPointer?, count: Int) -> UnsafeMutableRawPointer? {
    guard let block, count >= largeBlockBytes else { return block }
    let start = block.alignedUp(toMultipleOf: pageBytes)
    let length = (count - (start - block)) / pageBytes * pageBytes
    madvise(start, length, MADV_DONTNEED)
    return block
  }
}
