internal import CProtobufC
internal import Glibc

/// The memory of one call: a bump allocator with a budget. protobuf-c allocates from it, and it is freed all at once.
///
/// The first block is kept from call to call, so messages that fit need no malloc. Used by one thread at a time.
final class Arena {
  /// Holds any message except long lists. Small beside the 25 KB that a connection may cost, because each event loop
  /// has one.
  static let blockBytes = 32 << 10

  private let state: UnsafeMutablePointer<State>

  init() {
    state = .allocate(capacity: 1)
    state.initialize(to: State())
    state.pointee.allocator = ProtobufCAllocator(
      alloc: { State.of($0).pointee.allocate($1) }, free: { _, _ in }, allocator_data: state)
  }

  deinit {
    state.pointee.free(upTo: nil)
    state.deallocate()
  }

  /// For protobuf-c's functions. Valid as long as the arena.
  var allocator: UnsafeMutablePointer<ProtobufCAllocator> {
    UnsafeMutableRawPointer(state)
      .advanced(by: MemoryLayout<State>.offset(of: \.allocator)!)
      .assumingMemoryBound(to: ProtobufCAllocator.self)
  }

  /// Whether an allocation was refused since the last reset.
  var isExhausted: Bool { state.pointee.isExhausted }

  /// Frees everything. Until the next reset, `budget` bytes are available.
  func reset(budget: Int) {
    state.pointee.reset(budget: budget)
  }

  /// `nil` beyond the budget. Aligned for any C type, not initialised.
  func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
    state.pointee.allocate(size)
  }

  func allocate<T>(_ type: T.Type, count: Int) -> UnsafeMutablePointer<T>? {
    let (size, overflow) = count.multipliedReportingOverflow(by: MemoryLayout<T>.stride)
    return overflow ? nil : allocate(size)?.bindMemory(to: T.self, capacity: count)
  }
}

extension Arena {
  /// Plain memory behind the allocator's raw pointer: C's callbacks count no references.
  private struct State {
    /// The alignment of every C type in the generated structs.
    static let alignment = 8

    var next: UnsafeMutableRawPointer?
    var end: UnsafeMutableRawPointer?
    /// Begins with a `Block`, which points to the previous one.
    var newest: UnsafeMutablePointer<Block>?
    var first: UnsafeMutablePointer<Block>?
    var budget = 0
    var isExhausted = false
    var allocator = ProtobufCAllocator()

    static func of(_ data: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<State> {
      data!.assumingMemoryBound(to: State.self)
    }

    mutating func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
      guard size >= 0, size <= budget else { return refuse() }
      let rounded = (size &+ (Self.alignment &- 1)) & ~(Self.alignment &- 1)
      budget &-= rounded
      if let next, let end, rounded <= end - next {
        self.next = next + rounded
        return next
      }
      return allocateFromNewBlock(rounded)
    }

    private mutating func allocateFromNewBlock(_ size: Int) -> UnsafeMutableRawPointer? {
      let capacity = max(Arena.blockBytes, size &+ MemoryLayout<Block>.stride)
      guard let memory = malloc(capacity) else { return refuse() }
      let block = memory.bindMemory(to: Block.self, capacity: 1)
      block.initialize(to: Block(previous: newest, end: memory + capacity))
      newest = block
      first = first ?? block
      let start = memory + MemoryLayout<Block>.stride
      next = start + size
      end = memory + capacity
      return start
    }

    private mutating func refuse() -> UnsafeMutableRawPointer? {
      isExhausted = true
      return nil
    }

    mutating func reset(budget: Int) {
      self.budget = budget
      isExhausted = false
      guard let first else { return }
      if newest != first { free(upTo: first) }
      next = UnsafeMutableRawPointer(first) + MemoryLayout<Block>.stride
      end = first.pointee.end
    }

    /// Frees the blocks newer than `kept`; all of them if there is none to keep.
    mutating func free(upTo kept: UnsafeMutablePointer<Block>?) {
      while let block = newest, block != kept {
        newest = block.pointee.previous
        Glibc.free(block)
      }
    }
  }

  /// The header of a block.
  private struct Block {
    var previous: UnsafeMutablePointer<Block>?
    var end: UnsafeMutableRawPointer
  }
}
