import DispatchPool
import DispatchRPC
import Testing

@testable import RPCChannel

@Suite struct ChannelTargetTests {
  private func name(_ host: String, _ port: UInt16) -> ChannelTarget.Name { .init(host: host, port: port) }

  @Test func namesOfEveryKind() throws {
    #expect(try ChannelTarget("a.example:1") == .names([name("a.example", 1)]))
    #expect(try ChannelTarget("[::1]:2") == .names([name("::1", 2)]))
    #expect(try ChannelTarget("dns:///a:1") == .names([name("a", 1)]))
    #expect(try ChannelTarget("dns:a:1") == .names([name("a", 1)]))
    #expect(try ChannelTarget("a:1,b:2") == .names([name("a", 1), name("b", 2)]))
    #expect(try ChannelTarget("ipv4:10.0.0.1:1,10.0.0.2:2") == .names([name("10.0.0.1", 1), name("10.0.0.2", 2)]))
    #expect(try ChannelTarget("ipv6:[2001:db8::1]:1") == .names([name("2001:db8::1", 1)]))
    #expect(try ChannelTarget("unix:relative/path") == .unix(path: "relative/path"))
    #expect(try ChannelTarget("unix:///run/touchstone.sock") == .unix(path: "/run/touchstone.sock"))
    #expect(try ChannelTarget("unix:/run/touchstone.sock") == .unix(path: "/run/touchstone.sock"))
  }

  @Test(arguments: [
    "", "a", "a:", ":1", "::1:2", "[]:1", "a:99999", "a:1,", "dns://8.8.8.8/a:1", "ipv4:a.example:1",
    "ipv6:10.0.0.1:1", "unix:",
  ])
  func whatIsNone(target: String) {
    #expect(throws: TargetError.self) { try ChannelTarget(target) }
  }

  @Test func theAuthorityHasBracketsWhereTheAddressNeedsThem() {
    #expect(name("::1", 2).authority == "[::1]:2")
    #expect(name("a", 2).authority == "a:2")
  }
}

@Suite struct ResolutionScheduleTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private var schedule = ResolutionSchedule(interval: .seconds(30), backoff: BackoffConfiguration())

  @Test mutating func noMoreOftenThanTheInterval() {
    #expect(schedule.asked(at: start) == .resolveNow)
    #expect(schedule.asked(at: start) == .none)
    schedule.succeeded(at: start)
    #expect(schedule.asked(at: start + .seconds(1)) == .wait(until: start + .seconds(30)))
    #expect(schedule.asked(at: start + .seconds(2)) == .none)
    #expect(schedule.timerFired() == .resolveNow)
  }

  @Test mutating func failuresAreRepeatedEverMoreSlowly() {
    #expect(schedule.asked(at: start) == .resolveNow)
    #expect(schedule.failed(at: start, jitter: 0) == .wait(until: start + .seconds(1)))
    #expect(schedule.asked(at: start) == .none)
    #expect(schedule.timerFired() == .resolveNow)
    #expect(schedule.failed(at: start, jitter: 0) == .wait(until: start + .milliseconds(1600)))
    #expect(schedule.failed(at: start, jitter: 1) == .wait(until: start + .microseconds(3_072_000)))
    schedule.succeeded(at: start)
    #expect(schedule.asked(at: start + .seconds(30)) == .resolveNow)
  }
}

@Suite struct EndpointRegistryTests {
  @Test func whatIsKnownKeepsItsNumberAndWhatIsForgottenGetsANewOne() throws {
    let addresses = try ["127.0.0.1", "127.0.0.2"].map { try SocketAddress.resolve(host: $0, port: 1)[0] }
    let endpoints = addresses.map { ChannelEndpoint(address: $0, authority: "a:1") }
    var registry = EndpointRegistry()
    let first = registry.enter(endpoints)
    #expect(registry.enter(endpoints.reversed()) == first.reversed())
    registry.forgetAll(but: [first[1]])
    #expect(registry[first[0]] == nil && registry[first[1]] == endpoints[1])
    #expect(registry.enter([endpoints[0]]) != [first[0]])
  }
}
