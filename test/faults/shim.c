/*
 * Loaded before the C library. It counts the calls on the data file and its WAL, makes one of them fail or be
 * short, and writes down what a disk would have to keep. The environment, which the process may change, says what
 * to do:
 *
 *   FAULT_RUN    another value begins a new run: the count starts at 0
 *   FAULT_AT     the number of the call that fails, 0 for none
 *   FAULT_KIND   the error, or "short" for a write of half the bytes
 *   FAULT_COUNT  a file that has the count
 *   FAULT_LOG    a file that gets every write, truncation, sync and failed sync
 *
 * A file says which calls find a read-only disk (EROFS), so that another process can switch it:
 *
 *   FAULT_READ_ONLY  its name. It has the letters of these calls: w, t, s, and o for opening a file to write
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(type, name, ...) type (*real)(__VA_ARGS__) = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

enum { GOES_ON, FAILS, IS_SHORT };
enum { READ = 'r', WRITE = 'w', TRUNCATE = 't', SYNC = 's', FAILED_SYNC = 'f', OPEN = 'o' };

static uint32_t calls = 0;
static char run[32] = "";

/* The name behind the last slash, if it is the data file or one beside it with the same beginning. */
static const char *watched(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  const char *name = strrchr(path, '/');
  if (!name || strncmp(name, "/mayfly.db", 10) || strstr(name, "-shm")) return NULL;
  return name + 1;
}

static void put(const char *file, int flags, const void *data, size_t size, off_t at) {
  REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
  int fd = open(file, flags | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (flags & O_APPEND) {
    if (write(fd, data, size) < 0) abort();
  } else if (real(fd, data, size, at) < 0) abort();
  close(fd);
}

/* A record: kind, length of the name, name, place, number of bytes, bytes. */
static void record(char kind, const char *name, const void *data, uint64_t at, uint64_t size) {
  const char *log = getenv("FAULT_LOG");
  if (!log || !*log || kind == READ) return;
  size_t length = strlen(name), held = kind == WRITE ? size : 0;
  char *entry = malloc(2 + length + 16 + held), *end = entry;
  *end++ = kind;
  *end++ = (char)length;
  end = memcpy(end, name, length) + length;
  memcpy(end, &at, 8);
  memcpy(end + 8, &size, 8);
  if (held) memcpy(end + 16, data, held);
  put(log, O_WRONLY | O_APPEND, entry, 2 + length + 16 + held, 0);
  free(entry);
}

static int read_only(char kind) {
  const char *file = getenv("FAULT_READ_ONLY");
  char letters[8] = "";
  if (!file) return 0;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, letters, sizeof letters - 1);
  close(fd);
  if (length < 1 || !strchr(letters, kind)) return 0;
  errno = EROFS;
  return 1;
}

static int fault(char kind, const char *name) {
  const char *now = getenv("FAULT_RUN"), *at = getenv("FAULT_AT"), *error = getenv("FAULT_KIND");
  const char *count = getenv("FAULT_COUNT");
  if (now && strcmp(now, run)) {
    snprintf(run, sizeof run, "%s", now);
    calls = 0;
  }
  if (strstr(name, "-acknowledged")) return GOES_ON;
  calls++;
  if (count) put(count, O_WRONLY, &calls, sizeof calls, 0);
  if (read_only(kind)) return FAILS;
  if (!at || calls != (uint32_t)atol(at) || !error) return GOES_ON;
  if (!strcmp(error, "short")) return kind == WRITE ? IS_SHORT : GOES_ON;
  if (kind == READ && strcmp(error, "EIO")) return GOES_ON;
  errno = !strcmp(error, "ENOSPC")   ? ENOSPC
          : !strcmp(error, "EFBIG")  ? EFBIG
          : !strcmp(error, "EDQUOT") ? EDQUOT
          : !strcmp(error, "EROFS")  ? EROFS
                                     : EIO;
  return FAILS;
}

#define PWRITE(name, offset)                                                                    \
  ssize_t name(int fd, const void *data, size_t size, offset at) {                              \
    REAL(ssize_t, name, int, const void *, size_t, offset);                                     \
    char path[4096];                                                                            \
    const char *file = watched(fd, path, sizeof path);                                          \
    int what = file ? fault(WRITE, file) : GOES_ON;                                             \
    if (what == FAILS) return -1;                                                               \
    if (what == IS_SHORT) size /= 2;                                                            \
    if (file) record(WRITE, file, data, (uint64_t)at, size);                                    \
    return real(fd, data, size, at);                                                            \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define PREAD(name, offset)                                                                     \
  ssize_t name(int fd, void *data, size_t size, offset at) {                                    \
    REAL(ssize_t, name, int, void *, size_t, offset);                                           \
    char path[4096];                                                                            \
    const char *file = watched(fd, path, sizeof path);                                          \
    if (file && fault(READ, file) == FAILS) return -1;                                          \
    return real(fd, data, size, at);                                                            \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

#define FTRUNCATE(name, offset)                                                                 \
  int name(int fd, offset size) {                                                               \
    REAL(int, name, int, offset);                                                               \
    char path[4096];                                                                            \
    const char *file = watched(fd, path, sizeof path);                                          \
    if (file && fault(TRUNCATE, file) == FAILS) return -1;                                      \
    if (file) record(TRUNCATE, file, NULL, 0, (uint64_t)size);                                  \
    return real(fd, size);                                                                      \
  }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

#define SYNCS(name)                                                                             \
  int name(int fd) {                                                                            \
    REAL(int, name, int);                                                                       \
    char path[4096];                                                                            \
    const char *file = watched(fd, path, sizeof path);                                          \
    if (file && fault(SYNC, file) == FAILS) {                                                   \
      int error = errno;                                                                        \
      record(FAILED_SYNC, file, NULL, 0, 0);                                                    \
      errno = error;                                                                            \
      return -1;                                                                                \
    }                                                                                           \
    int result = real(fd);                                                                      \
    if (file && result == 0) record(SYNC, file, NULL, 0, 0);                                    \
    return result;                                                                              \
  }
SYNCS(fsync)
SYNCS(fdatasync)

/* Also for files that are not counted: the reserve, and those of readers. */
#define OPENS(name)                                                                             \
  int name(const char *path, int flags, ...) {                                                  \
    va_list rest;                                                                               \
    va_start(rest, flags);                                                                      \
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;                                         \
    va_end(rest);                                                                               \
    const char *file = strrchr(path, '/');                                                      \
    int changes = (flags & O_ACCMODE) != O_RDONLY;                                              \
    if (changes && file && !strncmp(file, "/mayfly.", 8) && read_only(OPEN)) return -1;         \
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);                 \
  }
OPENS(open)
OPENS(open64)
