// The errors for a reader of the audit log that would miss events unnoticed.

internal import DispatchRPC
internal import TouchstoneStore

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
