// The counts of a store's work since it was opened.

public struct StoreStatistics: Sendable, Hashable {
  /// Change sets that became durable.
  public var commits: UInt64 = 0
  /// Transactions, each with one fsync, that they shared.
  public var transactions: UInt64 = 0
  /// Change sets refused because a record had changed.
  public var conflicts: UInt64 = 0
  /// Writes refused because too many were waiting.
  public var overloads: UInt64 = 0
  /// Transactions that failed: disk full, I/O errors.
  public var failedTransactions: UInt64 = 0
  /// Times the write-ahead log was copied into the database as a whole.
  public var checkpoints: UInt64 = 0
  /// Pages in the write-ahead log, as the latest transaction left it.
  public var walFrames: Int = 0

  public init() {}
}
