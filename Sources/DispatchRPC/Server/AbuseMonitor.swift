// Frames that cost the server more than the client: counted per connection, pure; time is an argument.

/// Token buckets: how many at once, and how many a second after that.
public struct AbuseLimits: Hashable, Sendable {
  public struct Bucket: Hashable, Sendable {
    public var burst: Int
    public var perSecond: Int

    public init(burst: Int, perSecond: Int) {
      self.burst = burst
      self.perSecond = perSecond
    }
  }

  /// RST_STREAM from the client, whatever became of the stream, and streams that it made us reset (rapid reset, CVE-2023-44487; made-you-reset,
  /// CVE-2025-8671). Clients reset a stream for each call they cancel or time out, hence the room.
  public var resets = Bucket(burst: 1_000, perSecond: 50)
  /// PING and SETTINGS (CVE-2019-9512, -9515), their acknowledgements, PRIORITY and GOAWAY. C-core probes bandwidth with several PINGs a
  /// second.
  public var controlFrames = Bucket(burst: 200, perSecond: 10)
  /// WINDOW_UPDATE. C-core sends one or two for every call and every frame of an answer.
  public var windowUpdates = Bucket(burst: 10_000, perSecond: 20_000)
  /// DATA frames without data that end no stream (CVE-2019-9518).
  public var emptyData = Bucket(burst: 32, perSecond: 4)
  /// Frames that break the protocol in one stream only.
  public var invalidFrames = Bucket(burst: 32, perSecond: 1)

  public init() {}
}

/// One connection's count. A connection over a limit is ended with GOAWAY ENHANCE_YOUR_CALM.
struct AbuseMonitor {
  enum Event {
    case reset
    case controlFrame
    case windowUpdate
    case emptyData
    case invalidFrame
  }

  enum Verdict: Equatable {
    case tolerated
    case abusive
  }

  private var resets: TokenBucket
  private var controlFrames: TokenBucket
  private var windowUpdates: TokenBucket
  private var emptyData: TokenBucket
  private var invalidFrames: TokenBucket

  init(limits: AbuseLimits, now: MonotonicTime) {
    resets = TokenBucket(limits.resets, now: now)
    controlFrames = TokenBucket(limits.controlFrames, now: now)
    windowUpdates = TokenBucket(limits.windowUpdates, now: now)
    emptyData = TokenBucket(limits.emptyData, now: now)
    invalidFrames = TokenBucket(limits.invalidFrames, now: now)
  }

  mutating func record(_ event: Event, at now: MonotonicTime) -> Verdict {
    let isWithinLimit =
      switch event {
      case .reset: resets.take(at: now)
      case .controlFrame: controlFrames.take(at: now)
      case .windowUpdate: windowUpdates.take(at: now)
      case .emptyData: emptyData.take(at: now)
      case .invalidFrame: invalidFrames.take(at: now)
      }
    return isWithinLimit ? .tolerated : .abusive
  }
}

private struct TokenBucket {
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
      let earned = (now.nanoseconds - refilledAt) / interval
      refilledAt += earned * interval
      tokens = min(capacity, tokens + min(earned, capacity))
    }
    guard tokens > 0 else { return false }
    tokens -= 1
    return true
  }
}
