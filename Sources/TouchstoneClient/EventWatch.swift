// WatchEvents as its caller sees it: events to iterate over, taken one at a time.

internal import DispatchRPC
internal import RPCChannel
internal import Synchronization
public import TouchstoneCodec

/// Events as they happen, in the order of their numbers, each once.
///
/// The iteration asks for the next event when it wants one: who takes long is waited for, until the service sends it away
/// (RESOURCE_EXHAUSTED). It ends by throwing: also where the service stops (UNAVAILABLE) and where the task is cancelled
/// (CANCELLED). Nothing is missed where the next watch begins after the last event that was seen:
/// ```swift
/// for try await event in client.watchEvents(V1.WatchEventsRequest(afterSequence: last)) { last = event.sequence … }
/// ```
public struct EventWatch: AsyncSequence, Sendable {
  let client: TouchstoneClient
  let request: V1.WatchEventsRequest
  let options: CallOptions

  /// Each iteration is a call of its own.
  public func makeAsyncIterator() -> Iterator {
    Iterator(call: EventWatchCall(self))
  }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let call: EventWatchCall

    /// `nil` after the end that was thrown.
    public mutating func next() async throws(TouchstoneError) -> V1.Event? {
      try await call.next().get()
    }

    /// As above.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TouchstoneError) -> V1.Event? {
      try await call.next().get()
    }
  }
}

extension TouchstoneClient {
  /// What happens, as it happens, from the first event after `afterSequence`. Without a time limit unless the options set one.
  public func watchEvents(_ request: V1.WatchEventsRequest, options: CallOptions = .default) -> EventWatch {
    EventWatch(client: self, request: request, options: options)
  }
}

/// One call of WatchEvents. It begins with the first event that is asked for, and is cancelled where nobody holds it any more.
private final class EventWatchCall: Sendable {
  typealias Answer = Result<V1.Event?, TouchstoneError>

  private struct State {
    var stream: RPCChannelStream?
    /// Asked for the next event, and waits.
    var waiter: CheckedContinuation<Answer, Never>?
    /// Nobody waited for it.
    var unseenEnd: TouchstoneError?
    var isOver = false
  }

  private static let path = "/touchstone.v1.AdministrationService/WatchEvents"

  private let watch: EventWatch
  private let state = Mutex(State())

  init(_ watch: EventWatch) {
    self.watch = watch
  }

  deinit {
    state.withLock(\.stream)?.cancel()
  }

  func next() async -> Answer {
    await withTaskCancellationHandler {
      await withCheckedContinuation { wait($0) }
    } onCancel: {
      cancel()
    }
  }

  private func wait(_ continuation: CheckedContinuation<Answer, Never>) {
    let known = state.withLock { state -> Answer? in
      if let error = state.unseenEnd {
        state.unseenEnd = nil
        return .failure(error)
      }
      guard !state.isOver else { return .success(nil) }
      precondition(state.waiter == nil, "an iteration asks for one event after the other")
      state.waiter = continuation
      return nil
    }
    if let known { return continuation.resume(returning: known) }
    do throws(EncodingError) {
      try stream()?.request(1)
    } catch {
      end(TouchstoneError(error))
    }
  }

  /// `nil` where the call is over already.
  private func stream() throws(EncodingError) -> RPCChannelStream? {
    if let stream = state.withLock(\.stream) { return stream }
    let message = try watch.client.requestCoder.encode(watch.request)
    let stream = watch.client.channel.openStream(Self.path, options: watch.client.streamOptions(watch.options)) {
      [weak self] _, event in
      self?.received(event)
    }
    stream.send(message)
    stream.finishSending()
    let isOver = state.withLock { state in
      state.stream = stream
      return state.isOver
    }
    guard !isOver else {
      stream.cancel()
      return nil
    }
    return stream
  }

  private func cancel() {
    state.withLock(\.stream)?.cancel()
    end(TouchstoneError(code: .cancelled, message: "the task was cancelled"))
  }

  private func received(_ event: RPCClientStreamEvent) {
    switch event {
    case .initialMetadata, .writable:
      break
    case .message(let bytes):
      switch watch.client.responseCoder.decode(V1.WatchEventsResponse.self, from: Array(bytes)) {
      case .success(let response): answer(.success(response.event ?? V1.Event()))
      case .failure(let error):
        state.withLock(\.stream)?.cancel()
        end(error)
      }
    case .end(.success):
      end(TouchstoneError(code: .unavailable, message: "the service ended the watch"))
    case .end(.failure(let error)):
      end(TouchstoneError(error))
    }
  }

  private func answer(_ answer: Answer) {
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: answer)
  }

  private func end(_ error: TouchstoneError) {
    let waiter = state.withLock { state -> CheckedContinuation<Answer, Never>? in
      guard !state.isOver else { return nil }
      state.isOver = true
      if state.waiter == nil { state.unseenEnd = error }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: .failure(error))
  }
}
