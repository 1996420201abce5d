// Whether the service serves: a value without clock, store or callers.

/// Not while it drains, not while the store cannot write, and not while all that is issued would be void.
///
/// What fails at the store, a call or the sweep of an idle service, only raises the question, since one may fail for reasons of its own; a probe answers
/// it. While probes fail they are repeated, so that the service comes back by itself, with one probe under way at most.
struct HealthStateMachine {
  private enum StoreState {
    case available
    /// A probe was sent, which may still be on its way.
    case inQuestion
    case unavailable
  }

  /// So long, a store that comes back is not noticed: with the time until its connections are back, less than a second.
  static let probeInterval = Duration.milliseconds(300)
  /// A store that takes longer is as good as none: callers do not wait that long.
  static let probeTimeout = Duration.seconds(3)

  private var store = StoreState.available
  /// Told apart, so that a timer that comes too late is not taken for the next probe's.
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
    /// It is known, or being found out.
    case nothing
    /// Sends the probe, and tells if it is late.
    case probe(number: Int)
  }

  /// Somebody could not read or write.
  mutating func storeFailed() -> OnStoreFailed {
    guard case .available = store else { return .nothing }
    store = .inQuestion
    return .probe(number: nextProbe())
  }

  enum OnProbed: Equatable {
    case nothing
    /// `probeIsDue` is to be told when the interval is over.
    case probeLater
  }

  /// The latest probe has its answer, late or not.
  mutating func probed(isAvailable: Bool) -> OnProbed {
    // The timer of this one says nothing any more.
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

  /// It has no answer yet. There is no other until it has one: a store that hangs is not asked again and again.
  mutating func probeIsLate(number: Int) {
    if number == probeNumber { store = .unavailable }
  }

  /// By a clock that is behind the store's sweep mark, all that is issued is void.
  mutating func clockChecked(isUsable: Bool) {
    isClockUsable = isUsable
  }

  /// For good.
  mutating func drain() {
    isDraining = true
  }

  private mutating func nextProbe() -> Int {
    probeNumber += 1
    return probeNumber
  }
}
