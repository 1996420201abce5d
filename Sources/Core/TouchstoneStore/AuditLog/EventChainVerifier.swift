// Reads an audit log from its beginning, or from where it is kept, and names the first event that is not as it was
// written (R41).

package import TouchstonePolicy

/// Takes events one by one; keeps the chain's head, and some 32 bytes for each erased event until its account comes.
///
/// The chain alone does not show that events are missing at its very end: compare with a head that was noted elsewhere
/// (`conclude(at:)`). It does not show either that a content was removed by other means than an erasure: in the end,
/// require the accounts (`requireAccounts()`), and give the keys that signed them (`AccountReview`).
public struct EventChainVerifier: Sendable {
  /// The first event with a fault, and the fault.
  public enum Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Its content, its hash or an earlier event is not as it was written.
    case altered(sequence: UInt64)
    /// A later event is in its place.
    case missing(sequence: UInt64)
    /// It follows a later event, or is there twice.
    case outOfOrder(sequence: UInt64)
    /// It is beyond the log's end.
    case unexpected(sequence: UInt64)
    /// Its content was removed, and no erasure accounts for that.
    case removed(sequence: UInt64)
    /// An erasure says that its content was removed, and the content is there.
    case restored(sequence: UInt64)
    /// An erasure removed another content than the missing one.
    case substituted(sequence: UInt64)
    /// Everything up to it is gone, and no event says that it was archived.
    case dropped(through: UInt64)
    /// It is an account whose signature its key did not make.
    case forged(sequence: UInt64)
    /// It is an account without a signature, at a place that requires one.
    case unsigned(sequence: UInt64)
    /// Accounts are said to be signed from this event on, and it is no signed account.
    case unsignedBeginning(sequence: UInt64)
    /// It lost its content in the archive, and no audit key signed that.
    case unsignedInArchive(sequence: UInt64)
    /// It is an account signed by a key that the verification does not have.
    case signedByStranger(sequence: UInt64, keyID: String)
    /// It is as it was written, and an index by which lists and erasures find events lacks it.
    case hidden(sequence: UInt64)

    public var sequence: UInt64 {
      switch self {
      case .altered(let sequence), .missing(let sequence), .outOfOrder(let sequence), .unexpected(let sequence),
        .removed(let sequence), .restored(let sequence), .substituted(let sequence), .dropped(through: let sequence),
        .forged(let sequence), .unsigned(let sequence), .unsignedBeginning(let sequence),
        .unsignedInArchive(let sequence), .signedByStranger(let sequence, _), .hidden(let sequence):
        sequence
      }
    }

