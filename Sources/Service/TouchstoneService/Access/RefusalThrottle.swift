// Bounds the refusals that become events: an attacker can cause any number of them, and must neither fill the disk nor
// keep the writer busy. Pure.

internal import DispatchRPC

/// For each caller and reason, admits a few refusals at once, then one per interval, and counts the rest.
struct RefusalThrottle {
  /// Refusals with the same key are counted together. Every part comes from the configuration, so a peer cannot invent
  /// keys.
  struct Key: Hashable {
    /// `nil`: the caller was not identified. Names are ASCII, so they are equal if their bytes are.
    var caller: Caller?
    var refusal: AccessRefusal
  }

  /// Enough to show what is happening.
  static let burst = 10
  /// After the burst, one event per interval shows that it goes on: 1,440 a day, some 300 KB.
  static let interval = Duration.seconds(60)
  /// Reasons times callers. Only callers that a reload removed can add more.
  static let maximumBuckets = 4_096

  private var buckets: [Key: EventBucket] = [:]

  var bucketCount: Int { buckets.count }

  /// Returns the number of similar refusals without an event since the previous event; `nil` if this one has no event,
  /// either.
  mutating func admit(_ key: Key, at now: MonotonicTime) -> Int? {
    if buckets[key] == nil, !makeRoom(at: now) { return nil }
    return buckets[key, default: EventBucket(isFullAt: now)].admit(at: now, burst: Self.burst, interval: Self.interval)
  }

  /// Removes keys without recent refusals if there are too many.
  private mutating func makeRoom(at now: MonotonicTime) -> Bool {
    if buckets.count >= Self.maximumBuckets { buckets = buckets.filter { $0.value.isFullAt > now } }
    return buckets.count < Self.maximumBuckets
  }
}
