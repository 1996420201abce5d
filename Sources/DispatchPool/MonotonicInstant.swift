import Glibc

/// A point on the machine's monotonic clock (CLOCK_MONOTONIC): never steps back, means nothing on another machine.
public struct MonotonicInstant: Sendable, Hashable, Comparable {
  public var nanoseconds: UInt64

  public init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  public static func now() -> MonotonicInstant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }

  public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// Saturates at both ends of the clock: a duration of years is a way to say "never".
  public static func + (instant: MonotonicInstant, duration: Duration) -> MonotonicInstant {
    let offset = duration.saturatedNanoseconds
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(UInt64(bitPattern: offset))
    if offset >= 0 {
      return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }
    return MonotonicInstant(nanoseconds: overflow ? sum : 0)
  }

  public static func - (later: MonotonicInstant, earlier: MonotonicInstant) -> Duration {
    .nanoseconds(Int64(clamping: later.nanoseconds) - Int64(clamping: earlier.nanoseconds))
  }
}

extension Duration {
  fileprivate var saturatedNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carried) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || carried ? (seconds < 0 ? .min : .max) : sum
  }
}
