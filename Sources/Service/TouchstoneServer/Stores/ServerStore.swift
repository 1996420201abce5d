// What only some kinds of stores can tell beside their records.

package import TouchstoneStore

/// A store on a server, which other processes use, too.
package protocol ServerStore: Store {
  /// The connections.
  var lanes: [StoreLane] { get }
  /// For how long the log's end has stayed in place while committed events wait to be sealed.
  var unsealedFor: Duration { get }

  /// By how much this machine's clock is ahead of the database's.
  func clockDifference(completion: @escaping @Sendable (Result<Duration, StoreError>) -> Void)
  /// The bytes that the database takes on the server's disk.
  func databaseSize(completion: @escaping @Sendable (Result<UInt64, StoreError>) -> Void)
  /// The machines whose processes are connected to the same database.
  func clients(completion: @escaping @Sendable (Result<[StoreClient], StoreError>) -> Void)
}

/// A store whose writes this process makes, and counts.
package protocol CountingStore: Store {
  var statistics: StoreStatistics { get }
}
