import DispatchPool
import Synchronization

/// Makes connections that do what the test tells them.
final class FakePeer: Sendable {
  /// In the order they were told to connect.
  let connections: AsyncStream<FakeConnection>
  private let arrivals: AsyncStream<FakeConnection>.Continuation
  /// Connections of this capacity connect by themselves; `nil`: the test reports for them.
  private let capacity: Int?

  init(capacity: Int? = nil) {
    self.capacity = capacity
    (connections, arrivals) = AsyncStream.makeStream()
  }

  func pool(_ configuration: PoolConfiguration = PoolConfiguration()) -> ConnectionPool<FakeConnection> {
    ConnectionPool(configuration: configuration) { [capacity, arrivals] _, report in
      FakeConnection(capacity: capacity, arrivals: arrivals, report: report)
    }
  }

  func nextConnection() async -> FakeConnection {
    for await connection in connections { return connection }
    preconditionFailure("the stream of connections never ends")
  }
}

final class FakeConnection: PooledConnection {
  let report: @Sendable (PoolConnectionEvent) -> Void
  private let capacity: Int?
  private let arrivals: AsyncStream<FakeConnection>.Continuation
  private let isClosed = Atomic(false)
  private let users = Atomic(0)
  private let mostUsersSeen = Atomic(0)

  init(
    capacity: Int?, arrivals: AsyncStream<FakeConnection>.Continuation,
    report: @escaping @Sendable (PoolConnectionEvent) -> Void
  ) {
    self.capacity = capacity
    self.arrivals = arrivals
    self.report = report
  }

  func connect() {
    if let capacity { report(.connected(capacity: capacity)) }
    arrivals.yield(self)
  }

  /// By the pool, or by the peer.
  func close() {
    if !isClosed.exchange(true, ordering: .relaxed) { report(.closed(reason: "closed")) }
  }

  var hasClosed: Bool { isClosed.load(ordering: .relaxed) }

  /// How many used it at once, at most.
  var mostUsers: Int { mostUsersSeen.load(ordering: .relaxed) }

  func beginUse() {
    let now = users.add(1, ordering: .relaxed).newValue
    mostUsersSeen.max(now, ordering: .relaxed)
  }

  func endUse() {
    users.subtract(1, ordering: .relaxed)
  }
}

extension ConnectionPool {
  /// The answer to a request, awaited.
  func lease(deadline: MonotonicTime? = nil, waitForReady: Bool = false) async -> Result<
    Lease<Connection>, PoolError
  > {
    await withCheckedContinuation { continuation in
      lease(deadline: deadline, waitForReady: waitForReady) { continuation.resume(returning: $0) }
    }
  }

  func drained(deadline: MonotonicTime? = nil) async {
    await withCheckedContinuation { continuation in
      drain(deadline: deadline) { continuation.resume() }
    }
  }
}
