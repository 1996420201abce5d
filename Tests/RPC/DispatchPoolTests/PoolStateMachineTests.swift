import Testing

@testable import DispatchPool

// One event after another, each compared with the whole action it must answer with.

private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
private let second = Duration.seconds(1)

/// The nth connection that is opened while none has closed.
private func connection(_ number: Int) -> ConnectionID {
  ConnectionID(slot: number, number: UInt64(number))
}

private func request(_ number: UInt64) -> RequestID {
  RequestID(number: number)
}

private func granted(_ id: RequestID, on connection: ConnectionID) -> PoolAction.Answer {
  .init(request: id, result: .success(connection))
}

private func failed(_ id: RequestID, _ error: PoolError) -> PoolAction.Answer {
  .init(request: id, result: .failure(error))
}

extension PoolStateMachine {
  /// Running, with these connections connected at `start`.
  fileprivate init(serving capacities: [Int], maximum: Int? = nil, waiting: Int = 16) {
    self.init(
      configuration: PoolConfiguration(
        minimumConnections: capacities.count, maximumConnections: maximum ?? capacities.count, maximumWaiting: waiting))
    _ = started(now: start)
    for (number, capacity) in capacities.enumerated() {
      _ = connected(connection(number), capacity: capacity, now: start)
    }
  }

  fileprivate mutating func ask(
    deadline: MonotonicTime? = nil, waitForReady: Bool = false, now: MonotonicTime = start
  ) -> PoolAction {
    leaseRequested(deadline: deadline, waitForReady: waitForReady, now: now)
  }

  fileprivate mutating func lose(_ id: ConnectionID, _ reason: String = "reset", now: MonotonicTime) -> PoolAction {
    closed(id, reason: reason, now: now, jitter: 0)
  }
}

@Suite struct LeasingTests {
  @Test func leasesOnTheLeastLoaded() {
    var pool = PoolStateMachine(serving: [10, 10, 10])
    for number in [0, 1, 2, 0, 1, 2] {
      #expect(pool.ask() == PoolAction(request: .grant(connection(number))))
    }
    _ = pool.leaseReturned(to: connection(1), now: start)
    #expect(pool.ask() == PoolAction(request: .grant(connection(1))))
  }

  @Test func aFullConnectionIsPassedOver() {
    var pool = PoolStateMachine(serving: [1, 3])
    for number in [0, 1, 1, 1] {
      #expect(pool.ask() == PoolAction(request: .grant(connection(number))))
    }
  }

  @Test func waitsWhereAllAreFull() {
    var pool = PoolStateMachine(serving: [1])
    _ = pool.ask()
    #expect(pool.ask() == PoolAction(request: .enqueue(request(0))))
    #expect(pool.ask() == PoolAction(request: .enqueue(request(1))))
    let freed = pool.leaseReturned(to: connection(0), now: start)
    #expect(freed == PoolAction(answers: [granted(request(0), on: connection(0))]))
  }

  @Test func theQueueIsBounded() {
    var pool = PoolStateMachine(serving: [1], waiting: 2)
    for _ in 0..<3 { _ = pool.ask() }
    #expect(pool.ask() == PoolAction(request: .refuse(.tooManyWaiting)))
  }

  @Test func cancelAnswersOnce() {
    var pool = PoolStateMachine(serving: [1])
    for _ in 0..<2 { _ = pool.ask() }
    #expect(pool.requestCancelled(request(0)) == PoolAction(answers: [failed(request(0), .cancelled)]))
    #expect(pool.requestCancelled(request(0)) == PoolAction())
    #expect(pool.leaseReturned(to: connection(0), now: start) == PoolAction())
  }

  @Test func moreCapacityServesThoseWhoWait() {
    var pool = PoolStateMachine(serving: [1])
    for _ in 0..<4 { _ = pool.ask() }
    let action = pool.capacityChanged(connection(0), capacity: 3, now: start)
    #expect(action.answers == [granted(request(0), on: connection(0)), granted(request(1), on: connection(0))])
  }

  @Test func lessCapacityTakesNoLeaseAway() {
    var pool = PoolStateMachine(serving: [2])
    for _ in 0..<3 { _ = pool.ask() }
    #expect(pool.capacityChanged(connection(0), capacity: 1, now: start) == PoolAction())
    #expect(pool.leaseReturned(to: connection(0), now: start) == PoolAction())
    let second = pool.leaseReturned(to: connection(0), now: start)
    #expect(second.answers == [granted(request(0), on: connection(0))])
  }

