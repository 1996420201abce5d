// What was archived of the audit log, and may be dropped from it.

package import TouchstonePolicy

/// All events after `start` and up to `end`, as they stand in an archive file.
public struct ArchivedEvents: Sendable, Hashable {
  /// Where the kept log began when they were read.
  public var start: EventChain.Head
  public var end: EventChain.Head
  /// Up to this event no profile was erased since they were read: otherwise the file may hold what is gone.
  public var unerasedThrough: UInt64
  /// Who archived them. A store of several processes drops them only as long as nobody else has claimed archiving since.
  public var claimant: UniqueID

  public init(start: EventChain.Head, end: EventChain.Head, unerasedThrough: UInt64, claimant: UniqueID) {
    self.start = start
    self.end = end
    self.unerasedThrough = unerasedThrough
    self.claimant = claimant
  }
}

extension ArchivedEvents {
  /// Of the event that a drop leaves in the chain: a beginning that no such event names was not archived by us.
  public static let eventKind = "events.archived"

  private static let sequenceKey = "last_sequence"
  private static let hashKey = "last_hash"

  /// A store appends it in the drop's own transaction, so that the log always holds the one of its beginning.
  package func event(at time: UnixTime) -> EventDraft {
    EventDraft(
      time: time, kind: Self.eventKind, applicationID: "", caller: "operator",
      details: [
        EventDetail(key: Self.sequenceKey, value: "\(end.sequence)"),
        EventDetail(key: Self.hashKey, value: Hexadecimal.text(end.hash)),
      ])
  }

  /// Whether the event says that all up to `start` was archived.
  package static func isAccount(of start: EventChain.Head, _ event: EventDraft) -> Bool {
    event.kind == eventKind
      && event.details.contains(EventDetail(key: sequenceKey, value: "\(start.sequence)"))
      && event.details.contains(EventDetail(key: hashKey, value: Hexadecimal.text(start.hash)))
  }
}

extension EventChain.Head {
  /// The last event that may be archived: two stay, which an end is known by.
  package var archivableEnd: UInt64 { sequence < 2 ? 0 : sequence - 2 }
}

extension StoreError {
  /// `Store.drop` found another log than the one that was archived.
  package static let otherLog = StoreError(code: .conflict, message: "the audit log is not as it was archived")
}
