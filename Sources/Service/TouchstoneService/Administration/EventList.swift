// ListEvents: reads the audit log in small parts, in permits of callers, so that a long search delays no other caller.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// One call of ListEvents.
struct EventList: Sendable {
  /// Each read looks at `EventPage.maximumRows` at most. All together look at some 10,000 rows, which takes 30 ms.
  static let maximumReads = 10
  /// A list with this many events answers instead of waiting for another permit, so a waiting list holds some 64 KiB at
  /// most.
  static let maximumHeldEvents = 64

  private let filter: EventFilter
  private let limit: Int
  private let exchange: Exchange<V1.ListEventsResponse>
  private let store: any Store
  private let permits: StorePermits
  private var readsLeft = maximumReads

  init(
    _ filter: EventFilter, limit: Int, for exchange: Exchange<V1.ListEventsResponse>, store: any Store,
    permits: StorePermits
  ) {
    self.filter = filter
    self.limit = limit
    self.exchange = exchange
    self.store = store
    self.permits = permits
  }

  /// Answers the call. Throws RESOURCE_EXHAUSTED if too many wait.
  func answer(after position: UInt64) throws(RequestError) {
    try read(after: position, [])
  }

  /// Reads the next part, unless the caller is gone.
  private func read(after position: UInt64, _ found: [EventRecord]) throws(RequestError) {
    try permits.take(for: exchange, applicationID: filter.applicationID) { [store, filter, limit] completion in
      store.events(
        matching: filter, afterSequence: position, limit: limit - found.count, completion: completion)
    } then: { page throws(RequestError) in
      try take(page, after: position, found)
    }
  }

  private func take(_ page: EventPage, after position: UInt64, _ found: [EventRecord]) throws(RequestError) {
    if let error = RequestError.missedEvents(before: page, after: position) { throw error }
    let found = found + page.events
    var next = self
    next.readsLeft -= 1
    let goesOn = !page.reachesEnd && found.count < min(limit, Self.maximumHeldEvents) && next.readsLeft > 0
    // If too many calls wait, it answers with the events found so far.
    if goesOn, (try? next.read(after: page.through, found)) != nil { return }
    exchange.answer(
      V1.ListEventsResponse(
        events: found.map(V1.Event.init), nextPageToken: page.reachesEnd ? "" : "\(page.through)",
        archivedThrough: page.start))
  }
}
