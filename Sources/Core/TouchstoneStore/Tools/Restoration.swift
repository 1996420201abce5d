// A store that was put back to an earlier time.

package import TouchstonePolicy

/// Where its audit log ended at the backup, and where it ends after the restoration.
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
