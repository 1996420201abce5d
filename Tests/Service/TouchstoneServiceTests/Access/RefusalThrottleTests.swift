import DispatchRPC
import Testing

@testable import TouchstoneService

struct RefusalThrottleTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let unknown = RefusalThrottle.Key(caller: nil, refusal: .keyUnknown)
  private let shop = RefusalThrottle.Key(caller: Caller(identity: "shop"), refusal: .methodNotGranted)

  @Test func aFewAtOnceAreEventsAndTheRestIsCounted() {
    var throttle = RefusalThrottle()
    for _ in 0..<RefusalThrottle.burst { #expect(throttle.admit(unknown, at: start) == 0) }
    for _ in 0..<1_000 { #expect(throttle.admit(unknown, at: start) == nil) }
    let later = start.advanced(by: RefusalThrottle.interval)
    #expect(throttle.admit(unknown, at: later) == 1_000)
    #expect(throttle.admit(unknown, at: later) == nil)
    #expect(throttle.admit(unknown, at: later.advanced(by: RefusalThrottle.interval)) == 1)
  }

  @Test func aFloodOfADayIsSoManyEventsAndNoMore() {
    var throttle = RefusalThrottle()
    var events = 0
    for second in 0..<86_400 {
      if throttle.admit(unknown, at: start.advanced(by: .seconds(second))) != nil { events += 1 }
    }
    #expect(events == RefusalThrottle.burst + 86_399 / 60)
  }

  @Test func theBurstIsThereAgainAfterAQuietWhile() {
    var throttle = RefusalThrottle()
    for _ in 0..<RefusalThrottle.burst { _ = throttle.admit(unknown, at: start) }
    let later = start.advanced(by: RefusalThrottle.interval * RefusalThrottle.burst)
    for _ in 0..<RefusalThrottle.burst { #expect(throttle.admit(unknown, at: later) == 0) }
    #expect(throttle.admit(unknown, at: later) == nil)
  }

  @Test func eachCallerAndReasonHasItsOwn() {
    var throttle = RefusalThrottle()
    for _ in 0...RefusalThrottle.burst { _ = throttle.admit(unknown, at: start) }
    #expect(throttle.admit(unknown, at: start) == nil)
    #expect(throttle.admit(shop, at: start) == 0)
    #expect(throttle.admit(.init(caller: nil, refusal: .keyMalformed), at: start) == 0)
    #expect(throttle.admit(.init(caller: shop.caller, refusal: .applicationNotGranted), at: start) == 0)
  }

  @Test func theTableIsBoundedAndForgetsWhoWasQuiet() {
    var throttle = RefusalThrottle()
    func key(_ number: Int) -> RefusalThrottle.Key {
      .init(caller: Caller(identity: "caller\(number)"), refusal: .methodNotGranted)
    }
    for number in 0..<RefusalThrottle.maximumBuckets { #expect(throttle.admit(key(number), at: start) == 0) }
    #expect(throttle.admit(unknown, at: start) == nil)
    #expect(throttle.bucketCount == RefusalThrottle.maximumBuckets)
    #expect(throttle.admit(unknown, at: start.advanced(by: RefusalThrottle.interval)) == 0)
    #expect(throttle.bucketCount == 1)
  }
}
