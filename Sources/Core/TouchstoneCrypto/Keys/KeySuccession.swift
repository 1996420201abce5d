/// Keys of one kind, and which of them is used when, so that no replica ever meets a key that it does not know:
/// replicas load and accept a key before the time from which it is used, and accept the earlier ones after it.
///
/// Times are Unix seconds. Replicas' clocks may differ: each changes by its own, and accepts what the others made.
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

  /// Rising by number; at least one.
  public let members: [Member]
  /// The latest first.
  public var accepted: [Key] { members.reversed().map(\.key) }

  /// `nil` if there is none.
  public init?(_ members: [Member]) {
    guard !members.isEmpty else { return nil }
    self.members = members.sorted { $0.number < $1.number }
  }

  /// Keys without times. `others`: the earlier ones, the latest first.
  init(active: Key, others: [Key]) {
    let rising = others.reversed() + [active]
    members = rising.enumerated().map { Member(number: $0 + 1, usedFrom: nil, key: $1) }
  }

  /// The key in use: the latest whose time has come. If no key's time has come (a clock that was set back), the first
  /// to come.
  public func active(at time: Int64) -> Key {
    if let due = members.last(where: { $0.isDue(at: time) }) { return due.key }
    return members.min { ($0.usedFrom ?? .min) < ($1.usedFrom ?? .min) }!.key
  }

  public enum Standing: Sendable, Hashable {
    /// Accepted, but not used yet.
    case coming(from: Int64)
    case active
    /// Accepted, but no longer used. `nil`: since an unknown time.
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
