/* SPDX-License-Identifier: MIT */
/* candidate_build.c: code of candidates. A backend that can load code does so in this process; for others, candidates are
 * written into files, many to a file, for the C compiler, with the flags of bundles. */
#include "../lower/lower.h"
#include "batch.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void write_source(Batch *b, int first, int n, Sb *out) {
  const Lab *lab = b->lab;
  Plan part = b->plan;
  Sb body = { 0 };
  part.kernels.p = b->plan.kernels.p + first;
  part.kernels.n = (size_t)n;
  for (int i = 0; i < n; i++) {
    Kernel *k = &part.kernels.p[i];
    Sb text = { 0 };
    k->code = i;
    part.in->backend->kernel(&part, i, lab->target, &text);
    k->text = text.p;
    const bool by_chunk = k->chunks > 1 && k->chunks_per_task;
    sb_printf(&body, "%s\nstatic void c%d(void *const *b) {\n  ", text.p, i);
    if (by_chunk) sb_printf(&body, "for (int i = 0; i < %d; i++) ", k->chunks);
    sb_printf(&body, "k%d(", i);
    const size_t pointers = k->bufs.n + kernel_sized(lab->ir, k); /* the last one is that of the sizes */
    for (size_t j = 0; j < pointers; j++) sb_printf(&body, "%sb[%zu]", j ? ", " : "", j);
    if (by_chunk) sb_printf(&body, "%si, i + 1", pointers ? ", " : "");
    else if (k->chunks > 1) sb_printf(&body, "%s0, %d", pointers ? ", " : "", k->chunks); /* all parts, by one thread */
    sb_puts(&body, ");\n}\n");
  }
  part.in->backend->prelude(&part, lab->target, out);
  sb_puts(out, body.p);
  sb_puts(out, "void (*const tgc_candidates[])(void *const *) = {\n");
  for (int i = 0; i < n; i++) sb_printf(out, "  c%d,\n", i);
  sb_puts(out, "};\n");
  put_size_tables(lab, out);
  sb_free(&body);
}

/* Runs the compiler as bundles do, on an input and for an output of one kind. libm needs no link, because tgc has a copy open.
 * NULL: the output exists; otherwise why not. */
static const char *run_compiler(const Lab *lab, const char *kind, const char *source, const char *out, const char *log) {
  Ctx *c = lab->ctx;
  Words argv = { 0 };
  const char *why = NULL;
  compiler_words(c, &argv);
  split_words(c, "-fPIC -O3 -w", &argv);
  split_words(c, lab->target->cflags, &argv);
  split_words(c, getenv("TGC_CFLAGS"), &argv);
  split_words(c, kind, &argv);
  VEC_PUSH(&argv, source);
  VEC_PUSH(&argv, "-o");
  VEC_PUSH(&argv, out);
  VEC_PUSH(&argv, NULL);
  const Tool t = { .what = "C compiler",
                   .variable = "CC",
                   .argv = &argv,
                   .log = log,
                   .scratch = lab->scratch,
                   .makes = out,
                   .seconds = lab->cc_limit,
                   .memory = (int64_t)tunable(lab->ctx, tune_compile_memory) << 20 };
  const ToolEnd end = tool_run(&t);
  tool_judge(c, &t, &end, &why);
  VEC_FREE(&argv);
  return why;
}

/* Precompiles the headers of instructions. They take longer to read than a kernel takes to compile. Precompiling them takes as
 * long as reading them for a few files, so it waits until that many files wanted them. If it fails, the compiler finds the
 * plain header. */
void read_headers(Lab *lab) {
  static const char text[] =
      "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n#ifdef __AVX__\n#include <immintrin.h>\n#endif\n";
  Arena *m = &lab->ctx->model;
  if (lab->header || lab->wanted_header < tunable(lab->ctx, tune_headers)) return;
  lab->header = arena_printf(m, "%s/headers.h", lab->scratch);
  if (file_write_briefly(lab->header, text, sizeof text - 1))
    fail(lab->ctx, EX_NOWRITE, "cannot write '%s': %s", lab->header, strerror(errno));
  run_compiler(lab, "-x c-header", lab->header, arena_printf(m, "%s.gch", lab->header),
               arena_printf(m, "%s/headers.log", lab->scratch));
}

