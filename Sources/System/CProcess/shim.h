// What Swift cannot call of the system: prctl and syscall, which are variadic.
#pragma once

#include <sys/prctl.h>
#include <sys/syscall.h>
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