    public var description: String {
      switch self {
      case .altered: "event \(sequence) was altered"
      case .missing: "event \(sequence) is missing"
      case .outOfOrder: "event \(sequence) is out of order"
      case .unexpected: "event \(sequence) is beyond the end of the log"
      case .removed: "event \(sequence) lost its content, and no erasure accounts for it"
      case .restored: "event \(sequence) has a content, though it was erased"
      case .substituted: "event \(sequence) lost its content, and the erasure that lists it removed another one"
      case .dropped: "events 1 to \(sequence) are missing, and no event says that they were archived"
      case .forged: "event \(sequence) accounts for removed content, and its signature is forged"
      case .unsigned: "event \(sequence) accounts for removed content without a signature"
      case .unsignedBeginning: "event \(sequence) is not a signed account, although it was noted as the first one"
      case .unsignedInArchive:
        "event \(sequence) lost its content in the archive, and no audit key signed that; if you erased it there, sign it by "
          + "`touchstone audit erase --sign-earlier`"
      case .signedByStranger(_, let keyID):
        "event \(sequence) accounts for removed content, signed by the unknown audit key \(keyID): it is forged, or that key "
          + "is missing here"
      case .hidden: "event \(sequence) is missing from an index, so that lists and erasures do not find it"
      }
    }
  }

  private let start: EventChain.Head
  /// An event that accounts for this log's beginning was found: nothing was cut off.
  private var isStartAccounted: Bool
  private var chain: EventChain
  /// Erased events without an account yet.
  private var unaccounted: UnaccountedErasures
  /// Events before the start that erasures account for: those must be without a content, too.
  public private(set) var earlierAccounts: [AccountedErasure] = []
  /// How many events are as they were written.
  public private(set) var verifiedCount: UInt64 = 0
  /// How many of them are erased.
  public private(set) var erasedCount: UInt64 = 0
  /// The findings about the accounts' signatures.
  public private(set) var accounts: AccountReview

  /// - Parameters:
  ///   - head: where an earlier verification ended; by default the beginning of the log.
  ///   - accounts: how to check signatures; by default not at all.
  public init(continuing head: EventChain.Head = .genesis, accounts: AccountReview = .none) {
    self.accounts = accounts
    start = head
    isStartAccounted = head == .genesis
    chain = EventChain(continuing: head)
    unaccounted = UnaccountedErasures(after: head.sequence)
  }

  /// The last event that is as it was written.
  public var head: EventChain.Head { chain.head }

  public mutating func verify(_ record: EventRecord) throws(Fault) {
    try follow(record)
    if case .erased(let digest) = record.content {
      unaccounted.insert(record.sequence, DigestPrefix(digest))
      erasedCount += 1
    }
    if let event = record.event, ArchivedEvents.isAccount(of: start, event) { isStartAccounted = true }
    let accounted = accountedEvents(of: record)
    try take(accounts: accounted)
    earlierAccounts += accounted.filter { !unaccounted.covers($0.sequence) }
    verifiedCount += 1
  }

  /// After the last event: the chain must reach the head that was noted elsewhere.
  public func conclude(at noted: EventChain.Head) throws(Fault) {
    guard head.sequence >= noted.sequence else { throw .missing(sequence: head.sequence + 1) }
    guard head == noted else { throw .altered(sequence: noted.sequence) }
  }

  /// After the last event of a log that begins here: the log must hold the event of the archiving that made it begin
  /// here.
  public func requireStart() throws(Fault) {
    if !isStartAccounted { throw .dropped(through: start.sequence) }
  }

  /// An event that was appended during the reading: it may account for contents that were erased meanwhile. It does not
  /// count as verified, because the events that it erased may have been read before.
  public mutating func takeAccounts(of later: EventRecord) throws(Fault) {
    try follow(later)
    for erasure in accountedEvents(of: later) where unaccounted.covers(erasure.sequence) {
      if let digest = unaccounted.remove(erasure.sequence) { try Self.require(digest, of: erasure) }
    }
  }

  /// Accounts in events that another verifier reads (`earlierAccounts`).
  public mutating func take(accounts: [AccountedErasure]) throws(Fault) {
    for erasure in accounts where unaccounted.covers(erasure.sequence) {
      guard let digest = unaccounted.remove(erasure.sequence) else { throw .restored(sequence: erasure.sequence) }
      try Self.require(digest, of: erasure)
    }
  }

  /// The account of an event that lost its content in the archive is in the event's own line.
  ///
  /// - Parameter message: the signed bytes.
  package mutating func takeArchiveErasure(
    of record: EventRecord, _ signature: AccountSignature?, of message: [UInt8]
  ) throws(Fault) {
    try accounts.takeArchiveErasure(of: record.sequence, signature, of: message)
    try take(accounts: [AccountedErasure(sequence: record.sequence, digest: nil)])
  }

  private static func require(_ digest: DigestPrefix, of erasure: AccountedErasure) throws(Fault) {
    if let removed = erasure.digest, removed != digest { throw .substituted(sequence: erasure.sequence) }
  }

  public var hasUnaccounted: Bool { !unaccounted.isEmpty }

  /// After the last account: no content may be gone without one.
  public func requireAccounts() throws(Fault) {
    if let sequence = unaccounted.first { throw .removed(sequence: sequence) }
  }

  private mutating func follow(_ record: EventRecord) throws(Fault) {
    let expected = chain.head.sequence + 1
    guard record.sequence <= expected else { throw .missing(sequence: expected) }
    guard record.sequence == expected else { throw .outOfOrder(sequence: record.sequence) }
    let headBefore = chain.head
    chain.advance(over: record.content)
    guard chain.head.hash == record.hash else {
      chain.rewind(to: headBefore)
      throw .altered(sequence: record.sequence)
    }
    try accounts.take(record, after: headBefore)
  }

  private func accountedEvents(of record: EventRecord) -> [AccountedErasure] {
    guard let event = record.event else { return [] }
    return ProfileErasure.events(accountedBy: event).filter { $0.sequence < record.sequence }
  }
}

extension EventChainVerifier.Fault {
  /// For followers of the log, which goes on after the fault.
  package func event(at time: UnixTime) -> EventDraft {
    EventDraft(
      time: time, kind: "log.broken", applicationID: "", caller: "operator",
      details: [EventDetail(key: "finding", value: "\(self)"), EventDetail(key: "sequence", value: "\(sequence)")])
  }
}

/// Erased events without an account yet, with what is left of their contents.
private struct UnaccountedErasures: Sendable {
  private let lowerBound: UInt64
  /// Rising.
  private var sequences: [UInt64] = []
  /// `nil`: accounted for.
  private var digests: [DigestPrefix?] = []
  private var accountedCount = 0

  init(after lowerBound: UInt64) {
    self.lowerBound = lowerBound
  }

  func covers(_ sequence: UInt64) -> Bool { sequence > lowerBound }

  var isEmpty: Bool { accountedCount == sequences.count }

  var first: UInt64? {
    digests.firstIndex { $0 != nil }.map { sequences[$0] }
  }

  /// - Parameter sequence: after all others in it.
  mutating func insert(_ sequence: UInt64, _ digest: DigestPrefix) {
    if accountedCount > sequences.count / 2 { compact() }
    sequences.append(sequence)
    digests.append(digest)
  }

  /// `nil` if it was not in it.
  mutating func remove(_ sequence: UInt64) -> DigestPrefix? {
    var (low, high) = (0, sequences.count)
    while low < high {
      let middle = (low + high) / 2
      if sequences[middle] < sequence { low = middle + 1 } else { high = middle }
    }
    guard low < sequences.count, sequences[low] == sequence, let digest = digests[low] else { return nil }
    digests[low] = nil
    accountedCount += 1
    return digest
  }

  private mutating func compact() {
    let left = zip(sequences, digests).filter { $0.1 != nil }
    sequences = left.map(\.0)
    digests = left.map(\.1)
    accountedCount = 0
  }
}
