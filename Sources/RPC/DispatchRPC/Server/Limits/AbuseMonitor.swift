/// Token buckets: how many frames at once, and how many a second after that. Honest clients send some frames in answer
/// to ours: ours earn a client more tokens for these, so that a flood stands out however busy a connection is.
public struct AbuseLimits: Hashable, Sendable {
  public struct Bucket: Hashable, Sendable {
    public var burst: Int
    public var perSecond: Int

    public init(burst: Int, perSecond: Int) {
      self.burst = burst
      self.perSecond = perSecond
    }
  }

  /// RST_STREAM from the client, whatever became of the stream (rapid reset, CVE-2023-44487). Clients reset a stream
  /// for each call they cancel or time out: all of a connection's four times over, or twice all that it has in a
  /// second. Each call that its handler answered earns one more.
  public var resets = Bucket(burst: 500, perSecond: 200)
  /// SETTINGS, PRIORITY, GOAWAY and acknowledgements of PINGs (CVE-2019-9512, -9515). A client that adapts its windows
  /// sends a few SETTINGS a second. Its PINGs have limits of their own: `RPCServerConfiguration.pingEnforcement`.
  public var controlFrames = Bucket(burst: 200, perSecond: 10)
  /// Frames of types that RFC 9113 does not have and wants to be ignored: a client may try each of the 246 once, as
  /// grpc's own tests do.
  public var unknownFrames = Bucket(burst: 256, perSecond: 10)
  /// WINDOW_UPDATE. C-core sends one or two for every call that it begins and every frame of an answer: each HEADERS,
  /// the client's or ours, and each DATA of ours earns four.
  public var windowUpdates = Bucket(burst: 200, perSecond: 20)
  /// DATA frames without data that end no stream (CVE-2019-9518).
  public var emptyData = Bucket(burst: 32, perSecond: 4)
  /// Streams beyond those allowed: all calls that a client had ready before it learned how many are, once; later the
  /// few that it counted as ended and we did not.
  public var refusedStreams = Bucket(burst: 128, perSecond: 10)
  /// Frames that break the protocol in one stream only and make us reset it (made-you-reset, CVE-2025-8671), HEADERS
  /// for streams that are closed, header lists above the limit, and streams that we reset because they stalled.
  public var invalidFrames = Bucket(burst: 32, perSecond: 1)
  /// DATA frames of a few bytes because the client gives us no more window. Each one of a KiB or more earns one.
  public var tinyWindows = Bucket(burst: 200, perSecond: 10)

  public init() {}
}

/// Counts the frames of one connection that cost the server more than the client. A connection over a limit is ended
/// with GOAWAY ENHANCE_YOUR_CALM. Pure; time is an argument.
struct AbuseMonitor {
  enum Event {
    case reset
    case controlFrame
    case unknownFrame
    case windowUpdate
    case emptyData
    case refusedStream
    case invalidFrame
    case tinyWindow
  }

  enum Verdict: Equatable {
    case tolerated
    case abusive
  }

  /// Two for the stream and two for the connection, as the most generous clients do.
  private static let windowUpdatesPerFrame: UInt64 = 4

  private var resets: TokenBucket
  private var controlFrames: TokenBucket
  private var unknownFrames: TokenBucket
  private var windowUpdates: TokenBucket
  private var emptyData: TokenBucket
  private var refusedStreams: TokenBucket
  private var invalidFrames: TokenBucket
  private var tinyWindows: TokenBucket

  init(limits: AbuseLimits, now: MonotonicTime) {
    resets = TokenBucket(limits.resets, now: now)
    controlFrames = TokenBucket(limits.controlFrames, now: now)
    unknownFrames = TokenBucket(limits.unknownFrames, now: now)
    windowUpdates = TokenBucket(limits.windowUpdates, now: now)
    emptyData = TokenBucket(limits.emptyData, now: now)
    refusedStreams = TokenBucket(limits.refusedStreams, now: now)
    invalidFrames = TokenBucket(limits.invalidFrames, now: now)
    tinyWindows = TokenBucket(limits.tinyWindows, now: now)
  }

  mutating func record(_ event: Event, at now: MonotonicTime) -> Verdict {
    let isWithinLimit =
      switch event {
      case .reset: resets.take(at: now)
      case .controlFrame: controlFrames.take(at: now)
      case .unknownFrame: unknownFrames.take(at: now)
      case .windowUpdate: windowUpdates.take(at: now)
      case .emptyData: emptyData.take(at: now)
      case .refusedStream: refusedStreams.take(at: now)
      case .invalidFrame: invalidFrames.take(at: now)
      case .tinyWindow: tinyWindows.take(at: now)
      }
    return isWithinLimit ? .tolerated : .abusive
  }

  /// HEADERS came.
  @inline(__always)
  mutating func headersReceived() {
    windowUpdates.earn(Self.windowUpdatesPerFrame)
  }

  /// HEADERS or DATA went out.
  @inline(__always)
  mutating func frameSent() {
    windowUpdates.earn(Self.windowUpdatesPerFrame)
  }

  /// A handler has answered.
  @inline(__always)
  mutating func callAnswered() {
    resets.earn(1)
  }

  /// DATA of a decent size went out.
  @inline(__always)
  mutating func largeFrameSent() {
    tinyWindows.earn(1)
  }
}

extension AbuseMonitor.Event {
  /// The event that a frame's header shows by itself; `nil` if it shows none, or for PINGs.
  init?(_ header: FrameScanner.Header) {
    switch HTTP2FrameType(rawValue: header.type) {
    case .data where header.length == 0 && header.flags & HTTP2Flags.endStream == 0: self = .emptyData
    case .windowUpdate: self = .windowUpdate
    case .ping where header.flags & HTTP2Flags.acknowledgement == 0: return nil
    case .data, .headers, .resetStream, .continuation: return nil
    case let type where type.isKnown: self = .controlFrame
    default: self = .unknownFrame
    }
  }
}
