/// A connection that carries `capacity` leases at a time: 1 for PostgreSQL, SETTINGS_MAX_CONCURRENT_STREAMS for HTTP/2.
///
/// It reports through the closure it was made with, on any thread, and not before `connect()`.
public protocol PooledConnection: AnyObject, Sendable {
  /// Called once, first.
  func connect()
  /// Ends the connection and what runs on it. Leads to `PoolConnectionEvent.closed`, whatever state it is in.
  func close()
}

public enum PoolConnectionEvent: Sendable, Hashable {
  /// Ready, and able to carry this many leases. At most once.
  case connected(capacity: Int)
  case capacityChanged(Int)
  /// Carries on with its leases and takes no new ones (HTTP/2: GOAWAY, RFC 9113 §6.8).
  case goingAway
  /// Exactly once, last. `reason` is for people.
  case closed(reason: String)
}

/// Names one connection for as long as the pool lives.
public struct ConnectionID: Sendable, Hashable, CustomStringConvertible {
  /// Its place in the pool's tables; reused after it has closed.
  let slot: Int
  /// Counts the connections that the pool has opened; never reused.
  let number: UInt64
  public let endpoint: EndpointID

  init(slot: Int, number: UInt64, endpoint: EndpointID = .only) {
    self.slot = slot
    self.number = number
    self.endpoint = endpoint
  }

  public var description: String {
    "connection \(number)"
  }
}
