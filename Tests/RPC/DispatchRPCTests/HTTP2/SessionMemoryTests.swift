import CNGHTTP2
import Glibc
import Testing

@testable import DispatchRPC

final class SessionMemoryTests {
  private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

  private let memory: UnsafeMutablePointer<SessionMemory> = .allocate(capacity: 1)
  private let functions: nghttp2_mem

  init() {
    memory.initialize(to: SessionMemory())
    functions = SessionMemory.functions(of: memory)
  }

  deinit {
    memory.deallocate()
  }

  /// However often the heap has lent that place before.
  @Test(arguments: [false, true])
  func aLargeBlockComesWithoutThePagesThatWereWrittenBefore(_ isZeroed: Bool) throws {
    let count = 16 * Self.pageBytes + 10
    let used = try #require(malloc(count + Self.pageBytes))
    memset(used, 1, count + Self.pageBytes)
    free(used)
    let block = try #require(isZeroed ? allocateTable(count) : allocateFrame(count))
    #expect(residentBytes(of: block) == 0)
    #expect(block.allSatisfy { $0 == 0 })
    functions.free(block.baseAddress, memory)
  }

  /// The kernel takes no locked page back.
  @Test func aTableIsEmptyAlsoInLockedMemory() throws {
    let count = 4 * Self.pageBytes
    let used = try #require(malloc(count + 2 * Self.pageBytes))
    memset(used, 1, count + 2 * Self.pageBytes)
    try #require(mlock(used, count + 2 * Self.pageBytes) == 0)
    free(used)
    let table = try #require(allocateTable(count))
    #expect(table.allSatisfy { $0 == 0 })
    munlock(used, count + 2 * Self.pageBytes)
    functions.free(table.baseAddress, memory)
  }

  @Test func whatWasWrittenStaysWhereABlockGrows() throws {
    let block = try #require(allocateFrame(4 * Self.pageBytes))
    block.initializeMemory(as: UInt8.self, repeating: 7)
    let grown = try #require(functions.realloc(block.baseAddress, 64 * Self.pageBytes, memory))
    #expect(UnsafeRawBufferPointer(start: grown, count: block.count).allSatisfy { $0 == 7 })
    // A block with another place, and perhaps another size, is not given back.
    memory.pointee.giveBack()
    #expect(UnsafeRawBufferPointer(start: grown, count: block.count).allSatisfy { $0 == 7 })
    functions.free(grown, memory)
  }

  @Test func anIdleSessionsBlocksAreGivenBack() throws {
    let (frame, table) = (try #require(allocateFrame(20_000)), try #require(allocateTable(2 * Self.pageBytes)))
    frame.initializeMemory(as: UInt8.self, repeating: 7)
    table.initializeMemory(as: UInt8.self, repeating: 0)
    #expect(residentBytes(of: frame) > 0 && residentBytes(of: table) > 0)
    memory.pointee.giveBack()
    #expect(residentBytes(of: frame) == 0 && residentBytes(of: table) == 0)
    functions.free(frame.baseAddress, memory)
    functions.free(table.baseAddress, memory)
  }

  @Test func aTableWithAStreamStays() throws {
    let table = try #require(allocateTable(2 * Self.pageBytes))
    table[Self.pageBytes + 1] = 1
    memory.pointee.giveBack()
    #expect(table[Self.pageBytes + 1] == 1)
    functions.free(table.baseAddress, memory)
  }

  /// The heap lends the place to others.
  @Test func aBlockThatWasFreedIsForgotten() throws {
    functions.free(try #require(allocateFrame(20_000)).baseAddress, memory)
    functions.free(try #require(allocateTable(Self.pageBytes)).baseAddress, memory)
    #expect(memory.pointee.frame == nil && memory.pointee.streams == nil)
  }

  private func allocateFrame(_ count: Int) -> UnsafeMutableRawBufferPointer? {
    functions.realloc(nil, count, memory).map { UnsafeMutableRawBufferPointer(start: $0, count: count) }
  }

  private func allocateTable(_ count: Int) -> UnsafeMutableRawBufferPointer? {
    functions.calloc(count, 1, memory).map { UnsafeMutableRawBufferPointer(start: $0, count: count) }
  }
}
