// Tells ThreadSanitizer of what orders threads inside Swift's libraries, which are not instrumented:
//
// - the slow paths of Mutex on Linux, futexes in libswiftSynchronization. (The fast paths are inlined into our own code, which is
//   instrumented.) Without it every contended lock is reported as a race.
// - a continuation that is resumed before its task waits. libswift_Concurrency tells of each resumption, and of its effect where
//   the task waits already; where the task need not wait any more it forgets to.
//
//   clang -shared -fPIC swift_for_tsan.c -o swift_for_tsan.so; LD_PRELOAD=.../swift_for_tsan.so
//
// Nothing is suppressed: an access that nothing orders is reported as before.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// Only where a sanitizer is.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

// Mutex.

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef __attribute__((swiftcall)) void (*lock_slow_function)(uint32_t self_id, __attribute__((swift_context)) void *handle);
typedef __attribute__((swiftcall)) bool (*try_lock_slow_function)(__attribute__((swift_context)) void *handle);
typedef __attribute__((swiftcall)) void (*unlock_slow_function)(__attribute__((swift_context)) void *handle);

__attribute__((swiftcall)) void lock_slow(uint32_t self_id, __attribute__((swift_context)) void *handle) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) bool try_lock_slow(__attribute__((swift_context)) void *handle) __asm__(TRY_LOCK_SLOW);
__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *handle) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t self_id, __attribute__((swift_context)) void *handle) {
  ((lock_slow_function)dlsym(RTLD_NEXT, LOCK_SLOW))(self_id, handle);
  if (__tsan_acquire) __tsan_acquire(handle);
}

// Takes the lock if its owner lets go just after the fast path has found it held.
__attribute__((swiftcall)) bool try_lock_slow(__attribute__((swift_context)) void *handle) {
  bool is_locked = ((try_lock_slow_function)dlsym(RTLD_NEXT, TRY_LOCK_SLOW))(handle);
  if (is_locked && __tsan_acquire) __tsan_acquire(handle);
  return is_locked;
}

__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *handle) {
  if (__tsan_release) __tsan_release(handle);
  ((unlock_slow_function)dlsym(RTLD_NEXT, UNLOCK_SLOW))(handle);
}

// Continuations. A resumption releases the task (resumeTaskAfterContinuation in the runtime's Task.cpp).

typedef __attribute__((swiftasynccall)) void (*await_function)(void *context);
typedef __attribute__((swiftcall)) void *(*current_task_function)(void);

static await_function original_await;
static current_task_function current_task;

__attribute__((constructor)) static void find_originals(void) {
  original_await = (await_function)dlsym(RTLD_NEXT, "swift_continuation_await");
  current_task = (current_task_function)dlsym(RTLD_NEXT, "swift_task_getCurrent");
}

__attribute__((swiftasynccall)) void swift_continuation_await(void *context);

__attribute__((swiftasynccall)) void swift_continuation_await(void *context) {
  // Last before the original looks whether there was a resumption: one that comes between the two is not told of.
  if (__tsan_acquire) __tsan_acquire(current_task());
  __attribute__((musttail)) return original_await(context);
}
