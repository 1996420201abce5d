/// Tells a handler which of its timers has expired.
package struct TimerTag: Hashable {
  package var kind: UInt32
  /// Distinguishes timers of the same kind.
  package var id: Int32

  package init(kind: UInt32, id: Int32 = 0) {
    self.kind = kind
    self.id = id
  }
}

/// The handlers of an event loop, in slots with generations: an event for a descriptor that was closed meanwhile finds
/// no handler.
struct HandlerTable {
  private struct Slot {
    var generation: UInt32
    var handler: (any ReadinessHandler)?
  }

  private var slots: [Slot] = []
  private var free: [Int] = []

  /// `nil` when it was removed.
  subscript(key: UInt64) -> (any ReadinessHandler)? {
    let index = Int(UInt32(truncatingIfNeeded: key))
    guard index < slots.count, slots[index].generation == UInt32(truncatingIfNeeded: key >> 32) else { return nil }
    return slots[index].handler
  }

  mutating func add(_ handler: any ReadinessHandler) -> UInt64 {
    let index: Int
    if let reused = free.popLast() {
      index = reused
      slots[index].handler = handler
    } else {
      index = slots.count
      slots.append(Slot(generation: 0, handler: handler))
    }
    return UInt64(slots[index].generation) << 32 | UInt64(index)
  }

  mutating func remove(_ key: UInt64) {
    let index = Int(UInt32(truncatingIfNeeded: key))
    guard self[key] != nil else { return }
    slots[index].handler = nil
    slots[index].generation &+= 1
    free.append(index)
  }
}
