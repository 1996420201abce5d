// Tells ThreadSanitizer of the slow paths of Swift's Mutex on Linux: futexes inside libswiftSynchronization, which is not
// instrumented. (The fast paths are inlined into our own code, which is.) Without it every contended lock is reported as a race.
//
//   clang -shared -fPIC mutex_for_tsan.c -o mutex_for_tsan.so; LD_PRELOAD=.../mutex_for_tsan.so
//
// Nothing is suppressed: an access that no lock guards is reported as before.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Only where a sanitizer is.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

typedef __attribute__((swiftcall)) void (*lock_slow_function)(uint32_t self_id, __attribute__((swift_context)) void *handle);
typedef __attribute__((swiftcall)) void (*unlock_slow_function)(__attribute__((swift_context)) void *handle);

__attribute__((swiftcall)) void lock_slow(uint32_t self_id, __attribute__((swift_context)) void *handle) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *handle) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t self_id, __attribute__((swift_context)) void *handle) {
  ((lock_slow_function)dlsym(RTLD_NEXT, LOCK_SLOW))(self_id, handle);
  if (__tsan_acquire) __tsan_acquire(handle);
}

__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *handle) {
  if (__tsan_release) __tsan_release(handle);
  ((unlock_slow_function)dlsym(RTLD_NEXT, UNLOCK_SLOW))(handle);
}
