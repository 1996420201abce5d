import DispatchPool
import DispatchRPC
import Glibc
import RPCChannel
import Synchronization
import TestSupport
import Testing

// A channel over several servers: who gets the calls, and what a caller notices when servers come and go.

extension TestServer {
  fileprivate static func named(_ name: String, at address: SocketAddress? = nil) throws -> TestServer {
    try TestServer(
      at: address,
      adding: { router in
        router.register("/test/Who") { call, _ in call.respond(Array(name.utf8)) }
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
    let response = try await call("/test/Who", [], options: RPCCallOptions(waitForReady: waitForReady))
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
    let (first, second) = (try TestServer.named("1"), try TestServer.named("2"))
    await first.stop()
    let channel = RPCChannel(target: "\(first.target),\(second.target)", configuration: configuration(.pickFirst))
    for _ in 0..<3 { #expect(try await channel.who() == "2") }
    await second.stop()
  }

  @Test(arguments: [PoolBalancing.roundRobin, .leastRequest])
  func callsAreSpreadOverTheServers(balancing: PoolBalancing) async throws {
    let servers = try (0..<3).map { try TestServer.named("\($0)") }
    let target = servers.map(\.target).joined(separator: ",")
    let channel = RPCChannel(target: target, configuration: configuration(balancing))
    try await channel.connected(3)
    var answers: [String: Int] = [:]
    for _ in 0..<9 { answers[try await channel.who(), default: 0] += 1 }
    #expect(answers == ["0": 3, "1": 3, "2": 3])
    for server in servers { await server.stop() }
  }

  @Test func whoWaitsForReadyWaitsForAServer() async throws {
    let gone = try TestServer.named("gone")
    await gone.stop()
    let channel = RPCChannel(target: gone.target, configuration: configuration(.pickFirst))
    async let answer = channel.who(waitForReady: true)
    #expect(await failure { () throws(RPCError) in try await channel.call("/test/Who", []) }?.code == .unavailable)
    let back = try TestServer.named("back", at: gone.address)
    #expect(try await answer == "back")
    await back.stop()
  }

  @Test func aNameThatIsNoneIsUnavailableAndSaysWhy() async {
    let channel = RPCChannel(target: "no-such-host.invalid:1")
    let error = await failure { () throws(RPCError) in try await channel.call("/test/Who", []) }
    #expect(error?.code == .unavailable)
    #expect(error?.message.contains("no-such-host.invalid") == true)
  }

  @Test func unixSocketsAreCalled() async throws {
    let directory = "/tmp/rpc-channel-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    try #require(mkdir(directory, 0o700) == 0)
    defer { rmdir(directory) }
    let server = try TestServer.named("unix")
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
    var servers = [try TestServer.named("0"), try TestServer.named("1")]
    let target = servers.map(\.target).joined(separator: ",")
    var settings = configuration(.roundRobin)
    settings.resolutionInterval = .milliseconds(1)
    let channel = RPCChannel(target: target, configuration: settings)
    try await channel.connected(2)
    let isOver = Shared(Atomic(0))
    let answered = Shared(Atomic(0))
    let callers = Task {
      await withTaskGroup(of: RPCError?.self) { group in
        for _ in 0..<16 {
          group.addTask {
            while isOver.value.load(ordering: .relaxed) == 0 {
              let error = await failure { () throws(RPCError) in try await channel.call("/test/Who", []) }
              if let error { return error }
              answered.value.add(1, ordering: .relaxed)
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
      servers[place] = try TestServer.named("\(place)", at: address)
      try await channel.connected(2)
      // Both of them have had calls again before the next one goes.
      let before = answered.value.load(ordering: .relaxed)
      try await eventually { answered.value.load(ordering: .relaxed) >= before + 50 }
    }
    isOver.value.store(1, ordering: .relaxed)
    #expect(await callers.value == [])
    await channel.close()
    for server in servers { await server.stop() }
  }
}
