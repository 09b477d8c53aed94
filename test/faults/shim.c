/* Loaded before the C library: makes the FAULT_AT-th write or sync of the data file fail, or be short. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long calls = 0;

/* 0: goes on; 1: fails with errno set; 2: short write. */
static int fault(int fd, int is_write) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  if (!strstr(path, "mayfly.db")) return 0;
  calls++;
  const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND");
  if (!at || calls != atol(at)) return 0;
  if (is_write && !strcmp(kind, "short")) return 2;
  errno = !strcmp(kind, "ENOSPC") ? ENOSPC : !strcmp(kind, "EFBIG") ? EFBIG : EIO;
  return 1;
}

#define REAL(type, name, ...) type (*real)(__VA_ARGS__) = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define PWRITE(name, offset_type)                                              \
  ssize_t name(int fd, const void *data, size_t size, offset_type at) {       \
    REAL(ssize_t, name, int, const void *, size_t, offset_type);              \
    int what = fault(fd, 1);                                                   \
    if (what == 1) return -1;                                                  \
    return real(fd, data, what == 2 ? size / 2 : size, at);                    \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SYNC(name)                                                             \
  int name(int fd) {                                                           \
    REAL(int, name, int);                                                      \
    return fault(fd, 0) ? -1 : real(fd);                                       \
  }
SYNC(fsync)
SYNC(fdatasync)

__attribute__((destructor)) static void report(void) {
  if (getenv("FAULT_COUNT")) fprintf(stderr, "calls %ld\n", calls);
}
