/* SPDX-License-Identifier: MIT */
/* external.c: weights in files beside the model. Models may be hostile, and they name these files. So only regular files
 * strictly beneath the model's directory are opened. The path may not contain "..", symbolic links or anything that another
 * system takes for a separator. openat2 checks all this in the kernel, so no rename can slip in between. Each file is opened
 * once, and the opened file is the one that was checked. Large files are mapped, and tensors point into the mapping. */
#include "external.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAP_FROM = 1 << 20 }; /* bytes; smaller files are copied: that is cheaper than a mapping, and the copy cannot change */

/* Why a location may leave its directory on some system; NULL: it is a relative path that stays beneath it. */
static const char *location_fault(const char *s) {
  size_t n = strlen(s);
  if (!n) return "is empty";
  if (n > 4000) return "is longer than 4000 bytes";
  if (s[0] == '/') return "is an absolute path";
  if (strchr(s, '\\')) return "contains a backslash";
  if (s[1] == ':') return "starts with a drive letter";
  for (const char *p = s; p; p = strchr(p, '/'), p = p ? p + 1 : NULL) {
    size_t len = strcspn(p, "/");
    if (len == 2 && !strncmp(p, "..", 2)) return "contains '..'";
    if (!p[len] && (len == 0 || (len == 1 && *p == '.'))) return "names a directory";
  }
  return NULL;
}

/* Opens the model's directory; -1 with errno. */
static int open_directory(const char *model) {
  const char *slash = strrchr(model, '/');
  char dir[4097];
  size_t n = slash ? (size_t)(slash - model) + 1 : 1;
  if (n >= sizeof dir) return errno = ENAMETOOLONG, -1;
  memcpy(dir, slash ? model : ".", n);
  dir[n] = 0;
  return open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int open_beneath(const char *model, const char *location) {
  int dir = open_directory(model);
  if (dir < 0) return -1;
  struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
                          .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
  int fd = (int)syscall(SYS_openat2, dir, location, &how, sizeof how), e = errno;
  close(dir);
  errno = e;
  return fd;
}

/* Reads or maps an opened file. Returns NULL, or what is wrong, with an exit code in *code. */
static const char *load(Ctx *c, const External *x, int fd, Bytes *all, int *code) {
  struct stat st;
  *code = EX_NOINPUT_;
  if (fstat(fd, &st)) return strerror(errno);
  if (!S_ISREG(st.st_mode)) return "it is not a regular file";
  *code = EX_BADMODEL;
  if (st.st_nlink > 1 && !x->allow_hardlinks) return "it has more than one hard link (--allow-hardlinks)";
  *code = EX_NOINPUT_;
  size_t n = (size_t)st.st_size;
  if (n >= MAP_FROM) {
    *all = file_map(c, fd, 0, n);
    return NULL;
  }
  uint8_t *p = arena_alloc(&c->model, n);
  *all = (Bytes){ p, n };
  for (size_t got = 0; got < n;) {
    ssize_t k = read(fd, p + got, n - got);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return k ? strerror(errno) : "it became shorter while being read";
    got += (size_t)k;
  }
  return NULL;
}

ExternalFile *external_file(Ctx *c, External *x, const char *location, Pos at, const char *subject) {
  if (!x->model) fail_at(c, EX_BADMODEL, at, "%s refers to external data, which is not allowed here", subject);
  uint32_t id = intern(c, location, strlen(location));
  for (size_t i = x->files.n; i-- > 0;)
    if (x->files.p[i].location == id) return &x->files.p[i];
  const char *why = location_fault(location);
  if (why)
    fail_at(c, EX_BADMODEL, at, "%s: external data location '%.200s%s' %s", subject, location,
            strlen(location) > 200 ? "..." : "", why);
  int fd = open_beneath(x->model, location);
  if (fd < 0) { /* ELOOP, EXDEV: the kernel refused a link or a way out of the directory */
    bool refused = errno == ELOOP || errno == EXDEV;
    why = errno == ELOOP ? "it is a symbolic link, or a folder of its path is one" : strerror(errno);
    fail_at(c, refused ? EX_BADMODEL : EX_NOINPUT_, at, "%s: cannot open external data '%.200s': %s", subject, location, why);
  }
  int code;
  ExternalFile f = { .location = id };
  why = load(c, x, fd, &f.all, &code);
  close(fd);
  if (why) fail_at(c, code, at, "%s: cannot use external data '%.200s': %s", subject, location, why);
  x->file_bytes += f.all.n;
  VEC_PUSH(&x->files, f);
  source_add(c, location, f.all);
  return &x->files.p[x->files.n - 1];
}

Bytes external_range(Ctx *c, External *x, const char *location, uint64_t offset, size_t need, Pos at, const char *subject) {
  ExternalFile *f = external_file(c, x, location, at, subject);
  if (offset > f->all.n || need > f->all.n - offset)
    fail_at(c, EX_BADMODEL, at, "%s: external data at offset %llu, length %zu is beyond the end of '%.200s' (%zu bytes)", subject,
            (unsigned long long)offset, need, location, f->all.n);
  /* tensors may share bytes, but a small model must not blow up by using one file many times */
  x->used += need;
  if (x->used / 4 > x->file_bytes + (16u << 20))
    fail_at(c, EX_BADMODEL, at, "%s: all tensors together need more than 4 times as many bytes as the external data files have",
            subject);
  return (Bytes){ f->all.p + offset, need };
}
