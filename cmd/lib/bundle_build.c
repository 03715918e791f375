/* SPDX-License-Identifier: MIT */
/* bundle_build.c: builds bundles as shared objects for this machine. compiler/tune/tool.c runs the C compiler and the linker,
 * and interprets their exit status. */
#include "../cmd.h"
#include "../../runtime_stub/tgcrt.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CC_SECONDS    600.0 /* limit for one file; a file of a large network takes gcc a minute */
#define PROBE_SECONDS 10.0  /* limit for a few lines that the user did not ask for */

/* Prints the beginning of a tool's output. */
static void show_log(Ctx *c, const char *path) {
  char line[400];
  FILE *f = fopen(path, "re");
  for (int i = 0; f && i < 12 && fgets(line, sizeof line, f); i++) fputs(line, c->err);
  if (f) fclose(f);
}

typedef struct Waiting {
  const Ctx *c;
  const Options *o;
  const char *what;
  bool shown;
} Waiting;

static int tick(void *arg, int64_t second) {
  Waiting *w = arg;
  if (second && !w->c->progress) progress_show(w->o, w->what, -1, second), w->shown = true;
  return interrupt_pending();
}

/* Runs a tool that makes a file. Returns 0, or an exit code and why. Fails on an interrupt. argv has no NULL at the end yet. */
static int run_tool(Ctx *c, const Options *o, const char *scratch, Tool t, Texts *argv, const char **why) {
  Waiting waiting = { c, o, t.what, false };
  VEC_PUSH(argv, NULL);
  t.argv = argv;
  t.log = arena_printf(&c->model, "%s/tool.log", scratch);
  t.scratch = scratch;
  t.seconds = o->verb == VERB_devices               ? PROBE_SECONDS
              : o->cc_limit && o->verb != VERB_tune ? duration(o->cc_limit) /* tune's limit is for candidates */
                                                    : CC_SECONDS;
  t.tick = tick;
  t.tick_arg = &waiting;
  unlink(t.makes);
  const ToolEnd end = tool_run(&t);
  if (waiting.shown) progress_show(o, NULL, -1, 0);
  if (end.interrupted) fail(c, EX_SIGNAL + end.interrupted, "interrupted");
  return tool_judge(c, &t, &end, why);
}

/* ---- the C compiler ---- */

/* kind: kind of file to make of `more`. compiler NULL: that of tgc's environment */
static int run_compiler(Ctx *c, const Options *o, const char *scratch, const char *compiler, const char *out, const char *kind,
                        const char *cflags, const Texts *more, const char **why) {
  Texts argv = { 0 };
  if (compiler) split_words(c, compiler, &argv);
  else compiler_words(c, &argv);
  split_words(c, kind, &argv);
  VEC_PUSH(&argv, "-o");
  VEC_PUSH(&argv, out);
  split_words(c, cflags, &argv);
  split_words(c, getenv("TGC_CFLAGS"), &argv);
  for (size_t i = 0; i < more->n; i++) VEC_PUSH(&argv, more->p[i]);
  const int code = run_tool(c, o, scratch, (Tool){ .what = "C compiler", .variable = "CC", .makes = out }, &argv, why);
  VEC_FREE(&argv);
  return code;
}

static const char *probe_source(Ctx *c, const char *scratch, const Target *t) {
  const char *path = arena_printf(&c->model, "%s/probe.c", scratch);
  Sb s = { 0 };
  target_guard(t, "this probe", &s);
  sb_puts(&s, "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
              "void tgc_probe(float *x, size_t n);\nvoid tgc_probe(float *x, size_t n) {\n"
              "  for (size_t i = 0; i < n; i++) x[i] = expf(x[i]);\n}\n"
              "int main(void) {\n  float x = 0;\n  tgc_probe(&x, 1);\n  return x != 1;\n}\n");
  const size_t n = s.n;
  file_put(c, path, sb_keep(&s, &c->model), n);
  return path;
}

int compiler_probe(Ctx *c, const Options *o, const char *scratch, const char *compiler, const char *kind, const char *cflags,
                   const Target *t, const char **why) {
  Texts more = { 0 };
  const char *out = arena_printf(&c->model, "%s/probe.out", scratch);
  VEC_PUSH(&more, probe_source(c, scratch, t));
  if (!strstr(kind, "-c")) VEC_PUSH(&more, "-lm");
  const int code = run_compiler(c, o, scratch, compiler, out, kind, cflags, &more, why);
  VEC_FREE(&more);
  return code;
}

