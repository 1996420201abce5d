import CNGHTTP2
import Glibc

/// Hands out malloc(3)'s memory to one session, and knows its two large blocks, which an idle connection does not need:
/// the buffer for a frame that it sends (16 KB), and the table of its streams (4 KB). Both have pages of their own,
/// untouched when they are handed out, which can be given back to the kernel.
struct SessionMemory {
  /// HTTP/2's smallest bound of a frame (RFC 9113, section 4.2), which is what nghttp2 reserves.
  private static let frameBytes = 16_384
  private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

  private(set) var frame: UnsafeMutableRawBufferPointer?
  private(set) var streams: UnsafeMutableRawBufferPointer?

  /// nghttp2 copies it. `self` must live as long as the session.
  static func functions(of memory: UnsafeMutablePointer<SessionMemory>) -> nghttp2_mem {
    nghttp2_mem(
      mem_user_data: memory,
      malloc: { count, _ in Glibc.malloc(count) },
      free: { block, memory in
        memory.map(SessionMemory.at)?.pointee.forget(block)
        Glibc.free(block)
      },
      // How nghttp2 makes the table of the streams.
      calloc: { count, size, memory in
        guard count * size >= SessionMemory.pageBytes, let memory else { return Glibc.calloc(count, size) }
        let block = SessionMemory.untouched(count * size)
        SessionMemory.at(memory).pointee.streams = block
        return block?.baseAddress
      },
      // How nghttp2 makes its buffers.
      realloc: { block, count, memory in
        guard block == nil, count >= SessionMemory.frameBytes, let memory else {
          memory.map(SessionMemory.at)?.pointee.forget(block)
          return Glibc.realloc(block, count)
        }
        let block = SessionMemory.untouched(count)
        SessionMemory.at(memory).pointee.frame = block
        return block?.baseAddress
      })
  }

  /// To be called while the session has nothing to send: no byte of the frame's buffer counts then.
  mutating func giveBack() {
    if let frame { Self.giveBack(frame) }
    // Without streams it is empty, and the kernel's next page is, too.
    if let streams, streams.allSatisfy({ $0 == 0 }) { Self.giveBack(streams) }
  }

  private mutating func forget(_ block: UnsafeMutableRawPointer?) {
    if block == frame?.baseAddress { frame = nil }
    if block == streams?.baseAddress { streams = nil }
  }

  private static func at(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<SessionMemory> {
    memory.assumingMemoryBound(to: SessionMemory.self)
  }

  /// Zeros, in pages of which only the last one may hold anything else. The heap may lend a place that was in use
  /// before, say by a TLS handshake.
  private static func untouched(_ count: Int) -> UnsafeMutableRawBufferPointer? {
    // Not aligned_alloc(3), which may refuse what is no multiple of a page.
    var start: UnsafeMutableRawPointer?
    guard posix_memalign(&start, pageBytes, count) == 0, let start else { return nil }
    let block = UnsafeMutableRawBufferPointer(start: start, count: count)
    let zeros = giveBack(block)
    UnsafeMutableRawBufferPointer(rebasing: block[zeros...]).initializeMemory(as: UInt8.self, repeating: 0)
    return block
  }

  /// Answers how many bytes are zeros now: the kernel's next pages are (madvise(2)). It takes none that are locked into
  /// memory.
  @discardableResult
  private static func giveBack(_ block: UnsafeMutableRawBufferPointer) -> Int {
    let wholePages = block.count / pageBytes * pageBytes
    return madvise(block.baseAddress, wholePages, MADV_DONTNEED) == 0 ? wholePages : 0
  }
}
