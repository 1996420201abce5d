// How far sweeping may go although the wall clock may be wrong.

package import TouchstonePolicy

/// The readings of two clocks of one machine at one moment.
package struct ClockReading: Sendable, Hashable {
  package var wall: UnixTime
  /// A clock that no user sets, and that goes on while the machine sleeps (CLOCK_BOOTTIME).
  package var sinceBoot: Duration

  package init(wall: UnixTime, sinceBoot: Duration) {
    self.wall = wall
    self.sinceBoot = sinceBoot
  }

  /// When the machine booted, if the wall clock is right. It changes only when the wall clock is set.
  fileprivate var boot: UnixTime { wall + (.zero - sinceBoot) }
}

/// Decides up to which time a sweep may go.
///
/// Everything before a sweep's time is void for good (`Store.sweep`). A clock that is ahead for only seconds would void
/// everything issued until that time has come, and some of it lives for a second. Sweeping therefore follows a wall
/// clock that was set ahead, by however little, only after an hour, and until then goes by the clock since boot. It
/// follows a clock that was set back at once, because that voids nothing.
///
/// At a start only the latest sweep's mark is available for comparison. If the wall clock is further ahead of it than a
/// restart takes (a long pause, or a clock that is wrong since boot), sweeping does not follow it for an hour, either.
/// It follows a clock that is less far ahead, so several starts add up, each with a clock that is further ahead: no
/// other clock of the machine outlives its restart, and files have their times from the wall clock, too. On a database
/// that was never swept, the wall clock is taken as it is.
package struct SweepClock: Sendable {
  /// A correction by NTP is seconds at most, and needs no operator.
  package static let tolerance = Duration.seconds(60)
  /// A clock that was set by less in an hour is steady.
  static let steadiness = Duration.seconds(1)
  /// By then an operator has noticed a clock that was set wrong, or NTP has corrected it.
  package static let steadyTime = Duration.seconds(60 * 60)
  /// On PostgreSQL a mark is up to 30 s behind the server's clock, which may be 30 s behind ours.
  package static let longestRestart = Duration.seconds(120)

  package struct Limit: Sendable, Hashable {
    /// Sweep everything that expired before this time.
    package var time: UnixTime
    /// How far the wall clock is ahead of it. `nil`: no further than a correction.
    package var ahead: Duration?
  }

  /// When the machine booted, by the trusted time.
  private var boot: UnixTime
  /// The same by the wall clock, and since when it has been so.
  private var candidate: UnixTime
  private var steadySince: Duration

  /// - Parameter mark: the time of the latest sweep.
  package init(mark: UnixTime, at reading: ClockReading) {
    candidate = reading.boot
    steadySince = reading.sinceBoot
    let isFollowed = Self.isNew(mark) || reading.wall <= mark + Self.longestRestart
    boot = isFollowed ? reading.boot : ClockReading(wall: mark, sinceBoot: reading.sinceBoot).boot
  }

  package mutating func limit(at reading: ClockReading) -> Limit {
    let drift = reading.boot - candidate
    if drift > Self.steadiness || .zero - drift > Self.steadiness {
      candidate = reading.boot
      steadySince = reading.sinceBoot
    }
    if reading.boot < boot || reading.sinceBoot - steadySince >= Self.steadyTime {
      boot = reading.boot
      candidate = reading.boot
      steadySince = reading.sinceBoot
    }
    let ahead = reading.boot - boot
    return Limit(time: boot + reading.sinceBoot, ahead: ahead > Self.tolerance ? ahead : nil)
  }

  /// The time from which the age of events is counted: this machine's, but no later than the mark allows. Archiving
  /// drops events from the log, so a clock that is ahead must not decide which are old. On a database that was never
  /// swept, the clock is taken as it is.
  package static func presentTime(mark: UnixTime, at wall: UnixTime) -> UnixTime {
    isNew(mark) ? wall : min(wall, mark + longestRestart)
  }

  private static func isNew(_ mark: UnixTime) -> Bool { mark <= UnixTime(microseconds: 0) }

  /// How far the wall clock was ahead of the mark at a start that followed it. `nil`: no further than a correction. It
  /// looks like a restart that took so long; starts with a wrong clock add up.
  package static func startLead(mark: UnixTime, at wall: UnixTime) -> Duration? {
    let lead = wall - mark
    return isNew(mark) || lead <= tolerance || lead > longestRestart ? nil : lead
  }

  /// For how long everything issued now is void, because it expires before the mark. `nil`: it is not void.
  package static func outage(mark: UnixTime, at wall: UnixTime) -> Duration? {
    let outage = mark - wall - tolerance
    return outage > .zero ? outage : nil
  }
}

/// When to warn the operator that the clock is behind the mark, and when to report that this is over.
package struct ClockAlarm: Sendable {
  /// Often enough for an operator that reads the log.
  package static let reminderInterval = Duration.seconds(60)

  package enum Action: Sendable, Hashable {
    case nothing
    /// Logs a warning. `isNew`: also stops serving and appends an event.
    case warn(outage: Duration, isNew: Bool)
    /// Serves again.
    case allClear
  }

  private var warnedAt: Duration?
  private var isTold = false

  package init() {}

  package mutating func checked(mark: UnixTime, at reading: ClockReading) -> Action {
    guard let outage = SweepClock.outage(mark: mark, at: reading.wall) else {
      defer { self = ClockAlarm() }
      return warnedAt == nil ? .nothing : .allClear
    }
    if let warnedAt, reading.sinceBoot - warnedAt < Self.reminderInterval { return .nothing }
    defer {
      warnedAt = reading.sinceBoot
      isTold = true
    }
    return .warn(outage: outage, isNew: !isTold)
  }

  /// The event could not be appended: the next warning tries again.
  package mutating func notTold() {
    isTold = false
  }
}
