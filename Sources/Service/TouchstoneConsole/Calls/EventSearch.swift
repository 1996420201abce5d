// The newest events of the audit log, or those before one: ListEvents goes forwards, and readers go backwards.

internal import DispatchRPC
internal import Encodings
internal import TouchstoneCodec
internal import TouchstonePolicy
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
  private static let names = [
    Form.Field.application, Form.Field.profile, "kind", Form.Field.device, "binding", "caller", "reason", "since",
    "until",
  ]
  /// The form's fields that are not empty, as they were typed.
  let fields: [(String, String)]
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

  init(_ fields: [(String, String)]) {
    self.fields = fields.filter { !$1.isEmpty }
  }

  /// An operator of some applications alone sees one of them at a time.
  init(_ visit: Visit) {
    let own = visit.reader.application.isEmpty ? visit.reader.signedIn?.applications?.first : nil
    self.init(Self.names.map { ($0, visit.field($0)) } + [(Form.Field.application, own ?? "")])
    before = UInt64(visit.field("before"))
  }

  subscript(_ name: String) -> String { fields.first { $0.0 == name }?.1 ?? "" }

  private var filter: V1.EventFilter {
    V1.EventFilter(
      applicationID: self[Form.Field.application], profileID: self[Form.Field.profile],
      kinds: self["kind"].isEmpty ? [] : [self["kind"]], deviceID: self[Form.Field.device], bindingID: self["binding"],
      caller: self["caller"], reason: self["reason"])
  }

  private func times() throws(CallFailure) -> (since: UnixTime?, until: UnixTime?) {
    let (since, until) = (try time("since"), try time("until"))
    if let since, let until, until <= since { throw Self.refused("until", "must be after the beginning") }
    return (since, until)
  }

  private static func refused(_ field: String, _ description: String) -> CallFailure {
    var failure = CallFailure(code: .invalidArgument, message: "\(field) \(description)")
    failure.violations = [(field, description)]
    return failure
  }

  private func time(_ name: String) throws(CallFailure) -> UnixTime? {
    guard !self[name].isEmpty else { return nil }
    guard let time = CalendarTime.read(typed: self[name]) else {
      throw Self.refused(name, "is no time; write it so: 2026-11-29T02:00")
    }
    return UnixTime(seconds: time.seconds)
  }

  func run(by calls: OperatorCalls) async throws(CallFailure) -> EventList {
    let kept = try await extent(of: calls.service)
    let (since, until) = try times()
    let extent =
      since == nil && until == nil ? kept : try await extent(of: calls.service, since: since, until: until)
    let end = min(before.map { $0 == 0 ? 0 : $0 - 1 } ?? extent.upperBound, extent.upperBound)
    var start = end
    var window = Self.window
    var found: [V1.Event] = []
    // Only a profile's events have an index: others take a part at a time. The first call also judges the form.
    for step in 0..<(self[Form.Field.profile].isEmpty ? 1 : Self.maximumSteps)
    where step == 0 || found.count < limit && start > extent.lowerBound {
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
      archivedThrough: extent.lowerBound > kept.lowerBound ? 0 : kept.lowerBound)
  }

  /// Returns all events in the log's order; `nil` if there are too many for one file.
  func all(by calls: OperatorCalls) async throws(CallFailure) -> [V1.Event]? {
    var found: [V1.Event] = []
    var token = ""
    for _ in 0..<Self.maximumExportPages {
      let page = try await page(after: 0, token, by: calls)
      found += page.events
      token = page.nextPageToken
      if found.count > Self.maximumExport { return nil }
      if token.isEmpty { return found }
    }
    return nil
  }

  /// Some 5 MB, which the process holds while it answers.
  static let maximumExport = 10_000
  /// Some 500,000 events, which take two seconds to search.
  private static let maximumExportPages = 50

  /// In the log's order.
  private func events(
    after: UInt64, through: UInt64, by calls: OperatorCalls
  ) async throws(CallFailure) -> [V1.Event] {
    var found: [V1.Event] = []
    var token = ""
    for _ in 0..<Self.maximumPages {
      let page = try await page(after: after, token, by: calls)
      found += page.events.filter { $0.sequence <= through }
      // The newest are wanted.
      found.removeFirst(max(0, found.count - Self.heldEvents))
      token = page.nextPageToken
      guard !token.isEmpty, (UInt64(token) ?? 0) < through else { break }
    }
    return found
  }

  private func page(
    after: UInt64, _ token: String, by calls: OperatorCalls
  ) async throws(CallFailure) -> V1.ListEventsResponse {
    let (since, until) = try times()
    return try await calls(
      V1.AdministrationService.listEvents,
      V1.ListEventsRequest(
        filter: filter, afterSequence: after, pageSize: Self.pageSize, pageToken: token,
        since: since.map { V1.Timestamp(seconds: $0.seconds) }, until: until.map { V1.Timestamp(seconds: $0.seconds) }))
  }

  /// More than a page shows, so that it is known whether there are more.
  private static let heldEvents = 1_000

  private func extent(
    of service: TouchstoneService, since: UnixTime? = nil, until: UnixTime? = nil
  ) async throws(CallFailure) -> ClosedRange<UInt64> {
    do {
      return try await service.auditLogExtent(since: since, until: until)
    } catch {
      throw CallFailure(code: .unavailable, message: "the audit log cannot be read now")
    }
  }
}
