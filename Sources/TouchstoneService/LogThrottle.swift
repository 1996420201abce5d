// Keeps a failure that meets every call from filling the log, and a log that nobody reads from holding up the calls.

internal import DispatchRPC

/// Admits one line an interval, and counts the rest.
struct LogThrottle {
  /// Often enough for an operator to see that it goes on.
  private static let interval = Duration.seconds(1)

  private var next = MonotonicTime(nanoseconds: 0)
  private var suppressed = 0

  /// How many lines were kept back since the last one; `nil`: this one is, too.
  mutating func admit(at now: MonotonicTime) -> Int? {
    guard now >= next else {
      suppressed += 1
      return nil
    }
    next = now.advanced(by: Self.interval)
    defer { suppressed = 0 }
    return suppressed
  }
}
