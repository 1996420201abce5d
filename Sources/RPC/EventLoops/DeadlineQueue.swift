/// Holds payloads until their times have come: a binary heap whose entries can be taken out again. Adding and removing
/// cost O(log n); deadlines that mostly grow, as those of calls with one time limit do, cost O(1). Pure; time is an
/// argument.
package struct DeadlineQueue<Payload> {
  /// Names one entry; stale once the entry expired or was removed, and harmless then.
  package struct Handle: Hashable {
    fileprivate let slot: UInt32
    fileprivate let generation: UInt32
  }

  private struct Entry {
    var time: MonotonicTime
    var slot: UInt32
    var payload: Payload
  }

  private struct Slot {
    var generation: UInt32
    /// In `heap`; the next free slot while unused.
    var position: Int
  }

  private static var none: Int { -1 }

  private var heap: [Entry] = []
  private var slots: [Slot] = []
  private var firstFree = -1

  var isEmpty: Bool { heap.isEmpty }
  var count: Int { heap.count }
  var earliest: MonotonicTime? { heap.first?.time }

  mutating func add(_ payload: Payload, at time: MonotonicTime) -> Handle {
    let slot = takeSlot()
    heap.append(Entry(time: time, slot: UInt32(slot), payload: payload))
    slots[slot].position = heap.count - 1
    moveUp(from: heap.count - 1)
    return Handle(slot: UInt32(slot), generation: slots[slot].generation)
  }

  /// Nothing happens when the entry is no longer there.
  mutating func remove(_ handle: Handle) {
    let slot = Int(handle.slot)
    guard slot < slots.count, slots[slot].generation == handle.generation else { return }
    removeEntry(at: slots[slot].position)
  }

  /// Takes out the earliest entry if its time has come.
  mutating func popExpired(at now: MonotonicTime) -> Payload? {
    guard let first = heap.first, first.time <= now else { return nil }
    removeEntry(at: 0)
    return first.payload
  }

  private mutating func takeSlot() -> Int {
    guard firstFree != Self.none else {
      slots.append(Slot(generation: 0, position: Self.none))
      return slots.count - 1
    }
    let slot = firstFree
    firstFree = slots[slot].position
    return slot
  }

  private mutating func removeEntry(at position: Int) {
    let slot = Int(heap[position].slot)
    slots[slot].generation &+= 1
    slots[slot].position = firstFree
    firstFree = slot

    let last = heap.removeLast()
    guard position < heap.count else { return }
    heap[position] = last
    slots[Int(last.slot)].position = position
    moveUp(from: position)
    moveDown(from: position)
  }

  private mutating func moveUp(from start: Int) {
    var position = start
    while position > 0 {
      let parent = (position - 1) / 2
      guard heap[position].time < heap[parent].time else { return }
      exchange(position, parent)
      position = parent
    }
  }

  private mutating func moveDown(from start: Int) {
    var position = start
    while true {
      let left = 2 * position + 1
      guard left < heap.count else { return }
      let right = left + 1
      let child = right < heap.count && heap[right].time < heap[left].time ? right : left
      guard heap[child].time < heap[position].time else { return }
      exchange(position, child)
      position = child
    }
  }

  private mutating func exchange(_ one: Int, _ other: Int) {
    heap.swapAt(one, other)
    slots[Int(heap[one].slot)].position = one
    slots[Int(heap[other].slot)].position = other
  }
}
