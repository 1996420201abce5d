import CNGHTTP2
import Glibc
import Testing

@testable import DispatchRPC

struct SessionMemoryTests {
  private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

  /// However often the heap has lent that place before.
  @Test(arguments: [false, true])
  func aLargeBlockComesWithoutThePagesThatWereWrittenBefore(_ isReallocated: Bool) throws {
    let memory = nghttp2_mem.givingPagesBack
    let count = 16 * Self.pageBytes
    let used = try #require(malloc(count))
    memset(used, 1, count)
    free(used)
    let block = try #require(isReallocated ? memory.realloc(nil, count, nil) : memory.malloc(count, nil))
    // Its first and last page may be others', too.
    let pages = try residentPages(of: block + Self.pageBytes, count: count - 2 * Self.pageBytes)
    #expect(pages.filter { $0 }.isEmpty)
    memset(block, 2, count)
    memory.free(block, nil)
  }

  @Test func whatWasWrittenStaysWhereABlockGrows() throws {
    let memory = nghttp2_mem.givingPagesBack
    let count = 4 * Self.pageBytes
    let block = try #require(memory.malloc(count, nil))
    memset(block, 7, count)
    let grown = try #require(memory.realloc(block, 64 * Self.pageBytes, nil))
    #expect(UnsafeRawBufferPointer(start: grown, count: count).allSatisfy { $0 == 7 })
    memory.free(grown, nil)
  }

  private func residentPages(of block: UnsafeMutableRawPointer, count: Int) throws -> [Bool] {
    let start = block.alignedUp(toMultipleOf: Self.pageBytes)
    var pages = [UInt8](repeating: 0, count: count / Self.pageBytes)
    try #require(mincore(start, pages.count * Self.pageBytes, &pages) == 0)
    return pages.map { $0 & 1 == 1 }
  }
}
