/* SPDX-License-Identifier: MIT */
/* machine_key.c: where a measurement holds: the machine and the compiler, or the device and its driver. Rows of another place are
 * never used. */
#include "tune.h"
#include "../bundle/bundle.h"
#include "../../runtime_stub/tune_machine.h"
#include "../target/device_driver.h"
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
  const size_t before = out->n;
  split_words(c, getenv("CC"), out);
  if (out->n == before) VEC_PUSH(out, "cc");
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

const char *cpu_identity(Arena *a) {
  struct utsname u = { .machine = "" };
  Target host = { 0 };
  char cpu[512];
  uname(&u);
  host_sizes(&host);
  machine_cpu(cpu, sizeof cpu);
  return arena_printf(a, "%s %s, features %x, caches %d %d %d", u.machine, cpu, host_features(), host.l1_bytes, host.l2_bytes,
                      host.l3_bytes);
}

static int find_machine(Ctx *c, const Backend *b, Place *p, const char **why) {
  int code = EX_MISSING;
  const char *more = getenv("TGC_CFLAGS"), *maker = b->is_c ? compiler_version(c, &code, why) : b->version ? b->version(c) : NULL;
  if (!maker) return code;
  p->text = arena_printf(&c->model, "%s; %s; tgc %s%s%s", cpu_identity(&c->model), maker, TGC_VERSION,
                         more && *more ? "; " : "", more ? more : "");
  return 0;
}

/* ---- devices ---- */
static void note_log(void *arg, const char *text) {
  char *line = arg;
  if (!*line) snprintf(line, 300, "%.*s", (int)strcspn(text, "\n"), text);
}

/* A driver may say anything. */
static void put_plain(Sb *s, const char *text) {
  for (; *text; text++) sb_printf(s, "%c", (unsigned char)*text < ' ' || *text == ';' || *text == 127 ? ' ' : *text);
}

/* In a process of its own: "place TEXT", or "none STATUS WHY"; net: for which the device must have enough */
static _Noreturn void tell_device(Ctx *c, const Backend *b, const tgcrt_net *net, const char *device) {
  char log[300] = "";
  tgcrt_device open;
  tgcrt_device_facts f;
  const char *maker = b->images && b->version ? b->version(c) : NULL; /* the compiler, where it is not the driver */
  Sb s = { 0 };
  int status = b->driver->open(net, &(tgcrt_device){ .name = device, .log = note_log, .log_arg = log }, &open);
  if (!status) status = b->driver->describe(&open, &f);
  if (status) {
    sb_printf(&s, "none %d ", status);
    put_plain(&s, *log ? log : tgcrt_strerror(status));
  } else {
    const char *const part[] = { f.name, "; driver ", f.driver, ", ", f.version };
    sb_printf(&s, "place %s: ", b->name);
    for (int i = 0; i < 5; i++)
      if (i % 2) sb_puts(&s, part[i]);
      else put_plain(&s, part[i]);
    sb_printf(&s, ", units %u; %s%stgc %s", f.units, maker ? maker : "", maker ? "; " : "", TGC_VERSION);
  }
  sb_puts(&s, "\n");
  _exit(write(1, s.p, s.n) != (ssize_t)s.n);
}

/* A driver of a device may take its time to begin, and may crash. */
static int find_device(Ctx *c, const Backend *b, const tgcrt_net *net, const char *device, Place *p, const char **why) {
  enum { SECONDS = 20 };
  Child child;
  Sb line = { 0 };
  bool ended = false;
  int status = 0, used = 0;
  if (child_begin(c, &child, "/dev/null")) tell_device(c, b, net, device);
  const bool got = child_line(&child, SECONDS, &line, &ended);
  child_end(&child);
  *why = ended ? arena_printf(&c->model, "the driver of %s has crashed", b->name)
               : arena_printf(&c->model, "the driver of %s does not answer", b->name);
  if (got && starts_with(line.p, "place ")) p->text = arena_str(&c->model, line.p + 6, line.n - 6);
  else if (got && sscanf(line.p, "none %d %n", &status, &used) == 1 && used)
    *why = arena_str(&c->model, line.p + used, line.n - (size_t)used);
  sb_free(&line);
  return p->text ? 0 : EX_MISSING;
}

