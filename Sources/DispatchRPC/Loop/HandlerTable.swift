// Who is behind a descriptor: slots with generations, so that an event for a closed connection finds nobody.

/// What a handler wanted to be reminded of.
struct TimerTag: Hashable {
  var kind: UInt32
  /// A stream, for timers of a call.
  var streamID: Int32 = 0
}

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
