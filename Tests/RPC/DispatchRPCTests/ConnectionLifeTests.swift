// How connections begin and end: connecting, keepalive, the orderly stop.

import Glibc
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct ConnectionLifeTests {
  @Test func nobodyListens() async throws {
    let gone = try addressOfAServerThatStopped()
    let client = TestClient(gone)
    #expect(await client.refusal().code == .unavailable)
    let error = await client.failure("Echo")
    #expect(error.isUnprocessed)
  }

  @Test func aServerThatNeverSpeaksIsGivenUp() async throws {
    let silent = try ListeningSocket(host: "127.0.0.1", port: 0)
    let client = TestClient(silent.address, .with { $0.connectTimeout = .milliseconds(50) })
    #expect(await client.refusal().message == "not connected in time")
  }

  @Test func closingIsToldOnce() async throws {
    let client = try await Loopback().connect()
    client.connection.close()
    client.connection.close()
    client.connection.connect()
    _ = await client.closed()
    _ = await client.failure("Echo")
    #expect(client.events.count == 0)
  }

  @Test func keepaliveLeavesALivingServerAlone() async throws {
    var configuration = RPCClientConfiguration()
    configuration.keepalive = .init(interval: .milliseconds(10), timeout: .seconds(60), withoutCalls: true)
    var lenient = RPCServerConfiguration(eventLoops: 1)
    lenient.pingEnforcement.minimumInterval = .zero
    lenient.pingEnforcement.permitsWithoutCalls = true
    let loopback = try Loopback(lenient)
    let client = try await loopback.connect(configuration)
    let error = await client.failure("Hold", timeout: .milliseconds(150))
    #expect(error.code == .deadlineExceeded)
    try await client.expectEcho([1])
  }

  @Test func stoppingLetsRunningCallsEnd() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    async let answer = client.call("Hold")
    let held = await loopback.held.next()
    let stopped = Box<Void>()
    loopback.server.shutDown(grace: .seconds(30)) { stopped.put(()) }
    await client.expectGoingAway()
    let refused = await client.failure("Echo")
    #expect(refused.isUnprocessed)
    #expect(stopped.count == 0)
    held.respond([7])
    #expect(try await answer.message == [7])
    await stopped.next()
    _ = await client.closed()
  }

  @Test func aServerDroppedWhileItStopsStillLetsRunningCallsEnd() async throws {
    var loopback: Loopback? = try Loopback()
    let running = try #require(loopback?.held)
    let client = TestClient(try #require(loopback?.address))
    try await client.connect()
    async let answer = client.call("Hold")
    let held = await running.next()
    let stopped = Box<Void>()
    loopback?.server.shutDown(grace: .seconds(30)) { stopped.put(()) }
    loopback = nil
    // GOAWAY went out, and what a dropped server would do at once is done.
    await client.expectGoingAway()
    held.respond([7])
    #expect(try await answer.message == [7])
    await stopped.next()
  }

  @Test func theGraceEnds() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let result = Box<Result<RPCResponse, RPCError>>()
    client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { result.put($0) }
    _ = await loopback.held.next()
    await loopback.stop(grace: .milliseconds(30))
    #expect(await loopback.cancellations.next() == .connectionLost)
    guard case .failure(let error) = await result.next() else { return #expect(Bool(false), "nobody answered") }
    #expect(error.code == .unavailable)
  }

  @Test func stoppingAnIdleServerIsQuickAndMayBeAskedTwice() async throws {
    let loopback = try Loopback(RPCServerConfiguration(eventLoops: 2))
    async let first: Void = loopback.stop(grace: .seconds(30))
    async let second: Void = loopback.stop(grace: .seconds(30))
    _ = await (first, second)
    #expect(throws: RPCServerError.self) { try loopback.server.listen(host: "127.0.0.1", port: 0) }
  }

  @Test(arguments: 1...5)
  func stoppingUnderLoadLosesNoCall(_ round: Int) async throws {
    let loopback = try Loopback(RPCServerConfiguration(eventLoops: 2))
    let answered = Box<Void>()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        guard let client = try? await loopback.connect() else { continue }
        for _ in 0..<5 {
          group.addTask {
            while true {
              do throws(RPCError) {
                _ = try await client.call(round.isMultiple(of: 2) ? "Echo" : "Later", [1])
                answered.put(())
              } catch {
                // Only what was surely not taken up may fail.
                #expect(error.isUnprocessed, "\(error)")
                return
              }
            }
          }
        }
      }
      for _ in 0..<500 { await answered.next() }
      await loopback.stop(grace: .seconds(30))
    }
  }

  @Test func aConnectionThatCannotBeWatchedLeavesTheOthersAlone() async throws {
    let loop = EventLoop(label: "test.shared-loop")
    let living = try await Loopback().connect(loop: loop)
    let events = Box<RPCConnectionEvent>()
    loop.execute {
      ClientConnection(
        loop: loop, transport: UnwatchableTransport(), authority: "test", configuration: RPCClientConfiguration()
      ) { events.put($0) }.start()
    }
    guard case .closed(let error) = await events.next() else { return #expect(Bool(false), "it cannot live") }
    #expect(error.message == "the kernel cannot watch another descriptor")
    try await living.expectEcho([1])
  }

  @Test func connectionsBeyondTheLimitAreClosed() async throws {
    let loopback = try Loopback(.with { $0.maxConnections = 1 })
    let first = try await loopback.connect()
    try await first.expectEcho([1])
    let second = TestClient(loopback.address)
    #expect(await second.refusal().code == .unavailable)
    try await first.expectEcho([1])
  }

  /// However many come, and however long they stay.
  @Test(arguments: [1, 3]) func strangersMakeRoomForCallers(eventLoops: Int) async throws {
    var configuration = RPCServerConfiguration(eventLoops: eventLoops)
    configuration.maxConnections = 4
    configuration.maxStrangersPerAddress = 2
    let loopback = try Loopback(configuration)
    let known = try await loopback.connect()
    try await known.expectEcho([1])
    let strangers = (0..<10).map { _ in RawPeer(loopback.address) }
    for stranger in strangers.dropLast(2) { #expect(await stranger.exchange([]) != nil, "it stays open") }
    let caller = try await loopback.connect()
    try await caller.expectEcho([2])
    try await known.expectEcho([1])
  }

  /// Where handlers say so, a call that they do not admit leaves its connection a stranger's.
  @Test func onlyAdmittedCallsMakeACaller() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxConnections = 2
    configuration.handlersAdmitCalls = true
    let loopback = try Loopback(configuration) { router in
      router.register("/test/Admitted") { call, message in
        call.admitted(of: "caller")
        call.respond(Array(message))
      }
    }
    let stranger = try await loopback.connect()
    try await stranger.expectEcho([1])
    let caller = try await loopback.connect()
    try await caller.expectEcho([1], by: "Admitted")
    // The stranger learns that it may come again.
    await stranger.expectGoingAway()
    _ = await stranger.closed()
    let next = try await loopback.connect()
    try await next.expectEcho([1], by: "Admitted")
    try await caller.expectEcho([1])
  }

  @Test func aListeningSocketThatCannotBeWatchedIsReported() throws {
    let listener = try ListeningSocket(host: "127.0.0.1", port: 0)
    // epoll refuses this one, as it does every one when the kernel has no watches left.
    let unwatchable = open("/dev/null", O_RDONLY)
    dup2(unwatchable, listener.descriptor)
    close(unwatchable)
    let loop = EventLoop(label: "test.acceptor")
    let acceptor = Acceptor<ServerLoop>(
      listener: listener, tls: nil, loop: loop, loops: [],
      register: ConnectionRegister(limit: 1, strangersPerAddress: 1), onOutOfDescriptors: nil)
    #expect(!loop.sync { acceptor.start() })
  }

  @Test func aDroppedServerClosesItsConnections() async throws {
    var loopback: Loopback? = try Loopback()
    let client = TestClient(try #require(loopback?.address))
    try await client.connect()
    loopback = nil
    #expect(await client.closed().code == .unavailable)
  }

  private func addressOfAServerThatStopped() throws -> SocketAddress {
    // Where no other test's server comes up.
    let socket = try ListeningSocket(host: "127.7.7.7", port: 0)
    socket.close()
    return socket.address
  }
}

/// epoll refuses it, as it does when the kernel has no watches left.
private final class UnwatchableTransport: Transport {
  let descriptor: Int32 = -1

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransportResult { .ended }
  func send(_ bytes: UnsafeRawBufferPointer) -> TransportResult { .wouldBlock }
  func finishSending() {}
  func close() {}
}
