internal import Encodings
package import TouchstonePolicy

/// All events after `start` and up to `end`, as an archive file has them: they may be dropped from the audit log.
public struct ArchivedEvents: Sendable, Hashable {
  /// The event before the first kept one at the read.
  public var start: EventChain.Head
  public var end: EventChain.Head
  /// Up to this event the log says of no archived event that it was erased since the read: otherwise the file may hold
  /// erased content.
  public var unerasedThrough: UInt64
  /// The archiver. A store of several processes drops the events only if no other process has claimed archiving since.
  public var claimant: UniqueID

  public init(start: EventChain.Head, end: EventChain.Head, unerasedThrough: UInt64, claimant: UniqueID) {
    self.start = start
    self.end = end
    self.unerasedThrough = unerasedThrough
    self.claimant = claimant
  }
}

extension ArchivedEvents {
  /// The kind of the event that a drop leaves in the chain. A beginning that no such event names was not archived by
  /// us.
  public static let eventKind = "events.archived"

  private static let sequenceKey = "last_sequence"
  private static let hashKey = "last_hash"

  /// A store appends it in the drop's own transaction, so that the log always holds the event for its beginning.
  package func event(at time: UnixTime) -> EventDraft {
    EventDraft(
      time: time, kind: Self.eventKind, applicationID: "", caller: "operator",
      details: [
        EventDetail(key: Self.sequenceKey, value: "\(end.sequence)"),
        EventDetail(key: Self.hashKey, value: Hexadecimal.text(end.hash)),
      ])
  }

  /// Whether the event says that an archived event was erased.
  package func isErased(by event: EventDraft) -> Bool {
    ProfileErasure.events(accountedBy: event).contains { $0.sequence > start.sequence && $0.sequence <= end.sequence }
  }

  /// Whether the event says that everything up to `start` was archived.
  package static func isAccount(of start: EventChain.Head, _ event: EventDraft) -> Bool {
    event.kind == eventKind
      && event.details.contains(EventDetail(key: sequenceKey, value: "\(start.sequence)"))
      && event.details.contains(EventDetail(key: hashKey, value: Hexadecimal.text(start.hash)))
  }
}

extension EventChain.Head {
  /// The last event that may be archived: two stay, which identify the log's end.
  package var archivableEnd: UInt64 { sequence < 2 ? 0 : sequence - 2 }
}

extension StoreError {
  /// `Store.drop` found a log that differs from the archived one.
  package static let otherLog = StoreError(code: .conflict, message: "the audit log is not as it was archived")
}