static bool is_reference(const Batch *b, int place) { return b->compares && !place; }

/* The reference of a comparison need not be fast. */
static const char *compile_file(const Batch *b, int first, bool wants_header, const char *source, const char *so,
                                const char *log) {
  const Lab *lab = b->lab;
  Arena *m = &lab->ctx->model;
  const char *level = is_reference(b, place_in_task(b, first)) ? "-O1" : "";
  const char *read = wants_header && lab->header ? arena_printf(m, " -include %s", lab->header) : "";
  if (wants_header && !lab->header) tell("header");
  return run_compiler(lab, arena_printf(m, "-shared %s%s", level, read), source, so, log);
}

/* The same without a compiler: n kernels of a plan from `first` on, for this process and those that it forks */
static void build_here(const Lab *lab, const Plan *p, size_t first, size_t n, const Backend *by, RunFn *run) {
  Plan part = *p;
  PlanInputs in = *p->in;
  part.in = &in;
  in.backend = by;
  part.kernels.p = p->kernels.p + first;
  part.kernels.n = n;
  if (!n) return;
  const OptLevel level = by == lab->backend ? OPT_FULL : OPT_FAST;
  struct LoadedCode *code = by->load(lab->ctx, &part, lab->target, level);
  for (size_t i = 0; i < n; i++) *(void **)&run[first + i] = by->symbol(code, arena_printf(&lab->ctx->model, "c%zu", i));
}

static const Ready *ready_of(const Lab *lab, const Task *t) {
  for (size_t i = 0; i < lab->ready.n; i++)
    if (!strcmp(lab->ready.p[i].opts, t->cand.p[0].opts) && !strcmp(lab->ready.p[i].key, t->key)) return &lab->ready.p[i];
  return NULL;
}

const Ready *find_ready(const Batch *b) { return ready_of(b->lab, b->task); }

/* All batches race against the incumbent, so it is lowered and compiled before they begin. This also spares each of them LLVM's
 * work on first use. A long incumbent could hold up the tuner, so the batches compile it themselves. */
void ready_incumbent(Lab *lab, const Task *t) {
  if (!lab->screen || ready_of(lab, t)) return;
  Ready x = { .key = t->key, .opts = t->cand.p[0].opts };
  Given g;
  Plan p;
  double start = tune_work();
  plan_begin(lab, lab->screen, &g, &p);
  plan_add(&p, t->nest, x.opts);
  lab->spent[SPENT_LOWERING] += tune_work() - start;
  start = tune_work();
  if (p.kernels.p[0].prog.n <= (size_t)tunable(lab->ctx, tune_statements)) build_here(lab, &p, 0, 1, lab->screen, &x.run);
  lab->spent[SPENT_COMPILING] += tune_work() - start;
  x.kernel = p.kernels.p[0];
  VEC_PUSH(&lab->ready, x);
  VEC_FREE(&p.kernels);
  VEC_FREE(&p.weights.packed);
}

static const char *lib_path(const Batch *b, int first, int n) {
  return arena_printf(&b->lab->ctx->model, "%s-%d-%d.so", b->stem, first, n);
}

static const Built *find_built(const Batch *b, int place) {
  const Lab *lab = b->lab;
  for (size_t i = 0; i < lab->built.n; i++) {
    const Built *x = &lab->built.p[i];
    const bool same = !strcmp(x->opts, b->task->cand.p[place].opts) && !strcmp(x->key, b->task->key);
    if (same && x->reference == is_reference(b, place)) return x;
  }
  return NULL;
}

bool take_built(Batch *b, const char *line) {
  const Task *t = b->task;
  int place, first, n, at;
  if (!strcmp(line, "header")) return b->lab->wanted_header++, true;
  if (sscanf(line, "built %d %d %d %d", &place, &first, &n, &at) != 4) return false;
  if (place < 0 || place >= (int)t->cand.n) return true;
  if (!find_built(b, place))
    VEC_PUSH(&b->lab->built, ((Built){ t->key, t->cand.p[place].opts, lib_path(b, first, n), at, is_reference(b, place) }));
  return true;
}

