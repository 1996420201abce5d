// A failure that meets every call is logged once a second, with a count of the rest.

import DispatchRPC
import Testing

@testable import TouchstoneService

struct LogThrottleTests {
  @Test func oneLineASecondWithACountOfTheRest() {
    var throttle = LogThrottle()
    let start = MonotonicTime(nanoseconds: 5_000_000_000)
    #expect(throttle.admit(at: start) == 0)
    #expect(throttle.admit(at: start) == nil)
    #expect(throttle.admit(at: start.advanced(by: .milliseconds(999))) == nil)
    #expect(throttle.admit(at: start.advanced(by: .seconds(1))) == 2)
    #expect(throttle.admit(at: start.advanced(by: .seconds(3))) == 0)
  }
}
