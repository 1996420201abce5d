import DispatchRPC
import StoreConformance
import TestSupport
import Testing
import TouchstoneCodec
import TouchstoneStore

/// A caller on a real connection that does not read what it asked for: its window fills, and the service waits for it,
/// but not for ever.
struct SlowWatcherTests {
  private static let eventCount = 2_000

  @Test func whoDoesNotReadIsCutAndResumesWhereItWas() async throws {
    let timer = ManualTimer()
    let service = try await TestService.start(timer: timer)
    // Far beyond the windows and what the service holds for one stream.
    let filler = EventDetail(key: "filler", value: String(repeating: "x", count: 500))
    for _ in 0..<Self.eventCount / 100 {
      try await service.store.commit(events: (0..<100).map { _ in .sample(details: [filler]) })
    }
    let watch = try Watch(service, after: 0)
    await timer.untilSet()
    // There are small stalls before the one that lasts.
    try await eventually {
      timer.fire()
      return !service.store.eventSignal.isObserved
    }
    let (got, end) = await watch.readToTheEnd()
    #expect(got == Array(1...UInt64(got.count)))
    #expect(got.count > 10 && got.count < Self.eventCount)
    #expect(end.code == .resourceExhausted)
    #expect(end.reason == "WATCH_TOO_SLOW")
    #expect(end.message.hasSuffix("resume with after_sequence \(got.count)"))

    let resumed = try Watch(service, after: UInt64(got.count))
    let rest = await resumed.read(Self.eventCount - got.count)
    #expect(got + rest == Array(1...UInt64(Self.eventCount)))
  }
}

/// One call of WatchEvents.
private final class Watch: Sendable {
  private enum Event: Sendable {
    case sequence(UInt64)
    case end(RPCError)
  }

  private let stream: RPCClientStream
  private let events: AsyncStream<Event>

  init(_ service: TestService, after sequence: UInt64) throws {
    let (events, continuation) = AsyncStream<Event>.makeStream()
    self.events = events
    let request = V1.WatchEventsRequest(
      filter: V1.EventFilter(applicationID: Sample.application), afterSequence: sequence)
    stream = try service.open("AdministrationService/WatchEvents", request) { event in
      switch event {
      case .message(let bytes):
        let answer = try? V1.WatchEventsResponse.decoded(from: Array(bytes), limits: .answers)
        continuation.yield(.sequence(answer?.event?.sequence ?? 0))
      case .end(.failure(let error)): continuation.yield(.end(error))
      case .end(.success): continuation.yield(.end(RPCError(code: .ok, message: "")))
      case .initialMetadata, .writable: break
      }
    }
  }

  func read(_ count: Int) async -> [UInt64] {
    stream.request(count)
    var got: [UInt64] = []
    for await event in events {
      if case .sequence(let sequence) = event { got.append(sequence) }
      if got.count == count { break }
    }
    return got
  }

  func readToTheEnd() async -> ([UInt64], RPCError) {
    stream.request(.max)
    var got: [UInt64] = []
    for await event in events {
      switch event {
      case .sequence(let sequence): got.append(sequence)
      case .end(let error): return (got, error)
      }
    }
    return (got, RPCError(code: .unknown, message: "no end"))
  }
}
