// Reads the audit log through the API, and prints it.

internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec
internal import TouchstoneService

struct EventLog {
  let session: AdminSession
  let filter: V1.EventFilter
  /// Prints comma-separated values.
  let isTable: Bool
  /// The events that are listed or counted at most.
  let limit: Int
  var since: V1.Timestamp?
  var until: V1.Timestamp?

  /// The service's maximum.
  private static let pageSize: UInt32 = 1_000
  /// The pauses before a cut watch is resumed: the first one, and the longest.
  private static let pauses = (first: Duration.milliseconds(200), longest: Duration.seconds(5))
  /// No log has so many events, and every store can compare with it.
  private static let beyondEveryLog: UInt64 = 1 << 62

  func list(after sequence: UInt64) async throws(AdminFailure) {
    var count = 0
    try await pages(after: sequence) { events throws(AdminFailure) in
      count += events.count
      for event in events { try print(event) }
    }
    tellIfNone(count)
  }

  /// A misspelt name finds as little as a quiet night.
  func tellIfNone(_ count: Int) {
    if count == 0, !session.isJSON, !isTable { printError("touchstone: there are no such events") }
  }

  func count(by key: EventCount.Key, after sequence: UInt64) async throws(AdminFailure) {
    var count = EventCount(by: key, namesApplications: filter.applicationID.isEmpty)
    try await pages(after: sequence) { events in for event in events { count.add(event) } }
    count.print(session)
  }

  /// Reads all of them, because the API has no other order.
  func last(_ count: Int, after sequence: UInt64) async throws(AdminFailure) -> [V1.Event] {
    var last: [V1.Event] = []
    try await pages(after: sequence) { events in last = Array((last + events).suffix(count)) }
    return last
  }

  private func pages(
    after sequence: UInt64, _ body: ([V1.Event]) throws(AdminFailure) -> Void
  ) async throws(AdminFailure) {
    var request = V1.ListEventsRequest(
      filter: filter, afterSequence: sequence, pageSize: Self.pageSize, since: since, until: until)
    var left = limit
    repeat {
      let page = try await session.call(session.client.listEvents, request)
      if sequence == 0, request.pageToken.isEmpty, page.archivedThrough > 0 {
        printError(
          "touchstone: events up to \(page.archivedThrough) were archived: they are in the archive's files (events-…-….jsonl)"
        )
      }
      try body(Array(page.events.prefix(left)))
      if page.events.count > left {
        throw AdminFailure(
          .difference, "there are more than \(limit) events: narrow --since and --until, or raise --limit")
      }
      left -= page.events.count
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
  }

  // MARK: Following

  /// Prints events until an error ends it that another try does not mend.
  ///
  /// - Parameter sequence: `nil` begins with the next event.
  func follow(after sequence: UInt64?) async throws(AdminFailure) {
    // Fails at once if the service cannot be reached or refuses the caller.
    let end = try await end()
    var last = sequence ?? end
    var pause = Self.pauses.first
    while true {
      do throws(TouchstoneError) {
        let request = V1.WatchEventsRequest(filter: filter, afterSequence: last)
        var events = session.client.watchEvents(request, options: CallOptions(waitForReady: true)).makeAsyncIterator()
        while let event = try await events.next() {
          last = event.sequence
          pause = Self.pauses.first
          try printed(event)
        }
      } catch {
        guard error.code == .unavailable || error.code == .resourceExhausted else { throw session.failure(error) }
        printError("touchstone: the watch ended (\(printable(error.message))); going on after event \(last)")
      }
      try? await Task.sleep(for: pause)
      pause = min(pause * 2, Self.pauses.longest)
    }
  }

  /// The number of the log's last event, which the refusal of a place beyond the end has.
  private func end() async throws(AdminFailure) -> UInt64 {
    do throws(TouchstoneError) {
      _ = try await session.client.listEvents(
        V1.ListEventsRequest(filter: filter, afterSequence: Self.beyondEveryLog, pageSize: 1))
    } catch {
      for case .errorInfo(let info) in error.details where info.reason == "BEYOND_LOG_END" {
        if let last = info.metadata["last_sequence"].flatMap({ UInt64($0) }) { return last }
      }
      throw session.failure(error)
    }
    throw AdminFailure(.wrongAnswer, "the service did not say where the log ends")
  }

  private func printed(_ event: V1.Event) throws(TouchstoneError) {
    do throws(AdminFailure) {
      try print(event)
    } catch {
      throw TouchstoneError(code: .internalError, message: error.lines.joined(separator: "; "))
    }
  }

  // MARK: Printing

  func print(_ event: V1.Event) throws(AdminFailure) {
    if session.isJSON { return try session.printJSON(event) }
    if isTable { return printLine(printable(EventTable.line(event))) }
    session.print(words: words(event))
  }

  private func words(_ event: V1.Event) -> [String] {
    var words = ["\(event.sequence)", session.text(event.time), event.kind.isEmpty ? "(erased)" : shown(event.kind)]
    if !event.applicationID.isEmpty {
      words.append(shown(event.applicationID) + (event.profileID.isEmpty ? "" : "/\(shown(event.profileID))"))
    }
    let named = [("device", event.deviceID), ("binding", event.bindingID), ("caller", event.caller)]
    let details = event.details.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    for (name, value) in named + details where !value.isEmpty { words.append("\(shown(name))=\(shown(value))") }
    return words
  }
}
