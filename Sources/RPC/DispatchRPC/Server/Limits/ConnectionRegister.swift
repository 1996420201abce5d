// The places of a server's connections, shared by all its event loops.

import Synchronization

/// `ConnectionSlots` behind a lock.
package final class ConnectionRegister: Sendable {
  private let slots: Mutex<ConnectionSlots>
  private let evict = Mutex<@Sendable (ConnectionSlots.Eviction) -> Void>({ _ in })

  package init(limit: Int, strangersPerAddress: Int) {
    slots = Mutex(ConnectionSlots(limit: limit, strangersPerAddress: strangersPerAddress))
  }

  convenience init(_ configuration: RPCServerConfiguration) {
    self.init(limit: configuration.maxConnections, strangersPerAddress: configuration.strangersPerAddress)
  }

  func arrived(from address: SocketAddress, keeper: Int) -> ConnectionSlots.OnArrival {
    slots.withLock { $0.arrived(from: address.isUnix ? nil : address, keeper: keeper) }
  }

  var count: Int { slots.withLock { $0.count } }

  func makeRoom() -> ConnectionSlots.Eviction? { slots.withLock { $0.makeRoom() } }

  package func holds(_ id: ConnectionSlots.ID) -> Bool { slots.withLock { $0.holds(id) } }

  /// A handler has a request of it from now on, or no more.
  package func setRunning(_ id: ConnectionSlots.ID, _ isRunning: Bool) {
    slots.withLock { $0.setRunning(id, isRunning) }
  }

  /// False: it has no place of its caller's, and this is to be called again at the next call.
  func callAdmitted(_ id: ConnectionSlots.ID, of owner: ConnectionSlots.Owner) -> Bool {
    switch slots.withLock({ $0.callAdmitted(id, of: owner) }) {
    case .keep: return true
    case .keepClosing(let eviction):
      evict.withLock { $0 }(eviction)
      return true
    case .share: return false
    }
  }

  /// - Parameter body: closes a connection whose place another one has now. From any thread.
  func onEviction(_ body: @escaping @Sendable (ConnectionSlots.Eviction) -> Void) {
    evict.withLock { $0 = body }
  }

  package func closed(_ id: ConnectionSlots.ID) {
    slots.withLock { $0.closed(id) }
  }
}
