// What a reader of the audit log is told who asks for events that are not there any more.

internal import DispatchRPC
internal import TouchstoneStore

extension RequestError {
  /// Somebody who has read up to this event missed some. From 0 on one reads what there is.
  ///
  /// - Parameter sequence: whoever asks wants what comes after it.
  static func archived(before page: EventPage, after sequence: UInt64) -> RequestError? {
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
}
