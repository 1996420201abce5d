import DispatchPool
import DispatchRPC
import RPCChannel
import Synchronization
import RPCLoopback
import TestSupport
import Testing

// Attempts over the wire: retried, refused, and what of it servers and callers see.

private let retried = RPCCallOptions(
  attempts: .retry(RPCRetryPolicy(maximumAttempts: 4, initialBackoff: .milliseconds(1))))

/// Fails so many times, then answers with what it saw of `grpc-previous-rpc-attempts`.
private func failing(
  _ times: Int, _ code: RPCCode = .unavailable, metadata: Metadata = []
) throws -> Loopback {
  let calls = Atomic(0)
  return try Loopback { router in
    router.register("/test/Flaky") { call, _ in
      let number = calls.add(1, ordering: .relaxed).oldValue
      guard number < times else {
        return call.respond(Array((call.metadata("grpc-previous-rpc-attempts") ?? "none").utf8))
      }
      call.fail(RPCError(code: code, message: "failure \(number)", metadata: metadata))
    }
  }
}

@Suite struct RetryTests {
  @Test func aCallIsRetriedAndTheServerIsToldHowOften() async throws {
    let server = try failing(2)
    let channel = RPCChannel(target: server.target)
    let response = try await channel.call("/test/Flaky", [], options: retried)
    #expect(String(decoding: response.message, as: UTF8.self) == "2")
    #expect(channel.statistics.retries == 2 && channel.statistics.attempts == 3)
    await server.stop()
  }

  @Test func theLastErrorIsTold() async throws {
    let server = try failing(9)
    let channel = RPCChannel(target: server.target)
    let error = await channel.failure("/test/Flaky", retried)
    #expect(error?.message == "failure 3")
    await server.stop()
  }

  @Test func withoutAPolicyThereIsOneAttempt() async throws {
    let server = try failing(1)
    let channel = RPCChannel(target: server.target)
    let error = await channel.failure("/test/Flaky")
    #expect(error?.message == "failure 0")
    await server.stop()
  }

  @Test func aMethodsPolicyHoldsForItsCalls() async throws {
    let server = try failing(1)
    var configuration = RPCChannelConfiguration()
    guard let attempts = retried.attempts else { return }
    configuration.methods = ["/test/Flaky": RPCMethodPolicy(attempts: attempts)]
    let channel = RPCChannel(target: server.target, configuration: configuration)
    #expect(try await channel.call("/test/Flaky", []).message == Array("1".utf8))
    await server.stop()
  }

  @Test(arguments: ["-1", "whenever"])
  func theServerMayForbidIt(pushback: String) async throws {
    let server = try failing(1, metadata: [("grpc-retry-pushback-ms", pushback)])
    let channel = RPCChannel(target: server.target)
    let error = await channel.failure("/test/Flaky", retried)
    #expect(error?.message == "failure 0")
    await server.stop()
  }

  @Test func aWaitBeyondTheDeadlineIsNotWaitedFor() async throws {
    let server = try failing(1, metadata: [("grpc-retry-pushback-ms", "3600000")])
    let channel = RPCChannel(target: server.target)
    var options = retried
    options.timeout = .seconds(60)
    let error = await channel.failure("/test/Flaky", options)
    #expect(error?.message == "failure 0")
    await server.stop()
  }

  @Test func throttlingEndsRetriesForTheWholeChannel() async throws {
    let server = try failing(100)
    var configuration = RPCChannelConfiguration()
    configuration.throttling = RPCRetryThrottling(maximumTokens: 4)
    let channel = RPCChannel(target: server.target, configuration: configuration)
    for _ in 0..<3 {
      _ = await channel.failure("/test/Flaky", retried)
    }
    #expect(channel.statistics.retries == 1)
    await server.stop()
  }
}

