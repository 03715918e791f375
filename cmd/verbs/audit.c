/* SPDX-License-Identifier: MIT */
/* audit.c: tgc audit: facts about a bundle that real-time and safety work needs. The compiler says how much stack each function
 * takes and which others it calls. The bound is that of the deepest path from NAME_run_v; a run on a painted stack checks it.
 * Functions that a run reaches, and symbols that the code needs, must not allocate, lock or ask the system. */
#include "../cmd.h"
#include "../../runtime_stub/tgcrt.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum { KIND_UNKNOWN, KIND_MEMORY, KIND_ROUNDING, KIND_MATH, KIND_HEAP, KIND_LOCK, KIND_SYSTEM, KIND_COUNT } SymbolKind;
/* clang-format off */
/* assumed: bytes of stack of a function outside of the bundle; words: its names, or beginnings that end with '*' */
static const struct { const char *name; int64_t assumed; const char *words; } kinds[KIND_COUNT] = {
  [KIND_UNKNOWN] = { "unknown", 1024, "" },
  [KIND_MEMORY] = { "memory", 32, "memcpy memset memmove memcmp strlen strcmp strncmp" },
  /* a return address and the state of floating point, which takes 32 bytes on x86-64 */
  [KIND_ROUNDING] = { "math", 48,
                      "floorf floor ceilf ceil roundf round rintf rint nearbyintf nearbyint truncf trunc fmaxf fmax fminf "
                      "fmin fabsf fabs copysignf copysign" },
  [KIND_MATH] = { "math", 256,
                  "expf exp logf log sinf cosf tanf sin cos tan tanhf tanh erff erf powf pow sqrtf sqrt fmodf fmod fmaf "
                  "fma asinf acosf atanf asin acos atan asinhf acoshf atanhf sinhf coshf log1pf "
                  "expm1f exp2f log2f log10f ldexpf frexpf atan2f sinh cosh asinh acosh atanh expm1 "
                  "log1p exp2 log2 ldexp frexp" },
  [KIND_HEAP] = { "heap", 1024, "malloc calloc realloc free aligned_alloc posix_memalign memalign strdup" },
  [KIND_LOCK] = { "lock", 1024, "pthread_* mtx_* cnd_* sem_* futex thrd_*" },
  [KIND_SYSTEM] = { "system", 1024,
                    "open* close read write mmap* munmap fstat* stat* lseek* ioctl syscall sysconf usleep nanosleep "
                    "clock_gettime time getenv fopen* fread fwrite printf fprintf puts exit abort sched_*" },
};
/* clang-format on */

typedef struct Audit {
  const Options *o;
  const char *scratch;
  Interface f;
  Layers layers;
  CallGraph graph;
  Checks checks;
  json_t *report;
  int64_t bound, measured; /* measured -1: this machine cannot run the code */
  const Tensor *in;
} Audit;

static bool has_word(const char *words, const char *name) {
  for (size_t n; *words; words += n + (words[n] == ' ')) {
    n = strcspn(words, " ");
    const bool open = n && words[n - 1] == '*';
    const size_t len = n - open;
    if (!strncmp(words, name, len) && (open || strlen(name) == len)) return true;
  }
  return false;
}

static SymbolKind kind_of(const char *name) {
  if (starts_with(name, "__builtin_")) name += strlen("__builtin_");
  for (int k = KIND_MEMORY; k < KIND_COUNT; k++)
    if (has_word(kinds[k].words, name)) return (SymbolKind)k;
  return KIND_UNKNOWN;
}

/* ---- symbols ---- */

/* Marks what a run reaches. */
static void reach(CallGraph *g, size_t i) {
  Function *f = &g->functions.p[i];
  if (f->reached) return;
  f->reached = true; /* a function is entered once, so the depth is at most their number */
  if (is_indirect(f)) return;
  for (size_t k = 0; k < g->calls.n; k++)
    if (g->calls.p[k].from == i) reach(g, g->calls.p[k].to);
}

