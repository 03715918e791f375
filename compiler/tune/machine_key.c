/* machine_key.c: where a measurement holds: the machine and the compiler. Rows of another place are never used. */
#include "tune.h"
#include "../support/leftover.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
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

/* The first line that `cc --version` prints; the child is cut off after a while. NULL: there is none, and why. */
static const char *compiler_version(Ctx *c, int *code, const char **why) {
  Words argv = { 0 };
  char line[256] = "";
  const char *base = getenv("TMPDIR");
  char *folder = arena_printf(&c->model, "%s/tgc-XXXXXX", base && *base ? base : "/tmp");
  *code = EX_NOWRITE;
  *why = arena_printf(&c->model, "cannot create a temporary folder '%s'", folder);
  if (!leftover_folder(folder)) return NULL;
  const char *log = arena_printf(&c->model, "%s/version", folder);
  compiler_words(c, &argv);
  VEC_PUSH(&argv, "--version");
  VEC_PUSH(&argv, NULL);
  const Tool t = {
    .what = "C compiler", .variable = "CC", .argv = &argv, .log = log, .scratch = folder, .makes = log, .seconds = 10
  };
  const ToolEnd end = tool_run(&t);
  *code = tool_judge(c, &t, &end, why);
  if (*code == EX_BUG) *code = EX_MISSING; /* it has no version to tell */
  int fd = open(log, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : pread(fd, line, sizeof line - 1, 0);
  if (fd >= 0) close(fd);
  path_remove(folder);
  leftover_forget(folder);
  VEC_FREE(&argv);
  return *code || n <= 0 ? NULL : arena_str(&c->model, line, strcspn(line, "\n"));
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

static int find(Ctx *c, const Backend *b, Place *p, const char **why) {
  int code = EX_MISSING;
  struct utsname u = { .machine = "" };
  Target host = { 0 };
  uname(&u);
  host_sizes(&host);
  const char *more = getenv("TGC_CFLAGS"), *maker = b->is_c ? compiler_version(c, &code, why) : b->version ? b->version(c) : NULL;
  if (!maker) return code;
  p->text = arena_printf(&c->model, "%s %s, features %x, caches %d %d %d; %s; tgc %s%s%s", u.machine, cpu_name(c),
                         host_features(), host.l1_bytes, host.l2_bytes, host.l3_bytes, maker, TGC_VERSION,
                         more && *more ? "; " : "", more ? more : "");
  sha256_hex(p->text, strlen(p->text), p->id);
  return 0;
}

bool place_find(Ctx *c, const Backend *b, Place *p) {
  const char *why;
  return !find(c, b, p, &why);
}

Place place_here(Ctx *c, const Backend *b) {
  Place p = { 0 };
  const char *why = arena_printf(&c->model, "what makes code for the backend '%s' is not installed", b->name);
  const int code = find(c, b, &p, &why);
  if (code) fail(c, code, "%s", why);
  return p;
}