@Suite struct StreamAttemptTests {
  @Test("A stream is tried once, whatever the policy says")
  func once() async throws {
    let server = try Loopback { router in
      router.registerBidirectional("/test/FailChat") { stream in
        stream.fail(RPCError(code: .unavailable, message: "not now"))
        return { _, _ in }
      }
    }
    let channel = RPCChannel(target: server.target)
    let (stream, seen) = channel.openStream("/test/FailChat", retried)
    stream.finishSending()
    guard case .end(.failure(let error)) = await seen.next() else { return #expect(Bool(false)) }
    #expect(error.message == "not now")
    #expect(channel.statistics.attempts == 1)
    await server.stop()
  }
}

@Suite struct WaitingStreamTests {
  /// A channel whose server is not there yet.
  private func waiting() async throws -> (address: SocketAddress, channel: RPCChannel) {
    let gone = try Loopback()
    await gone.stop()
    var configuration = RPCChannelConfiguration()
    configuration.backoff.initialDelay = .milliseconds(2)
    return (gone.address, RPCChannel(target: gone.target, configuration: configuration))
  }

  @Test func aProducerIsToldToWaitAndWhenToGoOn() async throws {
    let (address, channel) = try await waiting()
    let (stream, seen) = channel.openStream("/stream/Chat", RPCCallOptions(waitForReady: true))
    var sent = 0
    while stream.isWritable {
      stream.send([UInt8](repeating: 0, count: 1000))
      sent += 1
    }
    #expect((60...70).contains(sent))
    let server = try Loopback(at: address)
    var next = await seen.next()
    while next == .initialMetadata([]) { next = await seen.next() }
    #expect(next == .writable)
    stream.request(.max)
    stream.finishSending()
    let (messages, end) = await seen.rest()
    #expect(end == .success([]) && messages.count == sent)
    await channel.close()
    await server.stop()
  }

  @Test func aProducerThatDoesNotWaitIsStopped() async throws {
    let (_, channel) = try await waiting()
    let (stream, seen) = channel.openStream("/stream/Chat", RPCCallOptions(waitForReady: true))
    for _ in 0..<20 { stream.send([UInt8](repeating: 0, count: 100_000)) }
    #expect(await seen.failure()?.code == .resourceExhausted)
  }
}

@Suite struct CancelledStreamTests {
  /// It is cancelled just when the stream that it waits for is handed to it. Each round awaits a dozen times, and each
  /// of these waits behind other tests: 200 rounds took more than a minute on a machine with ten times more work than
  /// cores.
  @Test(.mustEnd) func leavesNothingBehindWhenItsTurnComesMeanwhile() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxConcurrentStreams = 1
    let server = try Loopback(configuration)
    var channelConfiguration = RPCChannelConfiguration()
    channelConfiguration.maximumConnections = 1
    let channel = RPCChannel(target: server.target, configuration: channelConfiguration)
    let rounds = 50
    for round in 0..<rounds {
      // Begins only once the last round's stream is free again.
      let (_, holder) = channel.openStream("/stream/Hold", RPCCallOptions(attempts: .once))
      try await eventually {
        try #require(holder.count == 0, "in round \(round) the holder ended: \(holder.take())")
        return server.heldStreams.count > 0
      }
      let held = await server.heldStreams.next()
      let (stream, seen) = channel.openStream("/stream/Chat", RPCCallOptions(attempts: .once))
      try await eventually {
        try #require(seen.count == 0, "in round \(round) the stream ended before its turn: \(seen.take())")
        return channel.statistics.connections.waiting > 0
      }
      held.finish()
      // Without a pause, which would miss the moment.
      while channel.statistics.connections.waiting > 0 {}
      stream.cancel()
      #expect(await seen.failure()?.code == .cancelled)
      var last = await holder.next()
      while last == .initialMetadata([]) || last == .writable { last = await holder.next() }
      try #require(last == .end(.success([])), "in round \(round)")
    }
    #expect(channel.statistics.failures == rounds)
    await channel.close()
    await server.stop()
  }

  @Test func endsAtOnceWhileItWaitsForAServer() async throws {
    let gone = try Loopback()
    await gone.stop()
    let channel = RPCChannel(target: gone.target)
    let (stream, seen) = channel.openStream("/stream/Chat", RPCCallOptions(waitForReady: true))
    stream.cancel()
    #expect(await seen.failure()?.code == .cancelled)
  }
}
