/// How a verification of the audit log judges the accounts' signatures (R41). It takes events in their order, and
/// remembers those that it could not check.
public struct AccountReview: Sendable {
  private enum Kind: Sendable {
    case none
    /// Keeps the latest ones until there are keys: a start reads the log before its keys.
    case collecting
    /// Every account from the first signature on must have one. `nil`: the verification has no keys.
    case strict((@Sendable (AccountSignature, [UInt8]) -> AccountKeys.Finding)?, SignedFrom)
  }

  /// From where on each account must have a signature. The log's own first signature shows this only if it is really
  /// the first: an attacker who blanks it moves it.
  public enum SignedFrom: Sendable, Hashable {
    case firstSignature
    /// Every account of the whole log.
    case beginning
    /// From this event on, which is a signed account. Its number was noted outside when the log was first signed.
    case event(UInt64)
  }

  /// For a start: 50 ms of checking at most. A running service's first reading checks all.
  package static let maximumCollected = 1_024
  /// More keys than an operator ever had. A log with more was forged.
  private static let maximumKeyIDs = 64

  private let kind: Kind
  /// The number of accounts with a signature, which is right if keys were given.
  public private(set) var signedCount: UInt64 = 0
  /// From it on each account must have one.
  public private(set) var firstSigned: UInt64?
  /// Accounts without a signature before the first one with a signature.
  public private(set) var unsignedCount: UInt64 = 0
  public private(set) var firstUnsigned: UInt64?
  /// The keys that the signatures name, in the order of their first use.
  public private(set) var keyIDs: [String] = []
  /// Events that lost their content in the archive, with a signature (a right one, if keys were given), and without.
  public private(set) var signedArchiveErasures: UInt64 = 0
  public private(set) var unsignedArchiveErasures: UInt64 = 0
  package private(set) var collected: [AccountClaim] = []

  private init(_ kind: Kind) {
    self.kind = kind
  }

  /// Checks no signature.
  public static let none = AccountReview(.none)
  package static let collecting = AccountReview(.collecting)

  /// - Parameter check: `nil` if the verification has no keys. It then finds accounts without a signature, and no
  ///   forged ones.
  public static func strict(
    _ check: (@Sendable (AccountSignature, [UInt8]) -> AccountKeys.Finding)?, signedFrom: SignedFrom = .firstSignature
  ) -> AccountReview {
    AccountReview(.strict(check, signedFrom))
  }

  public var hasKeys: Bool {
    if case .strict(.some, _) = kind { true } else { false }
  }

  /// - Parameter previous: the event before it.
  package mutating func take(
    _ record: EventRecord, after previous: EventChain.Head
  ) throws(EventChainVerifier.Fault) {
    if case .none = kind { return }
    let claim = record.event.flatMap { AccountClaim(of: $0, after: previous) }
    if case .strict(_, .event(record.sequence)) = kind, claim?.signature == nil {
      throw .unsignedBeginning(sequence: record.sequence)
    }
    guard let claim else { return }
    switch claim.signature {
    case .wellFormed(let signature):
      try require(signature, of: claim.sequence, claim.message)
      note(claim, signature)
    case .malformed:
      if case .strict = kind { throw .forged(sequence: claim.sequence) }
    case nil:
      guard allowsUnsigned(claim.sequence) else { throw .unsigned(sequence: claim.sequence) }
      firstUnsigned = firstUnsigned ?? claim.sequence
      unsignedCount += 1
    }
  }

  private func allowsUnsigned(_ sequence: UInt64) -> Bool {
    switch kind {
    case .none, .collecting: true
    case .strict(_, .firstSignature): firstSigned == nil
    case .strict(_, .beginning): false
    case .strict(_, .event(let first)): firstSigned == nil && sequence < first
    }
  }

  /// With keys, each must be signed: the event's place does not show when it lost its content.
  mutating func takeArchiveErasure(
    of sequence: UInt64, _ signature: AccountSignature?, of message: [UInt8]
  ) throws(EventChainVerifier.Fault) {
    guard let signature else {
      if hasKeys { throw .unsignedInArchive(sequence: sequence) }
      unsignedArchiveErasures += 1
      return
    }
    try require(signature, of: sequence, message)
    signedArchiveErasures += 1
    note(keyID: signature.keyID)
  }

  /// Checks by the keys, if there are any.
  private func require(
    _ signature: AccountSignature, of sequence: UInt64, _ message: [UInt8]
  ) throws(EventChainVerifier.Fault) {
    guard case .strict(let check?, _) = kind else { return }
    switch check(signature, message) {
    case .valid: break
    case .forged: throw .forged(sequence: sequence)
    case .unknownKey: throw .signedByStranger(sequence: sequence, keyID: signature.keyID)
    }
  }

  /// A look-up found it, in a part of the log that this did not read.
  package mutating func note(signed record: EventRecord) {
    guard record.isSignedAccount else { return }
    firstSigned = min(firstSigned ?? record.sequence, record.sequence)
  }

  private mutating func note(_ claim: AccountClaim, _ signature: AccountSignature) {
    signedCount += 1
    firstSigned = firstSigned ?? claim.sequence
    note(keyID: signature.keyID)
    guard case .collecting = kind else { return }
    if collected.count == Self.maximumCollected { collected.removeFirst() }
    collected.append(claim)
  }

  private mutating func note(keyID: String) {
    if keyIDs.count < Self.maximumKeyIDs, !keyIDs.contains(keyID) { keyIDs.append(keyID) }
  }

  /// Checks the collected signatures, now that there are keys. Accounts by unknown keys are left to the reading beside
  /// the service, because a start that lost a key must not fail for good.
  package func fault(by keys: AccountKeys) -> EventChainVerifier.Fault? {
    let forged = collected.first { claim in
      guard case .wellFormed(let signature) = claim.signature else { return false }
      return keys.check(signature, claim.message) == .forged
    }
    return forged.map { .forged(sequence: $0.sequence) }
  }
}

/// Equal if they reached the same result, by any keys.
extension AccountReview: Hashable {
  private var findings: [AnyHashable] {
    [
      signedCount, firstSigned, unsignedCount, firstUnsigned, signedArchiveErasures, unsignedArchiveErasures, keyIDs,
    ]
  }

  public static func == (left: AccountReview, right: AccountReview) -> Bool {
    left.findings == right.findings
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(findings)
  }
}
