// A PostgreSQL store's bounds and clock.

internal import DispatchPool
internal import Glibc
public import TouchstonePolicy
internal import TouchstoneStore

public struct PostgresStoreOptions: Sendable {
  /// Short reads: some of them wait for a page from the disk, and the others do not wait for them.
  public var readConnections = 4
  /// While one waits for the server's fsync, the next one's commits are on their way.
  public var writeConnections = 4
  /// Lists, sealing, erasures, sweeping: what takes long or several round trips.
  public var listConnections = 4
  /// Reads on their way on one connection, so that the next one is there when one is done.
  public var readDepth = 16
  /// Commits on one connection: those that wait share an fsync, and the first of them waits for the last, about 10 ms.
  public var commitDepth = 64
  /// Above it, calls are refused at once: a second's worth on a slow disk, and a caller waits no longer than that.
  public var maximumWaiting = 8_192

  /// A read or a commit is answered by then, with all of its retries.
  public var callTimeout: Duration = .seconds(4)
  /// The same of a list, an erasure or a sweep.
  public var listTimeout: Duration = .seconds(30)
  /// A host that is not connected by then is tried again later.
  public var connectTimeout: Duration = .seconds(2)

  /// How long events of a busy service wait to be sealed together.
  public var sealInterval: Duration = .milliseconds(20)
  /// How long news of other processes' events may take to those who watch.
  public var newsInterval: Duration = .milliseconds(200)

  /// From the server's clock. A commit's mark lives five minutes by the clock of its process, and is swept by the server's:
  /// with less than half of it nobody asks after a mark that is gone.
  public var maximumClockDifference: Duration = .seconds(120)

  /// How many stand-ins of each kind, devices and profiles, are kept; each process may exceed it by a sixteenth.
  public var maximumStandIns = StandInRecords.defaultMaximum

  /// Says when a stand-in was last written, from which its year of life counts. The system's unless told.
  public var clock: @Sendable () -> UnixTime = Self.systemClock

  public init() {}

  /// Half of a call's time: where the server or the way to it is gone, the other half is for asking what became of it.
  var answerTimeout: Duration { callTimeout / 2 }

  /// A lost server is back within half a second of its return, and not met by a busy loop.
  var backoff: BackoffConfiguration {
    BackoffConfiguration(
      initialDelay: .milliseconds(100), multiplier: 1.6, jitter: 0.2, maximumDelay: .milliseconds(400),
      connectTimeout: connectTimeout)
  }

  private static let systemClock: @Sendable () -> UnixTime = {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UnixTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
  }
}
