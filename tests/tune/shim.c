/* SPDX-License-Identifier: MIT */
/* shim.c: faults of the system, preloaded into tgc. SHIM_FULL=N: files of the store are on a disk that takes N more
 * bytes. SHIM_SYNCS=FILE: a byte for each sync of the store. SHIM_NFS=1: all file systems are NFS. SHIM_CLOCK=1: the
 * time of day jumps. SHIM_NO_LLVM=1: there is no LLVM. SHIM_SLOW=N: of the children of children, which time candidates,
 * those of odd number have a clock that runs N times as fast; all of them are given their own CPU time in place of the time of
 * day, so that another program's load changes no time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static int is_store(int fd) {
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(name, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return strstr(path, "tune.db") != NULL;
}

static int is_full(int fd, size_t n) {
  static long left = -1;
  const char *limit = getenv("SHIM_FULL");
  if (!limit || !is_store(fd)) return 0;
  if (left < 0) left = atol(limit);
  left -= (long)n;
  if (left >= 0) return 0;
  left = 0;
  errno = ENOSPC;
  return 1;
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) {
  ssize_t (*real)(int, const void *, size_t, off64_t) = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT,
                                                                                                              "pwrite64");
  return is_full(fd, n) ? -1 : real(fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return pwrite64(fd, p, n, at); }

static int synced(int fd, const char *name) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  const char *log = getenv("SHIM_SYNCS");
  int out = log && is_store(fd) ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (out >= 0) {
    if (write(out, "s", 1) < 0) abort();
    close(out);
  }
  return real(fd);
}

int fdatasync(int fd) { return synced(fd, "fdatasync"); }
int fsync(int fd) { return synced(fd, "fsync"); }

int statfs(const char *path, struct statfs *s) {
  int (*real)(const char *, struct statfs *) = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
  int bad = real(path, s);
  if (!bad && getenv("SHIM_NFS")) s->f_type = 0x6969;
  return bad;
}

void *dlopen(const char *name, int flags) {
  void *(*real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  return getenv("SHIM_NO_LLVM") && name && strstr(name, "LLVM") ? NULL : real(name, flags);
}

static int depth, child;

pid_t fork(void) {
  pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
  child++;
  pid_t pid = real();
  if (!pid) depth++;
  return pid;
}

static void hurry(struct timespec *t) {
  const char *times = getenv("SHIM_SLOW");
  if (!times || depth != 2) return;
  int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  real(CLOCK_PROCESS_CPUTIME_ID, t);
  if (child % 2 == 0) return;
  const double s = ((double)t->tv_sec + (double)t->tv_nsec * 1e-9) * atof(times);
  t->tv_sec = (time_t)s;
  t->tv_nsec = (long)((s - (double)t->tv_sec) * 1e9);
}

int clock_gettime(clockid_t id, struct timespec *t) {
  static int calls;
  int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int bad = real(id, t);
  if (!bad && id == CLOCK_REALTIME && getenv("SHIM_CLOCK")) t->tv_sec += calls++ % 2 ? 86400 : -86400;
  if (!bad && id == CLOCK_MONOTONIC) hurry(t);
  return bad;
}
