import DispatchPool
import DispatchRPC
import RPCChannel
import RPCLoopback
import TestSupport
import Testing

// One call over a channel: its answer, its errors, its end.

@Suite struct CallTests {
  @Test func answersWithTheMessageAndItsMetadata() async throws {
    let server = try Loopback()
    let channel = RPCChannel(target: server.target)
    let response = try await channel.call("/test/Echo", [1, 2], options: RPCCallOptions(metadata: [("k", "v")]))
    #expect(response.message == [1, 2])
    #expect(response.initialMetadata.first("k") == "v")
    await channel.close()
    await server.stop()
  }

  @Test func aCallThatWasCancelledBeforeItBeganReachesNoServer() async throws {
    let server = try Loopback()
    let channel = RPCChannel(target: server.target)
    let call = Task {
      // Ends with the cancellation.
      try? await Task.sleep(for: .seconds(3_600))
      return await channel.failure("/test/Hold")
    }
    call.cancel()
    #expect(await call.value?.code == .cancelled)
    #expect(channel.statistics.attempts == 0)
    #expect(channel.statistics.failures == 1)
    await server.stop()
  }

  @Test func anEventLoopOfTheCallersServesTheCalls() async throws {
    let server = try Loopback()
    let loop = EventLoop(label: "test.callers")
    var configuration = RPCChannelConfiguration()
    configuration.eventLoop = loop
    let channel = RPCChannel(target: server.target, configuration: configuration)
    let isCurrent = Box<Bool>()
    channel.call("/test/Echo", [1]) { _ in isCurrent.put(loop.isCurrent) }
    #expect(await isCurrent.next())
    await channel.close()
    await server.stop()
  }

  @Test func aStreamTakesWhatIsSentBeforeItHasAConnection() async throws {
    let server = try Loopback()
    let channel = RPCChannel(target: server.target)
    let (stream, seen) = channel.openStream("/stream/Chat")
    stream.request(2)
    stream.send([1])
    stream.send([2])
    stream.finishSending()
    #expect(await seen.next() == .initialMetadata([]))
    #expect(await seen.next() == .message([1]))
    #expect(await seen.next() == .message([2]))
    #expect(await seen.next() == .end(.success([])))
    await server.stop()
  }

  @Test func endsAtItsDeadline() async throws {
    let server = try Loopback()
    let channel = RPCChannel(target: server.target)
    let options = RPCCallOptions(timeout: .milliseconds(20))
    let error = await channel.failure("/test/Hold", options)
    #expect(error?.code == .deadlineExceeded)
    await server.stop()
  }

  @Test func closingLetsRunningCallsEnd() async throws {
    let server = try Loopback()
    let channel = RPCChannel(target: server.target)
    async let answer = channel.call("/test/Hold", [])
    let held = await server.held.next()
    async let closed: Void = channel.close(grace: .seconds(3_600))
    try await eventually { channel.statistics.connections.goingAway > 0 }
    let error = await channel.failure("/test/Echo")
    #expect(error?.code == .cancelled && error?.message == "the channel is closed")
    held.respond([7])
    #expect(try await answer.message == [7])
    await closed
    await server.stop()
  }
}
