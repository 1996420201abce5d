// The machine's clocks.

internal import Glibc
internal import TouchstoneStore

/// Reads both of the machine's clocks.
func clockReading() -> ClockReading {
  ClockReading(wall: systemTime(), sinceBoot: reading(of: CLOCK_BOOTTIME))
}

/// Returns zero for a clock that the system does not have.
func reading(of clock: clockid_t) -> Duration {
  withUnsafeTemporaryAllocation(of: timespec.self, capacity: 1) { time in
    guard let start = time.baseAddress, clock_gettime(clock, start) == 0 else { return .zero }
    return .nanoseconds(nanoseconds(UnsafeRawBufferPointer(time)))
  }
}

/// Reads a `timespec`. Its members are read by place: the module that the compiler takes for the owner of their names
/// changes with the target's files.
func nanoseconds(_ time: UnsafeRawBufferPointer) -> Int64 {
  let seconds = time.load(as: time_t.self)
  let rest = time.load(fromByteOffset: MemoryLayout<time_t>.stride, as: Int.self)
  return Int64(seconds) &* 1_000_000_000 &+ Int64(rest)
}
