// The newest events of the audit log, or those before one: ListEvents goes forwards, and readers go backwards.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneService

/// A list of events, the newest first, and the part of the log that it covers.
struct EventList: Sendable {
  var events: [V1.Event] = []
  /// The first and last number that were searched.
  var searched: ClosedRange<UInt64>
  /// More of the log lies before it.
  var hasEarlier: Bool
  /// The last event that is in the archive's files instead; 0: none.
  var archivedThrough: UInt64
}

struct EventSearch: Sendable {
  var applicationID = ""
  var profileID = ""
  var kindPrefix = ""
  /// Only events before this number; `nil`: the newest.
  var before: UInt64?
  /// Shown on one page.
  var limit = 50

  /// The events that one call of ListEvents looks at.
  private static let window: UInt64 = 10_000
  /// Parts that are searched for a page, each 16 times as long as the one before: a profile's events are found by an
  /// index.
  private static let maximumSteps = 4
  /// Pages that are read of one part.
  private static let maximumPages = 12
  private static let pageSize: UInt32 = 1_000

  func run(by calls: OperatorCalls) async throws(CallFailure) -> EventList {
    let extent = try await Self.extent(of: calls.service)
    let end = min(before.map { $0 == 0 ? 0 : $0 - 1 } ?? extent.upperBound, extent.upperBound)
    var start = end
    var window = Self.window
    var found: [V1.Event] = []
    // Only a profile's events have an index: others take a part at a time.
    for _ in 0..<(profileID.isEmpty ? 1 : Self.maximumSteps) where found.count < limit && start > extent.lowerBound {
      let earlier = max(extent.lowerBound, start - min(start, window))
      found = try await events(after: earlier, through: start, by: calls) + found
      start = earlier
      window *= 16
    }
    let shown = Array(found.suffix(limit).reversed())
    // An earlier page begins where this one's oldest event is, if not all were shown.
    if found.count > limit, let oldest = shown.last { start = oldest.sequence - 1 }
    return EventList(
      events: shown, searched: min(start + 1, end)...end, hasEarlier: start > extent.lowerBound,
      archivedThrough: extent.lowerBound)
  }

  /// In the log's order.
  private func events(
    after: UInt64, through: UInt64, by calls: OperatorCalls
  ) async throws(CallFailure) -> [V1.Event] {
    var found: [V1.Event] = []
    var token = ""
    for _ in 0..<Self.maximumPages {
      let page: V1.ListEventsResponse = try await calls(
        V1.AdministrationService.listEvents,
        V1.ListEventsRequest(
          filter: V1.EventFilter(
            applicationID: applicationID, profileID: profileID, kinds: kindPrefix.isEmpty ? [] : [kindPrefix]),
          afterSequence: after, pageSize: Self.pageSize, pageToken: token))
      found += page.events.filter { $0.sequence <= through }
      // The newest are wanted.
      found.removeFirst(max(0, found.count - Self.heldEvents))
      token = page.nextPageToken
      guard !token.isEmpty, (UInt64(token) ?? 0) < through else { break }
    }
    return found
  }

  /// More than a page shows, so that it is known whether there are more.
  private static let heldEvents = 1_000

  private static func extent(of service: TouchstoneService) async throws(CallFailure) -> ClosedRange<UInt64> {
    do {
      return try await service.auditLogExtent()
    } catch {
      throw CallFailure(code: .unavailable, message: "the audit log cannot be read now")
    }
  }
}
