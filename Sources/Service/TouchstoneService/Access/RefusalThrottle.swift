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

/// A token bucket for events, and how many had to be left out.
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