  @Test func aLeaseOnALostConnectionComesBackUnnoticed() {
    var pool = PoolStateMachine(serving: [1, 1])
    _ = pool.ask()
    _ = pool.lose(connection(0), now: start + second)
    #expect(pool.leaseReturned(to: connection(0), now: start + second) == PoolAction())
    #expect(pool.statistics.leased == 0)
  }
}

@Suite struct DeadlineTests {
  @Test func theTimerIsSetForTheEarliest() {
    var pool = PoolStateMachine(serving: [1])
    _ = pool.timerFired(now: start, jitter: 0)
    _ = pool.ask()
    let later = pool.ask(deadline: start + second * 5)
    #expect(later == PoolAction(request: .enqueue(request(0)), timer: .set(start + second * 5)))
    let earlier = pool.ask(deadline: start + second * 2)
    #expect(earlier == PoolAction(request: .enqueue(request(1)), timer: .set(start + second * 2)))
    #expect(pool.ask(deadline: start + second * 9) == PoolAction(request: .enqueue(request(2))))
  }

  @Test func whoIsLateHearsSoAndTheTimerGoesOn() {
    var pool = PoolStateMachine(serving: [1])
    for deadline in [nil, 5, 2] as [Int?] { _ = pool.ask(deadline: deadline.map { start + second * $0 }) }
    let action = pool.timerFired(now: start + second * 2, jitter: 0)
    #expect(
      action
        == PoolAction(
          answers: [failed(request(1), .timedOut(lastFailure: nil))], timer: .set(start + second * 5)))
  }

  @Test func deadlinesCloseTogetherCostOneLook() {
    var pool = PoolStateMachine(serving: [1])
    for microseconds in [0, 1000, 1001] {
      _ = pool.ask(deadline: start + second + .microseconds(microseconds))
    }
    let action = pool.timerFired(now: start + second + .microseconds(1000), jitter: 0)
    #expect(action.timer == .set(start + second + .microseconds(2000)))
  }

  @Test func aDeadlineInThePastIsRefusedUnlessAStreamIsFree() {
    var pool = PoolStateMachine(serving: [1])
    #expect(pool.ask(deadline: start, now: start) == PoolAction(request: .grant(connection(0))))
    #expect(pool.ask(deadline: start, now: start) == PoolAction(request: .refuse(.timedOut(lastFailure: nil))))
  }

  @Test func aStreamIsNotWastedOnWhoIsLate() {
    var pool = PoolStateMachine(serving: [1])
    for deadline in [nil, 2, 5] as [Int?] { _ = pool.ask(deadline: deadline.map { start + second * $0 }) }
    let action = pool.leaseReturned(to: connection(0), now: start + second * 3)
    #expect(
      action.answers == [failed(request(0), .timedOut(lastFailure: nil)), granted(request(1), on: connection(0))])
  }
}

@Suite struct GrowthTests {
  @Test func nothingIsOpenedBeforeItIsNeeded() {
    var pool = PoolStateMachine(configuration: PoolConfiguration(minimumConnections: 2, maximumConnections: 4))
    #expect(pool.statistics == PoolStatistics())
    let action = pool.ask()
    #expect(action.open == [connection(0), connection(1)])
    #expect(action.timer == .set(start + second * 20))
  }

  @Test func opensForEachThatWaitsUpToTheMaximum() {
    var pool = PoolStateMachine(configuration: PoolConfiguration(minimumConnections: 0, maximumConnections: 2))
    #expect(pool.ask().open == [connection(0)])
    #expect(pool.ask().open == [connection(1)])
    #expect(pool.ask().open == [])
  }

  @Test func aBurstOpensWhatItIsTakenToNeed() {
    var pool = PoolStateMachine(
      configuration: PoolConfiguration(minimumConnections: 0, maximumConnections: 8, assumedCapacity: 100))
    let opened = (0..<250).map { _ in pool.ask().open.count }
    #expect(opened.reduce(0, +) == 3)
    #expect(opened[0] == 1 && opened[100] == 1 && opened[200] == 1)
  }

  @Test func growsWhenStreamsRunOut() {
    var pool = PoolStateMachine(serving: [1], maximum: 2)
    #expect(pool.ask().open == [])
    #expect(pool.ask().open == [connection(1)])
    let action = pool.connected(connection(1), capacity: 1, now: start)
    #expect(action.answers == [granted(request(0), on: connection(1))])
  }

