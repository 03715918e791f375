/* build.c: bundles of plans as shared objects of this machine. The C compiler and the linker run in a child process: no shell
 * sees a command. */
#include "cmd.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The compiler's messages go to a file, and its first lines are shown when it fails. */
static void show_log(Ctx *c, const char *path) {
  char line[400];
  FILE *f = fopen(path, "re");
  for (int i = 0; f && i < 12 && fgets(line, sizeof line, f); i++) fputs(line, c->err);
  if (f) fclose(f);
}

/* what: for messages; variable: that names another program for it */
static void run_tool(Ctx *c, const Options *o, const char *what, const char *variable, const Texts *argv, const char *log) {
  pid_t pid = child_start(c);
  if (!pid) {
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || in < 0 || dup2(in, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0) _exit(126);
    execvp(argv->p[0], (char *const *)(uintptr_t)argv->p);
    _exit(127);
  }
  int status = child_wait(c, o, pid, what);
  if (WIFEXITED(status) && !WEXITSTATUS(status)) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    fail(c, EX_MISSING, "cannot run the %s '%s'; set %s to one", what, argv->p[0], variable);
  show_log(c, log);
  fail(c, EX_BUG, "the %s '%s' does not accept the generated code", what, argv->p[0]);
}

/* kind: what the C compiler is to make of `more` */
static void compile_to(Ctx *c, const Options *o, const char *scratch, const char *out, const char *kind, const char *cflags,
                       const Texts *more) {
  Texts argv = { 0 };
  compiler_words(c, &argv);
  split_words(c, kind, &argv);
  VEC_PUSH(&argv, "-o");
  VEC_PUSH(&argv, out);
  split_words(c, cflags, &argv);
  split_words(c, getenv("TGC_CFLAGS"), &argv);
  for (size_t i = 0; i < more->n; i++) VEC_PUSH(&argv, more->p[i]);
  VEC_PUSH(&argv, NULL);
  run_tool(c, o, "C compiler", "CC", &argv, arena_printf(&c->model, "%s/cc.log", scratch));
  VEC_FREE(&argv);
}

const char *shared_object(Ctx *c, const Options *o, const char *scratch, const char *name, const char *cflags,
                          const Texts *more) {
  const char *so = arena_printf(&c->model, "%s/%s.so", scratch, name);
  Texts all = { 0 };
  for (size_t i = 0; i < more->n; i++) VEC_PUSH(&all, more->p[i]);
  VEC_PUSH(&all, "-lm");
  VEC_PUSH(&all, "-pthread");
  compile_to(c, o, scratch, so, "-shared -fPIC -O3", cflags, &all);
  VEC_FREE(&all);
  return so;
}

/* A source of kernels for one machine, with flags of its own. */
static const char *variant_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t i) {
  const char *object = arena_printf(&c->model, "%s/variant%zu.o", scratch, i);
  Texts source = { 0 };
  VEC_PUSH(&source, arena_printf(&c->model, "%s/%s", dir, f->variants.p[i]));
  compile_to(c, o, scratch, object, "-c -fPIC -O3", f->variant_flags.p[i], &source);
  VEC_FREE(&source);
  return object;
}

/* An object, or a library of them, needs no C compiler but a linker: that of this machine, for others LLVM's. */
static const char *link_files(Ctx *c, const Options *o, const char *object, const char *soname, const char *scratch) {
  const char *ld = getenv("LD"), *ours = o->target ? "ld.lld" : "ld", *so = arena_printf(&c->model, "%s/model.so", scratch);
  Texts argv = { 0 };
  split_words(c, ld && strspn(ld, " ") < strlen(ld) ? ld : ours, &argv);
  const char *const rest[] = { "-shared", "-o", so, "-soname", soname, "--whole-archive", object, "--no-whole-archive" };
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) VEC_PUSH(&argv, rest[i]);
  if (!o->target) VEC_PUSH(&argv, "-lm");
  VEC_PUSH(&argv, NULL);
  run_tool(c, o, "linker", "LD", &argv, arena_printf(&c->model, "%s/ld.log", scratch));
  VEC_FREE(&argv);
  return so;
}

Bytes link_shared(Ctx *c, void *arg, Bytes object) {
  const Linking *l = arg;
  const char *in = arena_printf(&c->model, "%s/model.o", l->scratch);
  file_put(c, in, object.p, object.n);
  return file_read(c, link_files(c, l->o, in, l->soname, l->scratch), (size_t)1 << 40);
}

const char *bundle_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, const char *hooks) {
  const char *end = strrchr(f->code, '.'), *code = arena_printf(&c->model, "%s/%s", dir, f->code);
  if (!strcmp(end, ".so")) return code;
  if (!f->states && (!strcmp(end, ".o") || !strcmp(end, ".a"))) return link_files(c, o, code, f->code, scratch);
  Texts more = { 0 };
  VEC_PUSH(&more, arena_printf(&c->model, "-I%s", dir));
  if (hooks) VEC_PUSH(&more, arena_printf(&c->model, "-DTGC_HOOKS=\"%s\"", hooks));
  for (size_t i = 0; i < f->sources.n; i++) VEC_PUSH(&more, arena_printf(&c->model, "%s/%s", dir, f->sources.p[i]));
  for (size_t i = 0; i < f->variants.n; i++) VEC_PUSH(&more, variant_object(c, o, dir, scratch, f, i));
  VEC_PUSH(&more, arena_printf(&c->model, "%s/tgcrt.c", dir));
  VEC_PUSH(&more, arena_printf(&c->model, "%s/tgcrt_pool.c", dir));
  const char *so = shared_object(c, o, scratch, "model", f->cflags, &more);
  VEC_FREE(&more);
  return so;
}

bool keeps_denormals(const Options *o) {
  return o->denormals ? !strcmp(o->denormals, "keep") : o->precision && precision_named(o->precision) == PREC_STRICT;
}

const char *plan_put(Ctx *c, const Options *o, const Plan *p, const char *scratch) {
  char *dir = arena_printf(&c->model, "%s/bundle-XXXXXX", scratch);
  if (!mkdtemp(dir)) fail(c, EX_NOWRITE, "cannot create '%s': %s", dir, strerror(errno));
  Bundle b = { 0 };
  const Emit emit = p->backend->build ? EMIT_OBJ : EMIT_TEXT;
  bundle_render(p, &(BundleOptions){ .backend = p->backend, .name = "net", .emit = emit, .keep_denormals = keeps_denormals(o) },
                &b);
  bundle_put(c, &b, dir);
  bundle_free(&b);
  return dir;
}
