import Testing

@testable import DispatchPool

// Several endpoints: which one takes the next lease, and what happens when they come, go and fail.

private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
private let second = Duration.seconds(1)
private let ids = (0..<4).map(EndpointID.init)

extension PoolStateMachine {
  /// Running, with one connection to each of so many endpoints, all connected where `capacity` says so.
  fileprivate init(_ balancing: PoolBalancing, endpoints: Int, capacity: Int? = 10) {
    var configuration = PoolConfiguration(minimumConnections: 1, maximumConnections: 2)
    configuration.balancing = balancing
    self.init(configuration: configuration, endpoints: Array(ids[..<endpoints]))
    let opened = started(now: start).open
    guard let capacity else { return }
    for connection in opened { _ = connected(connection, capacity: capacity, now: start) }
  }

  fileprivate mutating func ask(now: MonotonicTime = start) -> PoolAction {
    leaseRequested(deadline: nil, waitForReady: false, now: now)
  }

  /// The endpoint of a lease that must be granted.
  fileprivate mutating func lease() -> EndpointID? {
    if case .grant(let id) = ask().request { id.endpoint } else { nil }
  }

  fileprivate func connection(to endpoint: EndpointID) -> ConnectionID? {
    group.members.first { $0.id.endpoint == endpoint }?.id
  }
}

@Suite struct BalancingTests {
  @Test func roundRobinTakesTurns() {
    var pool = PoolStateMachine(.roundRobin, endpoints: 3)
    #expect((0..<6).map { _ in pool.lease() } == [ids[0], ids[1], ids[2], ids[0], ids[1], ids[2]])
  }

  @Test func roundRobinPassesOverWhatIsFull() {
    var pool = PoolStateMachine(.roundRobin, endpoints: 2, capacity: 2)
    _ = pool.capacityChanged(pool.connection(to: ids[0])!, capacity: 1, now: start)
    #expect((0..<3).map { _ in pool.lease() } == [ids[0], ids[1], ids[1]])
  }

  @Test func leastRequestTakesTheLeastLoaded() {
    var pool = PoolStateMachine(.leastRequest, endpoints: 3)
    #expect((0..<3).map { _ in pool.lease() } == [ids[0], ids[1], ids[2]])
    _ = pool.leaseReturned(to: pool.connection(to: ids[1])!, now: start)
    #expect(pool.lease() == ids[1])
  }

  @Test func growsWhereThereAreFewest() {
    var pool = PoolStateMachine(.roundRobin, endpoints: 2, capacity: 1)
    for _ in 0..<2 { _ = pool.lease() }
    #expect(pool.ask().open.map(\.endpoint) == [ids[0]])
    #expect(pool.ask().open.map(\.endpoint) == [ids[1]])
    #expect(pool.ask().open == [])
  }
}

@Suite struct PickFirstTests {
  @Test func triesOneAfterTheOtherAndKeepsTheFirstThatConnects() {
    var pool = PoolStateMachine(.pickFirst, endpoints: 3, capacity: nil)
    let second = pool.closed(pool.connection(to: ids[0])!, reason: "refused", now: start, jitter: 0)
    #expect(second.open.map(\.endpoint) == [ids[1]])
    _ = pool.connected(second.open[0], capacity: 10, now: start)
    #expect((0..<3).map { _ in pool.lease() } == [ids[1], ids[1], ids[1]])
  }

  @Test func whoIsSlowIsTriedBesideTheNextAndGivenUpForIt() {
    var pool = PoolStateMachine(.pickFirst, endpoints: 2, capacity: nil)
    let first = pool.connection(to: ids[0])!
    let next = pool.timerFired(now: start + .milliseconds(250), jitter: 0)
    #expect(next.open.map(\.endpoint) == [ids[1]] && next.close == [])
    let connected = pool.connected(next.open[0], capacity: 1, now: start + .milliseconds(300))
    #expect(connected.close == [first])
  }