static Place place_of_text(const char *text) {
  Place p = { .text = text };
  sha256_hex(text, strlen(text), p.id);
  return p;
}

Place place_with(Ctx *c, const Place *p, const char *state) {
  return place_of_text(arena_printf(&c->model, "%s; data: %s", p->text, state));
}

Place place_for(Ctx *c, const Place *p, const char *wanted) {
  return place_of_text(arena_printf(&c->model, "%s; decisions for %s", p->text, wanted));
}

static int find(Ctx *c, const Backend *b, const char *device, Place *p, const char **why) {
  *p = (Place){ 0 };
  const tgcrt_net nothing = { .variable = DEVICE_VARIABLE, .guard_at = (size_t)-1 };
  const int code = b->driver ? find_device(c, b, &nothing, device, p, why) : find_machine(c, b, p, why);
  if (!code) sha256_hex(p->text, strlen(p->text), p->id);
  return code;
}

static size_t *value_bytes(Ctx *c, const GIO *v, size_t n) {
  size_t *bytes = ARENA_NEW(&c->model, size_t, n + 1);
  for (size_t i = 0; i < n; i++) bytes[i] = (size_t)gio_bytes(&v[i]);
  return bytes;
}

/* The images that a bundle would have, without their bytes: which architectures they are for */
static tgcrt_image *bundle_images(Ctx *c, const Plan *plan, const char *archs, size_t *n) {
  const Backend *b = plan->in->backend;
  const ImageOrder order = { .target = plan->in->target, .emit = EMIT_TEXT, .archs = archs };
  const char *file = c->file;
  Images images = { 0 };
  if (b->images) b->images(c, &order, &images);
  c->file = file;
  tgcrt_image *rows = ARENA_NEW(&c->model, tgcrt_image, images.list.n + 1);
  for (*n = 0; *n < images.list.n; ++*n)
    rows[*n] = (tgcrt_image){ .kind = images.list.p[*n].kind, .arch = images.list.p[*n].arch };
  VEC_FREE(&images.list);
  return rows;
}

int device_for_plan(Ctx *c, const Plan *plan, const char *archs, const char *device, Place *p, const char **why) {
  const Graph *g = plan->g;
  size_t nimages;
  const tgcrt_image *images = bundle_images(c, plan, archs, &nimages);
  DeviceTables t = device_tables(plan);
  const tgcrt_net net = { .variable = DEVICE_VARIABLE,
                          .launches = t.launches.p,
                          .nlaunches = t.launches.n,
                          .work_bytes = (size_t)plan->memory.arena_bytes,
                          .weight_bytes = (size_t)plan->weights.bytes,
                          .input_bytes = value_bytes(c, g->inputs.p, graph_nin(g)),
                          .output_bytes = value_bytes(c, g->outputs.p, graph_nout(g)),
                          .ninputs = graph_nin(g),
                          .noutputs = graph_nout(g),
                          .guard_at = (size_t)-1,
                          .needs = t.needs,
                          .max_block = (uint32_t)t.block,
                          .shared_bytes = (uint32_t)t.shared_bytes,
                          .images = images,
                          .nimages = nimages };
  *p = (Place){ 0 };
  const int code = find_device(c, plan->in->backend, &net, device, p, why);
  if (!code) sha256_hex(p->text, strlen(p->text), p->id);
  device_tables_free(&t);
  return code;
}

const char *device_missing(Ctx *c, const Backend *b, const char *device) {
  Place p;
  const char *why;
  return find(c, b, device, &p, &why) ? why : NULL;
}

bool place_find(Ctx *c, const Backend *b, const char *device, Place *p) {
  const char *why;
  return !find(c, b, device, p, &why);
}

Place place_here(Ctx *c, const Backend *b, const char *device) {
  Place p;
  const char *why = arena_printf(&c->model, "what makes code for the backend '%s' is not installed", b->name);
  const int code = find(c, b, device, &p, &why);
  if (code) fail(c, code, "%s", why);
  return p;
}
