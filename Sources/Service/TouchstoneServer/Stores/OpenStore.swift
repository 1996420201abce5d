// The store of a running process.

package import TouchstoneStore

/// A store that was opened, and what only some kinds have.
package struct OpenStore: Sendable {
  package typealias ClockDifference = @Sendable (@escaping @Sendable (Result<Duration, StoreError>) -> Void) -> Void
  package typealias Clients = @Sendable (@escaping @Sendable (Result<[StoreClient], StoreError>) -> Void) -> Void

  package let store: any Store
  /// The counts of the store's writes, if this process makes the commits.
  package let statistics: (@Sendable () -> StoreStatistics)?
  /// By how much this machine's clock is ahead of the database's, if that is another clock.
  package let clockDifference: ClockDifference?
  /// The connections, if the store is on a server.
  package let lanes: (@Sendable () -> [StoreLane])?
  /// For how long the log's end has stayed in place while committed events wait to be sealed, if sealing is work of its
  /// own.
  package let unsealedFor: (@Sendable () -> Duration)?
  /// The machines whose processes are connected to the same database, if the store is on a server.
  package let clients: Clients?

  package init(
    _ store: any Store, statistics: (@Sendable () -> StoreStatistics)? = nil, clockDifference: ClockDifference? = nil,
    lanes: (@Sendable () -> [StoreLane])? = nil, unsealedFor: (@Sendable () -> Duration)? = nil,
    clients: Clients? = nil
  ) {
    self.store = store
    self.statistics = statistics
    self.clockDifference = clockDifference
    self.lanes = lanes
    self.unsealedFor = unsealedFor
    self.clients = clients
  }
}
