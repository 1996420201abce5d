import DispatchRPC
import Testing

@testable import RPCChannel

// gRFC A8: a server that complains of pings is pinged half as often.

@Suite struct KeepalivePacingTests {
  private let second = Duration.seconds(1)

  @Test func aComplaintDoublesTheInterval() {
    var pacing = KeepalivePacing(.init(interval: second))
    pacing.tooManyPings(at: second)
    #expect(pacing.keepalive?.interval == second * 2)
    pacing.tooManyPings(at: second * 2)
    #expect(pacing.keepalive?.interval == second * 4)
  }

  @Test func complaintsOfConnectionsMadeBeforeCountOnce() {
    var pacing = KeepalivePacing(.init(interval: second))
    for _ in 0..<8 { pacing.tooManyPings(at: second) }
    #expect(pacing.keepalive?.interval == second * 2)
  }

  @Test func itGrowsNoLongerThanTwoHours() {
    var pacing = KeepalivePacing(.init(interval: .seconds(2 * 60 * 60) - second))
    pacing.tooManyPings(at: .seconds(2 * 60 * 60) - second)
    #expect(pacing.keepalive?.interval == KeepalivePacing.longestInterval)
  }

  @Test func withoutKeepaliveThereIsNothingToSlowDown() {
    var pacing = KeepalivePacing(nil)
    pacing.tooManyPings(at: .zero)
    #expect(pacing.keepalive == nil)
  }
}
