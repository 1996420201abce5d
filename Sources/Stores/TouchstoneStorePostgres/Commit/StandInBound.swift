// Keeps the number of stand-ins within its bound (R37): the largest shares lose the oldest of them.

internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// No row holds a count, because every guess would wait for it. A process counts hourly, and after it added a sixteenth of
/// the bound. It reads an index for that: a million entries take some 0.8 s. Sweeping then removes the stand-ins up to the
/// times that the count found, so each process may exceed the bound by a sixteenth.
final class StandInBound: Sendable {
  private static let looksPerBound = 16
  private static let lookInterval: Duration = .seconds(60 * 60)

  /// Stand-ins up to these times are over the bound.
  struct Limits: Sendable, Hashable {
    var devices = StandInLimit()
    var profiles = StandInLimit()
  }

  private struct State {
    var addedCount = 0
    var lookedAt: UnixTime?
    var limits = Limits()
  }

  let maximum: Int
  let namedApplications: NamedApplications
  private let state = Mutex(State())

  init(maximum: Int, namedApplications: NamedApplications) {
    self.maximum = maximum
    self.namedApplications = namedApplications
  }

  /// Called for a commit on its way. A failed one is counted, too.
  func note(_ changeSet: ChangeSet) {
    var count = 0
    for change in changeSet.changes {
      switch change {
      case .putDevice(let device) where device.version == 0 && device.isStandIn: count += 1
      case .putProfile(let profile) where profile.version == 0 && profile.isStandIn: count += 1
      default: break
      }
    }
    if count > 0 { state.withLock { $0.addedCount += count } }
  }

  /// The excess of the latest count. Starts a new count when it is due.
  func limits(
    at now: UnixTime, _ look: () async throws(PostgresError) -> Limits
  ) async throws(PostgresError) -> Limits {
    let known: Limits? = state.withLock { state in
      let isKnown = state.lookedAt.map { $0 <= now && now < $0 + Self.lookInterval } ?? false
      guard !isKnown || state.addedCount > maximum / Self.looksPerBound else { return state.limits }
      state.addedCount = 0
      state.lookedAt = nil
      return nil
    }
    if let known { return known }
    let limits = try await look()
    state.withLock { state in
      state.lookedAt = now
      state.limits = limits
    }
    return limits
  }
}

/// The times up to which stand-ins of one kind are over the bound.
struct StandInLimit: Sendable, Hashable {
  struct OfApplication: Sendable, Hashable {
    var applicationID: String
    var time: UnixTime
  }

  struct OfOthers: Sendable, Hashable {
    var namedApplications: [String] = []
    var time = UnixTime(microseconds: .min)
  }

  /// For each application with too many.
  var ofApplications: [OfApplication] = []
  /// For all but the named applications, if so many have stand-ins that the largest have too few to make room. Only a
  /// caller with a grant for all applications can name so many.
  var ofOthers = OfOthers()
}
