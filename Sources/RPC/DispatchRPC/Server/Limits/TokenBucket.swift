/// How many at once, and how many a second after that. Tokens come back with time up to the burst; what is earned
/// otherwise may go beyond it. Pure; time is an argument.
struct TokenBucket {
  /// The most that earned tokens may add up to.
  private static let earnedLimit: UInt64 = 10_000

  private let capacity: UInt64
  /// Between two tokens; `nil` when none ever comes back.
  private let interval: UInt64?
  private var tokens: UInt64
  private var refilledAt: UInt64

  init(_ limit: AbuseLimits.Bucket, now: MonotonicTime) {
    capacity = UInt64(max(0, limit.burst))
    interval = limit.perSecond > 0 ? max(1, 1_000_000_000 / UInt64(limit.perSecond)) : nil
    tokens = capacity
    refilledAt = now.nanoseconds
  }

  /// False when there is none left.
  mutating func take(at now: MonotonicTime) -> Bool {
    if let interval, now.nanoseconds > refilledAt {
      let elapsed = (now.nanoseconds - refilledAt) / interval
      refilledAt += elapsed * interval
      if tokens < capacity { tokens = min(capacity, tokens + min(elapsed, capacity)) }
    }
    guard tokens > 0 else { return false }
    tokens -= 1
    return true
  }

  @inline(__always)
  mutating func earn(_ count: UInt64) {
    if tokens < Self.earnedLimit { tokens += count }
  }
}
