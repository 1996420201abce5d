// Properties of the ladder that no row of Tests/DecisionTables can express (R13, R14, R15).

import Testing
import TouchstonePolicy

@Suite struct SecretRulesTests {
  private static let rules = SecretRules(ladder: .standard)

  @Test("R13: a lock ends to the microsecond")
  func lockEnd() {
    var safe = Safe()
    safe.fail(times: 5)
    safe.now = safe.now + .seconds(60) + .microseconds(-1)
    #expect(safe.state == .locked(retryAfter: .microseconds(1)))
    safe.now = safe.now + .microseconds(1)
    #expect(safe.state == .open)
    #expect(safe.rules.attemptsLeft(with: safe.standing, at: safe.now) == 1)
  }

  @Test("R13: attempts left: up to the first rung, then one at a time")
  func attemptsLeft() {
    let rules = SecretRules(
      ladder: Ladder(rungs: [
        .init(failures: 2, effect: .lock(.seconds(10))), .init(failures: 4, effect: .lock(.seconds(20))),
      ]))
    for (failures, left) in [(0, 2), (1, 1), (2, 1), (9, 1)] as [(UInt32, UInt32)] {
      #expect(rules.attemptsLeft(with: SecretStanding(isSet: true, failures: failures), at: .noon) == left)
    }
  }

  @Test("R13: what is no ladder")
  func violations() {
    func violation(_ rungs: (UInt32, Ladder.Effect)...) -> String? {
      Ladder.violation(in: rungs.map { Ladder.Rung(failures: $0.0, effect: $0.1) })
    }
    let minute = Ladder.Effect.lock(.seconds(60))
    #expect(Ladder.violation(in: Ladder.standard.rungs) == nil)
    #expect(violation((1, .disable)) == nil)
    #expect(violation((1, minute), (100, .disable)) == nil)
    #expect(violation() == "has no rung")
    #expect(violation((0, minute)) == "has failures that do not rise from rung to rung")
    #expect(violation((5, minute), (5, .disable)) == "has failures that do not rise from rung to rung")
    #expect(violation((5, minute), (4, .disable)) == "has failures that do not rise from rung to rung")
    #expect(violation((101, .disable)) == "allows more than 100 failures")
    #expect(violation((5, .disable), (6, minute)) == "has a rung after the one that disables")
    #expect(violation((5, .lock(.zero))) == "has a lock of zero time, or of over 366 days")
    #expect(violation((5, .lock(.seconds(-1)))) == "has a lock of zero time, or of over 366 days")
    #expect(violation((5, .lock(.seconds(366 * 86_400 + 1)))) == "has a lock of zero time, or of over 366 days")
  }

  @Test("R14: a verdict about a secret that was erased meanwhile proves nothing")
  func erasedMeanwhile() {
    var safe = Safe()
    let reservation = safe.reserve()
    var erased = safe.standing
    erased.isSet = false
    #expect(SecretRules.settle(erased, reservation, isRight: true).failures == 1)
  }

  @Test("R14: verdicts that come twice, or without an admission, do not go below zero")
  func noUnderflow() {
    let standing = SecretStanding(isSet: true, failures: 2)
    let settled = SecretRules.settle(standing, .init(generation: 0, failures: 2), isRight: false)
    #expect(settled == standing)
  }

  @Test("R15: a clock set back shortens no lock, not even one that has run out")
  func clockSetBack() {
    var safe = Safe()
    safe.fail(times: 5)
    safe.now = safe.now + .seconds(-3_600)
    #expect(safe.state == .locked(retryAfter: .seconds(3_660)))
    safe.now = .noon + .seconds(60)
    #expect(safe.state == .open)
    // A failure under a more patient ladder sets no new lock; the old one is remembered.
    var other = Safe(ladder: Ladder(rungs: [.init(failures: 1, effect: .lock(.seconds(60)))]))
    other.fail(times: 1)
    other.waitOutLock()
    guard case .verify(_, let counted) = Self.rules.admit(.passcode, other.standing, at: other.now) else {
      Issue.record("not admitted")
      return
    }
    #expect(counted.failures == 2)
    #expect(Self.rules.state(of: counted, at: .noon) == .locked(retryAfter: .seconds(60)))
  }
}

/// One secret, its clock, and what is stored of it.
private struct Safe {
  var standing = SecretStanding(isSet: true)
  var now = UnixTime.noon
  let rules: SecretRules

  init(ladder: Ladder = .standard) {
    rules = SecretRules(ladder: ladder)
  }

  var state: SecretRules.State { rules.state(of: standing, at: now) }

  mutating func admit() -> SecretRules.Admission {
    let admission = rules.admit(.passcode, standing, at: now)
    if case .verify(_, let counted) = admission { standing = counted }
    return admission
  }

  mutating func reserve() -> SecretAdmission.Reservation {
    guard case .verify(let reservation, _) = admit() else { preconditionFailure("not admitted") }
    return reservation
  }

  mutating func settle(_ reservation: SecretAdmission.Reservation, isRight: Bool) {
    standing = SecretRules.settle(standing, reservation, isRight: isRight)
  }

  mutating func waitOutLock() {
    if case .locked(let retryAfter) = state { now = now + retryAfter }
  }

  /// One after the other, each as soon as the lock has run out.
  mutating func fail(times: UInt32) {
    for _ in 0..<times {
      waitOutLock()
      settle(reserve(), isRight: false)
    }
  }
}