/* Uses the library of an earlier batch. */
static bool use_built(Batch *b, int kernel) {
  const Built *x = find_built(b, place_in_task(b, kernel));
  if (!x) return false;
  b->lib_of.p[kernel] = (int)b->libs.n;
  b->at_in.p[kernel] = x->at;
  VEC_PUSH(&b->libs, x->lib);
  return true;
}

/* If a file does not compile, its halves are tried: one candidate must not spoil the others. */
static void build(Batch *b, int first, int n) {
  Ctx *c = b->lab->ctx;
  const char *source = arena_printf(&c->model, "%s-%d-%d.c", b->stem, first, n),
             *so = lib_path(b, first, n), *log = arena_printf(&c->model, "%s.log", b->stem);
  Sb text = { 0 };
  write_source(b, first, n, &text);
  const char *why = file_write_briefly(source, text.p, text.n)
                        ? strerror(errno)
                        : compile_file(b, first, strstr(text.p, "<immintrin.h>"), source, so, log);
  sb_free(&text);
  if (!why) {
    for (int i = 0; i < n; i++) {
      b->lib_of.p[first + i] = (int)b->libs.n;
      b->at_in.p[first + i] = i;
      tell("built %d %d %d %d", place_in_task(b, first + i), first, n, i);
    }
    VEC_PUSH(&b->libs, so);
  } else if (n > 1) {
    build(b, first, n / 2);
    build(b, first + n / 2, n - n / 2);
  } else {
    tell("fail %d %s", place_in_task(b, first), why);
    b->bad[first] = true;
  }
}

void build_all(Batch *b) {
  size_t n = b->plan.kernels.n;
  b->bad = ARENA_NEW(&b->lab->ctx->model, bool, n + 1);
  b->time = ARENA_NEW(&b->lab->ctx->model, Time, n + 1);
  b->libs.n = b->lib_of.n = b->at_in.n = b->run.n = 0;
  for (size_t i = 0; i < n; i++) {
    VEC_PUSH(&b->lib_of, -1);
    VEC_PUSH(&b->at_in, 0);
    VEC_PUSH(&b->run, NULL);
  }
  if (b->plan.in->backend->driver) {
    if (!b->compares) device_build(b);
    return;
  }
  if (!b->plan.in->backend->is_c) {
    const Ready *ready = n ? find_ready(b) : NULL;
    if (ready) b->run.p[0] = ready->run;
    const size_t made = ready && ready->run;
    build_here(b->lab, &b->plan, made, n - made, b->plan.in->backend, b->run.p);
    return;
  }
  const size_t most = b->compares ? 1 : n, file = (size_t)tunable(b->lab->ctx, tune_file_statements); /* in a file */
  for (size_t first = 0, end; first < n; first = end) {
    size_t statements = 0;
    end = first + 1;
    if (is_reference(b, place_in_task(b, (int)first)) && b->lab->screen) {
      build_here(b->lab, &b->plan, first, 1, b->lab->screen, b->run.p);
      continue;
    }
    if (use_built(b, (int)first)) continue;
    for (end = first; end < n && end - first < most && (end == first || statements + b->plan.kernels.p[end].prog.n <= file);
         end++)
      statements += b->plan.kernels.p[end].prog.n;
    build(b, (int)first, (int)(end - first));
  }
}

void load_libraries(Batch *b) {
  VEC(void *) handle = { 0 };
  for (size_t i = 0; i < b->libs.n; i++) {
    void *so = dlopen(b->libs.p[i], RTLD_NOW | RTLD_LOCAL);
    if (!so) fputs(dlerror(), stderr);
    if (!so) _exit(4);
    VEC_PUSH(&handle, so);
  }
  for (size_t i = 0; i < b->plan.kernels.n; i++) {
    const int lib = b->lib_of.p[i];
    take_size_table(b, i, !b->bad[i] && lib >= 0 ? handle.p[lib] : NULL);
    if (b->bad[i]) b->run.p[i] = NULL;
    else if (lib >= 0) b->run.p[i] = ((const RunFn *)dlsym(handle.p[lib], "tgc_candidates"))[b->at_in.p[i]];
  }
  VEC_FREE(&handle);
}
