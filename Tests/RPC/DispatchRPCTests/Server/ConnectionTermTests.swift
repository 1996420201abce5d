// Age, grace and idleness of a connection (gRFC A9).

import Testing

@testable import DispatchRPC

@Suite struct ConnectionTermTests {
  private static func term(
    maxAge: Duration? = .seconds(100), grace: Duration? = .seconds(10), idle: Duration = .seconds(50),
    jitter: ConnectionTerm.Jitter = .none
  ) -> ConnectionTerm {
    ConnectionTerm(maxAge: maxAge, ageGrace: grace, idleTimeout: idle, acceptedAt: seconds(0), jitter: jitter)
  }

  @Test func withoutAGraceCallsTakeAsLongAsTheyTake() {
    var term = Self.term(grace: nil)
    #expect(term.timerExpired(at: seconds(100), idleSince: nil) == .drain(until: .distantFuture))
    #expect(term.timerExpired(at: seconds(1_000_000), idleSince: nil) == .wait(until: .distantFuture))
  }

  @Test func aBusyOneIsNeverIdleNorOldWithoutALimit() {
    var term = Self.term(maxAge: nil)
    #expect(term.timerExpired(at: seconds(1_000_000), idleSince: nil) == .wait(until: .distantFuture))
  }

  @Test(arguments: [(-0.1, 90), (0.1, 110)] as [(Double, UInt64)])
  func jitterShiftsTheAge(_ part: Double, due: UInt64) {
    var term = Self.term(jitter: .init(age: part, idle: 0))
    #expect(term.timerExpired(at: seconds(due - 1), idleSince: nil) == .wait(until: seconds(due)))
    #expect(term.timerExpired(at: seconds(due), idleSince: nil) == .drain(until: seconds(due + 10)))
  }

  @Test(arguments: [(-0.1, 45), (0.1, 55)] as [(Double, UInt64)])
  func jitterShiftsTheIdleness(_ part: Double, due: UInt64) {
    var term = Self.term(jitter: .init(age: 0, idle: part))
    #expect(term.timerExpired(at: seconds(0), idleSince: seconds(0)) == .wait(until: seconds(due)))
  }

  @Test func jitterIsTenPercentEitherWay() {
    let drawn = (0..<1_000).map { _ in ConnectionTerm.Jitter.random() }
    #expect(drawn.allSatisfy { abs($0.age) <= 0.1 && abs($0.idle) <= 0.1 })
    #expect(drawn.contains { $0.age < -0.05 } && drawn.contains { $0.age > 0.05 })
    #expect(drawn.contains { $0.idle < -0.05 } && drawn.contains { $0.idle > 0.05 })
  }
}
