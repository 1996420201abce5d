// How many refusals become events: an attacker makes as many of them as they like, and must not fill the disk by it, nor
// keep the writer busy. Pure.

internal import DispatchRPC

/// Admits a few of each caller and reason at once, then one now and then, and counts the rest.
struct RefusalThrottle {
  /// Whose refusals are counted together. All of it is the configuration's, so that a peer cannot invent any.
  struct Key: Hashable {
    /// `nil`: nobody knows. Names are ASCII, so that they are equal where their bytes are.
    var caller: Caller?
    var refusal: AccessRefusal
  }

  /// So many at once show what is going on…
  static let burst = 10
  /// …and from then on it is enough to know that it does: 1,440 a day, some 300 KB.
  static let interval = Duration.seconds(60)
  /// Of events that a bucket may be ahead of its time by.
  private static let slack = interval * (burst - 1)
  /// Reasons times callers; more are only of callers that a reload took away.
  static let maximumBuckets = 4_096

  private struct Bucket {
    /// When it has its whole burst again.
    var isFullAt: MonotonicTime
    var suppressed = 0
  }

  private var buckets: [Key: Bucket] = [:]

  var bucketCount: Int { buckets.count }

  /// How many like it had none since the last event; `nil`: this one has none, either.
  mutating func admit(_ key: Key, at now: MonotonicTime) -> Int? {
    if buckets[key] == nil, !makeRoom(at: now) { return nil }
    let bucket = buckets[key] ?? Bucket(isFullAt: now)
    let start = max(bucket.isFullAt, now)
    guard now.duration(to: start) <= Self.slack else {
      buckets[key] = Bucket(isFullAt: bucket.isFullAt, suppressed: bucket.suppressed + 1)
      return nil
    }
    buckets[key] = Bucket(isFullAt: start.advanced(by: Self.interval))
    return bucket.suppressed
  }

  /// Forgets those who were quiet for long, where there are too many.
  private mutating func makeRoom(at now: MonotonicTime) -> Bool {
    if buckets.count >= Self.maximumBuckets { buckets = buckets.filter { $0.value.isFullAt > now } }
    return buckets.count < Self.maximumBuckets
  }
}
