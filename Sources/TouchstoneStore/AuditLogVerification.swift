// What a verification of an audit log found (R41).

public struct AuditLogVerification: Sendable, Hashable {
  /// After which event the kept log begins, and this verification: those up to it were archived.
  public var start: EventChain.Head
  /// Events that were found as they were written, from the first kept one on.
  public var verifiedCount: UInt64
  /// How many events lost their content to an erasure.
  public var erasedCount: UInt64
  /// Where the log ends. Note it elsewhere: who can rewrite the whole log cannot rewrite the note.
  public var head: EventChain.Head
  /// What erasures account for of the archived events: see `EventChainVerifier.take(accounts:)`.
  public var earlierAccounts: [UInt64] = []
  /// What came of the accounts' signatures.
  public var accounts = AccountReview.none
  /// `nil`: every event is as it was written, and there are no others.
  public var fault: EventChainVerifier.Fault?

  /// Of which nothing is known yet.
  package init(start: EventChain.Head, head: EventChain.Head) {
    self.start = start
    self.head = head
    verifiedCount = 0
    erasedCount = 0
  }

  /// What the verifier came to. A fault may be about an event before those that it took for whole.
  package mutating func count(_ verifier: EventChainVerifier) {
    verifiedCount = fault.map { min($0.wholeCount(after: start), verifier.verifiedCount) } ?? verifier.verifiedCount
    erasedCount = verifier.erasedCount
    earlierAccounts = verifier.earlierAccounts
  }
}

extension EventChainVerifier.Fault {
  /// How many events before it may be whole.
  fileprivate func wholeCount(after start: EventChain.Head) -> UInt64 {
    sequence <= start.sequence ? 0 : sequence - start.sequence - 1
  }
}
