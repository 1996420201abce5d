import Dispatch
import DispatchPool
import Synchronization
import TestSupport
import Testing

@Suite struct ConnectionPoolTests {
  private let one = PoolConfiguration(
    minimumConnections: 1, maximumConnections: 1, backoff: BackoffConfiguration(initialDelay: .milliseconds(1)))

  @Test func aFreeStreamIsLeasedBeforeTheCallReturns() async throws {
    let peer = FakePeer(capacity: 2)
    let pool = peer.pool(one)
    try await pool.lease().get().release()
    let answer = Mutex<Lease<FakeConnection>?>(nil)
    pool.lease { result in answer.withLock { $0 = try? result.get() } }
    let lease = answer.withLock { $0 }
    let connection = await peer.nextConnection()
    #expect(lease?.connection === connection)
    lease?.release()
  }

  @Test func aReturnedLeaseGoesToWhoWaits() async throws {
    let pool = FakePeer(capacity: 1).pool(one)
    let first = try await pool.lease().get()
    async let second = pool.lease()
    try await eventually { pool.statistics.waiting > 0 }
    first.release()
    try await second.get().release()
    #expect(pool.statistics.leased == 0)
  }

  @Test func aWaitEndsAtItsDeadline() async throws {
    let pool = FakePeer(capacity: 1).pool(one)
    let lease = try await pool.lease().get()
    let late = await pool.lease(deadline: .now() + .milliseconds(5))
    #expect(late.failure == .timedOut(lastFailure: nil))
    lease.release()
  }

  @Test func cancelAnswersBeforeItReturns() async throws {
    let pool = FakePeer(capacity: 1).pool(one)
    let lease = try await pool.lease().get()
    let answer = Mutex<PoolError?>(nil)
    let request = pool.lease { result in answer.withLock { $0 = result.failure } }
    request.cancel()
    let error = answer.withLock { $0 }
    #expect(error == .cancelled)
    lease.release()
  }

  @Test func theMinimumIsOpenedBeforeItIsNeeded() async {
    let peer = FakePeer(capacity: 1)
    let pool = peer.pool(PoolConfiguration(minimumConnections: 3, maximumConnections: 3))
    pool.start()
    for _ in 0..<3 { _ = await peer.nextConnection() }
    #expect(pool.statistics.serving == 3)
  }

  @Test func aLostConnectionIsReplaced() async throws {
    let peer = FakePeer(capacity: 1)
    let pool = peer.pool(one)
    let lease = try await pool.lease().get()
    let lost = await peer.nextConnection()
    lost.close()
    lease.release()
    let next = try await pool.lease(waitForReady: true).get()
    #expect(next.connection !== lost)
    next.release()
  }

  @Test func whoDoesNotWaitHearsWhyThereIsNoConnection() async {
    let peer = FakePeer()
    let pool = peer.pool()
    async let answer = pool.lease()
    await peer.nextConnection().report(.closed(reason: "connection refused"))
    #expect(await answer.failure == .unreachable(lastFailure: "connection refused"))
  }

  @Test func drainWaitsForTheLastLease() async throws {
    let peer = FakePeer(capacity: 1)
    let pool = peer.pool(one)
    let lease = try await pool.lease().get()
    async let drained: Void = pool.drained()
    try await eventually { pool.statistics.goingAway > 0 }
    #expect(await pool.lease().failure == .draining)
    #expect(!lease.connection.hasClosed)
    lease.release()
    await drained
    #expect(lease.connection.hasClosed)
  }

  @Test func drainEndsAtItsDeadline() async throws {
    let pool = FakePeer(capacity: 1).pool(one)
    let lease = try await pool.lease().get()
    await pool.drained(deadline: .now() + .milliseconds(5))
    lease.release()
  }

  @Test func aDroppedPoolClosesItsConnections() async throws {
    let peer = FakePeer(capacity: 1)
    weak var pool: ConnectionPool<FakeConnection>?
    do {
      let dropped = peer.pool(one)
      try await dropped.lease().get().release()
      pool = dropped
    }
    #expect(pool == nil)
    let connection = await peer.nextConnection()
    try await eventually { connection.hasClosed }
  }

  /// Many threads lease and release while connections are lost under them.
  @Test func holdsUnderParallelUse() async {
    let peer = FakePeer(capacity: 3)
    var configuration = one
    configuration.minimumConnections = 2
    configuration.maximumConnections = 4
    configuration.maximumWaiting = 10_000
    let pool = peer.pool(configuration)
    let requests = 8 * 500
    let answers = Atomic(0)
    let connections = Mutex<[FakeConnection]>([])
    let losses = Task {
      for await connection in peer.connections {
        let number = connections.withLock { all in
          all.append(connection)
          return all.count
        }
        // The peer hangs up on the first few, leases or not.
        if number <= 20 { connection.close() }
      }
    }
    await withCheckedContinuation { continuation in
      for _ in 0..<8 {
        DispatchQueue.global().async {
          for _ in 0..<requests / 8 {
            pool.lease(waitForReady: true) { result in
              DispatchQueue.global().async {
                use(result)
                let answered = answers.add(1, ordering: .relaxed).newValue
                if answered == requests { continuation.resume() }
              }
            }
          }
        }
      }
    }
    losses.cancel()
    #expect(answers.load(ordering: .relaxed) == requests)
    #expect(pool.statistics.leased == 0)
    #expect(pool.statistics.waiting == 0)
    for connection in connections.withLock({ $0 }) { #expect(connection.mostUsers <= 3) }
    await pool.drained()
    #expect(pool.statistics.serving == 0)
  }
}

@Sendable private func use(_ result: Result<Lease<FakeConnection>, PoolError>) {
  guard case .success(let lease) = result else {
    Issue.record("a patient request was refused: \(result)")
    return
  }
  lease.connection.beginUse()
  lease.connection.endUse()
  lease.release()
}

/// A lease that is returned twice, or never, is a bug of the caller.
@Suite struct LeaseMisuseTests {
  #if DEBUG
    @Test func trapsInDebug() async {
      await #expect(processExitsWith: .failure) {
        let lease = try await FakePeer(capacity: 1).pool().lease().get()
        lease.release()
        lease.release()
      }
      await #expect(processExitsWith: .failure) {
        let pool = FakePeer(capacity: 1).pool()
        try await pool.lease().get().release()
        pool.lease { _ in }
      }
    }
  #else
    @Test func leavesTheCountRightInRelease() async throws {
      let pool = FakePeer(capacity: 2).pool()
      let lease = try await pool.lease().get()
      lease.release()
      lease.release()
      pool.lease { _ in }
      #expect(pool.statistics.leased == 0)
    }
  #endif
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
