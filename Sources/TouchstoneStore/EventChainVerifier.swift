// Reads an audit log from its beginning and names the first event that is not as it was written (R41).

/// Takes events one by one; keeps nothing but the chain's head.
///
/// The chain alone cannot show that events are missing at its very end: compare with a head that was noted elsewhere
/// (`conclude(at:)`).
public struct EventChainVerifier: Sendable {
  /// What is wrong, at the first event where anything is.
  public enum Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Its content, its hash or an event before it is not what was written.
    case altered(sequence: UInt64)
    /// A later event stands where this one belongs.
    case missing(sequence: UInt64)
    /// It stands after a later event, or twice.
    case outOfOrder(sequence: UInt64)

    public var description: String {
      switch self {
      case .altered(let sequence): "event \(sequence) was altered"
      case .missing(let sequence): "event \(sequence) is missing"
      case .outOfOrder(let sequence): "event \(sequence) is out of order"
      }
    }
  }

  private var chain: EventChain
  /// How many events were found as they were written.
  public private(set) var verifiedCount: UInt64 = 0

  /// `head`: where an earlier verification ended; the beginning of the log unless told.
  public init(continuing head: EventChain.Head = .genesis) {
    chain = EventChain(continuing: head)
  }

  /// The last event that was found as it was written.
  public var head: EventChain.Head { chain.head }

  public mutating func verify(_ record: EventRecord) throws(Fault) {
    let expected = chain.head.sequence + 1
    guard record.sequence <= expected else { throw .missing(sequence: expected) }
    guard record.sequence == expected else { throw .outOfOrder(sequence: record.sequence) }
    let headBefore = chain.head
    guard chain.append(record.event).hash == record.hash else {
      chain.rewind(to: headBefore)
      throw .altered(sequence: record.sequence)
    }
    verifiedCount += 1
  }

  /// After the last event: the chain must reach the head that was noted elsewhere.
  public func conclude(at noted: EventChain.Head) throws(Fault) {
    guard head.sequence >= noted.sequence else { throw .missing(sequence: head.sequence + 1) }
    guard head == noted else { throw .altered(sequence: noted.sequence) }
  }
}
