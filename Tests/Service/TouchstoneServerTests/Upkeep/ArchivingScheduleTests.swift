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
    var failure = ArchivingFailure(age: .seconds(400 * 86_400))
    #expect(failure.failed(at: Self.time(0)) == nil)
    #expect(failure.failed(at: Self.time(3_599)) == nil)
    #expect(failure.failed(at: Self.time(3_600)) == Self.start)
    #expect(failure.failed(at: Self.time(3_660)) == nil)
    #expect(failure.failed(at: Self.time(3_600 + 86_399)) == nil)
    #expect(failure.failed(at: Self.time(3_600 + 86_400)) == Self.start)
  }

  @Test("Of events that live for less than an hour, after that")
  func shortAge() {
    var failure = ArchivingFailure(age: .seconds(60))
    #expect(failure.failed(at: Self.time(0)) == nil)
    #expect(failure.failed(at: Self.time(59)) == nil)
    #expect(failure.failed(at: Self.time(60)) == Self.start)
  }

  @Test("What could not be said is said at the next failure")
  func notTold() {
    var failure = ArchivingFailure(age: .seconds(60))
    #expect(failure.failed(at: Self.time(0)) == nil)
    #expect(failure.failed(at: Self.time(60)) == Self.start)
    failure.notTold()
    #expect(failure.failed(at: Self.time(61)) == Self.start)
    #expect(failure.failed(at: Self.time(62)) == nil)
  }

  @Test("A success begins it all anew")
  func ended() {
    var failure = ArchivingFailure(age: .seconds(60))
    #expect(failure.failed(at: Self.time(0)) == nil)
    failure.ended()
    #expect(failure.failed(at: Self.time(60)) == nil)
    #expect(failure.failed(at: Self.time(120)) == Self.time(60))
  }
}