  @Test func fallsOverFromTheTop() {
    var pool = PoolStateMachine(.pickFirst, endpoints: 3, capacity: nil)
    let second = pool.closed(pool.connection(to: ids[0])!, reason: "refused", now: start, jitter: 0).open[0]
    _ = pool.connected(second, capacity: 10, now: start)
    _ = pool.timerFired(now: start + Duration.seconds(5), jitter: 0)
    let lost = pool.closed(second, reason: "reset", now: start + Duration.seconds(5), jitter: 0)
    #expect(lost.open.map(\.endpoint) == [ids[0]])
  }

  @Test func unreachableOnceAllHaveFailed() {
    var pool = PoolStateMachine(.pickFirst, endpoints: 2, capacity: nil)
    _ = pool.ask()
    let next = pool.closed(pool.connection(to: ids[0])!, reason: "refused", now: start, jitter: 0)
    #expect(next.answers == [])
    let last = pool.closed(next.open[0], reason: "no route", now: start, jitter: 0)
    #expect(last.answers.map(\.result) == [.failure(.unreachable(lastFailure: "no route"))])
  }
}

@Suite struct ResolutionTests {
  private func unresolved() -> PoolStateMachine {
    PoolStateMachine(configuration: PoolConfiguration(minimumConnections: 1, maximumConnections: 2), endpoints: nil)
  }

  @Test func theFirstRequestAsksAndWaits() {
    var pool = unresolved()
    let asked = pool.ask()
    #expect(asked.asksForEndpoints && asked.open == [])
    let found = pool.endpointsReplaced([ids[0], ids[1]], now: start)
    #expect(found.open.map(\.endpoint) == [ids[0], ids[1]])
    #expect(pool.connected(found.open[1], capacity: 1, now: start).answers.count == 1)
  }

  @Test func aNameThatIsNotFoundFailsWhoWouldNotWait() {
    var pool = unresolved()
    _ = pool.ask()
    let patient = pool.leaseRequested(deadline: nil, waitForReady: true, now: start)
    let failed = pool.endpointsNotFound(reason: "no such host")
    #expect(failed.answers.map(\.result) == [.failure(.unreachable(lastFailure: "no such host"))])
    #expect(pool.ask().request == .refuse(.unreachable(lastFailure: "no such host")))
    #expect(patient.request == .enqueue(RequestID(number: 1)))
    #expect(pool.endpointsReplaced([ids[0]], now: start).open.count == 1)
  }

  @Test func aFailedResolutionLeavesWhatIsKnown() {
    var pool = unresolved()
    _ = pool.started(now: start)
    let connection = pool.endpointsReplaced([ids[0]], now: start).open[0]
    _ = pool.connected(connection, capacity: 1, now: start)
    #expect(pool.endpointsNotFound(reason: "timeout") == PoolAction())
    #expect(pool.lease() == ids[0])
  }

  @Test func whatIsGoneKeepsItsLeasesAndTakesNoMore() {
    var pool = unresolved()
    _ = pool.started(now: start)
    for connection in pool.endpointsReplaced([ids[0], ids[1]], now: start).open {
      _ = pool.connected(connection, capacity: 10, now: start)
    }
    let gone = pool.connection(to: ids[0])!
    #expect(pool.lease() == ids[0])
    let replaced = pool.endpointsReplaced([ids[1], ids[2]], now: start)
    #expect(replaced.close == [] && replaced.open.map(\.endpoint) == [ids[2]])
    #expect((0..<3).allSatisfy { _ in pool.lease() == ids[1] })
    #expect(pool.group.endpoints.map(\.id) == [ids[1], ids[2], ids[0]])
    #expect(pool.leaseReturned(to: gone, now: start).close == [gone])
    _ = pool.closed(gone, reason: "closed", now: start, jitter: 0)
    #expect(pool.group.endpoints.map(\.id) == [ids[1], ids[2]])
  }

  @Test func aLossAsksAgain() {
    var pool = unresolved()
    _ = pool.started(now: start)
    let connection = pool.endpointsReplaced([ids[0]], now: start).open[0]
    _ = pool.connected(connection, capacity: 1, now: start)
    #expect(pool.goingAway(connection, now: start + second * 9, jitter: 0).asksForEndpoints)
  }
}