static void add_symbol(Ctx *c, Audit *a, json_t *list, const char *name, const char *how) {
  const SymbolKind kind = kind_of(name);
  const size_t n = json_array_size(list);
  for (size_t i = 0; i < n; i++)
    if (!strcmp(json_string_value(json_object_get(json_array_get(list, i), "name")), name)) return;
  json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I}", "name", name, "kind", kinds[kind].name, "found_by", how,
                                        "assumed_stack", (json_int_t)kinds[kind].assumed));
  if (kind == KIND_UNKNOWN || kind >= KIND_HEAP)
    checks_add(c, &a->checks, false, arena_printf(&c->model, "no %s", kinds[kind].name), "a run may call '%s' (by %s)", name,
               how);
}

/* Symbols that the code's object needs and that no file of the bundle defines. The compiler calls some functions of its own
 * accord, such as memcpy, which its call graph does not show. */
static void check_symbols(Ctx *c, Audit *a, const char *object) {
  json_t *list = json_array();
  const char *out = arena_printf(&c->model, "%s/nm.txt", a->scratch), *why;
  json_object_set_new(a->report, "symbols", list);
  for (size_t i = 0; i < a->graph.functions.n; i++) {
    const Function *f = &a->graph.functions.p[i];
    if (f->reached && f->bytes < 0 && !is_indirect(f)) add_symbol(c, a, list, f->name, "the call graph");
  }
  const int code = symbols_list(c, a->o, a->scratch, object, out, &why);
  if (code) {
    warn_at(c, (Pos){ 0 }, "symbols are not listed: %s", why);
    return;
  }
  const char *weights = arena_printf(&c->model, "%s_weights", a->f.name);
  const Bytes b = file_read(c, out, 1 << 24);
  char *text = arena_alloc(&c->model, b.n + 1), *save = NULL;
  memcpy(text, b.p, b.n);
  text[b.n] = 0;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    const char *name = strrchr(line, ' ');
    name = name ? name + 1 : line;
    bool own = !strcmp(name, "_GLOBAL_OFFSET_TABLE_") || (a->f.embedded && !strcmp(name, weights));
    for (size_t i = 0; i < a->graph.functions.n && !own; i++)
      own = !strcmp(a->graph.functions.p[i].name, name) && a->graph.functions.p[i].bytes >= 0;
    if (!own) add_symbol(c, a, list, name, "nm");
  }
}

/* ---- the stack ---- */
/* Frames begin at multiples of ALIGNED. One that holds vectors skips bytes to a multiple of theirs, at most LINE. So a run is
 * measured from each place in a line, and the greatest use counts. */
enum { STACK = 16 << 20, PAINT = 0xa5, ALIGNED = 16, LINE = 64 };
typedef struct Painted {
  Loaded m;
  const void *const *in;
  void *const *out;
  const unsigned char *stack;
  size_t lower; /* bytes of stack between the thread's begin and the run */
  int64_t clean, used;
  int status;
} Painted;

/* The stack pointer, from which the called function's stack counts. Elsewhere the frame's address, which is a little above it */
static inline __attribute__((always_inline)) const unsigned char *stack_pointer(void) {
  const unsigned char *sp;
#if defined __x86_64__
  __asm__ volatile("mov %%rsp, %0" : "=r"(sp));
#elif defined __aarch64__
  __asm__ volatile("mov %0, sp" : "=r"(sp));
#else
  sp = __builtin_frame_address(0);
#endif
  return sp;
}

static void *run_painted(void *arg) {
  Painted *p = arg;
  volatile char *gap = __builtin_alloca(p->lower + 1);
  *gap = 0;
  const unsigned char *at = stack_pointer();
  p->status = p->m.run(p->m.ctx, p->in, p->out);
  for (p->clean = 0; p->stack && p->clean < STACK && p->stack[p->clean] == PAINT;)
    p->clean++; /* before the thread's end uses it */
  p->used = p->stack ? at - (p->stack + p->clean) : 0;
  return NULL;
}

/* Bytes of a painted stack that a run overwrites, below its caller */
static int64_t used_by(Painted *p) {
  pthread_attr_t attr;
  pthread_t thread;
  unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return -1;
  memset(stack, PAINT, STACK);
  p->stack = stack;
  pthread_attr_init(&attr);
  pthread_attr_setstack(&attr, stack, STACK);
  if (pthread_create(&thread, &attr, run_painted, p)) return -1;
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
  munmap(stack, STACK);
  return p->used;
}

