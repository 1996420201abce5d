import Testing

@testable import DispatchPool

@Suite struct BackoffTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

  /// Waits of one failure after the other, each at the end of the wait before.
  private func waits(after failures: Int, jitter: Double) -> [Duration] {
    var backoff = Backoff(configuration: BackoffConfiguration())
    var now = start
    return (0..<failures).map { _ in
      backoff.timePassed(to: now)
      backoff.failed(at: now, jitter: jitter)
      let wait = backoff.retryAt! - now
      now = backoff.retryAt!
      return wait
    }
  }

  @Test func growsByThePublishedFactor() {
    #expect(waits(after: 4, jitter: 0) == [.seconds(1), .milliseconds(1600), .milliseconds(2560), .milliseconds(4096)])
  }

  @Test func neverWaitsLongerThanTheMaximum() {
    #expect(waits(after: 5000, jitter: 0).last == .seconds(120))
  }

  @Test(arguments: [(-1.0, Duration.milliseconds(800)), (1.0, .milliseconds(1200))])
  func jitterIsAFifthEitherWay(jitter: Double, wait: Duration) {
    #expect(waits(after: 1, jitter: jitter) == [wait])
  }

  @Test func failuresOfOneRoundCountOnce() {
    var backoff = Backoff(configuration: BackoffConfiguration())
    for _ in 0..<8 { backoff.failed(at: start, jitter: 0) }
    #expect(backoff.consecutiveFailures == 1)
    #expect(backoff.retryAt == start + .seconds(1))
  }

  @Test func successEndsTheWait() {
    var backoff = Backoff(configuration: BackoffConfiguration())
    backoff.failed(at: start, jitter: 0)
    #expect(backoff.isProbing)
    backoff.succeeded(at: start + .seconds(1))
    #expect(!backoff.isWaiting)
    #expect(!backoff.isProbing)
  }

  @Test(arguments: [(Duration.milliseconds(999), 2), (.seconds(1), 1)])
  func successCountsOnceItHasLasted(lifetime: Duration, failures: Int) {
    var backoff = Backoff(configuration: BackoffConfiguration())
    backoff.failed(at: start, jitter: 0)
    backoff.succeeded(at: start + .seconds(1))
    backoff.failed(at: start + .seconds(1) + lifetime, jitter: 0)
    #expect(backoff.consecutiveFailures == failures)
  }
}
