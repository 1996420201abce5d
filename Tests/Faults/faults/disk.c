// A disk that fails, between a process and the kernel (LD_PRELOAD): it refuses writes and fsyncs as it is told meanwhile,
// and remembers what a loss of power would leave of two files.
//
// Of each of the two there is a *platter* beside the control file: what is on the disk for certain. A write goes to the
// file, as into the kernel's cache, and marks its blocks; fsync copies those to the platter. Where fsync fails, they are
// marked as forgotten: the cache still shows them, and a later fsync does not write them any more, as Linux does it
// (https://wiki.postgresql.org/wiki/Fsync_Errors). disk.py makes of platter and marks what a loss of power would leave.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096
#define BLOCKS 65536  // 256 MB a file
#define DESCRIPTORS 65536

enum { CLEAN, DIRTY, FORGOTTEN };

// In the order of disk.py's names. Numbers in the machine's own byte order.
struct control {
  _Atomic int64_t sync_errno;      // of fsync and fdatasync; 0: they succeed
  _Atomic int64_t write_errno;     // of writes
  _Atomic int64_t free_bytes;      // by which files may still grow; negative: no end
  _Atomic int64_t failed_syncs;    // so far
  _Atomic int64_t failed_writes;
  _Atomic int64_t syncs;
  _Atomic int64_t database_only;   // faults meet the database alone, not its log
  _Atomic int64_t lies;            // fsync does nothing, and says that it did
};

struct tracked {
  const char *name;
  int platter;
  uint8_t *marks;
};

static struct control *control;
static struct tracked files[] = {{"touchstone.db", -1, NULL}, {"touchstone.db-wal", -1, NULL}};
static int8_t file_of[DESCRIPTORS];  // 0: none, else its index and one
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_unlink)(const char *);

static const char *beside(const char *name, const char *suffix, char *buffer, size_t size) {
  snprintf(buffer, size, "%s/%s%s", getenv("DISK_CONTROL"), name, suffix);
  return buffer;
}

static void *map(const char *path, size_t size) {
  int descriptor = real_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 || real_ftruncate(descriptor, (off_t)size) != 0) abort();
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  real_close(descriptor);
  if (memory == MAP_FAILED) abort();
  return memory;
}

// Other libraries' constructors may be first to open something.
__attribute__((constructor)) static void start(void) {
  if (real_openat != NULL) return;
  real_openat = dlsym(RTLD_NEXT, "openat64");
  real_close = dlsym(RTLD_NEXT, "close");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_write = dlsym(RTLD_NEXT, "write");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  char path[4096];
  control = map(beside("control", "", path, sizeof path), sizeof *control);
}

// MARK: What is on the disk

static void copy(int from, int to, off_t begin, off_t end) {
  char block[BLOCK];
  for (off_t at = begin; at < end; at += BLOCK) {
    ssize_t count = pread(from, block, BLOCK, at);
    if (count > 0 && real_pwrite(to, block, (size_t)count, at) != count) abort();
  }
}

// Whatever is there at first is on the disk. The marks come last, so that they are only beside a platter that is whole.
static void track(struct tracked *file, int descriptor) {
  if (file->platter >= 0) return;
  char path[4096];
  int is_new = access(beside(file->name, ".marks", path, sizeof path), F_OK) != 0;
  beside(file->name, "", path, sizeof path);
  file->platter = real_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file->platter < 0) abort();
  struct stat status;
  if (is_new && fstat(descriptor, &status) == 0) copy(descriptor, file->platter, 0, status.st_size);
  file->marks = map(beside(file->name, ".marks", path, sizeof path), BLOCKS);
}

static void mark(struct tracked *file, off_t offset, size_t count) {
  for (off_t block = offset / BLOCK; block <= (offset + (off_t)count - 1) / BLOCK; block++) {
    if (block >= BLOCKS) abort();
    file->marks[block] = DIRTY;
  }
}

static void persist(struct tracked *file, int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || real_ftruncate(file->platter, status.st_size) != 0) abort();
  for (off_t block = 0; block < BLOCKS; block++) {
    if (file->marks[block] != DIRTY) continue;
    file->marks[block] = CLEAN;
    copy(descriptor, file->platter, block * BLOCK, block * BLOCK + 1);
  }
}

static void forget(struct tracked *file) {
  for (int block = 0; block < BLOCKS; block++) {
    if (file->marks[block] == DIRTY) file->marks[block] = FORGOTTEN;
  }
}

static struct tracked *tracked(int descriptor) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS || file_of[descriptor] == 0) return NULL;
  return &files[file_of[descriptor] - 1];
}

static int is_met(struct tracked *file) {
  return !control->database_only || file == &files[0];
}

// MARK: In place of the C library's

