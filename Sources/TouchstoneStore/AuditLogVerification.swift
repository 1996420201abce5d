// What a verification of an audit log found (R41).

public struct AuditLogVerification: Sendable, Hashable {
  /// Events that were found as they were written, from the first one on.
  public var verifiedCount: UInt64
  /// How many events lost their content to an erasure.
  public var erasedCount: UInt64
  /// Where the log ends. Note it elsewhere: who can rewrite the whole log cannot rewrite the note.
  public var head: EventChain.Head
  /// `nil`: every event is as it was written, and there are no others.
  public var fault: EventChainVerifier.Fault?

  package init(verifiedCount: UInt64, erasedCount: UInt64, head: EventChain.Head) {
    self.verifiedCount = verifiedCount
    self.erasedCount = erasedCount
    self.head = head
  }

  /// What the verifier came to. A fault may be about an event before those that it took for whole.
  package mutating func count(_ verifier: EventChainVerifier) {
    verifiedCount = fault.map { min($0.wholeCount, verifier.verifiedCount) } ?? verifier.verifiedCount
    erasedCount = verifier.erasedCount
  }
}

extension EventChainVerifier.Fault {
  /// How many events before it may be whole.
  fileprivate var wholeCount: UInt64 { sequence == 0 ? 0 : sequence - 1 }
}
