// How far sweeping may go by a wall clock that may be wrong.

package import TouchstonePolicy

/// What two clocks of one machine said at one moment.
package struct ClockReading: Sendable, Hashable {
  package var wall: UnixTime
  /// By a clock that nobody sets, and that goes on while the machine sleeps (CLOCK_BOOTTIME).
  package var sinceBoot: Duration

  package init(wall: UnixTime, sinceBoot: Duration) {
    self.wall = wall
    self.sinceBoot = sinceBoot
  }

  /// When the machine was started, if the wall clock is right. It changes only when the wall clock is set.
  fileprivate var boot: UnixTime { wall + (.zero - sinceBoot) }
}

/// Decides up to which time a sweep may go.
///
/// What a sweep passes is void for good (`Store.sweep`). So a clock that is ahead for seconds would void all that is issued
/// until that time has come. A wall clock that was set ahead is therefore not followed until it has stood for an hour;
/// meanwhile sweeping goes by the clock since boot. A clock that was set back is followed at once: it voids nothing.
///
/// At a start there is nothing to compare with but the latest sweep's mark. A wall clock that is further ahead of it than a
/// restart takes (a long pause, or a clock that is wrong since boot) is not followed for an hour, either. A database that
/// was never swept takes the clock as it is.
package struct SweepClock: Sendable {
  /// A correction by NTP is seconds at most. What evaluations and tickets live is more.
  package static let tolerance = Duration.seconds(60)
  /// Somebody who sets a clock wrong notices by then, or NTP does.
  package static let steadyTime = Duration.seconds(60 * 60)
  /// A mark is up to 30 s behind the server's clock on PostgreSQL, which may be 30 s behind ours.
  package static let longestRestart = Duration.seconds(120)

  package struct Limit: Sendable, Hashable {
    /// Sweep what expired before it.
    package var time: UnixTime
    /// By how much the wall clock is ahead of it. `nil`: it is the wall clock's time.
    package var ahead: Duration?
  }

  /// When the machine was started, by the time that is trusted.
  private var boot: UnixTime
  /// The same by the wall clock, and since when it has said so.
  private var candidate: UnixTime
  private var steadySince: Duration

  /// - Parameter mark: where the latest sweep came to.
  package init(mark: UnixTime, at reading: ClockReading) {
    candidate = reading.boot
    steadySince = reading.sinceBoot
    let isNew = mark <= UnixTime(microseconds: 0)
    let isFollowed = isNew || reading.wall <= mark + Self.longestRestart
    boot = isFollowed ? reading.boot : ClockReading(wall: mark, sinceBoot: reading.sinceBoot).boot
  }

  package mutating func limit(at reading: ClockReading) -> Limit {
    let drift = reading.boot - candidate
    if drift > Self.tolerance || .zero - drift > Self.tolerance {
      candidate = reading.boot
      steadySince = reading.sinceBoot
    }
    if reading.boot < boot || reading.sinceBoot - steadySince >= Self.steadyTime {
      boot = reading.boot
      candidate = reading.boot
      steadySince = reading.sinceBoot
    }
    let ahead = reading.boot - boot
    guard ahead > Self.tolerance else { return Limit(time: reading.wall, ahead: nil) }
    return Limit(time: boot + reading.sinceBoot, ahead: ahead)
  }

  /// For how long what is issued now is void, because it expires before the mark. `nil`: it is not.
  package static func outage(mark: UnixTime, at wall: UnixTime) -> Duration? {
    let outage = mark - wall - tolerance
    return outage > .zero ? outage : nil
  }
}

/// When the operator is to be told that the clock is behind the mark, and when that this is over.
package struct ClockAlarm: Sendable {
  /// Somebody looks at the log some time.
  package static let reminderInterval = Duration.seconds(60)

  package enum Action: Sendable, Hashable {
    case nothing
    /// Logs it. `isNew`: stops serving and appends an event, too.
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