static int opened(int descriptor, const char *path) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS) return descriptor;
  const char *name = strrchr(path, '/');
  name = name ? name + 1 : path;
  pthread_mutex_lock(&lock);
  file_of[descriptor] = 0;
  for (size_t index = 0; index < sizeof files / sizeof *files; index++) {
    if (strcmp(name, files[index].name) != 0) continue;
    track(&files[index], descriptor);
    file_of[descriptor] = (int8_t)(index + 1);
  }
  pthread_mutex_unlock(&lock);
  return descriptor;
}

#define OPEN(flags)                  \
  va_list arguments;                 \
  va_start(arguments, flags);        \
  mode_t mode = va_arg(arguments, mode_t); \
  va_end(arguments);

int open(const char *path, int flags, ...) {
  start();
  OPEN(flags)
  return opened(real_openat(AT_FDCWD, path, flags, mode), path);
}

int open64(const char *path, int flags, ...) {
  start();
  OPEN(flags)
  return opened(real_openat(AT_FDCWD, path, flags, mode), path);
}

int openat(int directory, const char *path, int flags, ...) {
  start();
  OPEN(flags)
  return opened(real_openat(directory, path, flags, mode), path);
}

int close(int descriptor) {
  start();
  if (descriptor >= 0 && descriptor < DESCRIPTORS) file_of[descriptor] = 0;
  return real_close(descriptor);
}

// How much of it goes into the file; negative: none, and errno says why.
static ssize_t admitted(struct tracked *file, int descriptor, size_t count, off_t offset) {
  if (!is_met(file)) return (ssize_t)count;
  int failure = (int)control->write_errno;
  struct stat status;
  if (failure == 0 && control->free_bytes >= 0 && fstat(descriptor, &status) == 0) {
    off_t growth = offset + (off_t)count - status.st_size;
    if (growth > control->free_bytes) {
      off_t fitting = (off_t)count - (growth - control->free_bytes);
      if (fitting > 0) count = (size_t)fitting;
      else failure = ENOSPC;
      growth = offset + (off_t)count - status.st_size;
    }
    if (failure == 0 && growth > 0) control->free_bytes -= growth;
  }
  if (failure == 0) return (ssize_t)count;
  control->failed_writes++;
  errno = failure;
  return -1;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
  struct tracked *file = tracked(descriptor);
  if (file == NULL || count == 0) return real_pwrite(descriptor, bytes, count, offset);
  pthread_mutex_lock(&lock);
  ssize_t written = admitted(file, descriptor, count, offset);
  if (written > 0) written = real_pwrite(descriptor, bytes, (size_t)written, offset);
  if (written > 0) mark(file, offset, (size_t)written);
  pthread_mutex_unlock(&lock);
  return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return pwrite64(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  start();
  if (tracked(descriptor) == NULL) return real_write(descriptor, bytes, count);
  off_t offset = lseek(descriptor, 0, SEEK_CUR);
  ssize_t written = pwrite64(descriptor, bytes, count, offset);
  if (written > 0) lseek(descriptor, written, SEEK_CUR);
  return written;
}

int ftruncate64(int descriptor, off_t size) {
  struct tracked *file = tracked(descriptor);
  if (file == NULL || !is_met(file) || control->write_errno == 0) return real_ftruncate(descriptor, size);
  control->failed_writes++;
  errno = (int)control->write_errno;
  return -1;
}

int ftruncate(int descriptor, off_t size) {
  return ftruncate64(descriptor, size);
}

int fsync(int descriptor) {
  struct tracked *file = tracked(descriptor);
  // Of what nobody takes the power from.
  if (file == NULL) return 0;
  if (control->lies) return 0;
  int failure = is_met(file) ? (int)control->sync_errno : 0;
  pthread_mutex_lock(&lock);
  if (failure == 0) persist(file, descriptor);
  else forget(file);
  pthread_mutex_unlock(&lock);
  if (failure == 0) {
    control->syncs++;
    return 0;
  }
  control->failed_syncs++;
  errno = failure;
  return -1;
}

int fdatasync(int descriptor) {
  return fsync(descriptor);
}

int unlink(const char *path) {
  int result = real_unlink(path);
  const char *name = strrchr(path, '/');
  if (result != 0 || name == NULL) return result;
  pthread_mutex_lock(&lock);
  for (size_t index = 0; index < sizeof files / sizeof *files; index++) {
    struct tracked *file = &files[index];
    if (strcmp(name + 1, file->name) != 0 || file->platter < 0) continue;
    memset(file->marks, CLEAN, BLOCKS);
    if (real_ftruncate(file->platter, 0) != 0) abort();
  }
  pthread_mutex_unlock(&lock);
  return result;
}
