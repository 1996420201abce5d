// The machine's wall clock.

internal import Glibc
package import TouchstonePolicy

package func systemTime() -> UnixTime {
  var now = timespec()
  clock_gettime(CLOCK_REALTIME, &now)
  return UnixTime(clockSeconds: now.tv_sec, nanoseconds: now.tv_nsec)
}
