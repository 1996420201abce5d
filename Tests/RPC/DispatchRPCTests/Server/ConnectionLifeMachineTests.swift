// All times of a server's connection in one machine: what is due, in which order, and when the next thing is.

import Testing

@testable import DispatchRPC

@Suite struct ConnectionLifeMachineTests {
  private static var bounds: ConnectionLife.Bounds {
    ConnectionLife.Bounds(
      handshakeTimeout: .seconds(10), lookInterval: .seconds(5), keepaliveInterval: .seconds(1_000),
      keepaliveTimeout: .seconds(20), idleTimeout: .seconds(100), maxAge: .seconds(500), ageGrace: .seconds(50),
      certificateGrace: .seconds(7), drainWarningTime: .seconds(1))
  }

  /// Accepted at 0.
  private static func accepted(_ change: (inout ConnectionLife.Bounds) -> Void = { _ in }) -> ConnectionLife {
    var bounds = bounds
    change(&bounds)
    return ConnectionLife(bounds, acceptedAt: seconds(0), jitter: .none)
  }

  /// As above, and its HTTP/2 has begun.
  private static func serving(_ change: (inout ConnectionLife.Bounds) -> Void = { _ in }) -> ConnectionLife {
    var life = accepted(change)
    life.begin()
    life.settingsReceived()
    return life
  }

  // MARK: Handshake

  @Test func withoutAPrefaceItEnds() {
    var life = Self.accepted()
    #expect(life.next(at: 0) == .wait(until: seconds(10)))
    life.begin()
    #expect(life.next(at: 9) == .wait(until: seconds(10)))
    #expect(life.next(at: 10) == .step(.close(.noPreface)))
  }

  @Test func onceTheSettingsCameItWaitsForItsIdleness() {
    var life = Self.serving()
    #expect(life.next(at: 10) == .wait(until: seconds(100)))
  }

  @Test func itCannotBeAskedToLeaveBeforeItBegan() {
    var life = Self.accepted()
    let step = life.leave(at: seconds(1))
    #expect(step == .close(.goingAway))
  }

  // MARK: Streams

  @Test func whileThereAreStreamsItIsLookedAfter() {
    var life = Self.serving()
    let (first, second) = (life.streamOpened(at: seconds(20)), life.streamOpened(at: seconds(21)))
    #expect(first && !second, "only the first brings the deadline forward")
    #expect(life.next(at: 21) == .wait(until: seconds(25)))
    #expect(life.next(at: 25) == .step(.look))
    #expect(life.next(at: 25) == .wait(until: seconds(30)))
    life.lastStreamClosed(at: seconds(28))
    #expect(life.next(at: 30) == .step(.look))
    #expect(life.next(at: 30) == .wait(until: seconds(128)))
  }

  @Test func aBlockedSocketIsLookedAfterWithoutStreams() {
    var life = Self.serving()
    #expect(life.timePassed(to: seconds(30), isBlocked: true) == .step(.look))
    #expect(life.timePassed(to: seconds(30), isBlocked: true) == .wait(until: seconds(35)))
    #expect(life.next(at: 35) == .step(.look))
    #expect(life.next(at: 35) == .wait(until: seconds(100)))
  }

  // MARK: Idleness, age and keepalive

  @Test func idleItLeavesInTwoSteps() {
    var life = Self.serving { $0.maxAge = nil }
    #expect(life.next(at: 100) == .step(.warn))
    #expect(!life.isRefusing)
    #expect(life.next(at: 100) == .wait(until: seconds(101)))
    let seen = life.warningSeen()
    #expect(seen == .refuseNewStreams)
    #expect(life.isRefusing)
    #expect(life.next(at: 101) == .wait(until: seconds(1_000)))
  }

  @Test func aWarningIsNotWaitedForForLong() {
    var life = Self.serving()
    let step = life.leave(at: seconds(10))
    #expect(step == .warn)
    #expect(life.next(at: 11) == .step(.refuseNewStreams))
    let again = (life.leave(at: seconds(12)), life.warningSeen())
    #expect(again.0 == nil && again.1 == nil, "each is said once")
  }

  @Test func overAgeItLeavesAndAfterTheGraceItEnds() {
    var life = Self.serving { $0.idleTimeout = .seconds(10_000) }
    #expect(life.next(at: 500) == .step(.warn))
    _ = life.warningSeen()
    #expect(life.next(at: 500) == .wait(until: seconds(550)))
    #expect(life.next(at: 550) == .step(.close(.ageGraceOver)))
  }

  @Test func ageEndsOneThatIsLeavingAlready() {
    var life = Self.serving { $0.idleTimeout = .seconds(10_000) }
    _ = life.leave(at: seconds(400))
    _ = life.warningSeen()
    #expect(life.next(at: 500) == .wait(until: seconds(550)))
    #expect(life.next(at: 550) == .step(.close(.ageGraceOver)))
  }

  @Test func aSilentClientIsProbedAndGivenUp() {
    var life = Self.serving {
      $0.idleTimeout = .seconds(10_000)
      $0.maxAge = nil
    }
    life.received(at: seconds(30))
    #expect(life.next(at: 1_000) == .wait(until: seconds(1_030)))
    #expect(life.next(at: 1_030) == .step(.probe))
    #expect(life.next(at: 1_030) == .wait(until: seconds(1_050)))
    #expect(life.next(at: 1_050) == .step(.close(.silent)))
  }

  // MARK: Ends from outside

  @Test(arguments: [[20, 30], [30, 20]])
  func theGraceEndsItAndTheEarliestGraceCounts(_ graces: [UInt64]) {
    var life = Self.serving()
    for end in graces { life.end(at: seconds(end)) }
    #expect(life.next(at: 19) == .wait(until: seconds(20)))
    #expect(life.next(at: 20) == .step(.close(.graceOver)))
  }

  @Test func aShutdownDoesNotProlongTheGraceOfACertificateThatEnded() {
    var life = Self.serving()
    let warning = life.certificateEnded(at: seconds(1))
    #expect(warning == .warn)
    _ = life.warningSeen()
    life.end(at: seconds(2 + 30))
    #expect(life.next(at: 7) == .wait(until: seconds(8)))
    #expect(life.next(at: 8) == .step(.close(.graceOver)))
  }

  @Test func aCertificateIsCheckedWhenItEndsAndEachHour() {
    var life = Self.serving {
      $0.idleTimeout = .seconds(100_000)
      $0.maxAge = nil
      $0.keepaliveInterval = .seconds(100_000)
    }
    let first = life.certificateIsValid(for: .seconds(5_000), at: seconds(0))
    #expect(first == nil)
    #expect(life.next(at: 3_599) == .wait(until: seconds(3_600)))
    #expect(life.next(at: 3_600) == .step(.checkCertificate))
    _ = life.certificateIsValid(for: .seconds(1_400), at: seconds(3_600))
    #expect(life.takesStreams)
    #expect(life.next(at: 5_000) == .step(.checkCertificate))
    let last = life.certificateIsValid(for: .zero, at: seconds(5_000))
    #expect(last == .warn)
    #expect(!life.takesStreams && !life.canCertificateEnd)
    _ = life.warningSeen()
    #expect(life.next(at: 5_000) == .wait(until: seconds(5_007)))
    #expect(life.next(at: 5_007) == .step(.close(.graceOver)))
  }
}

extension ConnectionLife {
  fileprivate mutating func next(at time: UInt64) -> OnTime {
    timePassed(to: seconds(time), isBlocked: false)
  }
}
