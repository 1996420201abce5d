import Synchronization

/// The places of connections. A member is the number of the event loop that keeps the connection.
package typealias ConnectionSlots = EvictingPlaces<Int, SocketAddress, String>

extension ConnectionSlots {
  /// The part of all places that callers leave to connections without an admitted call: 625 of 10,000. One that comes
  /// has to make its first call before as many others come.
  private static var partForArrivals: Int { 16 }

  init(limit: Int, strangersPerAddress: Int) {
    self.init(
      Limits(all: limit, callers: limit - limit / Self.partForArrivals, strangersPerGroup: strangersPerAddress))
  }
}

/// The places of a server's connections, shared by all its event loops.
package final class ConnectionRegister: Sendable {
  private let slots: Mutex<ConnectionSlots>
  private let evict = Mutex<@Sendable (ConnectionSlots.Eviction) -> Void>({ _ in })

  package init(limit: Int, strangersPerAddress: Int) {
    slots = Mutex(ConnectionSlots(limit: limit, strangersPerAddress: strangersPerAddress))
  }

  convenience init(_ configuration: RPCServerConfiguration) {
    self.init(limit: configuration.maxConnections, strangersPerAddress: configuration.strangersPerAddress)
  }

  /// - Parameter keeper: the event loop that is to close it.
  func arrived(from address: SocketAddress, keeper: Int) -> ConnectionSlots.OnArrival {
    slots.withLock { $0.arrived(keeper, in: address.isUnix ? nil : address.subscriber) }
  }

  var count: Int { slots.withLock { $0.count } }

  func makeRoom() -> ConnectionSlots.Eviction? { slots.withLock { $0.makeRoom() } }

  package func holds(_ id: ConnectionSlots.ID) -> Bool { slots.withLock { $0.holds(id) } }

  /// A handler has a request of it from now on, or no more.
  package func setRunning(_ id: ConnectionSlots.ID, _ isRunning: Bool) {
    slots.withLock { $0.setRunning(id, isRunning) }
  }

  /// False: it has no place of its caller's, and this is to be called again at the next call.
  package func callAdmitted(_ id: ConnectionSlots.ID, of owner: String) -> Bool {
    switch slots.withLock({ $0.callAdmitted(id, of: owner) }) {
    case .keep: return true
    case .keepEnding(let eviction):
      evict.withLock { $0 }(eviction)
      return true
    case .share: return false
    }
  }

  /// - Parameter body: closes a connection whose place another one has now. From any thread.
  package func onEviction(_ body: @escaping @Sendable (ConnectionSlots.Eviction) -> Void) {
    evict.withLock { $0 = body }
  }

  package func closed(_ id: ConnectionSlots.ID) {
    slots.withLock { $0.left(id) }
  }
}
