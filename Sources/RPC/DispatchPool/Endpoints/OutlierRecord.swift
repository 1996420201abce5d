// Endpoints that fail more than others are left alone for a while (gRFC A50, in a simple form).

/// When an endpoint is ejected, and for how long.
///
/// A failure is what the returned lease reports as one. With `PoolBalancing.pickFirst` nothing is ejected.
public struct OutlierConfiguration: Sendable, Hashable {
  /// Ejected at once after this many failures in a row; `nil`: never for that.
  public var consecutiveFailures: Int?
  /// Ejected at the end of an interval in which this share of its leases failed, or more; `nil`: never for that.
  public var failurePercentage: Int?
  /// Fewer leases in an interval than this say nothing about the share.
  public var minimumLeases: Int
  public var interval: Duration
  /// For the first ejection. Each further one lasts longer by as much; each interval without one takes one off.
  public var baseEjectionTime: Duration
  public var maximumEjectionTime: Duration
  /// The largest share of the endpoints that is ejected at one time. (A50 lets the last ejection exceed it; here none does.)
  public var maximumEjectedPercentage: Int

  /// - Precondition: counts and durations are positive, percentages in 0...100.
  public init(
    consecutiveFailures: Int? = 5, failurePercentage: Int? = 85, minimumLeases: Int = 50,
    interval: Duration = .seconds(10), baseEjectionTime: Duration = .seconds(30),
    maximumEjectionTime: Duration = .seconds(300), maximumEjectedPercentage: Int = 50
  ) {
    precondition(consecutiveFailures ?? 1 > 0 && minimumLeases > 0)
    precondition(interval > .zero && baseEjectionTime > .zero && maximumEjectionTime > .zero)
    precondition((0...100).contains(failurePercentage ?? 0) && (0...100).contains(maximumEjectedPercentage))
    self.consecutiveFailures = consecutiveFailures
    self.failurePercentage = failurePercentage
    self.minimumLeases = minimumLeases
    self.interval = interval
    self.baseEjectionTime = baseEjectionTime
    self.maximumEjectionTime = maximumEjectionTime
    self.maximumEjectedPercentage = maximumEjectedPercentage
  }

  func ejectionTime(count: Int) -> Duration {
    min(baseEjectionTime * count, max(baseEjectionTime, maximumEjectionTime))
  }
}

/// How it went with a lease, for the health of its endpoint.
public enum LeaseOutcome: Sendable, Hashable {
  /// Says nothing of the endpoint.
  case unknown
  case succeeded
  case failed
}

/// One endpoint's.
struct OutlierRecord: Equatable {
  /// In this interval.
  private(set) var successes = 0
  private(set) var failures = 0
  /// Failures since the last success.
  private(set) var failuresInARow = 0
  /// The longer it is, the longer the next ejection.
  private(set) var ejections = 0
  private(set) var ejectedUntil: MonotonicTime?

  var isEjected: Bool { ejectedUntil != nil }

  mutating func note(_ outcome: LeaseOutcome) {
    switch outcome {
    case .unknown: break
    case .succeeded:
      successes += 1
      failuresInARow = 0
    case .failed:
      failures += 1
      failuresInARow += 1
    }
  }

  func failsInARow(_ configuration: OutlierConfiguration) -> Bool {
    configuration.consecutiveFailures.map { failuresInARow >= $0 } ?? false
  }

  func failsTooOften(_ configuration: OutlierConfiguration) -> Bool {
    let leases = successes + failures
    guard let percentage = configuration.failurePercentage, leases >= configuration.minimumLeases else { return false }
    return failures > 0 && failures * 100 >= percentage * leases
  }

  mutating func eject(_ configuration: OutlierConfiguration, at now: MonotonicTime) {
    ejections += 1
    failuresInARow = 0
    ejectedUntil = now + configuration.ejectionTime(count: ejections)
  }

  mutating func readmit() {
    ejectedUntil = nil
  }

  /// An interval is over; what it saw was judged.
  mutating func beginInterval() {
    if !isEjected, ejections > 0 { ejections -= 1 }
    successes = 0
    failures = 0
  }
}
