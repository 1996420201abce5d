import DispatchPool
import DispatchRPC
import Glibc
import RPCChannel
import RPCLoopback
import TestSupport
import Testing

// A channel over several servers: who gets the calls, and what a caller notices when servers come and go.

extension Loopback {
  fileprivate static func named(_ name: String, at address: SocketAddress? = nil) throws -> Loopback {
    try Loopback(
      at: address,
      adding: { router in
        router.register("/test/Name") { call, _ in call.respond(Array(name.utf8)) }
      })
  }
}

private func configuration(_ balancing: PoolBalancing) -> RPCChannelConfiguration {
  var configuration = RPCChannelConfiguration()
  configuration.balancing = balancing
  configuration.backoff.initialDelay = .milliseconds(2)
  return configuration
}

extension RPCChannel {
  fileprivate func who(waitForReady: Bool = false) async throws(RPCError) -> String {
    let response = try await call("/test/Name", [], options: RPCCallOptions(waitForReady: waitForReady))
    return String(decoding: response.message, as: UTF8.self)
  }

  /// So many addresses are connected, each by one connection.
  fileprivate func connected(_ count: Int) async throws {
    connect()
    try await eventually { statistics.connections.serving >= count }
  }
}

@Suite struct BalancedChannelTests {
  @Test func pickFirstUsesTheFirstThatWorks() async throws {
    let (first, second) = (try Loopback.named("1"), try Loopback.named("2"))
    await first.stop()
    let channel = RPCChannel(target: "\(first.target),\(second.target)", configuration: configuration(.pickFirst))
    for _ in 0..<3 { #expect(try await channel.who() == "2") }
    await second.stop()
  }

  @Test(arguments: [PoolBalancing.roundRobin, .leastRequest])
  func callsAreSpreadOverTheServers(balancing: PoolBalancing) async throws {
    let servers = try (0..<3).map { try Loopback.named("\($0)") }
    let target = servers.map(\.target).joined(separator: ",")
    let channel = RPCChannel(target: target, configuration: configuration(balancing))
    try await channel.connected(3)
    var answers: [String: Int] = [:]
    for _ in 0..<9 { answers[try await channel.who(), default: 0] += 1 }
    #expect(answers == ["0": 3, "1": 3, "2": 3])
    for server in servers { await server.stop() }
  }

  @Test func whoWaitsForReadyWaitsForAServer() async throws {
    let gone = try Loopback.named("gone")
    await gone.stop()
    let channel = RPCChannel(target: gone.target, configuration: configuration(.pickFirst))
    async let answer = channel.who(waitForReady: true)
    let error = await channel.failure("/test/Name")
    #expect(error?.code == .unavailable && error?.message.contains("refused") == true)
    let back = try Loopback.named("back", at: gone.address)
    #expect(try await answer == "back")
    await back.stop()
  }

  @Test(arguments: ["no-such-host.invalid:1", "localhost"])
  func aNameThatIsNoneIsUnavailableAndSaysWhy(target: String) async {
    let error = await RPCChannel(target: target).failure("/test/Name")
    #expect(error?.code == .unavailable)
    let reason = target == "localhost" ? "'localhost' is not host:port" : "no-such-host.invalid"
    #expect(error?.message.contains(reason) == true)
  }

  @Test func unixSocketsAreCalled() async throws {
    let directory = "/tmp/rpc-channel-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    try #require(mkdir(directory, 0o700) == 0)
    defer { rmdir(directory) }
    let server = try Loopback.named("unix")
    let path = "\(directory)/s"
    _ = try server.server.listen(unixPath: path)
    let channel = RPCChannel(target: "unix:\(path)")
    #expect(try await channel.who() == "unix")
    await channel.close()
    await server.stop()
    unlink(path)
  }

  /// Each of two servers is replaced five times, and no caller notices.
  @Test func aRollingRestartFailsNoCall() async throws {
    var servers = [try Loopback.named("0"), try Loopback.named("1")]
    let target = servers.map(\.target).joined(separator: ",")
    var settings = configuration(.roundRobin)
    settings.resolutionInterval = .milliseconds(1)
    let channel = RPCChannel(target: target, configuration: settings)
    try await channel.connected(2)
    let isOver = Box<Void>()
    let answered = Box<Void>()
    let callers = Task {
      await withTaskGroup(of: RPCError?.self) { group in
        for _ in 0..<16 {
          group.addTask {
            while isOver.count == 0 {
              let error = await channel.failure("/test/Name")
              if let error { return error }
              answered.put(())
            }
            return nil
          }
        }
        var errors: [RPCError] = []
        for await error in group { if let error { errors.append(error) } }
        return errors
      }
    }
    for round in 0..<10 {
      let place = round % 2
      let address = servers[place].address
      await servers[place].stop(grace: .seconds(30))
      servers[place] = try Loopback.named("\(place)", at: address)
      try await channel.connected(2)
      // Both of them have had calls again before the next one goes.
      let before = answered.count
      try await eventually { answered.count >= before + 50 }
    }
    isOver.put(())
    #expect(await callers.value == [])
    await channel.close()
    for server in servers { await server.stop() }
  }
}
