import DispatchRPC
import RPCChannel
import Synchronization
import TestSupport
import Testing

// The events that an observer of a channel receives.

private final class Noted: RPCChannelObserver {
  private let kept = Mutex<[String]>([])
  var lines: [String] { kept.withLock { $0 } }

  func attemptBegan(_ path: String) { note("begin \(path)") }
  func attemptEnded(_ path: String, _ code: RPCCode, after time: Duration) { note("attempt \(code)", time) }
  func callEnded(_ path: String, _ code: RPCCode, after time: Duration) { note("call \(code)", time) }

  private func note(_ line: String, _ time: Duration = .zero) {
    #expect(time >= .zero && time < .seconds(60))
    kept.withLock { $0.append(line) }
  }
}

@Suite struct ObserverTests {
  private let noted = Noted()

  private func channel(to server: TestServer) -> RPCChannel {
    var configuration = RPCChannelConfiguration()
    configuration.observer = noted
    return RPCChannel(target: server.target, configuration: configuration)
  }

  private func failing(_ times: Int) throws -> TestServer {
    let calls = Shared(Atomic(0))
    return try TestServer(adding: { router in
      router.register("/test/Flaky") { call, _ in
        guard calls.value.add(1, ordering: .relaxed).oldValue < times else { return call.respond([]) }
        call.fail(RPCError(code: .unavailable, message: "not yet"))
      }
    })
  }

  @Test func aCallIsOneAttempt() async throws {
    let server = try TestServer()
    _ = try await channel(to: server).call("/test/Echo", [1])
    #expect(noted.lines == ["begin /test/Echo", "attempt OK", "call OK"])
    await server.stop()
  }

  @Test func eachRetryIsAnAttempt() async throws {
    let server = try failing(2)
    let retried = RPCCallOptions(
      attempts: .retry(RPCRetryPolicy(maximumAttempts: 4, initialBackoff: .milliseconds(1))))
    _ = try await channel(to: server).call("/test/Flaky", [], options: retried)
    #expect(noted.lines.filter { $0 == "begin /test/Flaky" }.count == 3)
    #expect(noted.lines.filter { $0 == "attempt UNAVAILABLE" }.count == 2)
    #expect(noted.lines.suffix(2) == ["attempt OK", "call OK"])
    await server.stop()
  }

  @Test func aCancelledCallEndsItsAttempt() async throws {
    let server = try TestServer()
    let channel = channel(to: server)
    let ended = Box<RPCCode>()
    let call = channel.call("/test/Hold", []) { result in
      if case .failure(let error) = result { ended.put(error.code) }
    }
    _ = await server.held.next()
    call.cancel()
    #expect(await ended.next() == .cancelled)
    #expect(noted.lines == ["begin /test/Hold", "attempt CANCELLED", "call CANCELLED"])
    await server.stop()
  }

  @Test func aStreamIsACall() async throws {
    let server = try TestServer()
    let channel = channel(to: server)
    let ended = Box<RPCCode>()
    let stream = channel.openStream("/test/Chat") { _, event in
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
    #expect(noted.lines == ["begin /test/Chat", "attempt OK", "call OK"])
    await server.stop()
  }
}
