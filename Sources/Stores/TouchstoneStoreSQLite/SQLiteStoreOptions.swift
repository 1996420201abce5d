// A SQLite store's bounds and clock.

public import TouchstonePolicy
public import TouchstoneStore

public struct SQLiteStoreOptions: Sendable {
  /// More writes are refused at once. It is a second's work on a slow disk, and callers wait no longer than that.
  public var maximumWaitingWrites = 8_192
  /// The writes of one transaction. It bounds how long the first of a batch waits for the last, to about 5 ms.
  public var maximumBatchWrites = 512

  /// The write-ahead log is copied into the database when it holds this many pages of 1 KB: 4 MB, enough that pages
  /// written often are copied seldom, and written over soon, because extending a file costs each fsync more.
  public var checkpointFrames = 4_000

  // Records in memory, some 40 MB in all: about 1 KB for a binding, 170 bytes for a device, 600 for a profile with a
  // secret, 120 for an evaluation, 300 for a token.
  public var cachedBindings = 16_384
  public var cachedDevices = 32_768
  public var cachedProfiles = 16_384
  public var cachedEvaluations = 16_384
  public var cachedTokens = 16_384

  /// SQLite's page cache for the writer; the pages that every commit touches stay in it.
  public var writerCacheKilobytes = 4 * 1_024

  /// By default the system's.
  public var clock: @Sendable () -> UnixTime = systemTime

  /// Called if an erasure finds an event that is not as it was written. The log also has it, as `log.broken`.
  public var brokenEventFound: @Sendable (EventChainVerifier.Fault) -> Void = { _ in }

  /// Called after the tables were upgraded, with the version that they had and the one that they have now.
  public var upgraded: @Sendable (_ from: String, _ to: String) -> Void = { _, _ in }

  public var observer = StoreObserver()

  /// A thread that has called `commit` may write for the store: after the delay, and no more than milliseconds later,
  /// it runs the work once, and then what that returns, which answers. If it returns false, a queue of the store's
  /// writes.
  public var takesWriting:
    @Sendable (_ delay: Duration, _ work: @escaping @Sendable () -> @Sendable () -> Void) -> Bool = { _, _ in false }

  /// The maximum size of the database in pages of 1 KB: a full disk for tests.
  package var maximumPageCount: Int?
  /// A virtual file system registered with SQLite: a failing disk for tests.
  package var virtualFileSystem: String?

  public init() {}
}
