// The memory of one call.

import Testing

@testable import TouchstoneCodec

@Suite struct ArenaTests {
  private func arena(budget: Int) -> Arena {
    let arena = Arena()
    arena.reset(budget: budget)
    return arena
  }

  @Test func `memory is aligned and does not overlap`() throws {
    let arena = arena(budget: 1 << 20)
    var end = try #require(arena.allocate(1)) + 1
    for size in [1, 7, 8, 9, 40, 4_000] {
      let next = try #require(arena.allocate(size))
      #expect(Int(bitPattern: next) % 8 == 0)
      #expect(next >= end)
      end = next + size
    }
  }

  @Test func `what the budget does not hold is refused, and remembered`() {
    let arena = arena(budget: 100)
    #expect(arena.allocate(64) != nil)
    #expect(!arena.isExhausted)
    #expect(arena.allocate(64) == nil)
    #expect(arena.isExhausted)
    arena.reset(budget: 100)
    #expect(!arena.isExhausted)
    #expect(arena.allocate(64) != nil)
  }

  @Test(arguments: [-1, Int.min, Int.max]) func `sizes that are none are refused`(_ size: Int) {
    #expect(arena(budget: 1 << 20).allocate(size) == nil)
    #expect(arena(budget: 1 << 20).allocate(UInt64.self, count: size) == nil)
  }

  @Test func `after a reset the same memory serves again`() throws {
    let arena = arena(budget: 1 << 20)
    let first = try #require(arena.allocate(100))
    for _ in 0..<3 {
      arena.reset(budget: 1 << 20)
      #expect(arena.allocate(100) == first)
      // Beyond the first block, which alone is kept.
      #expect(arena.allocate(Arena.blockBytes) != nil)
    }
  }

  @Test func `more than a block is taken from further blocks`() throws {
    let arena = arena(budget: 1 << 20)
    for byte in UInt8(0)..<20 {
      let memory = try #require(arena.allocate(UInt8.self, count: 10_000))
      memory.initialize(repeating: byte, count: 10_000)
    }
    let large = try #require(arena.allocate(UInt8.self, count: 500_000))
    large.initialize(repeating: 1, count: 500_000)
    #expect(!arena.isExhausted)
  }
}
