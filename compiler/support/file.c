/* SPDX-License-Identifier: MIT */
/* file.c: reads and writes files. Reading never blocks on a FIFO and refuses anything but a regular file. */
#include "support.h"
#include "leftover.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name of a file in a message, which may begin with it */
static const char *named(Ctx *c, const char *path) {
  return c->file && !strcmp(c->file, path) ? "" : arena_printf(&c->model, " '%s'", path);
}

Bytes file_read(Ctx *c, const char *path, size_t limit) {
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat st;
  if (fd < 0) fail(c, EX_NOINPUT_, "cannot open%s: %s", named(c, path), strerror(errno));
  if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
    close(fd);
    fail(c, EX_NOINPUT_, "cannot read%s: it is not a regular file", named(c, path));
  }
  size_t n = (size_t)st.st_size;
  if (limit && n > limit) {
    close(fd);
    fail(c, EX_BADMODEL, "cannot read%s: it has %zu bytes, the limit is %zu", named(c, path), n, limit);
  }
  char *p = arena_alloc(&c->model, n + 1);
  size_t got = 0;
  while (got < n) { /* read, not mmap: if the file shrinks meanwhile, that is an error, not a signal */
    ssize_t k = read(fd, p + got, n - got);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      close(fd);
      fail(c, EX_NOINPUT_, "cannot read%s: %s", named(c, path), k ? strerror(errno) : "it became shorter while being read");
    }
    got += (size_t)k;
  }
  close(fd);
  return (Bytes){ (const uint8_t *)p, n };
}

/* Mappings are listed, so that ctx_free can release them. */
typedef struct Mapping {
  struct Mapping *next;
  void *p;
  size_t n;
} Mapping;

/* A mapped file that becomes shorter loses pages, and accessing one raises SIGBUS. The handler maps zeros there, so that the
 * current work ends in order, and files_check refuses its result. A signal carries no Ctx, so this is a global variable, like
 * the list of leftover.c. */
static volatile sig_atomic_t pages_lost;

static void on_sigbus(int sig, siginfo_t *info, void *context) {
  (void)context;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *at = (char *)info->si_addr - (uintptr_t)info->si_addr % page;
  if (info->si_code == BUS_ADRERR && mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == at)
    pages_lost = 1;
  else signal(sig, SIG_DFL); /* not one of our mappings: the signal repeats and ends the process */
}

void files_check(Ctx *c) {
  if (pages_lost) fail(c, EX_NOINPUT_, "a file of weights became shorter while being read");
}

static Bytes copy_part(Ctx *c, int fd, size_t off, size_t n) {
  char *p = arena_alloc(&c->model, n);
  for (size_t at = 0; at < n;) {
    const ssize_t got = pread(fd, p + at, n - at, (off_t)(off + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(c, EX_NOINPUT_, "cannot read %zu bytes: %s", n, got ? strerror(errno) : "the file became shorter");
    at += (size_t)got;
  }
  return (Bytes){ (const uint8_t *)p, n };
}

Bytes file_map(Ctx *c, int fd, size_t off, size_t n) {
  if (!n) return (Bytes){ (const uint8_t *)"", 0 };
  if (c->copies) return copy_part(c, fd, off, n);
  size_t page = (size_t)sysconf(_SC_PAGESIZE), skew = off % page;
  char *p = mmap(NULL, n + skew, PROT_READ, MAP_PRIVATE, fd, (off_t)(off - skew));
  if (p == MAP_FAILED) fail(c, EX_NOINPUT_, "cannot map %zu bytes: %s", n, strerror(errno));
  sigaction(SIGBUS, &(struct sigaction){ .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO }, NULL);
  Mapping *m = arena_alloc(&c->model, sizeof *m);
  *m = (Mapping){ c->maps, p, n + skew };
  c->maps = m;
  return (Bytes){ (const uint8_t *)p + skew, n };
}

void files_unmap(Ctx *c) {
  for (Mapping *m = c->maps; m; m = m->next) munmap(m->p, m->n);
  c->maps = NULL;
}

static int write_file(const char *path, const void *p, size_t n, bool durable) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return -1;
  const char *at = p;
  while (n) {
    ssize_t k = write(fd, at, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) goto broken;
    at += k;
    n -= (size_t)k;
  }
  if (durable && fsync(fd)) goto broken;
  return close(fd);
broken:;
  int e = errno;
  close(fd);
  errno = e;
  return -1;
}

int file_write(const char *path, const void *p, size_t n) { return write_file(path, p, n, true); }
int file_write_briefly(const char *path, const void *p, size_t n) { return write_file(path, p, n, false); }

void file_put(Ctx *c, const char *path, const void *p, size_t n) {
  if (file_write(path, p, n)) fail(c, EX_NOWRITE, "cannot write '%s': %s", path, strerror(errno));
}

/* A terminal, a pipe or a device such as /dev/null: it is written, not replaced. */
static bool is_device(const char *path) {
  struct stat st;
  return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

void file_expect(Ctx *c, const char *path) {
  struct stat st;
  const char *slash = strrchr(path, '/');
  const char *folder = !slash ? "." : arena_str(&c->model, path, (size_t)(slash - path) + 1);
  if (!stat(path, &st) && S_ISDIR(st.st_mode)) fail(c, EX_NOWRITE, "cannot write '%s': it is a folder", path);
  const bool device = is_device(path); /* it is written; a file is made in its folder */
  if (access(device ? path : folder, device ? W_OK : W_OK | X_OK))
    fail(c, EX_NOWRITE, "cannot write '%s': %s", path, strerror(errno));
}

void file_replace(Ctx *c, const char *path, const void *p, size_t n) {
  if (is_device(path)) {
    if (file_write(path, p, n) && errno != EINVAL) fail(c, EX_NOWRITE, "cannot write '%s': %s", path, strerror(errno));
    return; /* EINVAL: it cannot be synced */
  }
  const char *part = arena_printf(&c->model, "%s.part", path);
  leftover_add(part);
  bool done = !file_write(part, p, n) && !rename(part, path);
  int e = errno;
  if (!done) unlink(part);
  leftover_forget(part);
  if (done) return;
  fail(c, EX_NOWRITE, "cannot write '%s': %s", path, strerror(e));
}
