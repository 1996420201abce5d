internal import Glibc
internal import TouchstonePolicy
internal import TouchstoneStore

/// The machine's wall clock, for the service and the demo's callers.
func systemTime() -> UnixTime {
  var now = timespec()
  clock_gettime(CLOCK_REALTIME, &now)
  return UnixTime(microseconds: Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000)
}

/// Both of the machine's clocks.
func clockReading() -> ClockReading {
  var sinceBoot = timespec()
  clock_gettime(CLOCK_BOOTTIME, &sinceBoot)
  return ClockReading(
    wall: systemTime(), sinceBoot: .seconds(sinceBoot.tv_sec) + .nanoseconds(sinceBoot.tv_nsec))
}
