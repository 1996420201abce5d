// When a write waits for others.

import Testing

@testable import TouchstoneStoreSQLite

struct CommitPaceTests {
  private static let start = ContinuousClock.now

  /// After 100 transactions of as many writes, `gap` apart, and another `pause`.
  private static func delay(gap: Duration, writes: Int = 1, pause: Duration = .zero) -> Duration {
    var pace = CommitPace()
    for number in 0...100 { pace.began(writes, at: start + gap * number) }
    return pace.delay(at: start + gap * 100 + pause)
  }

  @Test func theWritesOfAQuietServiceWaitForNothing() {
    #expect(Self.delay(gap: .milliseconds(2)) == .zero)
    #expect(Self.delay(gap: .milliseconds(1)) == .zero)
    #expect(CommitPace().delay(at: Self.start) == .zero)
  }

  @Test func manyWritesShareATransactionAMillisecond() {
    #expect(Self.delay(gap: .microseconds(500), pause: .microseconds(300)) == .microseconds(700))
    #expect(Self.delay(gap: .milliseconds(1), writes: 2, pause: .microseconds(300)) == .microseconds(700))
  }

  /// A disk that takes longer is not made slower.
  @Test func afterASlowFsyncTheNextTransactionBeginsAtOnce() {
    #expect(Self.delay(gap: .microseconds(100), writes: 20, pause: .milliseconds(1)) == .zero)
  }

  @Test func aPauseEndsTheWaiting() {
    var pace = CommitPace()
    for number in 0...100 { pace.began(1, at: Self.start + .microseconds(500) * number) }
    for second in 1...4 { pace.began(1, at: Self.start + .seconds(second)) }
    #expect(pace.delay(at: Self.start + .seconds(4)) == .zero)
  }
}
