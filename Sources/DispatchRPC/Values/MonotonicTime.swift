// A point on the machine's monotonic clock: what every deadline and timer in this module is written in.

import CEpoll
import Glibc

/// Nanoseconds on `CLOCK_MONOTONIC`. Comparable only within one boot of one machine, so never sent to a peer.
public struct MonotonicTime: Comparable, Hashable, Sendable {
  public var nanoseconds: UInt64

  /// Later than any deadline; arithmetic saturates here.
  public static let distantFuture = MonotonicTime(nanoseconds: .max)

  public init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  public static func now() -> MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicTime(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
  }

  public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// Saturating at both ends of the clock.
  public func advanced(by duration: Duration) -> MonotonicTime {
    let distance = duration.wholeNanoseconds
    if distance < 0 {
      let (earlier, overflow) = nanoseconds.subtractingReportingOverflow(distance.magnitude)
      return MonotonicTime(nanoseconds: overflow ? 0 : earlier)
    }
    let (later, overflow) = nanoseconds.addingReportingOverflow(UInt64(distance))
    return overflow ? .distantFuture : MonotonicTime(nanoseconds: later)
  }

  /// Negative when `other` is earlier.
  public func duration(to other: MonotonicTime) -> Duration {
    let distance = other.nanoseconds.subtractingReportingOverflow(nanoseconds).partialValue
    return .nanoseconds(Int64(bitPattern: distance))
  }
}

extension Duration {
  /// Saturating: a duration of more than 292 years is as good as for ever.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (total, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    guard overflow || carry else { return total }
    return seconds < 0 ? .min : .max
  }
}