  @Test func whatIsIdleBeyondTheMinimumCloses() {
    var pool = PoolStateMachine(serving: [1], maximum: 2)
    for _ in 0..<2 { _ = pool.ask() }
    _ = pool.connected(connection(1), capacity: 1, now: start)
    _ = pool.leaseReturned(to: connection(1), now: start + second)
    #expect(pool.timerFired(now: start + second * 60, jitter: 0).close == [])
    #expect(pool.timerFired(now: start + second * 61, jitter: 0).close == [connection(1)])
    _ = pool.leaseReturned(to: connection(0), now: start + second * 61)
    #expect(pool.timerFired(now: start + second * 999, jitter: 0) == PoolAction())
  }

  @Test func theIdleClockStartsWhenThereIsOneTooMany() {
    var pool = PoolStateMachine(serving: [1], maximum: 2)
    _ = pool.ask()
    _ = pool.ask(now: start + second * 500)
    _ = pool.leaseReturned(to: connection(0), now: start + second * 500)
    _ = pool.leaseReturned(to: connection(0), now: start + second * 500)
    let grown = pool.connected(connection(1), capacity: 1, now: start + second * 501)
    #expect(grown.close == [])
    #expect(pool.timerFired(now: start + second * 560, jitter: 0).close == [])
    #expect(pool.timerFired(now: start + second * 561, jitter: 0).close == [connection(0)])
  }
}

@Suite struct LossTests {
  @Test func aLostConnectionIsReplacedAtOnce() {
    var pool = PoolStateMachine(serving: [1])
    let action = pool.lose(connection(0), now: start + second)
    #expect(action.open == [ConnectionID(slot: 0, number: 1)])
  }

  @Test func whoHangsUpAtOnceIsMetWithBackOff() {
    var pool = PoolStateMachine(serving: [1])
    _ = pool.timerFired(now: start, jitter: 0)
    let lost = pool.lose(connection(0), now: start + .milliseconds(999))
    #expect(lost == PoolAction(timer: .set(start + .milliseconds(1999))))
    let action = pool.timerFired(now: start + .milliseconds(1999), jitter: 0)
    #expect(action.open == [ConnectionID(slot: 0, number: 1)])
  }

  @Test func failsFastWhileBackingOff() {
    var pool = PoolStateMachine(configuration: PoolConfiguration())
    _ = pool.ask()
    let lost = pool.lose(connection(0), "refused", now: start)
    #expect(
      lost
        == PoolAction(
          answers: [failed(request(0), .unreachable(lastFailure: "refused"))], timer: .set(start + second)))
    #expect(pool.ask() == PoolAction(request: .refuse(.unreachable(lastFailure: "refused"))))
  }

  @Test func whoWaitsForReadyWaits() {
    var pool = PoolStateMachine(configuration: PoolConfiguration())
    _ = pool.ask(waitForReady: true)
    #expect(pool.lose(connection(0), now: start).answers == [])
    #expect(pool.ask(waitForReady: true) == PoolAction(request: .enqueue(request(1))))
    let again = ConnectionID(slot: 0, number: 1)
    #expect(pool.timerFired(now: start + second, jitter: 0).open == [again])
    let action = pool.connected(again, capacity: 2, now: start + second)
    #expect(action.answers == [granted(request(0), on: again), granted(request(1), on: again)])
  }

  @Test func aTimeoutTellsWhyNothingIsConnected() {
    var pool = PoolStateMachine(configuration: PoolConfiguration())
    _ = pool.ask(deadline: start + second, waitForReady: true)
    _ = pool.lose(connection(0), "refused", now: start)
    let action = pool.timerFired(now: start + second, jitter: 0)
    #expect(action.answers == [failed(request(0), .timedOut(lastFailure: "refused"))])
  }

  @Test func afterAFailureOneProbesForAll() {
    var pool = PoolStateMachine(configuration: PoolConfiguration(minimumConnections: 3, maximumConnections: 3))
    #expect(pool.started(now: start).open.count == 3)
    for number in 0..<3 { #expect(pool.lose(connection(number), now: start).open == []) }
    let probe = ConnectionID(slot: 0, number: 3)
    #expect(pool.timerFired(now: start + second, jitter: 0).open == [probe])
    #expect(pool.connected(probe, capacity: 1, now: start + second).open.count == 2)
  }

  @Test func anAttemptThatHangsIsGivenUp() {
    var pool = PoolStateMachine(configuration: PoolConfiguration())
    _ = pool.ask()
    let action = pool.timerFired(now: start + second * 20, jitter: 0)
    #expect(action.close == [connection(0)])
    #expect(action.answers == [failed(request(0), .unreachable(lastFailure: "not connected after 20.0 seconds"))])
    #expect(action.timer == .set(start + second * 21))
    #expect(pool.connected(connection(0), capacity: 1, now: start + second * 20) == PoolAction())
  }

  @Test func goingAwayKeepsItsLeasesAndTakesNone() {
    var pool = PoolStateMachine(serving: [10])
    _ = pool.ask()
    let away = pool.goingAway(connection(0), now: start + second, jitter: 0)
    let replacement = connection(1)
    #expect(away.close == [] && away.open == [replacement])
    #expect(pool.ask().request == .enqueue(request(0)))
    _ = pool.connected(replacement, capacity: 10, now: start + second)
    #expect(pool.leaseReturned(to: connection(0), now: start + second) == PoolAction(close: [connection(0)]))
    #expect(pool.lose(connection(0), now: start + second) == PoolAction())
  }

  @Test func goingAwayWithoutLeasesCloses() {
    var pool = PoolStateMachine(serving: [10])
    #expect(pool.goingAway(connection(0), now: start + second, jitter: 0).close == [connection(0)])
    #expect(pool.goingAway(connection(0), now: start + second, jitter: 0) == PoolAction())
  }

  @Test func replacementsOfWhatIsGoingAwayAreBounded() {
    var pool = PoolStateMachine(serving: [1])
    _ = pool.ask()
    _ = pool.goingAway(connection(0), now: start + second, jitter: 0)
    _ = pool.connected(connection(1), capacity: 1, now: start + second)
    _ = pool.ask()
    #expect(pool.goingAway(connection(1), now: start + second * 9, jitter: 0).open == [])
    _ = pool.leaseReturned(to: connection(0), now: start + second * 9)
    #expect(pool.lose(connection(0), now: start + second * 9).open == [ConnectionID(slot: 0, number: 2)])
  }
}

