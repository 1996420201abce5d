internal import DispatchRPC
internal import RPCChannel
internal import Synchronization
public import TouchstoneCodec

/// Events as they happen, in the order of their numbers, each once.
///
/// The iteration requests the next event when the caller wants one, so a slow caller only slows its own watch, until
/// the service ends it (RESOURCE_EXHAUSTED). The iteration ends by throwing, also if the service stops (UNAVAILABLE) or
/// the task is cancelled (CANCELLED). No event is missed if the next watch begins after the last event that was
/// received. If it throws OUT_OF_RANGE, events were archived, or the database was restored from a backup; another try
/// does not help:
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

    /// `nil` after the error that ended it.
    public mutating func next() async throws(TouchstoneError) -> V1.Event? {
      try await call.next().get()
    }

    /// The same, with the isolation of the caller.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TouchstoneError) -> V1.Event? {
      try await call.next().get()
    }
  }
}

extension TouchstoneClient {
  /// Streams events as they happen, from the first one after `afterSequence`. Without a time limit unless the options
  /// set one.
  public func watchEvents(_ request: V1.WatchEventsRequest, options: CallOptions = .default) -> EventWatch {
    EventWatch(client: self, request: request, options: options)
  }
}

/// One call of WatchEvents. It begins with the first request for an event, and is cancelled when its last reference
/// goes.
private final class EventWatchCall: Sendable {
  typealias Answer = Result<V1.Event?, TouchstoneError>

  private struct State {
    var stream: RPCChannelStream?
    /// The caller requested the next event, and waits.
    var waiter: CheckedContinuation<Answer, Never>?
    /// No caller waits for it.
    var unseenEnd: TouchstoneError?
    var isOver = false
  }

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
      precondition(state.waiter == nil, "an iteration requests one event at a time")
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

  /// `nil` if the call is over already.
  private func stream() throws(EncodingError) -> RPCChannelStream? {
    if let stream = state.withLock(\.stream) { return stream }
    let message = try watch.client.requestCoder.encode(watch.request)
    let stream = watch.client.channel.openStream(
      V1.AdministrationService.watchEvents.path, options: watch.client.streamOptions(watch.options)
    ) {
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
