// What all who watch events read from: the latest ones from memory, older ones from the store, a few at a time.

internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneStore

final class EventFeed: Sendable {
  private struct State: Sendable {
    var machine = EventFeedStateMachine()
    var observation: EventSignal.Observation?
    var pages = PageTurns()
  }

  private let store: any Store
  private let state = Mutex(State())
  private let onNews: @Sendable () -> Void
  private let onFailure: @Sendable (StoreError) -> Void

  /// - Parameters:
  ///   - onNews: there is more to be read; on a thread of the store's.
  ///   - onFailure: there will be nothing more. Whoever watches is to be sent away.
  init(
    store: any Store, onNews: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    self.store = store
    self.onNews = onNews
    self.onFailure = onFailure
  }

  deinit {
    if let observation = state.withLock({ $0.observation }) { store.eventSignal.remove(observation) }
  }

  /// `nil`: it has not begun; news will come when it has.
  func read(after position: UInt64) -> EventWindow.Reading? {
    state.withLock { $0.machine.read(after: position) }
  }

  /// Begins to follow the log.
  func watcherCame() {
    transition { $0.watcherCame() }
  }

  func watcherLeft() {
    transition { machine in
      machine.watcherLeft()
      return nil
    }
  }

  private func transition(_ change: (inout EventFeedStateMachine) -> EventFeedStateMachine.Read?) {
    guard let read = state.withLock({ change(&$0.machine) }) else { return listen() }
    listen()
    perform(read)
  }

  /// From before the head is read until nobody watches.
  private func listen() {
    state.withLock { state in
      if state.machine.isIdle, let observation = state.observation {
        store.eventSignal.remove(observation)
        state.observation = nil
      } else if !state.machine.isIdle, state.observation == nil {
        state.observation = store.eventSignal.observe { [weak self] in self?.transition { $0.rang() } }
      }
    }
  }

  private func perform(_ read: EventFeedStateMachine.Read) {
    switch read {
    case .head(let life):
      store.eventChainHead { [weak self] result in
        self?.took(result, life: life) { $0.headRead($1.sequence, life: life) }
      }
    case .page(let after, let life):
      store.events(
        matching: EventFilter(applicationID: ""), afterSequence: after, limit: EventFeedStateMachine.pageLimit
      ) { [weak self] result in
        let page = result.flatMap { $0.start > after ? .failure(Self.archived) : .success(WatchedPage(encoding: $0)) }
        self?.took(page, life: life) { $0.pageRead($1, life: life) }
      }
    }
  }

  /// What nobody sees is archived before it was read: whoever watches finds out by resuming.
  private static let archived = StoreError(code: .unavailable, message: "events were archived before they were read")

  private func took<Value>(
    _ result: Result<Value, StoreError>, life: UInt64,
    _ change: (inout EventFeedStateMachine, Value) -> EventFeedStateMachine.Read?
  ) {
    switch result {
    case .success(let value):
      transition { change(&$0, value) }
      onNews()
    case .failure(let error):
      let concernsSomebody = state.withLock { $0.machine.readFailed(life: life) }
      listen()
      if concernsSomebody { onFailure(error) }
    }
  }

  // MARK: From the store

  /// As `Store.events`, in turn with all the others who are not at the log's end.
  func page(
    matching filter: EventFilter, after position: UInt64, limit: Int,
    completion: @escaping @Sendable (Result<EventPage, StoreError>) -> Void
  ) {
    let read: @Sendable () -> Void = { [weak self] in
      guard let self else { return }
      store.events(matching: filter, afterSequence: position, limit: limit) { [weak self] result in
        let next = self?.state.withLock { $0.pages.finish() }
        completion(result)
        next?()
      }
    }
    state.withLock { $0.pages.begin(read) }?()
  }
}

extension WatchedPage {
  /// Once for all who watch.
  fileprivate init(encoding page: EventPage) {
    let coder = MessageCoder()
    events = page.events.map { record in
      // What cannot be encoded fails where it is sent.
      WatchedEvent(record, answer: try? coder.encode(V1.WatchEventsResponse(event: V1.Event(record))))
    }
    through = page.through
  }
}

/// So many reads at a time; the others wait for their turn. A crowd that resumes after a restart takes all of its pages,
/// and lists are still read beside it.
private struct PageTurns: Sendable {
  static let maximumReads = 4

  private var running = 0
  private var waiting: [@Sendable () -> Void] = []

  /// What to do now: `read`, or nothing.
  mutating func begin(_ read: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? {
    guard running < Self.maximumReads else {
      waiting.append(read)
      return nil
    }
    running += 1
    return read
  }

  mutating func finish() -> (@Sendable () -> Void)? {
    guard !waiting.isEmpty else {
      running -= 1
      return nil
    }
    return waiting.removeFirst()
  }
}
