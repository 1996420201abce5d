// Keeps a process away from a primary that another one has replaced.

internal import Synchronization
internal import TouchstoneStore

/// The history that a primary writes. PostgreSQL begins a new one, with a higher number, at each promotion.
struct Timeline: Sendable, Hashable {
  /// The same on a primary and its standbys.
  var system: Int64
  var number: Int64

  /// `pg_walfile_name` begins with the timeline that the server writes now, in eight hexadecimal digits. The control
  /// file has the one of the last checkpoint, which a promoted server makes later.
  static let select = Statement(
    nil,
    """
    SELECT system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::BIT(32)::BIGINT
    FROM pg_control_system()
    """)

  init(system: Int64, number: Int64) {
    self.system = system
    self.number = number
  }

  init(_ row: inout Row) {
    system = row.integer()
    number = row.integer()
  }

  /// Another system is no successor: the operator moved the database.
  func isReplaced(by other: Timeline) -> Bool { system == other.system && number < other.number }
}

/// The newest timeline that this process has found, and its connections with theirs.
///
/// A replaced primary may go on accepting connections: its machine was paused, or its cluster manager hangs. Its
/// answers are old (a revoked token would be active), and its commits wait for a standby that left. As soon as one
/// connection of the process finds the new primary, the process ends its connections to the old one and makes no new
/// ones.
final class Succession: Sendable {
  private struct Member {
    let timeline: Timeline
    let replaced: @Sendable () -> Void
  }

  private struct State {
    var newest: Timeline?
    /// As many as there are connections.
    var members: [ObjectIdentifier: Member] = [:]
  }

  private let state = Mutex(State())

  /// Returns `false` if the timeline is already replaced.
  ///
  /// - Parameter replaced: runs at most once, on any thread, unless the member has left.
  func enter(
    _ member: ObjectIdentifier, on timeline: Timeline, replaced: @escaping @Sendable () -> Void
  ) -> Bool {
    let outdated = state.withLock { state -> [Member]? in
      if let newest = state.newest, timeline.isReplaced(by: newest) { return nil }
      let outdated = state.members.filter { $0.value.timeline.isReplaced(by: timeline) }
      for key in outdated.keys { state.members[key] = nil }
      state.newest = timeline
      state.members[member] = Member(timeline: timeline, replaced: replaced)
      return Array(outdated.values)
    }
    guard let outdated else { return false }
    for each in outdated { each.replaced() }
    return true
  }

  func leave(_ member: ObjectIdentifier) {
    state.withLock { $0.members[member] = nil }
  }
}
