import DispatchRPC
import RPCLoopback
import TestSupport
import Testing

@testable import TouchstoneClient

// Watching events: all of them in order, one at a time, to an end that gives its reason.

@Suite struct EventWatchTests {
  @Test func bringsTheEventsAfterTheOneThatWasSeen() async throws {
    let service = try Loopback { $0.events(3) }
    let client = TouchstoneClient(target: service.target)
    var seen: [UInt64] = []
    let error = await failure { () throws(TouchstoneError) in
      for try await event in client.watchEvents(V1.WatchEventsRequest(afterSequence: 2)) { seen.append(event.sequence) }
    }
    #expect(seen == [3, 4, 5])
    #expect(error?.code == .unavailable)
    await service.stop()
  }

  /// The test resumes as a client does after a restart ended its watch.
  @Test func resumesWithoutLossOrRepetition() async throws {
    let service = try Loopback { $0.events(3) }
    let client = TouchstoneClient(target: service.target)
    var seen: [UInt64] = []
    while seen.count < 6 {
      _ = await failure { () throws(TouchstoneError) in
        for try await event in client.watchEvents(V1.WatchEventsRequest(afterSequence: seen.last ?? 0)) {
          seen.append(event.sequence)
        }
      }
    }
    #expect(seen == [1, 2, 3, 4, 5, 6])
    await service.stop()
  }

  @Test func theFilterAndTheCallersMetadataArrive() async throws {
    let requests = Box<(V1.WatchEventsRequest, String?)>()
    let service = try Loopback { router in
      router.watching { call, request in
        requests.put((request, call.metadata("traceparent")))
        call.fail(RPCError(code: .permissionDenied, message: "not granted"))
      }
    }
    let client = TouchstoneClient(target: service.target)
    let request = V1.WatchEventsRequest(filter: V1.EventFilter(applicationID: "shop"), afterSequence: 7)
    var events = client.watchEvents(request, options: CallOptions(metadata: [("traceparent", "00-1")]))
      .makeAsyncIterator()
    let error = await failure { () throws(TouchstoneError) in try await events.next() }
    #expect(error?.code == .permissionDenied)
    let (seen, trace) = await requests.next()
    #expect(seen == request && trace == "00-1")
    // The thrown error is the end.
    #expect(try await events.next() == nil)
    await service.stop()
  }

  @Test func cancellingTheTaskCancelsTheCall() async throws {
    let (begun, ended) = (Box<Void>(), Box<RPCCancellation>())
    let service = try Loopback { $0.silence(begun, ended) }
    let client = TouchstoneClient(target: service.target)
    let watch = Task {
      await failure { () throws(TouchstoneError) in
        for try await _ in client.watchEvents(V1.WatchEventsRequest()) {}
      }
    }
    await begun.next()
    watch.cancel()
    #expect(await watch.value?.code == .cancelled)
    #expect(await ended.next() == .reset)
    await service.stop()
  }

  @Test func anIterationThatIsDroppedCancelsItsCall() async throws {
    let ended = Box<RPCCancellation>()
    let service = try Loopback { $0.silence(Box(), ended, after: V1.Event(sequence: 1)) }
    let client = TouchstoneClient(target: service.target)
    for try await event in client.watchEvents(V1.WatchEventsRequest()) {
      #expect(event.sequence == 1)
      break
    }
    #expect(await ended.next() == .reset)
    await service.stop()
  }
}

extension RPCRouter {
  fileprivate mutating func watching(
    _ handler: @escaping @Sendable (RPCServerStream, V1.WatchEventsRequest) throws -> Void
  ) {
    registerServerStreaming("/touchstone.v1.AdministrationService/WatchEvents") { call, bytes in
      do {
        try handler(call, try V1.WatchEventsRequest.decoded(from: Array(bytes)))
      } catch {
        call.fail(RPCError(code: .internalError, message: "\(error)"))
      }
      return { _, _ in }
    }
  }

  /// Each watch brings so many events and is sent away then.
  fileprivate mutating func events(_ count: UInt64) {
    watching { call, request in
      for sequence in request.afterSequence + 1...request.afterSequence + count {
        call.send(try V1.WatchEventsResponse(event: V1.Event(sequence: sequence)).encoded())
      }
      call.fail(RPCError(code: .unavailable, message: "the server stops"))
    }
  }

  /// Brings nothing, or one event and nothing more.
  fileprivate mutating func silence(
    _ begun: Box<Void>, _ ended: Box<RPCCancellation>, after event: V1.Event? = nil
  ) {
    watching { call, _ in
      call.onCancel { ended.put($0) }
      if let event { call.send(try V1.WatchEventsResponse(event: event).encoded()) }
      begun.put(())
    }
  }
}
