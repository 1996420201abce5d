// Keys of one kind, and which of them is in use when: how one follows another without a moment in which a replica is
// shown what it does not know.

/// A key is known to all, and accepted, before the time from which it is used; the ones before it are accepted after.
///
/// Times are Unix seconds. Replicas' clocks may differ: each changes over by its own, and accepts what the others made.
public struct KeySuccession<Key: Sendable>: Sendable {
  public struct Member: Sendable {
    public var number: Int
    /// `nil`: always.
    public var usedFrom: Int64?
    public var key: Key

    public init(number: Int, usedFrom: Int64?, key: Key) {
      self.number = number
      self.usedFrom = usedFrom
      self.key = key
    }

    func isDue(at time: Int64) -> Bool { usedFrom.map { $0 <= time } ?? true }
  }

  /// Rising by number: at least one.
  public let members: [Member]
  /// The latest first.
  public var accepted: [Key] { members.reversed().map(\.key) }

  /// `nil` where there is none.
  public init?(_ members: [Member]) {
    guard !members.isEmpty else { return nil }
    self.members = members.sorted { $0.number < $1.number }
  }

  /// Keys without times. `others`: those before it, the latest first.
  init(active: Key, others: [Key]) {
    let rising = others.reversed() + [active]
    members = rising.enumerated().map { Member(number: $0 + 1, usedFrom: nil, key: $1) }
  }

  /// The one in use: of those whose time has come the latest; where none's has (a clock that was set back), the first to
  /// come.
  public func active(at time: Int64) -> Key {
    if let due = members.last(where: { $0.isDue(at: time) }) { return due.key }
    return members.min { ($0.usedFrom ?? .min) < ($1.usedFrom ?? .min) }!.key
  }

  public enum Standing: Sendable, Hashable {
    /// Accepted, not used yet.
    case coming(from: Int64)
    case active
    /// Accepted, not used any more. `nil`: since a time that nobody noted.
    case retired(since: Int64?)
  }

  /// At the same place as the member.
  public func standing(of index: Int, at time: Int64) -> Standing {
    guard members[index].isDue(at: time) else { return .coming(from: members[index].usedFrom!) }
    let successors = members[(index + 1)...].filter { $0.isDue(at: time) }
    guard !successors.isEmpty else { return .active }
    let times = successors.map(\.usedFrom)
    return .retired(since: times.contains(nil) ? nil : times.compactMap { $0 }.min())
  }
}
