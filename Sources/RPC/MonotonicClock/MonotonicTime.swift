import Glibc

/// A point on the machine's monotonic clock: nanoseconds on `CLOCK_MONOTONIC`, which never steps back. Two points
/// compare only within one boot of one machine, so none is ever sent to a peer. Its names are those of the standard
/// library's instants.
public struct MonotonicTime: Comparable, Hashable, Sendable {
  public var nanoseconds: UInt64

  /// Later than any deadline; arithmetic saturates here.
  @inlinable
  public static var distantFuture: MonotonicTime { MonotonicTime(nanoseconds: .max) }

  @inlinable
  public init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  public static func now() -> MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicTime(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
  }

  @inlinable
  public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// Saturates at both ends of the clock: a duration of years is a way to say "never".
  @inlinable
  public func advanced(by duration: Duration) -> MonotonicTime {
    let distance = duration.wholeNanoseconds
    if distance < 0 {
      let (earlier, overflow) = nanoseconds.subtractingReportingOverflow(distance.magnitude)
      return MonotonicTime(nanoseconds: overflow ? 0 : earlier)
    }
    let (later, overflow) = nanoseconds.addingReportingOverflow(UInt64(distance))
    return overflow ? .distantFuture : MonotonicTime(nanoseconds: later)
  }

  /// Negative when `other` is earlier. Saturates at 292 years.
  @inlinable
  public func duration(to other: MonotonicTime) -> Duration {
    guard other < self else { return .nanoseconds(Int64(clamping: other.nanoseconds - nanoseconds)) }
    return .nanoseconds(-Int64(clamping: nanoseconds - other.nanoseconds))
  }

  @inlinable
  public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
    time.advanced(by: duration)
  }

  @inlinable
  public static func - (later: MonotonicTime, earlier: MonotonicTime) -> Duration {
    earlier.duration(to: later)
  }
}

extension Duration {
  /// Saturates: a duration of more than 292 years is as good as for ever.
  @inlinable
  public var wholeNanoseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000)
  }
}
