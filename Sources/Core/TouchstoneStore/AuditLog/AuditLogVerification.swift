// The result of a verification of an audit log (R41).

public struct AuditLogVerification: Sendable, Hashable {
  /// The event before the first kept one, where this verification begins: those up to it were archived.
  public var start: EventChain.Head
  /// Events that are as they were written, from the first kept one on.
  public var verifiedCount: UInt64
  /// How many events lost their content to an erasure.
  public var erasedCount: UInt64
  /// The end of the log. Note it elsewhere: an attacker with write access to the whole log cannot change the note.
  public var head: EventChain.Head
  /// The archived events that erasures account for: see `EventChainVerifier.take(accounts:)`.
  public var earlierAccounts: [AccountedErasure]
  /// The findings about the accounts' signatures.
  public var accounts: AccountReview
  /// `nil`: every event is as it was written, and there are no others.
  public var fault: EventChainVerifier.Fault?

  /// - Parameter verifier: `nil`: it has read nothing. A fault may concern an event before those that it accepted.
  package init(
    from start: EventChain.Head, through head: EventChain.Head, _ verifier: EventChainVerifier?,
    fault: EventChainVerifier.Fault?, accounts: AccountReview
  ) {
    self.start = start
    self.head = head
    self.fault = fault
    self.accounts = accounts
    let verified = verifier?.verifiedCount ?? 0
    verifiedCount = fault.map { min($0.wholeCount(after: start), verified) } ?? verified
    erasedCount = verifier?.erasedCount ?? 0
    earlierAccounts = verifier?.earlierAccounts ?? []
  }
}

extension EventChainVerifier.Fault {
  /// How many events before it may be unaltered.
  fileprivate func wholeCount(after start: EventChain.Head) -> UInt64 {
    sequence <= start.sequence ? 0 : sequence - start.sequence - 1
  }
}
