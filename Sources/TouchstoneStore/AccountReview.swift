// What a verification of the audit log makes of the accounts' signatures (R41).

/// A value that takes events in their order, and remembers what it could not check.
public struct AccountReview: Sendable {
  private enum Kind: Sendable {
    case none
    /// Keeps the latest for later, when there are keys: a start reads the log before its keys.
    case collecting
    /// Each from the first signature on must have one. `nil`: nobody gave the keys.
    case strict((@Sendable (AccountSignature, [UInt8]) -> AccountKeys.Finding)?)
  }

  /// Of a start: 50 ms of checking at most. A running service's first reading checks all.
  package static let maximumCollected = 1_024
  /// Keys that an operator ever had. A log with more of them was forged.
  private static let maximumKeyIDs = 64

  private let kind: Kind
  /// How many accounts have a signature: of a right one, where keys were given.
  public private(set) var signedCount: UInt64 = 0
  /// From it on each account must have one.
  public private(set) var firstSigned: UInt64?
  /// Accounts without a signature, before the first with one.
  public private(set) var unsignedCount: UInt64 = 0
  public private(set) var firstUnsigned: UInt64?
  /// Those that the signatures name, in the order of their first.
  public private(set) var keyIDs: [String] = []
  package private(set) var collected: [AccountClaim] = []

  private init(_ kind: Kind) {
    self.kind = kind
  }

  /// Looks at no signature.
  public static let none = AccountReview(.none)
  package static let collecting = AccountReview(.collecting)

  /// - Parameter check: `nil` where the verification has no keys. It finds accounts without a signature then, and no forged ones.
  public static func strict(
    _ check: (@Sendable (AccountSignature, [UInt8]) -> AccountKeys.Finding)?
  ) -> AccountReview {
    AccountReview(.strict(check))
  }

  public var hasKeys: Bool {
    if case .strict(.some) = kind { true } else { false }
  }

  /// - Parameter previous: the event before it.
  package mutating func take(
    _ event: EventDraft, after previous: EventChain.Head
  ) throws(EventChainVerifier.Fault) {
    if case .none = kind { return }
    guard let claim = AccountClaim(of: event, after: previous) else { return }
    switch claim.signature {
    case .wellFormed(let signature):
      if case .strict(let check?) = kind { try Self.require(signature, of: claim, by: check) }
      note(claim, signature)
    case .malformed:
      if case .strict = kind { throw .forged(sequence: claim.sequence) }
    case nil:
      if case .strict = kind, firstSigned != nil { throw .unsigned(sequence: claim.sequence) }
      firstUnsigned = firstUnsigned ?? claim.sequence
      unsignedCount += 1
    }
  }

  private static func require(
    _ signature: AccountSignature, of claim: AccountClaim,
    by check: @Sendable (AccountSignature, [UInt8]) -> AccountKeys.Finding
  ) throws(EventChainVerifier.Fault) {
    switch check(signature, claim.message) {
    case .valid: break
    case .forged: throw .forged(sequence: claim.sequence)
    case .unknownKey: throw .signedByStranger(sequence: claim.sequence, keyID: signature.keyID)
    }
  }

  private mutating func note(_ claim: AccountClaim, _ signature: AccountSignature) {
    signedCount += 1
    firstSigned = firstSigned ?? claim.sequence
    if keyIDs.count < Self.maximumKeyIDs, !keyIDs.contains(signature.keyID) { keyIDs.append(signature.keyID) }
    guard case .collecting = kind else { return }
    if collected.count == Self.maximumCollected { collected.removeFirst() }
    collected.append(claim)
  }

  /// What was collected, now that there are keys. Accounts by keys that are not among them are left to a reading that runs
  /// beside the service: a start that lost a key is not to fail for good.
  package func fault(by keys: AccountKeys) -> EventChainVerifier.Fault? {
    let forged = collected.first { claim in
      guard case .wellFormed(let signature) = claim.signature else { return false }
      return keys.check(signature, claim.message) == .forged
    }
    return forged.map { .forged(sequence: $0.sequence) }
  }
}

/// Equal where they came to the same, by whichever keys.
extension AccountReview: Hashable {
  private var findings: [AnyHashable] { [signedCount, firstSigned, unsignedCount, firstUnsigned, keyIDs] }

  public static func == (left: AccountReview, right: AccountReview) -> Bool {
    left.findings == right.findings
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(findings)
  }
}
