// Keeps the number of stand-ins within its bound: the least recently written go first (R37).

internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// No row holds a count, for every guess would wait for it. A process looks up where the bound lies after it added a
/// sixteenth of it, and hourly, which reads an index of as many entries; sweeping then removes what is older. So each
/// process may exceed the bound by that sixteenth.
final class StandInBound: Sendable {
  private static let looksPerBound = 16
  private static let lookInterval: Duration = .seconds(60 * 60)

  /// What was to be forgotten before these times is over the bound.
  struct Limits: Sendable, Hashable {
    var devices = UnixTime(microseconds: .min)
    var profiles = UnixTime(microseconds: .min)
  }

  private struct State {
    var addedCount = 0
    var lookedAt: UnixTime?
    var limits = Limits()
  }

  let maximum: Int
  private let state = Mutex(State())

  init(maximum: Int) {
    self.maximum = maximum
  }

  /// Of a commit that is on its way: one that fails is counted, too.
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

  /// Those of the latest look; asks for a new one where it is time.
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
