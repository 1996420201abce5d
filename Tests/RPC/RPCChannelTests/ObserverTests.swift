import DispatchRPC
import RPCChannel
import Synchronization
import RPCLoopback
import TestSupport
import Testing

// The events that an observer of a channel receives.

private final class Noted: RPCChannelObserver {
  private let kept = Mutex<[String]>([])
  /// The sizes of each attempt that ended.
  let ended = Box<RPCMessageBytes>()
  var lines: [String] { kept.withLock { $0 } }

  func attemptBegan(_ path: String) { note("begin \(path)") }
  func attemptEnded(_ path: String, _ code: RPCCode, after time: Duration, _ bytes: RPCMessageBytes) {
    note("attempt \(code)", time)
    ended.put(bytes)
  }
  func callEnded(_ path: String, _ code: RPCCode, after time: Duration) { note("call \(code)", time) }

  private func note(_ line: String, _ time: Duration = .zero) {
    #expect(time >= .zero && time < .seconds(60))
    kept.withLock { $0.append(line) }
  }
}

@Suite struct ObserverTests {
  private let noted = Noted()

  private func channel(to server: Loopback) -> RPCChannel {
    var configuration = RPCChannelConfiguration()
    configuration.observer = noted
    return RPCChannel(target: server.target, configuration: configuration)
  }

  private func failing(_ times: Int) throws -> Loopback {
    let calls = Atomic(0)
    return try Loopback { router in
      router.register("/test/Flaky") { call, _ in
        guard calls.add(1, ordering: .relaxed).oldValue < times else { return call.respond([]) }
        call.fail(RPCError(code: .unavailable, message: "not yet"))
      }
    }
  }

  @Test func aCallIsOneAttempt() async throws {
    let server = try Loopback()
    _ = try await channel(to: server).call("/test/Echo", [1])
    #expect(noted.lines == ["begin /test/Echo", "attempt OK", "call OK"])
    #expect(await noted.ended.next() == RPCMessageBytes(sent: 1, received: 1))
    await server.stop()
  }

  @Test func anAttemptThatNeverLeftSentNothing() async throws {
    let server = try Loopback()
    let channel = channel(to: server)
    await server.stop()
    _ = try? await channel.call("/test/Echo", [1, 2, 3])
    #expect(await noted.ended.next() == RPCMessageBytes(sent: 0, received: 0))
    #expect(noted.lines.first { $0.hasPrefix("attempt") } == "attempt UNAVAILABLE")
  }

  @Test func eachRetryIsAnAttempt() async throws {
    let server = try failing(2)
    let retried = RPCCallOptions(
      attempts: .retry(RPCRetryPolicy(maximumAttempts: 4, initialBackoff: .milliseconds(1))))
    _ = try await channel(to: server).call("/test/Flaky", [1, 2], options: retried)
    #expect(noted.lines.filter { $0 == "begin /test/Flaky" }.count == 3)
    #expect(noted.lines.filter { $0 == "attempt UNAVAILABLE" }.count == 2)
    #expect(noted.lines.suffix(2) == ["attempt OK", "call OK"])
    // Each attempt sends the request.
    for _ in 0..<3 { #expect(await noted.ended.next() == RPCMessageBytes(sent: 2, received: 0)) }
    await server.stop()
  }

  @Test func aCancelledCallEndsItsAttempt() async throws {
    let server = try Loopback()
    let channel = channel(to: server)
    let ended = Box<RPCCode>()
    let call = channel.call("/test/Hold", [1, 2, 3]) { result in
      if case .failure(let error) = result { ended.put(error.code) }
    }
    _ = await server.held.next()
    call.cancel()
    #expect(await ended.next() == .cancelled)
    // The attempt ends with its stream, on the event loop.
    #expect(await noted.ended.next() == RPCMessageBytes(sent: 3, received: 0))
    #expect(noted.lines.sorted() == ["attempt CANCELLED", "begin /test/Hold", "call CANCELLED"])
    await server.stop()
  }

  @Test func aStreamIsACall() async throws {
    let server = try Loopback()
    let channel = channel(to: server)
    let ended = Box<RPCCode>()
    let stream = channel.openStream("/stream/Chat") { _, event in
      switch event {
      case .end(.success): ended.put(.ok)
      case .end(.failure(let error)): ended.put(error.code)
      default: break
      }
    }
    stream.request(.max)
    stream.send([1])
    stream.finishSending()
    #expect(await ended.next() == .ok)
    #expect(noted.lines == ["begin /stream/Chat", "attempt OK", "call OK"])
    #expect(await noted.ended.next() == RPCMessageBytes(sent: 1, received: 1))
    await server.stop()
  }
}
