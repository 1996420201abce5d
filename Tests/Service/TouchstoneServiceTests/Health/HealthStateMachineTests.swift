import Testing

@testable import TouchstoneService

struct HealthStateMachineTests {
  private var health = HealthStateMachine()

  @Test mutating func oneFailureAsksAndStopsNothing() {
    #expect(health.isServing)
    #expect(health.storeFailed() == .probe(number: 1))
    #expect(health.isServing)
    #expect(health.probed(isAvailable: true) == .nothing)
    #expect(health.isServing)
  }

  @Test mutating func aProbeThatFailsStopsAndIsRepeatedUntilOneSucceeds() {
    _ = health.storeFailed()
    for _ in 0..<3 {
      #expect(health.probed(isAvailable: false) == .probeLater)
      #expect(!health.isServing)
      _ = health.probeIsDue()
    }
    #expect(health.probed(isAvailable: true) == .nothing)
    #expect(health.isServing)
  }

  @Test mutating func thereIsOneProbeAtATime() {
    _ = health.storeFailed()
    #expect(health.storeFailed() == .nothing)
    _ = health.probed(isAvailable: false)
    #expect(health.storeFailed() == .nothing)
    _ = health.probeIsDue()
    #expect(health.storeFailed() == .nothing)
    _ = health.probed(isAvailable: true)
    guard case .probe = health.storeFailed() else {
      Issue.record("a failure after the recovery asks again")
      return
    }
  }

  @Test mutating func aProbeWithoutAnswerIsAFailedOneUntilItHasOne() {
    guard case .probe(let number) = health.storeFailed() else { return }
    health.probeIsLate(number: number)
    #expect(!health.isServing)
    #expect(health.probed(isAvailable: true) == .nothing)
    #expect(health.isServing)
  }

  @Test mutating func theTimerOfAnAnsweredProbeSaysNothing() {
    guard case .probe(let first) = health.storeFailed() else { return }
    _ = health.probed(isAvailable: true)
    health.probeIsLate(number: first)
    #expect(health.isServing)
    _ = health.storeFailed()
    health.probeIsLate(number: first)
    #expect(health.isServing)
  }

  @Test mutating func aClockByWhichAllIsVoidStopsUntilItIsUsable() {
    health.clockChecked(isUsable: false)
    #expect(!health.isServing)
    // No result of the store makes up for it.
    _ = health.storeFailed()
    _ = health.probed(isAvailable: true)
    #expect(!health.isServing)
    health.clockChecked(isUsable: true)
    #expect(health.isServing)
  }

  @Test mutating func drainingIsForGood() {
    _ = health.storeFailed()
    health.drain()
    #expect(!health.isServing)
    _ = health.probed(isAvailable: true)
    #expect(!health.isServing)
  }
}
