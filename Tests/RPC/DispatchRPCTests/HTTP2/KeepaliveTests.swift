// When a silent peer is probed, and when it is given up: pure.

import Testing

@testable import DispatchRPC

@Suite struct KeepaliveStateMachineTests {
  private static func machine(withoutCalls: Bool = false) -> KeepaliveStateMachine {
    KeepaliveStateMachine(interval: .seconds(10), timeout: .seconds(5), withoutCalls: withoutCalls, now: seconds(0))
  }

  @Test func probesASilentPeerAndGivesUp() {
    var keepalive = Self.machine()
    #expect(keepalive.timerExpired(at: seconds(10), hasCalls: true) == .probe(until: seconds(15)))
    #expect(keepalive.timerExpired(at: seconds(14), hasCalls: true) == .wait(until: seconds(15)))
    #expect(keepalive.timerExpired(at: seconds(15), hasCalls: true) == .giveUp)
  }

  @Test func anyByteIsAnAnswer() {
    var keepalive = Self.machine()
    #expect(keepalive.timerExpired(at: seconds(10), hasCalls: true) == .probe(until: seconds(15)))
    keepalive.received(at: seconds(12))
    #expect(keepalive.timerExpired(at: seconds(15), hasCalls: true) == .wait(until: seconds(22)))
  }

  @Test func leavesAConnectionWithoutCallsAlone() {
    var keepalive = Self.machine()
    #expect(keepalive.timerExpired(at: seconds(10), hasCalls: false) == .wait(until: seconds(20)))
  }

  @Test func probesAConnectionWithoutCallsIfToldTo() {
    var keepalive = Self.machine(withoutCalls: true)
    #expect(keepalive.timerExpired(at: seconds(10), hasCalls: false) == .probe(until: seconds(15)))
  }
}
