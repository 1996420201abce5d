// One token bucket for events, and how many had to be left out. Pure.

internal import DispatchRPC

struct EventBucket {
  /// When it has its whole burst again.
  var isFullAt: MonotonicTime
  /// Since the last event.
  var suppressed = 0

  func hasRoom(at now: MonotonicTime, burst: Int, interval: Duration) -> Bool {
    // It may be ahead of its time by so many events.
    now.duration(to: max(isFullAt, now)) <= interval * (burst - 1)
  }

  /// Takes room that is there. How many were left out since the last event.
  mutating func take(at now: MonotonicTime, interval: Duration) -> Int {
    let before = suppressed
    self = EventBucket(isFullAt: max(isFullAt, now).advanced(by: interval))
    return before
  }

  /// How many were left out since the last event; `nil`: this one is left out, too.
  mutating func admit(at now: MonotonicTime, burst: Int, interval: Duration) -> Int? {
    guard hasRoom(at: now, burst: burst, interval: interval) else {
      suppressed += 1
      return nil
    }
    return take(at: now, interval: interval)
  }

  /// Gives back room that was taken and not needed, or adds earned room. There is never more room than the burst.
  mutating func makeRoom(_ time: Duration) {
    isFullAt = isFullAt.advanced(by: .zero - time)
  }
}
