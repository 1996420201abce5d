// What Swift cannot call of the system: prctl, which is variadic.
#pragma once

#include <sys/prctl.h>

/// From now on the process leaves no core file, and nobody but root reads its memory, environment and open files (proc(5))
/// or attaches to it. 0, or -1 with errno.
static inline int cprocess_become_undumpable(void) {
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
