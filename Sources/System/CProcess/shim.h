// Functions of the system that Swift cannot call: prctl and syscall are variadic, and no module owns the members of
// timespec for certain.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// From now on the process leaves no core file, and only root reads its memory, environment and open files (proc(5))
/// or attaches to it. 0, or -1 with errno.
static inline int cprocess_become_undumpable(void) {
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/// The cores that the process may run on (sched_getaffinity(2)), as `taskset` or a container's cpuset says; at least 1.
static inline long cprocess_usable_cores(void) {
  // Room for 4,096 cores. The kernel writes as many bytes as its own mask has, and says how many.
  unsigned long mask[64];
  long size = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  long count = 0;
  for (long word = 0; word < size / (long)sizeof mask[0]; word++) count += __builtin_popcountl(mask[word]);
  return count > 0 ? count : 1;
}

/// Waits for one of the signals for at most that time (sigtimedwait(2)). 0: none came, or the wait was interrupted.
static inline int cprocess_wait_for_signal(const sigset_t *signals, long milliseconds) {
  struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
  int number = sigtimedwait(signals, NULL, &time);
  return number > 0 ? number : 0;
}
