// The latest events in memory, from which all watches read at the log's end.

internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneStore

final class EventFeed: Sendable {
  private struct State: Sendable {
    var machine = EventFeedStateMachine()
    var observation: EventSignal.Observation?
  }

  private let store: any Store
  private let state = Mutex(State())
  /// They own this feed.
  private weak let watches: EventWatches?

  init(store: any Store, watches: EventWatches) {
    (self.store, self.watches) = (store, watches)
  }

  deinit {
    if let observation = state.withLock({ $0.observation }) { store.eventSignal.remove(observation) }
  }

  /// `nil`: the feed has not begun; the watches get news when it has.
  func read(after position: UInt64) -> EventWindow.Reading? {
    state.withLock { $0.machine.read(after: position) }
  }

  /// Begins to follow the log, if this is the first watch.
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

  /// Listens from before the head is read until the last watch ends.
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

  /// Events may be archived before the feed reads them. The watching clients learn this when they resume.
  private static let archived = StoreError(code: .unavailable, message: "events were archived before they were read")

  private func took<Value>(
    _ result: Result<Value, StoreError>, life: UInt64,
    _ change: (inout EventFeedStateMachine, Value) -> EventFeedStateMachine.Read?
  ) {
    switch result {
    case .success(let value):
      transition { change(&$0, value) }
      watches?.newsCame()
    case .failure(let error):
      let concernsSomebody = state.withLock { $0.machine.readFailed(life: life) }
      listen()
      if concernsSomebody { watches?.feedFailed(error) }
    }
  }
}

extension WatchedPage {
  /// Encodes each event once for all watches.
  fileprivate init(encoding page: EventPage) {
    let coder = MessageCoder()
    events = page.events.map { record in
      // An event that cannot be encoded fails when it is sent.
      WatchedEvent(record, answer: try? coder.encode(V1.WatchEventsResponse(event: V1.Event(record))))
    }
    through = page.through
  }
}
