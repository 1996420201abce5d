// The ladder at work: R13, R14, R15.

import Testing
import TouchstonePolicy

@Suite struct SecretRulesTests {
  private static let rules = SecretRules(ladder: .standard)

  @Test(
    "R13: the standard ladder, wrong by wrong, each when the lock before it has run out",
    arguments: [
      (1, 4, nil), (2, 3, nil), (3, 2, nil), (4, 1, nil), (5, 0, 60), (6, 0, 300), (7, 0, 900), (8, 0, 900),
      (9, 0, 3_600),
    ] as [(UInt32, UInt32, Int64?)])
  func standardLadder(failures: UInt32, left: UInt32, lock: Int64?) {
    var safe = Safe()
    safe.fail(times: failures)
    #expect(safe.rules.attemptsLeft(with: safe.standing, at: safe.now) == left)
    #expect(safe.state == (lock.map { .locked(retryAfter: .seconds($0)) } ?? .open))
    guard let lock else { return }
    // To the microsecond.
    safe.now = safe.now + .seconds(lock) + .microseconds(-1)
    #expect(safe.state == .locked(retryAfter: .microseconds(1)))
    safe.now = safe.now + .microseconds(1)
    #expect(safe.state == .open)
    #expect(safe.rules.attemptsLeft(with: safe.standing, at: safe.now) == 1)
  }

  @Test("R13: the tenth disables, and no time ends that")
  func disabled() {
    var safe = Safe()
    safe.fail(times: 10)
    #expect(safe.state == .disabled)
    safe.now = safe.now + .seconds(1_000_000_000)
    #expect(safe.admit() == .refuse(Denial(code: .authenticationFailed, reason: .passcodeDisabled)))
    #expect(safe.rules.attemptsLeft(with: safe.standing, at: safe.now) == 0)
  }

  @Test("R13: a locked attempt is refused with the time to wait, and not counted")
  func lockedIsNotCounted() {
    var safe = Safe()
    safe.fail(times: 5)
    safe.now = safe.now + .seconds(20)
    for _ in 0..<100 {
      let denial = Denial(code: .authenticationFailed, reason: .passcodeLocked, retryAfter: .seconds(40))
      #expect(safe.admit() == .refuse(denial))
    }
    #expect(safe.standing.failures == 5)
  }

  @Test("R13: each secret names its own lock")
  func reasons() {
    let locked = SecretStanding(table: "5!60")
    let disabled = SecretStanding(table: "10!")
    func reason(_ factor: Factor, _ standing: SecretStanding) -> Denial.Reason? {
      guard case .refuse(let denial) = Self.rules.admit(factor, standing, at: .noon) else { return nil }
      return denial.reason
    }
    #expect(reason(.passcode, locked) == .passcodeLocked && reason(.gesture, locked) == .gestureLocked)
    #expect(reason(.passcode, disabled) == .passcodeDisabled && reason(.gesture, disabled) == .gestureDisabled)
    #expect(reason(.passcode, SecretStanding()) == .factorNotOffered)
  }

  @Test("R13: success in between sets the count to zero")
  func successClears() {
    var safe = Safe()
    for _ in 0..<10 {
      safe.fail(times: 4)
      safe.succeed()
      #expect(safe.standing.failures == 0 && safe.state == .open)
    }
    safe.fail(times: 7)
    safe.waitOutLock()
    safe.succeed()
    #expect(safe.rules.attemptsLeft(with: safe.standing, at: safe.now) == 5)
  }

