// A store that was put back to an earlier time.

package import TouchstonePolicy

/// The ends of a store's audit log: at the backup, and after the restoration.
public struct Restoration: Sendable, Hashable {
  /// Events after this one are lost.
  public var last: EventChain.Head
  public var head: EventChain.Head

  package init(last: EventChain.Head, head: EventChain.Head) {
    self.last = last
    self.head = head
  }
}

extension EventDraft {
  /// The events after `head` are lost.
  package static func restored(after head: EventChain.Head, at now: UnixTime) -> EventDraft {
    EventDraft(
      time: now, kind: "store.restored", applicationID: "", caller: "operator",
      details: [EventDetail(key: "last_sequence", value: "\(head.sequence)")])
  }
}
