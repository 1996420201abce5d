// The deadlines of a connection.

import DispatchRPC
import Testing

@testable import DispatchHTTP

@Suite("A connection's deadlines")
struct HTTPConnectionLifeTests {
  private static let start = MonotonicTime(nanoseconds: 1_000_000_000)
  private static let limits = HTTPServerLimits()

  private static func at(_ time: Duration) -> MonotonicTime { start.advanced(by: time) }

  @Test("A head has its time in all, however its bytes are spread, and a new connection without any has no more")
  func slowHead() {
    var life = HTTPConnectionLife(Self.limits, isEncrypted: false, acceptedAt: Self.start)
    #expect(life.deadline == Self.at(Self.limits.headTime))
    life.begin(.request, at: Self.at(.seconds(3)))
    life.begin(.head, at: Self.at(.seconds(9)))
    #expect(life.timePassed(to: Self.at(.milliseconds(9_999))) == .nothing)
    #expect(life.timePassed(to: Self.at(.seconds(10))) == .answerTooSlow)
  }

  @Test("Between requests it may be idle, and each next head has its own time")
  func idle() {
    var life = HTTPConnectionLife(Self.limits, isEncrypted: false, acceptedAt: Self.start)
    let isLast = life.requestCame()
    #expect(!isLast)
    life.begin(.handler, at: Self.start)
    #expect(life.deadline == nil)
    life.setHandlersDeadline(Self.at(.seconds(3)))
    #expect(life.timePassed(to: Self.at(.seconds(2))) == .nothing)
    #expect(life.timePassed(to: Self.at(.seconds(3))) == .answerForHandler)
    life.begin(.answerTaken, at: Self.start)
    life.setHandlersDeadline(Self.start)
    #expect(life.deadline == Self.at(Self.limits.answerTime))
    #expect(life.timePassed(to: Self.at(Self.limits.answerTime)) == .close)
    life.begin(.request, at: Self.start)
    #expect(life.timePassed(to: Self.at(Self.limits.idleTime)) == .close)
    life.begin(.head, at: Self.at(.seconds(80)))
    #expect(life.deadline == Self.at(.seconds(80) + Self.limits.headTime))
    life.begin(.body, at: Self.at(.seconds(81)))
    #expect(life.timePassed(to: Self.at(.seconds(81) + Self.limits.bodyTime)) == .answerTooSlow)
    life.begin(.end, at: Self.at(.seconds(82)))
    #expect(life.timePassed(to: Self.at(.seconds(82) + Self.limits.lingeringTime)) == .close)
  }

  @Test("A TLS handshake has its time, and the first head its own after it")
  func handshake() {
    var life = HTTPConnectionLife(Self.limits, isEncrypted: true, acceptedAt: Self.start)
    #expect(life.timePassed(to: Self.at(Self.limits.handshakeTime)) == .close)
    life.begin(.head, at: Self.at(.seconds(9)))
    #expect(life.timePassed(to: Self.at(Self.limits.handshakeTime)) == .nothing)
    #expect(life.timePassed(to: Self.at(.seconds(9) + Self.limits.headTime)) == .answerTooSlow)
  }

  @Test("The last request of a connection is known as such")
  func requests() {
    var limits = Self.limits
    limits.requestsPerConnection = 3
    var life = HTTPConnectionLife(limits, isEncrypted: false, acceptedAt: Self.start)
    let isLast = (0..<3).map { _ in life.requestCame() }
    #expect(isLast == [false, false, true])
  }
}
