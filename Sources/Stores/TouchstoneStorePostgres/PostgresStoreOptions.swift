// A PostgreSQL store's bounds and clock.

internal import DispatchPool
public import EventLoops
public import TouchstonePolicy
public import TouchstoneStore

public struct PostgresStoreOptions: Sendable {
  /// Connections for short reads: a read that waits for the disk does not delay the others.
  public var readConnections = 4
  /// Connections for commits: while one waits for the server's fsync, the next one sends.
  public var writeConnections = 4
  /// Connections for commits that wait for rows which other transactions hold, made when they are needed.
  public var waitConnections = 4
  /// Connections for work that takes long or several round trips: lists, erasures, sweeping. Sealing has one of its
  /// own.
  public var listConnections = 3
  /// Reads under way on one connection, so that the next one is there when one is done.
  public var readDepth = 16
  /// Commits under way on one connection. They share an fsync, and the first waits for the last, about 10 ms.
  public var commitDepth = 64
  /// More calls are refused at once. It is a second's work on a slow disk, and callers wait no longer than that.
  public var maximumWaiting = 8_192

  /// The time for a read or a commit, with all retries.
  public var callTimeout: Duration = .seconds(4)
  /// The time for a list, an erasure or a sweep.
  public var listTimeout: Duration = .seconds(30)
  /// The time to connect to a host, which is tried again later.
  public var connectTimeout: Duration = .seconds(2)

  /// How long a busy service collects events to seal them together.
  public var sealInterval: Duration = .milliseconds(20)
  /// How long events are collected while nobody watches the log in this process.
  public var quietSealInterval: Duration = .milliseconds(250)
  /// How long other processes' events may take to reach watches.
  public var newsInterval: Duration = .milliseconds(200)

  /// How long committed events may be unsealed. Sealing takes milliseconds, and no transaction may lock the log's end
  /// for longer than this (`listTimeout`).
  public var sealingPatience: Duration = .seconds(30)
  /// Called with the reason if events are unsealed for longer, or at once if one cannot be read; again each minute.
  public var sealingStopped: @Sendable (_ reason: String) -> Void = { _ in }

  /// The tolerated difference from the server's clock. A commit's mark lives five minutes by its process's clock, and
  /// is swept by the server's. With less than half of that difference no process queries a mark that is gone.
  public var maximumClockDifference: Duration = .seconds(120)

  /// By default the system's.
  public var clock: @Sendable () -> UnixTime = systemTime

  /// Called if an erasure finds an event that is not as it was written. The log also has it, as `log.broken`.
  public var brokenEventFound: @Sendable (EventChainVerifier.Fault) -> Void = { _ in }

  /// Called once, if a server that has timelines does not let the role read them: a replaced primary is not found then.
  public var timelinesHidden: @Sendable (_ reason: String) -> Void = { _ in }

  public var observer = StoreObserver()

  /// The event loops whose threads the connections use, in turn. A call from a connection's own event loop is sent and
  /// answered without another thread. If there is none, the store makes one.
  public var eventLoops: [EventLoop] = []

  public init() {}

  /// Half of a call's time: if the server or the network is gone, the other half is for finding out the outcome.
  var answerTimeout: Duration { callTimeout / 2 }

  /// Few enough that one statement also reads all of them from a slow disk in its time.
  var readBatches: BatchLimits {
    BatchLimits(underWayWhileOneIsSlow: readConnections, itemsInBatch: 32, waiting: maximumWaiting)
  }

  var commitBatches: BatchLimits {
    BatchLimits(underWayWhileOneIsSlow: writeConnections, itemsInBatch: 128, waiting: maximumWaiting)
  }

  /// Reconnects within half a second of a server's return, without a busy loop.
  var backoff: BackoffConfiguration {
    BackoffConfiguration(
      initialDelay: .milliseconds(100), multiplier: 1.6, jitter: 0.2, maximumDelay: .milliseconds(400),
      connectTimeout: connectTimeout)
  }
}
