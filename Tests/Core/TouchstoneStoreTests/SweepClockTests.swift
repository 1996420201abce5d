// A clock that is ahead for seconds voids nothing that is issued afterwards.

import TestSupport
import Testing
import TouchstonePolicy

@testable import TouchstoneStore

struct SweepClockTests {
  /// A machine that was started long ago, and whose wall clock may be wrong.
  private struct Machine {
    var time = UnixTime(seconds: 1_800_000_000)
    var sinceBoot = Duration.seconds(40_000)
    /// By how much its wall clock is ahead.
    var error = Duration.zero

    var reading: ClockReading { ClockReading(wall: time + error, sinceBoot: sinceBoot) }

    mutating func wait(_ duration: Duration) {
      time = time + duration
      sinceBoot += duration
    }
  }

  private static let hours = Duration.seconds(10 * 3_600)
  private var machine = Machine()

  private func served() -> SweepClock { SweepClock(mark: machine.time, at: machine.reading) }

  @Test mutating func aClockThatIsAheadForSecondsIsNotFollowed() {
    var clock = served()
    machine.error = Self.hours
    for _ in 0..<3 {
      machine.wait(.seconds(5))
      #expect(clock.limit(at: machine.reading) == .init(time: machine.time, ahead: Self.hours))
    }
    machine.error = .zero
    machine.wait(.seconds(5))
    #expect(clock.limit(at: machine.reading) == .init(time: machine.time, ahead: nil))
  }

  /// A correction, or a virtual machine that was resumed.
  @Test mutating func aClockThatStaysAheadForAnHourIsFollowed() {
    var clock = served()
    machine.error = Self.hours
    _ = clock.limit(at: machine.reading)
    machine.wait(SweepClock.steadyTime - .seconds(1))
    #expect(clock.limit(at: machine.reading).ahead == Self.hours)
    machine.wait(.seconds(1))
    #expect(clock.limit(at: machine.reading) == .init(time: machine.reading.wall, ahead: nil))
  }

  @Test mutating func aClockThatIsSetAgainAndAgainIsNot() {
    var clock = served()
    for step in 1...100 {
      machine.error = Self.hours + .seconds(step * 120)
      machine.wait(.seconds(120))
      #expect(clock.limit(at: machine.reading).time == machine.time)
    }
  }

  @Test mutating func aClockThatIsSetBackIsFollowedAtOnce() {
    var clock = served()
    machine.error = .zero - Self.hours
    #expect(clock.limit(at: machine.reading) == .init(time: machine.reading.wall, ahead: nil))
  }

  /// Records that live for seconds would be void until the clock's time has come. The arguments are places in the hour
  /// that decides.
  @Test(arguments: [0, 1_800, 3_595]) mutating func correctionsOfSecondsAreFollowedAfterAnHour(_ seconds: Int) {
    var clock = served()
    machine.wait(.seconds(seconds))
    _ = clock.limit(at: machine.reading)
    machine.wait(.seconds(5))
    machine.error = SweepClock.tolerance
    #expect(clock.limit(at: machine.reading) == .init(time: machine.time, ahead: nil))
    machine.wait(SweepClock.steadyTime)
    #expect(clock.limit(at: machine.reading) == .init(time: machine.reading.wall, ahead: nil))
  }

  /// Or a machine whose clock is wrong since it was started.
  @Test mutating func aStartAfterALongPauseWaitsForAnHour() {
    let mark = machine.time
    machine.error = Self.hours
    var clock = SweepClock(mark: mark, at: machine.reading)
    machine.wait(.seconds(5))
    #expect(clock.limit(at: machine.reading) == .init(time: mark + .seconds(5), ahead: Self.hours))
    machine.wait(SweepClock.steadyTime)
    #expect(clock.limit(at: machine.reading).ahead == nil)
  }

  @Test func aNewDatabaseTakesTheClockAsItIs() {
    var clock = SweepClock(mark: UnixTime(microseconds: 0), at: machine.reading)
    #expect(clock.limit(at: machine.reading) == .init(time: machine.time, ahead: nil))
  }

