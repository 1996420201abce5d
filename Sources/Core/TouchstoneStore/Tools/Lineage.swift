public import TouchstonePolicy

/// A store's line of history, chosen at random when it is made, and again when it is restored from a backup.
///
/// After a restoration, the uses since the backup are unknown. Everything that was issued in another line is therefore
/// void: otherwise it would serve a second time (R28, R35, R39). This needs no clock, and delays nothing that is issued
/// afterwards. The key of everything that expires carries the lineage; the store only remembers its present one.
public struct Lineage: RawRepresentable, Sendable, Hashable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// A lineage that differs from this one.
  package func successor() -> Lineage {
    Lineage(rawValue: rawValue &+ .random(in: 1 ... .max))
  }
}

extension ExpiringKey {
  /// The lineage bits of a key that is issued now.
  ///
  /// - Parameter random: 96 bits of it are used.
  public init(expiresAt: UnixTime, random: UniqueID, in lineage: Lineage) {
    let high = UInt64(lineage.rawValue) << 32 | UInt64(UInt32(truncatingIfNeeded: random.high))
    self.init(expiresAt: expiresAt, id: UniqueID(high: high, low: random.low))
  }

  public func isIssued(in lineage: Lineage) -> Bool { id.high >> 32 == lineage.rawValue }
}

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