@Suite struct DrainTests {
  @Test func anUnusedPoolIsDrainedAtOnce() {
    var pool = PoolStateMachine(configuration: PoolConfiguration())
    #expect(pool.drainRequested(deadline: nil, now: start) == PoolAction(completesDrain: true))
    #expect(pool.ask() == PoolAction(request: .refuse(.draining)))
  }

  @Test func completesWhenTheLastConnectionHasClosed() {
    var pool = PoolStateMachine(serving: [1, 1])
    for _ in 0..<3 { _ = pool.ask() }
    _ = pool.leaseReturned(to: connection(1), now: start)
    _ = pool.leaseReturned(to: connection(1), now: start)
    let action = pool.drainRequested(deadline: nil, now: start)
    #expect(action == PoolAction(close: [connection(1)]))
    #expect(pool.lose(connection(1), now: start) == PoolAction())
    #expect(pool.leaseReturned(to: connection(0), now: start) == PoolAction(close: [connection(0)]))
    #expect(pool.lose(connection(0), now: start) == PoolAction(completesDrain: true))
  }

  @Test func whoWaitsIsSentAway() {
    var pool = PoolStateMachine(serving: [1])
    for _ in 0..<3 { _ = pool.ask() }
    let action = pool.drainRequested(deadline: nil, now: start)
    #expect(action.answers == [failed(request(0), .draining), failed(request(1), .draining)])
  }

  @Test func theDeadlineClosesTheRestAndWaitsNoLonger() {
    var pool = PoolStateMachine(serving: [1])
    _ = pool.ask()
    let drain = pool.drainRequested(deadline: start + second, now: start)
    #expect(drain == PoolAction(timer: .set(start + second)))
    let action = pool.timerFired(now: start + second, jitter: 0)
    #expect(action == PoolAction(close: [connection(0)], completesDrain: true))
    #expect(pool.leaseReturned(to: connection(0), now: start + second) == PoolAction())
    #expect(pool.lose(connection(0), now: start + second) == PoolAction())
  }

  @Test func anAttemptToConnectIsGivenUp() {
    var pool = PoolStateMachine(configuration: PoolConfiguration())
    _ = pool.started(now: start)
    #expect(pool.drainRequested(deadline: nil, now: start).close == [connection(0)])
    #expect(pool.lose(connection(0), now: start) == PoolAction(completesDrain: true))
  }
}
