package import TouchstonePolicy

/// The events of a store's work, for metrics, and its connections. Called on the store's own queues, for each
/// transaction: it must take nanoseconds.
public struct StoreObserver: Sendable {
  /// A transaction became durable.
  ///
  /// - Parameters:
  ///   - changeSets: the change sets in it; 0 for one of upkeep.
  ///   - time: what its durability took.
  public var committed: @Sendable (_ changeSets: Int, _ time: Duration) -> Void

  public init(committed: @escaping @Sendable (_ changeSets: Int, _ time: Duration) -> Void = { _, _ in }) {
    self.committed = committed
  }
}

/// The connections for calls of one kind, at one moment.
package struct StoreLane: Sendable, Hashable {
  /// One of a fixed few.
  package var name: String
  package var connecting = 0
  package var serving = 0
  package var leaving = 0
  /// Transactions under way, places for more, and transactions that wait for a place.
  package var inUse = 0
  package var idle = 0
  package var waiting = 0

  package init(name: String) {
    self.name = name
  }
}

/// A machine with a connection to a store's server.
package struct StoreClient: Sendable, Hashable {
  /// As the server sees it; a proxy's, if the connections go through one.
  package var address: String
  package var connections: Int
  /// The beginning of its oldest connection.
  package var since: UnixTime

  package init(address: String, connections: Int, since: UnixTime) {
    (self.address, self.connections, self.since) = (address, connections, since)
  }
}
