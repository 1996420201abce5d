// A SQLite store's bounds and clock.

internal import Glibc
public import TouchstonePolicy
internal import TouchstoneStore

public struct SQLiteStoreOptions: Sendable {
  /// Above it, writes are refused at once: a second's worth on a slow disk, and a caller waits no longer than that.
  public var maximumWaitingWrites = 8_192
  /// In one transaction: bounds how long the first of a batch waits for the last, to about 5 ms.
  public var maximumBatchWrites = 512

  /// The write-ahead log is copied into the database when it holds so many pages of 4 KB: 16 MB, enough that pages
  /// written often are copied seldom.
  public var checkpointFrames = 4_000

  // Records in memory, some 45 MB in all: about 1 KB for a binding, 170 bytes for a device, 600 for a profile with a
  // secret, 120 for an evaluation, 300 for a token.
  public var cachedBindings = 16_384
  public var cachedDevices = 32_768
  public var cachedProfiles = 16_384
  public var cachedEvaluations = 65_536
  public var cachedTokens = 16_384

  /// SQLite's page cache for the writer; the pages that every commit touches stay in it.
  public var writerCacheKilobytes = 16 * 1_024

  /// How many stand-ins of each kind, devices and profiles, are kept.
  public var maximumStandIns = StandInRecords.defaultMaximum

  /// Says when a stand-in was last written, from which its year of life counts. The system's unless told.
  public var clock: @Sendable () -> UnixTime = Self.systemClock

  /// The database may not grow over so many pages of 4 KB: a full disk for tests.
  package var maximumPageCount: Int?
  /// A virtual file system registered with SQLite: a failing disk for tests.
  package var virtualFileSystem: String?

  public init() {}

  private static let systemClock: @Sendable () -> UnixTime = {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UnixTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
  }
}
