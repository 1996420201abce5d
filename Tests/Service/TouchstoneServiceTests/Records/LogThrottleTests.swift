// A failure that meets every call is logged once a second, with a count of the rest.

import DispatchRPC
import Testing

@testable import TouchstoneService

struct LogThrottleTests {
  private enum Line {
    case cause
    case remedy
  }

  private let start = MonotonicTime(nanoseconds: 5_000_000_000)

  @Test func oneLineASecondWithACountOfTheRest() {
    var throttle = LogThrottle<Line>()
    #expect(throttle.admit(.cause, at: start) == 0)
    #expect(throttle.admit(.cause, at: start) == nil)
    #expect(throttle.admit(.cause, at: start.advanced(by: .milliseconds(999))) == nil)
    #expect(throttle.admit(.cause, at: start.advanced(by: .seconds(1))) == 2)
    #expect(throttle.admit(.cause, at: start.advanced(by: .seconds(3))) == 0)
  }

  @Test func oneKindKeepsNoOtherBack() {
    var throttle = LogThrottle<Line>()
    #expect(throttle.admit(.cause, at: start) == 0)
    #expect(throttle.admit(.remedy, at: start) == 0)
    #expect(throttle.admit(.cause, at: start) == nil)
    #expect(throttle.admit(.remedy, at: start) == nil)
    #expect(throttle.admit(.remedy, at: start.advanced(by: .seconds(1))) == 1)
  }
}
