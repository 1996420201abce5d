// Decides whether the service serves: a value without clock, store or callers.

/// The service does not serve while it drains, while the store cannot write, or while everything that it issued would
/// be void.
///
/// A failed call or sweep starts a probe, because one call may fail for reasons of its own. Failed probes are repeated,
/// so that the service recovers by itself. At most one probe is under way.
struct HealthStateMachine {
  private enum StoreState {
    case available
    /// A probe was sent and may still be running.
    case inQuestion
    case unavailable
  }

  /// The service notices a recovered store after this time. With the time to reconnect, it takes less than a second.
  static let probeInterval = Duration.milliseconds(300)
  /// A slower store counts as unavailable, because callers do not wait that long.
  static let probeTimeout = Duration.seconds(3)

  private var store = StoreState.available
  /// Identifies each probe, so that a late timer is not taken for the next probe's.
  private var probeNumber = 0
  private(set) var isDraining = false
  private var isClockUsable = true

  var isServing: Bool {
    switch store {
    case .available, .inQuestion: !isDraining && isClockUsable
    case .unavailable: false
    }
  }

  enum OnStoreFailed: Equatable {
    /// The answer is known, or a probe is under way.
    case nothing
    /// Send the probe, and report if it is late.
    case probe(number: Int)
  }

  /// A call or the service's own work could not read or write.
  mutating func storeFailed() -> OnStoreFailed {
    guard case .available = store else { return .nothing }
    store = .inQuestion
    return .probe(number: nextProbe())
  }

  enum OnProbed: Equatable {
    case nothing
    /// Call `probeIsDue` after the interval.
    case probeLater
  }

  /// The latest probe has its answer, in time or late.
  mutating func probed(isAvailable: Bool) -> OnProbed {
    // This probe's timer no longer matters.
    probeNumber += 1
    if isAvailable {
      store = .available
      return .nothing
    }
    store = .unavailable
    return .probeLater
  }

  /// The interval is over.
  mutating func probeIsDue() -> Int {
    nextProbe()
  }

  /// The probe has no answer yet. No other probe starts before it has one, so a hanging store gets only one.
  mutating func probeIsLate(number: Int) {
    if number == probeNumber { store = .unavailable }
  }

  /// A clock that is behind the store's sweep mark makes everything that is issued void.
  mutating func clockChecked(isUsable: Bool) {
    isClockUsable = isUsable
  }

  /// Draining never ends.
  mutating func drain() {
    isDraining = true
  }

  private mutating func nextProbe() -> Int {
    probeNumber += 1
    return probeNumber
  }
}
