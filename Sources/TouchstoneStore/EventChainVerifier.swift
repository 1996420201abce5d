// Reads an audit log from its beginning, or from where it is kept, and names the first event that is not as it was written (R41).

/// Takes events one by one; keeps the chain's head, and a bit for each event where any was erased.
///
/// The chain alone cannot show that events are missing at its very end: compare with a head that was noted elsewhere
/// (`conclude(at:)`). Nor can it show that a content was removed by anyone but an erasure: at last, ask for the
/// accounts (`requireAccounts()`), and give the keys that signed them (`AccountReview`).
public struct EventChainVerifier: Sendable {
  /// What is wrong, at the first event where anything is.
  public enum Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Its content, its hash or an event before it is not what was written.
    case altered(sequence: UInt64)
    /// A later event stands where this one belongs.
    case missing(sequence: UInt64)
    /// It stands after a later event, or twice.
    case outOfOrder(sequence: UInt64)
    /// It stands beyond the log's end.
    case unexpected(sequence: UInt64)
    /// Its content was removed, and no erasure accounts for that.
    case removed(sequence: UInt64)
    /// An erasure says that its content was removed, and it is there.
    case restored(sequence: UInt64)
    /// All up to it is gone, and no event says that it was archived.
    case dropped(through: UInt64)
    /// It says what is gone, and its signature is not its key's.
    case forged(sequence: UInt64)
    /// It says what is gone without a signature, though one before it has one.
    case unsigned(sequence: UInt64)
    /// It says what is gone, signed by a key that the verification was not given.
    case signedByStranger(sequence: UInt64, keyID: String)

    public var sequence: UInt64 {
      switch self {
      case .altered(let sequence), .missing(let sequence), .outOfOrder(let sequence), .unexpected(let sequence),
        .removed(let sequence), .restored(let sequence), .dropped(through: let sequence), .forged(let sequence),
        .unsigned(let sequence), .signedByStranger(let sequence, _):
        sequence
      }
    }

    public var description: String {
      switch self {
      case .altered: "event \(sequence) was altered"
      case .missing: "event \(sequence) is missing"
      case .outOfOrder: "event \(sequence) is out of order"
      case .unexpected: "event \(sequence) stands beyond the end of the log"
      case .removed: "event \(sequence) lost its content, and no erasure accounts for it"
      case .restored: "event \(sequence) has a content, though it was erased"
      case .dropped: "events 1 to \(sequence) are missing, and no event says that they were archived"
      case .forged: "event \(sequence) says what is gone, and its signature is forged"
      case .unsigned: "event \(sequence) says what is gone without a signature, which events before it have"
      case .signedByStranger(_, let keyID):
        "event \(sequence) says what is gone, signed by the unknown audit key \(keyID): forged, or that key is missing here"
      }
    }
  }

  private let start: EventChain.Head
  /// An event was found that says where this begins: nothing was cut off.
  private var isStartAccounted: Bool
  private var chain: EventChain
  /// Erased, and not accounted for yet.
  private var unaccounted: SequenceSet
  /// What erasures account for of the events before the start: those, too, must be without a content.
  public private(set) var earlierAccounts: [UInt64] = []
  /// How many events were found as they were written.
  public private(set) var verifiedCount: UInt64 = 0
  /// How many of them are erased.
  public private(set) var erasedCount: UInt64 = 0
  /// What came of the accounts' signatures.
  public private(set) var accounts: AccountReview

  /// - Parameters:
  ///   - head: where an earlier verification ended; the beginning of the log unless told.
  ///   - accounts: how signatures are looked at; not at all unless told.
  public init(continuing head: EventChain.Head = .genesis, accounts: AccountReview = .none) {
    self.accounts = accounts
    start = head
    isStartAccounted = head == .genesis
    chain = EventChain(continuing: head)
    unaccounted = SequenceSet(after: head.sequence)
  }

  /// The last event that was found as it was written.
  public var head: EventChain.Head { chain.head }

  public mutating func verify(_ record: EventRecord) throws(Fault) {
    try follow(record)
    if record.isErased {
      unaccounted.insert(record.sequence)
      erasedCount += 1
    }
    if let event = record.event, ArchivedEvents.isAccount(of: start, event) { isStartAccounted = true }
    let accounted = accountedSequences(of: record)
    for sequence in accounted where unaccounted.covers(sequence) {
      guard unaccounted.remove(sequence) else { throw .restored(sequence: sequence) }
    }
    earlierAccounts += accounted.filter { !unaccounted.covers($0) }
    verifiedCount += 1
  }

  /// After the last event: the chain must reach the head that was noted elsewhere.
  public func conclude(at noted: EventChain.Head) throws(Fault) {
    guard head.sequence >= noted.sequence else { throw .missing(sequence: head.sequence + 1) }
    guard head == noted else { throw .altered(sequence: noted.sequence) }
  }

  /// After the last event of a log that begins here: it holds the event of the archiving that made it begin here.
  public func requireStart() throws(Fault) {
    if !isStartAccounted { throw .dropped(through: start.sequence) }
  }

  /// An event that was appended while the log was read: it may account for others that were erased meanwhile. It does
  /// not count as verified, since what it erased may have been read before.
  public mutating func takeAccounts(of later: EventRecord) throws(Fault) {
    try follow(later)
    for sequence in accountedSequences(of: later) where unaccounted.covers(sequence) {
      _ = unaccounted.remove(sequence)
    }
  }

  /// Accounts that stand in events which another verifier looks at (`earlierAccounts`).
  public mutating func take(accounts: [UInt64]) throws(Fault) {
    for sequence in accounts where unaccounted.covers(sequence) {
      guard unaccounted.remove(sequence) else { throw .restored(sequence: sequence) }
    }
  }

  public var hasUnaccounted: Bool { unaccounted.first != nil }

  /// After the last account: no content is gone without one.
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
    if let event = record.event { try accounts.take(event, after: headBefore) }
  }

  private func accountedSequences(of record: EventRecord) -> [UInt64] {
    guard let event = record.event else { return [] }
    return ProfileErasure.sequences(accountedBy: event).filter { $0 < record.sequence }
  }
}

/// A bit for each number after the first up to the largest that is in.
private struct SequenceSet: Sendable {
  private static let bitsPerWord: UInt64 = 64

  private let lowerBound: UInt64
  private var words: [UInt64] = []

  init(after lowerBound: UInt64) {
    self.lowerBound = lowerBound
  }

  func covers(_ sequence: UInt64) -> Bool { sequence > lowerBound }

  var first: UInt64? {
    guard let word = words.firstIndex(where: { $0 != 0 }) else { return nil }
    return lowerBound + UInt64(word) * Self.bitsPerWord + UInt64(words[word].trailingZeroBitCount)
  }

  mutating func insert(_ sequence: UInt64) {
    let (word, bit) = place(of: sequence)
    if word >= words.count { words.append(contentsOf: repeatElement(0, count: word + 1 - words.count)) }
    words[word] |= bit
  }

  /// False where it was not in.
  mutating func remove(_ sequence: UInt64) -> Bool {
    let (word, bit) = place(of: sequence)
    guard word < words.count, words[word] & bit != 0 else { return false }
    words[word] &= ~bit
    return true
  }

  private func place(of sequence: UInt64) -> (word: Int, bit: UInt64) {
    let offset = sequence - lowerBound
    return (Int(offset / Self.bitsPerWord), 1 << (offset % Self.bitsPerWord))
  }
}
