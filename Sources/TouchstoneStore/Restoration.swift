// A store that was put back to an earlier time.

package import TouchstonePolicy

/// Where its audit log ended then, and where it ends with the restoration.
public struct Restoration: Sendable, Hashable {
  /// What came after it is lost.
  public var last: EventChain.Head
  public var head: EventChain.Head

  package init(last: EventChain.Head, head: EventChain.Head) {
    self.last = last
    self.head = head
  }
}

extension EventDraft {
  /// What followed `head` is lost.
  package static func restored(after head: EventChain.Head, at now: UnixTime) -> EventDraft {
    EventDraft(
      time: now, kind: "store.restored", applicationID: "", caller: "operator",
      details: [EventDetail(key: "last_sequence", value: "\(head.sequence)")])
  }
}
