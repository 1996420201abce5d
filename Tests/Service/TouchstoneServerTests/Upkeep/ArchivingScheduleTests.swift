// How often the log is looked at for events to archive, and when failing at it is said aloud.

import Testing
import TouchstonePolicy

@testable import TouchstoneServer

@Suite("The schedule of archiving")
struct ArchivingScheduleTests {
  @Test(
    "An eighth of the age, from a second to a minute",
    arguments: [(1, 1), (8, 1), (16, 2), (80, 10), (480, 60), (481, 60), (400 * 86_400, 60)])
  func interval(age: Int, seconds: Int) {
    #expect(Archiving.interval(age: .seconds(age)) == .seconds(seconds))
  }

  private static let start = UnixTime(seconds: 1_800_000_000)

  /// - Parameter seconds: after the start.
  private static func time(_ seconds: Int) -> UnixTime { start + .seconds(seconds) }

  @Test("A failure is said after an hour, and then once a day")
  func patience() {
    var alarm = Archiving.alarm(age: .seconds(400 * 86_400))
    #expect(alarm.failed(at: Self.time(0))?.since == nil)
    #expect(alarm.failed(at: Self.time(3_599))?.since == nil)
    #expect(alarm.failed(at: Self.time(3_600))?.since == Self.start)
    #expect(alarm.failed(at: Self.time(3_660))?.since == nil)
    #expect(alarm.failed(at: Self.time(3_600 + 86_399))?.since == nil)
    #expect(alarm.failed(at: Self.time(3_600 + 86_400))?.since == Self.start)
  }

  @Test("Of events that live for less than an hour, after that")
  func shortAge() {
    var alarm = Archiving.alarm(age: .seconds(60))
    #expect(alarm.failed(at: Self.time(0))?.since == nil)
    #expect(alarm.failed(at: Self.time(59))?.since == nil)
    #expect(alarm.failed(at: Self.time(60))?.since == Self.start)
  }

  @Test("What could not be said is said at the next failure")
  func notTold() {
    var alarm = Archiving.alarm(age: .seconds(60))
    #expect(alarm.failed(at: Self.time(0))?.since == nil)
    #expect(alarm.failed(at: Self.time(60))?.since == Self.start)
    alarm.notTold()
    #expect(alarm.failed(at: Self.time(61))?.since == Self.start)
    #expect(alarm.failed(at: Self.time(62))?.since == nil)
  }

  @Test("A success begins it all anew")
  func ended() {
    var alarm = Archiving.alarm(age: .seconds(60))
    #expect(alarm.failed(at: Self.time(0))?.since == nil)
    alarm.ended()
    #expect(alarm.failed(at: Self.time(60))?.since == nil)
    #expect(alarm.failed(at: Self.time(120))?.since == Self.time(60))
  }
}