static _Noreturn void measure_child(Audit *a, const char *so, int64_t *result) {
  Painted p = { .status = 0 };
  char why[252] = "";
  const void **in = xmalloc((a->f.inputs.n + 1) * sizeof *in);
  void **out = xmalloc((a->f.outputs.n + 1) * sizeof *out);
  for (size_t i = 0; i < a->f.inputs.n; i++) in[i] = a->in[i].data;
  for (size_t i = 0; i < a->f.outputs.n; i++)
    out[i] = xmalloc((size_t)dims_elems(a->f.outputs.p[i].dims, a->f.outputs.p[i].rank) * (size_t)dt_bytes(a->f.outputs.p[i].dt) +
                     64);
  if (model_open(a->o->model, so, &a->f, 1, &p.m, why)) _exit(1);
  p.in = in, p.out = out;
  run_painted(&p); /* the first run binds symbols */
  for (p.lower = 0; p.lower < LINE; p.lower += ALIGNED) {
    const int64_t used = used_by(&p);
    if (used > *result) *result = used;
  }
  _exit(0);
}

static void measure_stack(Ctx *c, Audit *a) {
  a->measured = -1;
  if (is_foreign(a->f.target)) return;
  const char *so = bundle_build(c, a->o, a->o->model, a->scratch, &a->f, NULL);
  int64_t *result = shared_memory(c, sizeof *result);
  *result = -1;
  const pid_t pid = child_start(c);
  if (!pid) measure_child(a, so, result);
  const int ended = child_wait(c, a->o, pid, "measuring the stack");
  if (!WIFEXITED(ended)) child_died(c, ended, "the compiled model");
  a->measured = *result;
}

/* Functions outside of the bundle get an assumed stack. */
static void assume(Audit *a) {
  for (size_t i = 0; i < a->graph.functions.n; i++) {
    Function *f = &a->graph.functions.p[i];
    if (f->bytes < 0 && !is_indirect(f)) f->assumed = kinds[kind_of(f->name)].assumed;
  }
  for (size_t i = 0; i < a->graph.functions.n; i++)
    if (a->graph.functions.p[i].assumed) a->graph.functions.p[i].bytes = a->graph.functions.p[i].assumed;
}

static void check_stack(Ctx *c, Audit *a) {
  const char *entry = arena_printf(&c->model, "%s_run_v", a->f.name);
  json_t *path = json_array();
  const int64_t threads = callgraph_bound(&a->graph, entry, true);
  a->bound = callgraph_bound(&a->graph, entry, false);
  if (a->bound < 0) fail(c, EX_BADMODEL, "the code of '%s' has no function %s", a->o->model, entry);
  Sb text = { 0 };
  size_t at = 0;
  while (strcmp(a->graph.functions.p[at].name, entry)) at++;
  for (int next = (int)at; next >= 0; next = a->graph.functions.p[next].next) {
    const Function *f = &a->graph.functions.p[next];
    const int64_t bytes = f->bytes > 0 ? f->bytes : 0;
    json_array_append_new(
        path, json_pack("{s:s, s:I, s:b}", "function", f->name, "bytes", (json_int_t)bytes, "assumed", f->assumed > 0));
    sb_printf(&text, "%s%s %lld%s", text.n ? ", " : "", is_indirect(f) ? "(by pointer)" : f->name, (long long)bytes,
              f->assumed ? " (assumed)" : "");
  }
  json_object_set_new(a->report, "path", path);
  checks_add(c, &a->checks, !a->graph.recursive && !a->graph.unbounded, "stack bound", "%lld bytes%s: %s", (long long)a->bound,
             a->graph.recursive   ? ", but functions are recursive"
             : a->graph.unbounded ? ", but a frame has no bound"
                                  : "",
             text.p);
  sb_free(&text);
  json_object_set_new(a->report, "stack_bound_threads", json_integer(threads));
  checks_add(c, &a->checks, true, "stack bound with threads", "%lld bytes, and those of the executor that the caller sets",
             (long long)threads);
  if (a->measured >= 0)
    checks_add(c, &a->checks, a->measured <= a->bound, "stack measured", "%lld bytes; the bound is %.2f times that",
               (long long)a->measured, (double)a->bound / (double)(a->measured > 0 ? a->measured : 1));
}

