/* place.c: where a measurement holds: the machine and the compiler. Rows of another place are never used. */
#include "tune.h"
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

void split_words(Ctx *c, const char *s, Words *out) {
  while (s && *s) {
    size_t n = strcspn(s, " \t\n");
    if (n) VEC_PUSH(out, arena_str(&c->model, s, n));
    s += n + (s[n] != 0);
  }
}

void compiler_words(Ctx *c, Words *out) {
  split_words(c, getenv("CC"), out);
  if (!out->n) VEC_PUSH(out, "cc");
}

/* The first line that `cc --version` prints; the child is cut off after a while. NULL: there is none. */
static const char *compiler_version(Ctx *c) {
  Words argv = { 0 };
  char log[] = "/tmp/tgc-XXXXXX", line[256] = "";
  const char *base = getenv("TMPDIR");
  char *path = base && *base ? arena_printf(&c->model, "%s/tgc-XXXXXX", base) : log;
  int fd = mkstemp(path);
  compiler_words(c, &argv);
  VEC_PUSH(&argv, "--version");
  VEC_PUSH(&argv, NULL);
  int status = fd < 0 ? -1 : run_limited(argv.p, path, 10, 0);
  ssize_t n = fd < 0 ? 0 : pread(fd, line, sizeof line - 1, 0);
  if (fd >= 0) close(fd), unlink(path);
  VEC_FREE(&argv);
  return status || n <= 0 ? NULL : arena_str(&c->model, line, strcspn(line, "\n"));
}

/* The name the CPU gives itself; hypervisors change it, so the features and the caches count, too. */
static const char *cpu_name(Ctx *c) {
  char line[512];
  const char *name = "";
  FILE *f = fopen("/proc/cpuinfo", "re");
  while (f && fgets(line, sizeof line, f)) {
    char *value = strchr(line, ':');
    if (!value || (strncmp(line, "model name", 10) && strncmp(line, "CPU part", 8))) continue;
    value += 1 + (value[1] == ' ');
    name = arena_str(&c->model, value, strcspn(value, "\n"));
    break;
  }
  if (f) fclose(f);
  return name;
}

bool place_find(Ctx *c, const Backend *b, Place *p) {
  struct utsname u = { .machine = "" };
  Target host = { 0 };
  uname(&u);
  host_sizes(&host);
  const char *more = getenv("TGC_CFLAGS"), *maker = b->version ? b->version(c) : compiler_version(c);
  if (!maker) return false;
  p->text = arena_printf(&c->model, "%s %s, features %x, caches %d %d %d; %s; tgc %s%s%s", u.machine, cpu_name(c),
                         host_features(), host.l1_bytes, host.l2_bytes, host.l3_bytes, maker, TGC_VERSION,
                         more && *more ? "; " : "", more ? more : "");
  sha256_hex(p->text, strlen(p->text), p->id);
  return true;
}

Place place_here(Ctx *c, const Backend *b) {
  Place p = { 0 };
  Words cc = { 0 };
  compiler_words(c, &cc);
  if (!place_find(c, b, &p) && b->version) fail(c, EX_MISSING, "what makes code for the backend '%s' is not installed", b->name);
  if (!p.text) fail(c, EX_MISSING, "cannot run the C compiler '%s'; set CC to one", cc.p[0]);
  VEC_FREE(&cc);
  return p;
}
