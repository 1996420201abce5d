// ListEvents: reads the audit log a little at a time, in turns of callers, so that nobody waits for a long search.

internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// All lists that are being read.
final class EventLists: Sendable {
  /// Each looks at `EventPage.maximumRows` at most: together some 10,000, which is 30 ms of reading.
  static let readsPerList = 10
  /// At one time: others read lists, too, from the same few connections.
  static let maximumReads = 2
  /// At work or waiting. One caller alone may have a third: 5 s of reading.
  static let maximumLists = 512
  /// A list that has found so many answers them instead of waiting for another turn: what waits holds some 64 KiB at most.
  static let maximumHeldEvents = 64

  private struct State: Sendable {
    var reads = 0
    var waiting = FairQueue<[UInt8], @Sendable () -> Void>()
    var shares = FairShares(capacity: EventLists.maximumLists)
  }

  fileprivate let store: any Store
  private let state = Mutex(State())

  init(store: any Store) {
    self.store = store
  }

  /// Answers the call. Throws RESOURCE_EXHAUSTED where too many wait.
  func list(
    _ filter: EventFilter, after position: UInt64, limit: Int, for exchange: Exchange<V1.ListEventsResponse>
  ) throws(RequestError) {
    let place = try ListPlace(of: exchange.caller, in: self)
    EventList(filter: filter, limit: limit, exchange: exchange, lists: self, place: place).read(after: position, [])
  }

  // MARK: Turns

  fileprivate func enter(_ holder: FairShares.Holder) -> FairShares.Limit? {
    state.withLock { state in
      let limit = state.shares.limit(for: holder)
      if limit == nil { state.shares.take(for: holder) }
      return limit
    }
  }

  fileprivate func leave(_ holder: FairShares.Holder) {
    state.withLock { $0.shares.giveBack(by: holder) }
  }

  /// Runs `read` when it is the caller's turn; it ends with `readEnded`.
  fileprivate func takeTurn(_ holder: FairShares.Holder, _ read: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      if state.reads < Self.maximumReads {
        state.reads += 1
        return true
      }
      state.waiting.append(read, at: [holder.caller])
      return false
    }
    if isNow { read() }
  }

  fileprivate func readEnded() {
    let next = state.withLock { state in
      let next = state.waiting.removeFirst()
      if next == nil { state.reads -= 1 }
      return next
    }
    next?()
  }
}

/// One list's place among the others, until it is dropped.
private final class ListPlace: Sendable {
  let holder: FairShares.Holder
  private let lists: EventLists

  init(of caller: Caller, in lists: EventLists) throws(RequestError) {
    let name = Array(caller.identity.utf8)
    let holder = FairShares.Holder(application: name, caller: name)
    if let limit = lists.enter(holder) { throw .tooManyLists(of: caller, limit) }
    self.holder = holder
    self.lists = lists
  }

  deinit {
    lists.leave(holder)
  }
}

/// One call.
private struct EventList: Sendable {
  let filter: EventFilter
  let limit: Int
  let exchange: Exchange<V1.ListEventsResponse>
  let lists: EventLists
  let place: ListPlace
  var readsLeft = EventLists.readsPerList

  /// Reads on, unless the caller is gone.
  func read(after position: UInt64, _ found: [EventRecord]) {
    lists.takeTurn(place.holder) {
      guard !exchange.call.isCancelled else { return lists.readEnded() }
      lists.store.events(matching: filter, afterSequence: position, limit: limit - found.count) { result in
        lists.readEnded()
        exchange.then { page throws(RequestError) in try take(page, after: position, found) }(result)
      }
    }
  }

  private func take(_ page: EventPage, after position: UInt64, _ found: [EventRecord]) throws(RequestError) {
    if let error = RequestError.archived(before: page, after: position) { throw error }
    let found = found + page.events
    guard !page.reachesEnd, found.count < min(limit, EventLists.maximumHeldEvents), readsLeft > 1 else {
      return exchange.answer(
        V1.ListEventsResponse(
          events: found.map(V1.Event.init), nextPageToken: page.reachesEnd ? "" : "\(page.through)"))
    }
    var next = self
    next.readsLeft -= 1
    next.read(after: page.through, found)
  }
}

extension RequestError {
  fileprivate static func tooManyLists(of caller: Caller, _ limit: FairShares.Limit) -> RequestError {
    RequestError(
      code: .resourceExhausted, message: "too many lists of events at once; try again",
      quota: Quota(
        subject: limit == .server ? .server : .caller(caller), limit: "as many lists at once as leave room for others"))
  }
}
