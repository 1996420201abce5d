// The machine's clocks.

internal import Glibc
internal import TouchstoneStore

/// Reads both of the machine's clocks.
func clockReading() -> ClockReading {
  var sinceBoot = timespec()
  clock_gettime(CLOCK_BOOTTIME, &sinceBoot)
  return ClockReading(
    wall: systemTime(), sinceBoot: .seconds(sinceBoot.tv_sec) + .nanoseconds(sinceBoot.tv_nsec))
}