static void run_audit(Ctx *c, void *arg) {
  Audit *a = arg;
  Texts objects = { 0 };
  measure_stack(c, a);
  for (size_t i = 0; i < a->f.sources.n + 1; i++) {
    const char *source = i < a->f.sources.n ? a->f.sources.p[i] : "tgcrt.c";
    if (starts_with(source, arena_printf(&c->model, "%s_weights.", a->f.name))) continue; /* they are no code */
    const char *object = audited_object(c, a->o, a->o->model, a->scratch, &a->f, source);
    VEC_PUSH(&objects, object);
    callgraph_read(c, &a->graph, arena_printf(&c->model, "%.*s.ci", (int)(strlen(object) - 2), object));
    callgraph_read_code(c, &a->graph, arena_printf(&c->model, "%.*s.s", (int)(strlen(object) - 2), object));
  }
  const char *entry = arena_printf(&c->model, "%s_run_v", a->f.name);
  for (size_t i = 0; i < a->graph.functions.n; i++)
    if (!strcmp(a->graph.functions.p[i].name, entry)) reach(&a->graph, i);
  check_symbols(c, a, objects.p[0]);
  VEC_FREE(&objects);
  for (int k = KIND_HEAP; k < KIND_COUNT; k++) {
    bool found = false;
    const char *name = arena_printf(&c->model, "no %s", kinds[k].name);
    for (size_t i = 0; i < a->checks.list.n; i++) found |= !strcmp(a->checks.list.p[i].name, name);
    if (!found) checks_add(c, &a->checks, true, name, "a run reaches no such function");
  }
  assume(a);
  check_stack(c, a);
}

int verb_audit(Ctx *c, const Options *o) {
  Audit a = { .o = o, .report = json_report("audit", o->model) };
  Feed feed = { 0 };
  int64_t flops = 0, bytes = 0;
  const double start = clock_ms();
  a.f = interface_read(c, o, o->model);
  const char *end = strrchr(a.f.code, '.');
  if (strcmp(end, ".c") || a.f.target->dev || a.f.variants.n)
    fail(c, EX_USAGE_, "'%s' is no bundle of C for one machine, which audit needs", o->model);
  json_t *manifest = manifest_read(c, o->model);
  a.layers = layers_of_manifest(c, manifest);
  json_decref(manifest);
  weights_check(c, o->model, &a.f);
  Tensor *in = ARENA_NEW(&c->model, Tensor, a.f.inputs.n + 1);
  feed_inputs(c, &feed, a.f.inputs.p, (int)a.f.inputs.n, 0, in);
  a.in = in;
  a.scratch = scratch_new(c);
  int code = ctx_try(c, run_audit, &a);
  scratch_remove(a.scratch);
  for (size_t k = 0; k < a.layers.n; k++) {
    flops += a.layers.p[k].flops;
    bytes += a.layers.p[k].read + a.layers.p[k].written;
  }
  if (!code && !o->json) {
    checks_print(c, o, &a.checks, 0);
    printf("work   %s, %s, %s moved in each run%s\n", count_noun(&c->model, (int64_t)a.layers.n, "kernel"),
           count_text(c, (double)flops, "flop"), bytes_text(c, bytes), a.layers.loops ? ", times the trips of loops" : "");
  }
  if (!code) checks_write(c, o, &a.checks, (clock_ms() - start) * 1e-3);
  if (!code && a.checks.failed) code = EX_FAILED;
  json_object_update_new(a.report, json_pack("{s:I, s:I, s:I, s:I, s:b, s:o}", "stack_bound", (json_int_t)a.bound,
                                             "stack_measured", (json_int_t)a.measured, "flops", (json_int_t)flops, "bytes_moved",
                                             (json_int_t)bytes, "passed", !code, "checks", checks_json(&a.checks)));
  if (o->json && (!code || code == EX_FAILED)) json_print(a.report);
  else json_decref(a.report);
  checks_free(&a.checks);
  callgraph_free(&a.graph);
  interface_free(&a.f);
  return code;
}
