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

  private var filter: EventFilter
  private let limit: Int
  private let exchange: Exchange<V1.ListEventsResponse>
  private let store: any Store
  private let permits: StorePermits

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

  /// Throws RESOURCE_EXHAUSTED if too many wait. If that happens after some events were found, it returns them.
  ///
  /// - Parameters:
  ///   - since: the beginning of the filter's times. The log is read from a little before its place.
  ///   - until: their end. The log is read to a little after its place.
  consuming func read(
    after position: UInt64, since: UnixTime?, until: UnixTime?
  ) async throws(RequestError) -> V1.ListEventsResponse {
    let permit = try await permit()
    let place = try await place(since, plus: .zero - EventDraft.timeTolerance) ?? 0
    filter.through = try await self.place(until, plus: EventDraft.timeTolerance) ?? .max
    var page = try await page(after: max(position, place), limit, permit: permit)
    // A search by time begins where it must: events that were archived meanwhile are named, and not refused.
    if let error = RequestError.missedEvents(before: page, after: position < place ? 0 : position) { throw error }
    var found = page.events
    for _ in 1..<Self.maximumReads where !isAll(page) && found.count < min(limit, Self.maximumHeldEvents) {
      let permit: StorePermit
      do throws(RequestError) {
        permit = try await self.permit()
      } catch {
        guard error.code == .resourceExhausted else { throw error }
        break
      }
      let position = page.through
      page = try await self.page(after: position, limit - found.count, permit: permit)
      if let error = RequestError.missedEvents(before: page, after: position) { throw error }
      found += page.events
    }
    return V1.ListEventsResponse(
      events: found.map(V1.Event.init), nextPageToken: isAll(page) ? "" : "\(page.through)",
      archivedThrough: place > page.start ? 0 : page.start)
  }

  private func isAll(_ page: EventPage) -> Bool { page.reachesEnd || page.through >= filter.through }

  /// `nil` without a time.
  private func place(_ time: UnixTime?, plus tolerance: Duration) async throws(RequestError) -> UInt64? {
    guard let time else { return nil }
    return try await exchange.value { store.eventPlace(at: time + tolerance, completion: $0) }
  }

  private func permit() async throws(RequestError) -> StorePermit {
    try await permits.permit(for: exchange, applicationID: filter.applicationID)
  }

  private func page(
    after position: UInt64, _ limit: Int, permit: StorePermit
  ) async throws(RequestError) -> EventPage {
    try await exchange.value(ending: permit) {
      store.events(matching: filter, afterSequence: position, limit: limit, completion: $0)
    }
  }
}

extension RequestError {
  /// Returns an error if a reader that has read up to `sequence` would miss events: they were archived, or the log ends
  /// before that event, because the database was put back to an earlier time. A reader that begins at 0 misses none.
  ///
  /// - Parameter page: was read after the reader named the sequence. The log of a database only grows, so no event that
  ///   another process sealed before is beyond the page's end.
  static func missedEvents(before page: EventPage, after sequence: UInt64) -> RequestError? {
    if sequence > page.end {
      return RequestError(
        code: .outOfRange,
        message: """
          the log ends with event \(page.end), before event \(sequence): the number is wrong, or the log was restored from a backup; what follows the event \
          store.restored is new
          """,
        reason: Reason.beyondLogEnd, metadata: ["last_sequence": "\(page.end)"])
    }
    guard sequence > 0, page.start > sequence else { return nil }
    return RequestError(
      code: .outOfRange,
      message:
        "the events after \(sequence) and up to \(page.start) were archived: the first kept one is \(page.start + 1)",
      reason: Reason.eventsArchived, metadata: ["first_sequence": "\(page.start + 1)"])
  }
}

extension RequestError.Reason {
  static let eventsArchived = "EVENTS_ARCHIVED"
  static let beyondLogEnd = "BEYOND_LOG_END"
}