/* If code is refused, the compiler may be to blame: then it also refuses a few lines of plain C for that machine. Or somebody has
 * changed the bundle of the folder dir, which may be NULL. */
static void compile_to(Ctx *c, const Options *o, const char *dir, const char *scratch, const char *out, const char *kind,
                       const char *cflags, const Target *t, const Texts *more) {
  const char *compiler = compiler_for(c, t), *why, *probed;
  int code = run_compiler(c, o, scratch, compiler, out, kind, cflags, more, &why);
  if (!code) return;
  if (code != EX_BUG) c->file = NULL; /* the model is not to blame */
  if (code == EX_BUG && o->verbose) show_log(c, arena_printf(&c->model, "%s/tool.log", scratch));
  if (code == EX_BUG && compiler_probe(c, o, scratch, compiler, kind, cflags, t, &probed)) {
    c->file = NULL;
    fail(c, EX_MISSING, "%s; it cannot compile for %s, so set CC to a compiler that can", probed, t->isa);
  }
  int at_fault;
  const char *changed = code == EX_BUG && dir ? files_changed(c, dir, &at_fault) : NULL;
  if (changed) {
    c->file = NULL;
    fail(c, at_fault, "%s; %s", changed, why);
  }
  fail(c, code, "%s%s", why, code == EX_BUG ? "; it accepts other code for this machine, so this is a bug in tgc" : "");
}

const char *shared_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const char *name, const char *cflags,
                          const Target *t, const Texts *more) {
  const char *so = arena_printf(&c->model, "%s/%s.so", scratch, name);
  Texts all = { 0 };
  for (size_t i = 0; i < more->n; i++) VEC_PUSH(&all, more->p[i]);
  VEC_PUSH(&all, "-lm");
  VEC_PUSH(&all, "-pthread");
  compile_to(c, o, dir, scratch, so, "-shared -fPIC -O3", cflags, t, &all);
  VEC_FREE(&all);
  return so;
}

void object_build(Ctx *c, const Options *o, const char *scratch, const char *out, const Interface *f, const Texts *more) {
  compile_to(c, o, NULL, scratch, out, "-c -fPIC -O3", f->cflags, f->target, more);
}

/* Compiles a source of kernels for one machine, with its own flags. */
static const char *variant_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t i) {
  const char *object = arena_printf(&c->model, "%s/variant%zu.o", scratch, i);
  Texts source = { 0 };
  VEC_PUSH(&source, arena_printf(&c->model, "%s/%s", dir, f->variants.p[i]));
  compile_to(c, o, dir, scratch, object, "-c -fPIC -O3", f->variant_flags.p[i], f->target, &source);
  VEC_FREE(&source);
  return object;
}

/* The linker: LD, else the one given */
static void add_linker(Ctx *c, const char *otherwise, Texts *argv) {
  const char *ld = getenv("LD");
  split_words(c, ld && strspn(ld, " ") < strlen(ld) ? ld : otherwise, argv);
}

/* An object, or a library of objects, needs a linker but no C compiler: this machine's linker, or LLVM's for others. */
static const char *link_files(Ctx *c, const Options *o, const char *object, const char *soname, const char *scratch) {
  const char *so = arena_printf(&c->model, "%s/model.so", scratch);
  Texts argv = { 0 };
  add_linker(c, o->target ? "ld.lld" : "ld", &argv);
  const char *const rest[] = { "-shared", "-o", so, "-soname", soname, "--whole-archive", object, "--no-whole-archive" };
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) VEC_PUSH(&argv, rest[i]);
  if (!o->target) VEC_PUSH(&argv, "-lm");
  const char *why;
  int code = run_tool(c, o, scratch, (Tool){ .what = "linker", .variable = "LD", .makes = so }, &argv, &why);
  VEC_FREE(&argv);
  if (code == EX_BUG) code = EX_MISSING; /* a linker for the machine accepts any object of LLVM */
  c->file = code ? NULL : c->file;
  if (code) fail(c, code, "%s", why);
  return so;
}

/* A module exports all functions of the object, and imports those of libm and of the runtime. Its stack of 1 MiB lies below its
 * data, so that an overflow traps. */
