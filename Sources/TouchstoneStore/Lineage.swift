// Which line of history a challenge, a ticket or a token belongs to.

public import TouchstonePolicy

/// A store's line of history, chosen at random when it is made, and anew when it is restored from a backup.
///
/// What was used between the backup and its restoration is not known any more. So whatever was issued in another line is
/// void: it would work a second time (R28, R35, R39). It needs no clock, and nothing that is issued afterwards has to wait.
/// All that expires carries it in its key; the store only remembers which one it is in.
public struct Lineage: RawRepresentable, Sendable, Hashable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// Another one than this.
  package func successor() -> Lineage {
    Lineage(rawValue: rawValue &+ .random(in: 1 ... .max))
  }
}

extension ExpiringKey {
  /// Of what is issued now.
  ///
  /// - Parameter random: 96 bits of it are kept.
  public init(expiresAt: UnixTime, random: UniqueID, in lineage: Lineage) {
    let high = UInt64(lineage.rawValue) << 32 | UInt64(UInt32(truncatingIfNeeded: random.high))
    self.init(expiresAt: expiresAt, id: UniqueID(high: high, low: random.low))
  }

  public func isIssued(in lineage: Lineage) -> Bool { id.high >> 32 == lineage.rawValue }
}
