import Testing

@testable import DispatchPool

// Several endpoints: which one takes the next lease, and what happens when they come, go and fail.

private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
private let second = Duration.seconds(1)
private let ids = (0..<4).map(EndpointID.init)

extension PoolStateMachine {
  /// Running, with one connection to each of so many endpoints, all connected where `capacity` says so.
  fileprivate init(
    _ balancing: PoolBalancing, endpoints: Int, capacity: Int? = 10,
    _ change: (inout PoolConfiguration) -> Void = { _ in }
  ) {
    var configuration = PoolConfiguration(minimumConnections: 1, maximumConnections: 2)
    configuration.balancing = balancing
    change(&configuration)
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

  /// A lease that was granted there fails.
  fileprivate mutating func fail(on endpoint: EndpointID, times: Int = 1, now: MonotonicTime = start) -> PoolAction {
    var action = PoolAction()
    for _ in 0..<times {
      while lease() != endpoint {}
      action = leaseReturned(to: connection(to: endpoint)!, outcome: .failed, now: now)
    }
    return action
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
    #expect(pool.endpointStatistics.map(\.endpoint) == [ids[1], ids[2], ids[0]])
    #expect(pool.leaseReturned(to: gone, now: start).close == [gone])
    _ = pool.closed(gone, reason: "closed", now: start, jitter: 0)
    #expect(pool.endpointStatistics.map(\.endpoint) == [ids[1], ids[2]])
  }

  @Test func aLossAsksAgain() {
    var pool = unresolved()
    _ = pool.started(now: start)
    let connection = pool.endpointsReplaced([ids[0]], now: start).open[0]
    _ = pool.connected(connection, capacity: 1, now: start)
    #expect(pool.goingAway(connection, now: start + second * 9, jitter: 0).asksForEndpoints)
  }
}

@Suite struct OutlierTests {
  private func pool(_ endpoints: Int, _ outliers: OutlierConfiguration) -> PoolStateMachine {
    PoolStateMachine(.roundRobin, endpoints: endpoints, capacity: 1000) { $0.outliers = outliers }
  }

  private func ejected(_ pool: PoolStateMachine) -> [EndpointID] {
    pool.endpointStatistics.filter(\.isEjected).map(\.endpoint)
  }

  @Test func failuresInARowEject() {
    var pool = pool(3, OutlierConfiguration(consecutiveFailures: 3))
    _ = pool.fail(on: ids[1], times: 2)
    while pool.lease() != ids[1] {}
    _ = pool.leaseReturned(to: pool.connection(to: ids[1])!, outcome: .succeeded, now: start)
    _ = pool.fail(on: ids[1], times: 2)
    #expect(ejected(pool) == [])
    _ = pool.fail(on: ids[1])
    #expect(ejected(pool) == [ids[1]])
    #expect((0..<4).allSatisfy { _ in pool.lease() != ids[1] })
  }

  @Test func anEjectionEndsAndTheNextOneIsLonger() {
    var pool = pool(2, OutlierConfiguration(consecutiveFailures: 1, failurePercentage: nil))
    _ = pool.fail(on: ids[0])
    _ = pool.timerFired(now: start + second * 29, jitter: 0)
    #expect(ejected(pool) == [ids[0]])
    _ = pool.timerFired(now: start + second * 30, jitter: 0)
    #expect(ejected(pool) == [])
    _ = pool.fail(on: ids[0], now: start + second * 30)
    _ = pool.timerFired(now: start + second * 89, jitter: 0)
    #expect(ejected(pool) == [ids[0]])
    _ = pool.timerFired(now: start + second * 90, jitter: 0)
    #expect(ejected(pool) == [])
  }

  @Test func aShareOfFailuresEjectsAtTheIntervalsEnd() {
    var pool = pool(2, OutlierConfiguration(consecutiveFailures: nil, failurePercentage: 50, minimumLeases: 4))
    for outcome in [.failed, .succeeded, .failed, .succeeded] as [LeaseOutcome] {
      while pool.lease() != ids[0] {}
      _ = pool.leaseReturned(to: pool.connection(to: ids[0])!, outcome: outcome, now: start)
    }
    #expect(ejected(pool) == [])
    _ = pool.timerFired(now: start + second * 10, jitter: 0)
    #expect(ejected(pool) == [ids[0]])
  }

  @Test func neverMoreThanTheShareThatMay() {
    var pool = pool(3, OutlierConfiguration(consecutiveFailures: 1, maximumEjectedPercentage: 50))
    for endpoint in ids[..<3] { _ = pool.fail(on: endpoint) }
    #expect(ejected(pool) == [ids[0]])
  }

  @Test func ofFewerEndpointsFewerStayEjected() {
    var configuration = PoolConfiguration(minimumConnections: 1, maximumConnections: 2)
    configuration.outliers = OutlierConfiguration(consecutiveFailures: 1, maximumEjectedPercentage: 50)
    var pool = PoolStateMachine(configuration: configuration, endpoints: nil)
    _ = pool.started(now: start)
    for connection in pool.endpointsReplaced(ids, now: start).open {
      _ = pool.connected(connection, capacity: 1000, now: start)
    }
    _ = pool.fail(on: ids[1])
    _ = pool.fail(on: ids[0], now: start + second)
    #expect(ejected(pool) == [ids[0], ids[1]])
    _ = pool.endpointsReplaced(Array(ids[..<3]), now: start + second)
    #expect(ejected(pool) == [ids[0]])
  }

  @Test func aBadOneIsBetterThanNone() {
    var pool = pool(2, OutlierConfiguration(consecutiveFailures: 1))
    _ = pool.fail(on: ids[0])
    let lost = pool.closed(pool.connection(to: ids[1])!, reason: "reset", now: start, jitter: 0)
    #expect(lost.open == [])
    #expect(ejected(pool) == [])
    #expect(pool.lease() == ids[0])
  }

  @Test func pickFirstEjectsNothing() {
    var pool = PoolStateMachine(.pickFirst, endpoints: 2) { $0.outliers = OutlierConfiguration(consecutiveFailures: 1) }
    _ = pool.fail(on: ids[0], times: 9)
    #expect(ejected(pool) == [])
  }
}