static const char *link_module(Ctx *c, const Options *o, const char *object, const char *scratch) {
  const char *out = arena_printf(&c->model, "%s/model.wasm", scratch), *why;
  Texts argv = { 0 };
  add_linker(c, "wasm-ld", &argv);
  const char *const rest[] = { "--no-entry", "--export-dynamic", "--export=__heap_base", "--allow-undefined", "--strip-all",
                               "--stack-first", "-z", "stack-size=1048576", "-o", out, object };
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) VEC_PUSH(&argv, rest[i]);
  int code = run_tool(c, o, scratch, (Tool){ .what = "linker", .variable = "LD", .makes = out }, &argv, &why);
  VEC_FREE(&argv);
  if (!code) return out;
  c->file = NULL;
  fail(c, code == EX_BUG ? EX_MISSING : code, "%s", why);
}

Bytes link_shared(Ctx *c, void *arg, Bytes object) {
  const Linking *l = arg;
  const char *in = arena_printf(&c->model, "%s/model.o", l->scratch);
  file_put(c, in, object.p, object.n);
  if (l->module) return file_read(c, link_module(c, l->o, in, l->scratch), (size_t)1 << 40);
  return file_read(c, link_files(c, l->o, in, l->soname, l->scratch), (size_t)1 << 40);
}

int compile_text(Ctx *c, void *arg, const char *const *argv, Bytes text, Bytes *made, const char **why) {
  const Linking *l = arg;
  const char *in = arena_printf(&c->model, "%s/text", l->scratch), *out = arena_printf(&c->model, "%s/made", l->scratch);
  Texts words = { 0 };
  file_put(c, in, text.p, text.n);
  for (; *argv; argv++) VEC_PUSH(&words, !strcmp(*argv, "<") ? in : !strcmp(*argv, ">") ? out : *argv);
  const int code = run_tool(c, l->o, l->scratch, (Tool){ .what = "compiler", .variable = "TGC_CLANG", .makes = out }, &words,
                            why);
  VEC_FREE(&words);
  if (!code) *made = file_read(c, out, (size_t)1 << 40);
  return code;
}

/* Compiler arguments for a library or the program check.c, without the runtime. */
static void add_sources(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, Texts *more) {
  VEC_PUSH(more, arena_printf(&c->model, "-I%s", dir));
  for (size_t i = 0; i < f->sources.n; i++) VEC_PUSH(more, arena_printf(&c->model, "%s/%s", dir, f->sources.p[i]));
  for (size_t i = 0; i < f->variants.n; i++) VEC_PUSH(more, variant_object(c, o, dir, scratch, f, i));
  VEC_PUSH(more, arena_printf(&c->model, "%s/tgcrt.c", dir));
  if (f->pool) VEC_PUSH(more, arena_printf(&c->model, "%s/tgcrt_pool.c", dir));
}

const char *example_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f) {
  const char *program = arena_printf(&c->model, "%s/example", scratch);
  Texts more = { 0 };
  VEC_PUSH(&more, arena_printf(&c->model, "%s/check.c", dir));
  add_sources(c, o, dir, scratch, f, &more);
  VEC_PUSH(&more, "-lm");
  VEC_PUSH(&more, "-pthread");
  compile_to(c, o, dir, scratch, program, "-static -O3", f->cflags, f->target, &more);
  VEC_FREE(&more);
  return program;
}

int example_run(Ctx *c, const Options *o, const char *scratch, const char *emulator, Texts *argv, const char *makes,
                const char **why) {
  Options patient = *o;
  patient.cc_limit = "9999999"; /* elsewhere, running a model has no time limit */
  patient.verb = VERB_run;
  const Tool t = { .what = "emulator", .variable = "PATH", .makes = makes };
  const int code = run_tool(c, &patient, scratch, t, argv, why);
  if (code != EX_BUG) return code;
  *why = arena_printf(&c->model, "%s, by %s", *why, emulator);
  return strstr(*why, tgcrt_strerror(TGCRT_CPU)) ? EX_MISSING : EX_FAILED;
}

