import Synchronization

/// The right to one stream of a connection, until `release()`.
///
/// If the connection closes first, what runs on it fails and the lease is worth nothing; it is released all the same.
public struct Lease<Connection: PooledConnection>: Sendable {
  private let token: LeaseToken

  init(_ token: LeaseToken) {
    self.token = token
  }

  /// The pool's factory made it, so it is of this type.
  public var connection: Connection {
    unsafeDowncast(token.connection, to: Connection.self)
  }

  /// Call exactly once. A second call is a bug of the caller, and so is dropping the lease without a call: both trap in
  /// debug, and in release they leave the pool's count right.
  public func release() {
    token.release()
  }
}

/// The part of a lease that is the same for every type of connection, so that no call pays for generic metadata.
final class LeaseToken: Sendable {
  let connection: any PooledConnection
  private let id: ConnectionID
  private let core: PoolCore
  private let isReleased = Atomic(false)

  init(connection: any PooledConnection, id: ConnectionID, core: PoolCore) {
    self.connection = connection
    self.id = id
    self.core = core
  }

  func release() {
    let wasReleased = isReleased.exchange(true, ordering: .relaxed)
    assert(!wasReleased, "a lease was released twice")
    if !wasReleased { core.release(id) }
  }

  deinit {
    guard !isReleased.load(ordering: .relaxed) else { return }
    assertionFailure("a lease was dropped without release()")
    core.release(id)
  }
}

/// A request that was made of the pool.
public struct LeaseRequest: Sendable {
  /// `nil`: it was answered at once.
  let id: RequestID?
  let core: PoolCore

  /// If it still waits, it is answered with `PoolError.cancelled`, before this returns. Otherwise nothing happens: it
  /// has its answer, maybe a lease.
  public func cancel() {
    if let id { core.cancel(id) }
  }
}