  @Test("R13: ladders of one's own: gaps lock nothing, and behind the last rung its effect stays")
  func ownLadders() {
    let gap = Ladder(rungs: [
      .init(failures: 2, effect: .lock(.seconds(10))), .init(failures: 4, effect: .lock(.seconds(20))),
    ])
    var safe = Safe(ladder: gap)
    let states: [SecretRules.State] = (1...6).map { _ in
      safe.fail(times: 1)
      return safe.state
    }
    #expect(
      states == [
        .open, .locked(retryAfter: .seconds(10)), .open, .locked(retryAfter: .seconds(20)),
        .locked(retryAfter: .seconds(20)), .locked(retryAfter: .seconds(20)),
      ])
    #expect(safe.rules.attemptsLeft(with: SecretStanding(table: "2"), at: .noon) == 2)
    #expect(safe.rules.attemptsLeft(with: SecretStanding(table: "9"), at: .noon) == 1)
  }

  @Test("R13: a stricter ladder takes the count that a more patient one left open for what it is to it")
  func stricterLadder() {
    let strict = SecretRules(ladder: Ladder(rungs: [.init(failures: 3, effect: .disable)]))
    #expect(strict.state(of: SecretStanding(table: "3"), at: .noon) == .disabled)
    #expect(strict.state(of: SecretStanding(table: "2"), at: .noon) == .open)
    // And a lock set by one holds for all.
    #expect(strict.state(of: SecretStanding(table: "2!60"), at: .noon) == .locked(retryAfter: .seconds(60)))
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
    #expect(violation((5, .disable), (6, minute)) == "has a rung behind the one that disables")
    #expect(violation((5, .lock(.zero))) == "has a lock of no time, or of over 366 days")
    #expect(violation((5, .lock(.seconds(-1)))) == "has a lock of no time, or of over 366 days")
    #expect(violation((5, .lock(.seconds(366 * 86_400 + 1)))) == "has a lock of no time, or of over 366 days")
  }

  // MARK: R14

  @Test("R14: the failure and its lock are there before the verdict: a crash costs an attempt, never gives one")
  func crash() {
    var safe = Safe()
    safe.fail(times: 4)
    _ = safe.admit()
    // The process dies; nothing settles.
    #expect(safe.standing.failures == 5)
    #expect(safe.state == .pending)
    #expect(safe.admit() == .wait)
    safe.now = safe.now + SecretRules.verificationTimeLimit
    #expect(safe.state == .locked(retryAfter: .seconds(50)))
    safe.now = safe.now + .seconds(50)
    #expect(safe.isVerified(safe.admit()))
    #expect(safe.standing.failures == 6)
    #expect(safe.standing.inFlight == 1, "the lost one is no longer waited for")
  }

  @Test("R14: of 200 simultaneous wrong guesses 5 are verified")
  func twoHundredWrong() {
    var safe = Safe()
    var waiting = 200
    var verified = 0
    var reservations: [SecretAdmission.Reservation] = []
    while waiting > 0 {
      switch safe.admit() {
      case .verify(let reservation, _):
        reservations.append(reservation)
        waiting -= 1
      case .wait:
        verified += 1
        safe.settle(reservations.removeFirst(), isRight: false)
      case .refuse:
        waiting -= 1
      }
    }
    #expect(verified == 5 && reservations.isEmpty)
    #expect(safe.standing.failures == 5 && safe.standing.inFlight == 0)
    #expect(safe.state == .locked(retryAfter: .seconds(60)))
  }

  @Test("R14: fifty simultaneous right ones all pass, in whatever order their verdicts come", arguments: [false, true])
  func fiftyRight(lastFirst: Bool) {
    var safe = Safe()
    var waiting = 50
    var passed = 0
    var reservations: [SecretAdmission.Reservation] = []
    while passed < 50 {
      let admission = waiting > 0 ? safe.admit() : .wait
      switch admission {
      case .verify(let reservation, _):
        reservations.append(reservation)
        waiting -= 1
      case .wait:
        passed += 1
        safe.settle(lastFirst ? reservations.removeLast() : reservations.removeFirst(), isRight: true)
      case .refuse(let denial):
        Issue.record("\(denial)")
        return
      }
    }
    #expect(safe.standing.failures == 0 && safe.standing.inFlight == 0 && safe.standing.lock == .none)
  }

  @Test("R14: right is right, also when its admission reached a rung, or disabled, or others were wrong since")
  func rightAtTheLast() {
    for failures in [4, 9] as [UInt32] {
      var safe = Safe()
      safe.fail(times: failures)
      safe.waitOutLock()
      safe.succeed()
      #expect(safe.state == .open && safe.standing.lock == .none && safe.standing.failures == 0)
    }
    var safe = Safe()
    let early = safe.reserve()
    safe.succeed()
    safe.fail(times: 5)
    safe.settle(early, isRight: true)
    #expect(safe.state == .open)
  }

  @Test("R14: a wrong verdict of an earlier generation changes nothing")
  func lateWrong() {
    var safe = Safe()
    let early = safe.reserve()
    safe.succeed()
    _ = safe.reserve()
    let standing = safe.standing
    safe.settle(early, isRight: false)
    #expect(safe.standing == standing)
  }

  @Test("R14: a verdict about a secret that was erased meanwhile proves nothing")
  func erasedMeanwhile() {
    var safe = Safe()
    let reservation = safe.reserve()
    var erased = safe.standing
    erased.isSet = false
    #expect(Self.rules.settle(erased, reservation, isRight: true).failures == 1)
  }

  @Test("R14: verdicts that come twice, or without an admission, do not go below zero")
  func noUnderflow() {
    let standing = SecretStanding(isSet: true, failures: 2)
    let settled = Self.rules.settle(standing, .init(generation: 0, failures: 2), isRight: false)
    #expect(settled == standing)
  }

  // MARK: R15

  @Test("R15: a clock set back shortens no lock, not even one that has run out")
  func clockSetBack() {
    var safe = Safe()
    safe.fail(times: 5)
    safe.now = safe.now + .seconds(-3_600)
    #expect(safe.state == .locked(retryAfter: .seconds(3_660)))
    safe.now = .noon + .seconds(60)
    #expect(safe.state == .open)
    // With gaps between the rungs, the next failure sets no new lock; the old one is remembered.
    let gap = Ladder(rungs: [.init(failures: 1, effect: .lock(.seconds(60))), .init(failures: 9, effect: .disable)])
    var other = Safe(ladder: gap)
    other.fail(times: 2)
    #expect(other.state == .open)
    other.now = .noon
    #expect(other.state == .locked(retryAfter: .seconds(60)))
  }

  @Test("R14, R15: a clock set back makes what is in flight lost, so that nobody waits for it")
  func lostByClock() {
    let standing = SecretStanding(table: "5!60~1")
    func state(at seconds: Int64) -> SecretRules.State {
      Self.rules.state(of: standing, at: .noon + .seconds(seconds))
    }
    #expect(state(at: 0) == .pending)
    #expect(state(at: 9) == .pending)
    #expect(state(at: 10) == .locked(retryAfter: .seconds(50)))
    #expect(state(at: -1) == .locked(retryAfter: .seconds(61)))
    #expect(Self.rules.state(of: SecretStanding(table: "10!~1"), at: .noon) == .pending)
    #expect(Self.rules.state(of: SecretStanding(table: "10!~1"), at: .noon + .seconds(10)) == .disabled)
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
    standing = rules.settle(standing, reservation, isRight: isRight)
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

  mutating func succeed() {
    settle(reserve(), isRight: true)
  }

  func isVerified(_ admission: SecretRules.Admission) -> Bool {
    if case .verify = admission { true } else { false }
  }
}