const char *audited_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f,
                           const char *source) {
  /* Functions of x86-64 that call no other may use bytes below their frame, which gcc does not count. As a frame it counts
   * them. */
  const Arch arch = f->target->arch == ARCH_ANY ? host_arch() : f->target->arch;
  const char *kind = arch == ARCH_X86_64 ? "-c -fPIC -O3 -fstack-usage -fcallgraph-info=su -save-temps=obj -mno-red-zone"
                                         : "-c -fPIC -O3 -fstack-usage -fcallgraph-info=su -save-temps=obj";
  const char *object = arena_printf(&c->model, "%s/audited_%.*s.o", scratch, (int)strcspn(source, "."), source), *why;
  Texts more = { 0 };
  if (compiler_probe(c, o, scratch, compiler_for(c, f->target), kind, f->cflags, f->target, &why)) {
    c->file = NULL;
    fail(c, EX_MISSING, "%s; audit needs gcc, whose option -fcallgraph-info it uses", why);
  }
  VEC_PUSH(&more, arena_printf(&c->model, "-I%s", dir));
  VEC_PUSH(&more, arena_printf(&c->model, "%s/%s", dir, source));
  compile_to(c, o, dir, scratch, object, kind, f->cflags, f->target, &more);
  VEC_FREE(&more);
  return object;
}

int symbols_list(Ctx *c, const Options *o, const char *scratch, const char *object, const char *to, const char **why) {
  Texts argv = { 0 };
  const char *const words[] = { "/bin/sh", "-c", "${NM:-nm} -u \"$1\" > \"$2\"", "sh", object, to };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) VEC_PUSH(&argv, words[i]);
  const int code = run_tool(c, o, scratch, (Tool){ .what = "lister of symbols", .variable = "NM", .makes = to }, &argv, why);
  VEC_FREE(&argv);
  return code;
}

int graph_draw(Ctx *c, const Options *o, const char *scratch, const char *from, const char *to, const char **why) {
  Options patient = *o;
  Texts argv = { 0 };
  const char *const words[] = { "dot", "-Tsvg", "-o", to, from };
  patient.cc_limit = "30";
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) VEC_PUSH(&argv, words[i]);
  const int code = run_tool(c, &patient, scratch, (Tool){ .what = "drawing program", .variable = "PATH", .makes = to }, &argv,
                            why);
  VEC_FREE(&argv);
  return code;
}

const char *bundle_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, const char *hooks) {
  const char *end = strrchr(f->code, '.'), *code = arena_printf(&c->model, "%s/%s", dir, f->code);
  if (!strcmp(end, ".so")) return code;
  if (!f->states && (!strcmp(end, ".o") || !strcmp(end, ".a"))) return link_files(c, o, code, f->code, scratch);
  Texts more = { 0 };
  if (hooks) VEC_PUSH(&more, arena_printf(&c->model, "-DTGC_HOOKS=\"%s\"", hooks));
  add_sources(c, o, dir, scratch, f, &more);
  const char *so = shared_object(c, o, dir, scratch, "model", f->cflags, f->target, &more);
  VEC_FREE(&more);
  return so;
}

static void render_here(const Options *o, const Plan *p, const char *scratch, Bundle *out) {
  Linking tools = { .o = o, .scratch = scratch };
  const BundleOptions all = { .backend = p->in->backend, .name = "net", .emit = p->in->backend->makes, .archs = o->archs,
                              .compiler = { compile_text, &tools }, .keep_denormals = keeps_denormals(o) };
  bundle_render(p, &all, out);
}

typedef struct Manifest { const Options *o; const Plan *p; const char *scratch; Bundle files; } Manifest;

static void make_manifest(Ctx *c, void *arg) {
  (void)c;
  Manifest *m = arg;
  render_here(m->o, m->p, m->scratch, &m->files);
}

json_t *compiled_kernels(Ctx *c, const Options *o, const Plan *p) {
  Manifest m = { .o = o, .p = p, .scratch = scratch_new(c) };
  const int code = ctx_try(c, make_manifest, &m);
  scratch_remove(m.scratch);
  if (code) fail_silent(c, code);
  const BundleFile *f = &m.files.files.p[m.files.files.n - 1];
  json_t *all = json_loadb(f->p, f->n, 0, NULL), *kernels = json_incref(json_object_get(all, "kernels"));
  json_decref(all);
  bundle_free(&m.files);
  return kernels;
}

const char *plan_put(Ctx *c, const Options *o, const Plan *p, const char *scratch) {
  char *dir = arena_printf(&c->model, "%s/bundle-XXXXXX", scratch);
  if (!mkdtemp(dir)) fail(c, EX_NOWRITE, "cannot create '%s': %s", dir, strerror(errno));
  Bundle b = { 0 };
  work_begin(c, o, arena_printf(&c->model, "writing the bundle for %s", p->in->backend->name));
  render_here(o, p, scratch, &b);
  work_end(c);
  bundle_put(c, &b, dir, false);
  bundle_free(&b);
  return dir;
}