  /// A restart may have taken that long: the log tells the operator, since starts add up.
  @Test func aStartThatFollowsAClockAheadSaysSo() {
    let mark = machine.time
    func lead(_ seconds: Int) -> Duration? { SweepClock.startLead(mark: mark, at: mark + .seconds(seconds)) }
    #expect(lead(-100) == nil && lead(0) == nil && lead(60) == nil)
    #expect(lead(61) == .seconds(61) && lead(120) == .seconds(120))
    // The start does not follow that one, and the first sweep reports it.
    #expect(lead(121) == nil)
    #expect(SweepClock.startLead(mark: UnixTime(microseconds: 0), at: mark) == nil)
  }

  /// Archived events are gone from the log. A clock that is ahead does not determine an event's age.
  @Test func agesAreCountedFromTheMark() {
    let mark = machine.time
    func present(_ seconds: Int) -> UnixTime { SweepClock.presentTime(mark: mark, at: mark + .seconds(seconds)) }
    #expect(present(-100) == mark + .seconds(-100))
    #expect(present(120) == mark + .seconds(120))
    #expect(present(100 * 86_400) == mark + .seconds(120))
    #expect(SweepClock.presentTime(mark: UnixTime(microseconds: 0), at: mark) == mark)
  }

  /// Hours of a clock that is set wrong and right again, of restarts, and of sweeps: by seeds.
  @Test(arguments: seeds(ofAll: 200))
  func theMarkNeverPassesTheTimeByMuch(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    var machine = machine
    var mark = machine.time
    var clock = SweepClock(mark: mark, at: machine.reading)
    for _ in 0..<300 {
      // Wrong for less than an hour at a time.
      machine.error = .seconds(Int.random(in: 300...10_000_000, using: &dice) * (Bool.random(using: &dice) ? 1 : -1))
      for _ in 0..<Int.random(in: 1...50, using: &dice) {
        if Int.random(in: 0..<40, using: &dice) == 0 { restart() }
        sweep(.seconds(Int.random(in: 1...60, using: &dice)))
      }
      machine.error = .milliseconds(Int.random(in: -500...500, using: &dice))
      if Bool.random(using: &dice) { restart() }
      let rightTurns = Int.random(in: 1...90, using: &dice)
      for _ in 0..<rightTurns { sweep(.seconds(60)) }
      if rightTurns > 60 { #expect(clock.limit(at: machine.reading).time == machine.reading.wall) }
    }

    func restart() { clock = SweepClock(mark: mark, at: machine.reading) }

    func sweep(_ wait: Duration) {
      machine.wait(wait)
      mark = max(mark, clock.limit(at: machine.reading).time)
      #expect(mark <= machine.time + SweepClock.longestRestart, "seed \(seed)")
    }
  }
}

struct ClockAlarmTests {
  private let mark = UnixTime(seconds: 1_800_000_000)
  private var alarm = ClockAlarm()

  private func reading(_ secondsBehind: Int, sinceBoot: Int = 1_000) -> ClockReading {
    ClockReading(wall: mark + .seconds(-secondsBehind), sinceBoot: .seconds(sinceBoot))
  }

  @Test mutating func aClockBehindTheMarkIsToldOnceAndThenEachMinute() {
    #expect(alarm.checked(mark: mark, at: reading(60)) == .nothing)
    #expect(alarm.checked(mark: mark, at: reading(3_660)) == .warn(outage: .seconds(3_600), isNew: true))
    #expect(alarm.checked(mark: mark, at: reading(3_655, sinceBoot: 1_005)) == .nothing)
    #expect(
      alarm.checked(mark: mark, at: reading(3_600, sinceBoot: 1_060)) == .warn(outage: .seconds(3_540), isNew: false))
  }

  @Test mutating func thatItIsOverIsToldOnce() {
    _ = alarm.checked(mark: mark, at: reading(100))
    #expect(alarm.checked(mark: mark, at: reading(60)) == .allClear)
    #expect(alarm.checked(mark: mark, at: reading(0)) == .nothing)
    #expect(alarm.checked(mark: mark, at: reading(100)) == .warn(outage: .seconds(40), isNew: true))
  }

  @Test mutating func whatCouldNotBeToldIsToldWithTheNextWarning() {
    _ = alarm.checked(mark: mark, at: reading(100))
    alarm.notTold()
    #expect(
      alarm.checked(mark: mark, at: reading(100, sinceBoot: 1_060)) == .warn(outage: .seconds(40), isNew: true))
  }
}
