/* batch.c: many schedules of a nest, lowered, compiled and timed.
 *
 * A batch is a child process. It lowers its candidates, prices each by counting what the linear program
 * does, writes the promising ones into one file for the C compiler, and waits. Told to go on, it has
 * another child time them: it first runs each once, then goes round all of them, the incumbent among
 * them, so that a change of the machine's speed hits all alike; every one runs with its data in the caches and
 * then after they were flushed, and the medians count. Whatever a candidate does, only children die of it.
 *
 * Batches compile side by side and time one after another, while nothing else of ours runs. */
#include "tune.h"
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5, FINAL_ROUNDS = 6, FINALISTS = 3, VERIFY_SECONDS = 60, FILL_SECONDS = 10 };
#define LONG 20000.0 /* statements that cost as much as running twice: they are to be fetched, and compiled */
enum {
  MAX_STATEMENTS = 4000,
  FILE_STATEMENTS = 3000,
  BATCH_STATEMENTS = 5000
}; /* of a candidate, of a file, of all files of a batch */
#define COMPILE_MEMORY ((int64_t)1 << 30)
#define GRACE          1.0   /* seconds a step may take over three times the incumbent */
#define SAMPLE         50e-6 /* seconds a warm sample takes at least */

typedef void (*RunFn)(void *const *);
typedef struct Given {
  ScheduleSource source;
  const char *opts;
} Given; /* one schedule for whoever asks */
typedef struct Batch {
  const Lab *lab;
  const Task *task;
  VEC(int) which; /* candidates of the task; the first is the incumbent */
  Plan plan;      /* a kernel for each that was lowered */
  VEC(int) kept;  /* kernel to place in which */
  VEC(RunFn) run; /* by kernel; in the process that times */
  VEC(const char *) libs;
  VEC(int) lib_of, at_in; /* by kernel: library, place in its table */
  bool *bad;              /* by kernel: not to be run again */
  const char *stem;       /* of file names */
  Given given;
  Child child;
  double best; /* seconds of the fastest run so far */
} Batch;

/* ---- lowering, and the price of a program ---- */
static const char *given_find(ScheduleSource *s, const char *key, bool *partial) {
  (void)key;
  *partial = false;
  return ((Given *)s)->opts;
}

static void plan_begin(const Lab *b, Given *g, Plan *p) {
  *g = (Given){ .source = { .name = "candidate", .find = given_find } };
  *p = (Plan){ .ir = b->ir, .target = b->target, .backend = b->backend, .schedules = &g->source };
}

static const Kernel *plan_add(Plan *p, Ref nest, const char *opts) {
  Ref sink = node_make(p->ir, OP_SINK, DT_NONE, 1, 1, &nest, 0, NULL, 0, NULL);
  ((Given *)p->schedules)->opts = opts;
  VEC_PUSH(&p->kernels, ((Kernel){ .sink = sink }));
  kernel_lower(p, (int)p->kernels.n - 1);
  ir_verify_program(p->ir, p->kernels.p[p->kernels.n - 1].prog.p, p->kernels.p[p->kernels.n - 1].prog.n);
  return &p->kernels.p[p->kernels.n - 1];
}

static double vectors(const Target *t, const Node *x) {
  double n = t->vector_bytes ? ceil((double)x->lanes * dt_bytes((DType)x->dt) / t->vector_bytes) : 1;
  return n < 1 ? 1 : n;
}

/* clang-format off */
static double op_cost(const Target *t, const Node *x) {
  switch ((Op)x->op) {
  case OP_DIV: case OP_SQRT: case OP_RECIP: case OP_MOD: case OP_FLDIV: case OP_FLMOD: return 4 * vectors(t, x);
  case OP_EXP: case OP_EXP2: case OP_LOG: case OP_LOG2: case OP_TANH: case OP_ERF: case OP_SIN: case OP_COS: case OP_POW: return 20 * vectors(t, x);
  case OP_VEC: case OP_HRED: return x->lanes + 2;
  case OP_LANE: return 1;
  default: return op_info[x->op].level != L_EXPR ? 0 : x->dt == DT_I64 ? 0.25 : vectors(t, x);
  }
}
/* clang-format on */

/* Cycles by counting: two ports for arithmetic, two for memory, the slower counts; a variable that does not fit
 * into the registers is stored and loaded; a loop that changes one waits for it. */
static double program_cycles(const IR *ir, const Refs *prog, const Target *t) {
  enum { DEPTH = 64 };
  struct Level {
    double times, work, memory, sets;
  } level[DEPTH] = { { .times = 1 } };
  double total = 0;
  int d = 0;
  for (size_t i = 0; i <= prog->n; i++) {
    const Node *x = i < prog->n ? node(ir, prog->p[i]) : NULL;
    struct Level *l = &level[d];
    if (!x || x->op == OP_END) {
      double spilled = t->vector_regs ? l->sets - (t->vector_regs - 2) : 0, cycles = l->work > l->memory ? l->work : l->memory;
      cycles = cycles / 2 + (spilled > 0 ? spilled : 0);
      total += l->times * ((l->sets && cycles < 4 ? 4 : cycles) + 1);
      d -= d > 0;
    } else if (x->op == OP_LOOP) {
      CHECK(d + 1 < DEPTH);
      level[++d] = (struct Level){ .times = l->times * (double)node(ir, x->src[0])->arg[0] };
    } else if (x->op == OP_LOAD || x->op == OP_STORE) {
      l->memory += vectors(t, x->op == OP_STORE ? node(ir, x->src[2]) : x);
    } else {
      l->work += op_cost(t, x);
      l->sets += x->op == OP_SET;
    }
  }
  return total;
}

double nest_cycles(const Lab *b, Ref nest, const char *opts) {
  Given g;
  Plan p;
  plan_begin(b, &g, &p);
  const Kernel *k = plan_add(&p, nest, opts);
  double cycles = program_cycles(b->ir, &k->prog, b->target);
  VEC_FREE(&p.kernels.p[0].prog);
  VEC_FREE(&p.kernels);
  VEC_FREE(&p.packed);
  return cycles;
}

/* ---- what a batch says to its parent: a line each; candidates by their place in the task ---- */
static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...) {
  char line[512];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line - 1, fmt, ap);
  va_end(ap);
  if (n > (int)sizeof line - 2) n = (int)sizeof line - 2;
  line[n] = '\n';
  if (write(1, line, (size_t)n + 1) < 0) _exit(1); /* whole: shorter than PIPE_BUF */
}

static int place_in_task(const Batch *b, int kernel) { return b->which.p[b->kept.p[kernel]]; }

/* ---- choosing ---- */
typedef struct Price {
  double cycles;
  int at;
} Price;

static int by_cycles(const void *a, const void *b) {
  const Price *x = a, *y = b;
  return x->cycles != y->cycles ? (x->cycles < y->cycles ? -1 : 1) : x->at - y->at;
}

/* Schedules may come to the same: a range of one tile, a loop that is alone. */
static bool same_code(const Lab *lab, const Plan *p, int x, int y) {
  Sb text[2] = { { 0 }, { 0 } };
  lab->backend->kernel(p, x, lab->target, &text[0]);
  lab->backend->kernel(p, y, lab->target, &text[1]);
  bool same = !strcmp(strchr(text[0].p, '('), strchr(text[1].p, '('));
  sb_free(&text[0]);
  sb_free(&text[1]);
  return same;
}

/* Lowers all; what is not among the cheapest is dropped, and so is what became too long, or is there already. */
static void choose(Batch *b) {
  const Lab *lab = b->lab;
  VEC(Price) price = { 0 };
  Plan all;
  plan_begin(lab, &b->given, &all);
  for (size_t i = 0; i < b->which.n; i++) {
    tell("at %d", b->which.p[i]);
    const Kernel *k = plan_add(&all, b->task->nest, b->task->cand.p[b->which.p[i]].opts);
    double n = (double)k->prog.n,
           cycles = n > MAX_STATEMENTS ? INFINITY : program_cycles(lab->ir, &k->prog, lab->target) * (1 + n / LONG);
    VEC_PUSH(&price, ((Price){ i ? cycles : 0, (int)i })); /* the incumbent stays */
  }
  qsort(price.p, price.n, sizeof *price.p, by_cycles);
  b->plan = all;
  b->plan.kernels.p = NULL;
  b->plan.kernels.n = b->plan.kernels.cap = 0;
  size_t statements = 0;
  for (size_t i = 0; i < price.n; i++) {
    size_t own = all.kernels.p[price.p[i].at].prog.n;
    if ((int)b->plan.kernels.n >= lab->keep || isinf(price.p[i].cycles) || (i > 1 && statements + own > BATCH_STATEMENTS) ||
        (i && price.p[i].cycles == price.p[i - 1].cycles && same_code(lab, &all, price.p[i].at, price.p[i - 1].at))) {
      tell("drop %d", b->which.p[price.p[i].at]);
      continue;
    }
    statements += own;
    Kernel k = all.kernels.p[price.p[i].at];
    k.code = (int)b->plan.kernels.n;
    VEC_PUSH(&b->plan.kernels, k);
    VEC_PUSH(&b->kept, price.p[i].at);
  }
}

/* ---- compiling ---- */

/* The chosen kernels first .. first+n as C, each with a function of one signature, and the table of those. */
static void write_source(Batch *b, int first, int n, Sb *out) {
  const Lab *lab = b->lab;
  Plan part = b->plan;
  Sb body = { 0 };
  part.kernels.p = b->plan.kernels.p + first;
  part.kernels.n = (size_t)n;
  for (int i = 0; i < n; i++) {
    Kernel *k = &part.kernels.p[i];
    Sb text = { 0 };
    k->code = i;
    lab->backend->kernel(&part, i, lab->target, &text);
    k->text = text.p;
    sb_printf(&body, "%s\nstatic void c%d(void *const *b) {\n  k%d(", text.p, i, i);
    for (size_t j = 0; j < k->bufs.n; j++) sb_printf(&body, "%sb[%zu]", j ? ", " : "", j);
    if (k->chunks > 1) sb_printf(&body, "%s0, %d", k->bufs.n ? ", " : "", k->chunks); /* all parts, by one thread */
    sb_puts(&body, ");\n}\n");
  }
  lab->backend->prelude(&part, lab->target, out);
  sb_puts(out, body.p);
  sb_puts(out, "void (*const tgc_candidates[])(void *const *) = {\n");
  for (int i = 0; i < n; i++) sb_printf(out, "  c%d,\n", i);
  sb_puts(out, "};\n");
  sb_free(&body);
}

/* Runs the compiler as bundles do, on an input and for an output of one kind. Of libm, tgc has a copy open. */
static int run_compiler(const Lab *lab, const char *kind, const char *source, const char *out, const char *log) {
  Ctx *c = lab->ctx;
  Words argv = { 0 };
  compiler_words(c, &argv);
  split_words(c, "-fPIC -O3 -w", &argv);
  split_words(c, lab->target->cflags, &argv);
  split_words(c, getenv("TGC_CFLAGS"), &argv);
  split_words(c, kind, &argv);
  VEC_PUSH(&argv, source);
  VEC_PUSH(&argv, "-o");
  VEC_PUSH(&argv, out);
  VEC_PUSH(&argv, NULL);
  int status = run_limited(argv.p, log, lab->cc_limit, COMPILE_MEMORY);
  VEC_FREE(&argv);
  return status;
}

/* The headers of instructions take longer to read than a kernel to compile: they are read once. Where that fails the
 * compiler finds the plain header. */
static void read_headers(Lab *lab) {
  static const char text[] =
      "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n#ifdef __AVX__\n#include <immintrin.h>\n#endif\n";
  Arena *m = &lab->ctx->model;
  lab->header = arena_printf(m, "%s/headers.h", lab->scratch);
  if (file_write(lab->header, text, sizeof text - 1))
    fail(lab->ctx, EX_NOWRITE, "cannot write '%s': %s", lab->header, strerror(errno));
  run_compiler(lab, "-x c-header", lab->header, arena_printf(m, "%s.gch", lab->header),
               arena_printf(m, "%s/headers.log", lab->scratch));
}

static int compile_file(const Batch *b, const char *source, const char *so, const char *log) {
  return run_compiler(b->lab, arena_printf(&b->lab->ctx->model, "-shared -include %s", b->lab->header), source, so, log);
}

/* The same without a compiler: the code is in this process, and in those that it forks. */
static void build_here(Batch *b) {
  const Lab *lab = b->lab;
  struct LoadedCode *code = lab->backend->load(lab->ctx, &b->plan, lab->target);
  for (size_t i = 0; i < b->plan.kernels.n; i++)
    *(void **)&b->run.p[i] = lab->backend->symbol(code, arena_printf(&lab->ctx->model, "c%zu", i));
}

/* Where a file does not compile, its halves are tried: one candidate must not spoil the others. */
static void build(Batch *b, int first, int n) {
  Ctx *c = b->lab->ctx;
  const char *source = arena_printf(&c->model, "%s-%d-%d.c", b->stem, first, n),
             *so = arena_printf(&c->model, "%s-%d-%d.so", b->stem, first, n), *log = arena_printf(&c->model, "%s.log", b->stem);
  Sb text = { 0 };
  write_source(b, first, n, &text);
  int status = file_write(source, text.p, text.n) ? -2 : compile_file(b, source, so, log);
  sb_free(&text);
  if (!status) {
    for (int i = 0; i < n; i++) b->lib_of.p[first + i] = (int)b->libs.n, b->at_in.p[first + i] = i;
    VEC_PUSH(&b->libs, so);
  } else if (n > 1) {
    build(b, first, n / 2);
    build(b, first + n / 2, n - n / 2);
  } else {
    const char *why = status == -2          ? strerror(errno)
                      : status < 0          ? "the compiler took too long"
                      : WIFSIGNALED(status) ? "the compiler died"
                                            : "the compiler refuses it";
    tell("fail %d %s", place_in_task(b, first), why);
    b->bad[first] = true;
  }
}

static void build_all(Batch *b) {
  size_t n = b->plan.kernels.n;
  b->bad = ARENA_NEW(&b->lab->ctx->model, bool, n);
  for (size_t i = 0; i < n; i++) {
    VEC_PUSH(&b->lib_of, -1);
    VEC_PUSH(&b->at_in, 0);
    VEC_PUSH(&b->run, NULL);
  }
  if (b->lab->backend->load) {
    build_here(b);
    return;
  }
  for (size_t first = 0, end; first < n; first = end) {
    size_t statements = 0;
    for (end = first; end < n && (end == first || statements + b->plan.kernels.p[end].prog.n <= FILE_STATEMENTS); end++)
      statements += b->plan.kernels.p[end].prog.n;
    build(b, (int)first, (int)(end - first));
  }
}

/* ---- memory of candidates ---- */

/* Candidates share regions: the k-th buffer of a type and size of one is the k-th of the others. */
typedef struct Region {
  DType dt;
  int64_t elems;
  int nth;
  void *p;
} Region;
typedef VEC(Region) Regions;

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  return *s ^= *s << 17;
}

/* Numbers between -1 and 1; wide integers, which may be indices, 0 or 1; others any bits. hard: now and then what
 * arithmetic trips over. */
static int64_t any_value(DType d, uint64_t *s, bool hard) {
  static const double trap[] = { 0, -0.0, 1e-40, -1e-40, 1e30, -1e30, 1e-30, INFINITY, -INFINITY, NAN };
  uint64_t r = next_random(s);
  if (!dt_float(d)) return d == DT_BOOL || dtype_info[d].bits >= 32 ? (int64_t)(r & 1) : (int64_t)dt_wrap(d, r >> 20);
  double v = (double)(int64_t)(r >> 11) * 0x1p-52 - 1;
  if (hard && (r & 15) == 0) v = trap[(r >> 5) % ((r >> 9 & 63) ? 7 : 10)];
  return double_to_bits(d, v);
}

static void fill(void *p, DType d, int64_t elems, uint64_t seed, bool hard) {
  enum { PERIOD = 1 << 16 };
  int bytes = dt_bytes(d);
  int64_t n = elems < PERIOD ? elems : PERIOD;
  seed = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < n; i++) {
    int64_t v = any_value(d, &seed, hard);
    memcpy((char *)p + i * bytes, &v, (size_t)bytes);
  }
  for (int64_t i = n; i < elems; i += n) memcpy((char *)p + i * bytes, p, (size_t)((elems - i < n ? elems - i : n) * bytes));
}

static void *memory(int64_t bytes) {
  void *p = mmap(NULL, (size_t)(bytes ? bytes : 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) _exit(3);
  return p;
}

static void *region_of(Regions *all, const Buf *b, int nth) {
  for (size_t i = 0; i < all->n; i++)
    if (all->p[i].dt == b->dt && all->p[i].elems == b->elems && all->p[i].nth == nth) return all->p[i].p;
  void *p = memory(b->elems * dt_bytes(b->dt));
  fill(p, b->dt, b->elems, all->n + 1, false);
  VEC_PUSH(all, ((Region){ b->dt, b->elems, nth, p }));
  return p;
}

static void **memory_of(const Batch *b, int kernel, Regions *all) {
  const IR *ir = b->lab->ir;
  const Kernel *k = &b->plan.kernels.p[kernel];
  void **out = ARENA_NEW(&b->lab->ctx->model, void *, k->bufs.n + 1);
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *x = &ir->bufs.p[k->bufs.p[i]];
    int nth = 0;
    for (size_t j = 0; j < i; j++) nth += ir->bufs.p[k->bufs.p[j]].dt == x->dt && ir->bufs.p[k->bufs.p[j]].elems == x->elems;
    out[i] = region_of(all, x, nth);
  }
  return out;
}

static void load_libraries(Batch *b) {
  VEC(void *) handle = { 0 };
  for (size_t i = 0; i < b->libs.n; i++) {
    void *so = dlopen(b->libs.p[i], RTLD_NOW | RTLD_LOCAL);
    if (!so) fputs(dlerror(), stderr);
    if (!so) _exit(4);
    VEC_PUSH(&handle, so);
  }
  for (size_t i = 0; i < b->plan.kernels.n; i++) {
    const int lib = b->lib_of.p[i];
    if (b->bad[i]) b->run.p[i] = NULL;
    else if (lib >= 0) b->run.p[i] = ((const RunFn *)dlsym(handle.p[lib], "tgc_candidates"))[b->at_in.p[i]];
  }
  VEC_FREE(&handle);
}

/* ---- timing, in a child of the batch ---- */
typedef struct Meter {
  RunFn run;
  void **mem;
  int repeat, n;
  double warm[ROUNDS + FINAL_ROUNDS], cold[ROUNDS + FINAL_ROUNDS];
  bool out; /* of the race */
} Meter;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double *v, int n) {
  double s[ROUNDS + FINAL_ROUNDS];
  memcpy(s, v, (size_t)n * sizeof *s);
  qsort(s, (size_t)n, sizeof *s, ascending);
  return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

static double spread(const double *v, int n) { /* of the middle half, relative */
  double s[ROUNDS + FINAL_ROUNDS];
  memcpy(s, v, (size_t)n * sizeof *s);
  qsort(s, (size_t)n, sizeof *s, ascending);
  return (s[n * 3 / 4] - s[n / 4]) / s[n / 2];
}

static double score(const Meter *m) { return (median(m->warm, m->n) + median(m->cold, m->n)) / 2; }

static double run_once(const Meter *m, int repeat) {
  double start = tune_clock();
  for (int i = 0; i < repeat; i++) m->run(m->mem);
  return (tune_clock() - start) / repeat;
}

/* Reads and writes more than the second level of cache holds: what a kernel wants is further away then, as after
 * the other kernels of a large model. */
static void flush(volatile char *p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) p[i]++;
}

static void sample(Meter *m, char *junk, int64_t bytes) {
  m->warm[m->n] = run_once(m, m->repeat);
  flush(junk, bytes);
  m->cold[m->n++] = run_once(m, 1);
}

static int by_score(const void *a, const void *b) {
  double x = score(*(Meter *const *)a), y = score(*(Meter *const *)b);
  return (x > y) - (x < y);
}

static _Noreturn void race(Batch *b) {
  int n = (int)b->plan.kernels.n;
  Meter *m = ARENA_NEW(&b->lab->ctx->model, Meter, n), **order = ARENA_NEW(&b->lab->ctx->model, Meter *, n);
  Regions all = { 0 };
  double best = INFINITY;
  const int64_t bytes = 2 * (int64_t)b->lab->target->l2_bytes;
  char *junk = memory(bytes);
  int left = 0;
  for (int i = 0; i < n; i++) {
    if (!b->run.p[i]) continue;
    m[i] = (Meter){ .run = b->run.p[i], .mem = memory_of(b, i, &all) };
    tell("at %d", i);
    run_once(&m[i], 1);
    tell("at %d", i);
    double once = run_once(&m[i], 1);
    tell("ran %d %.9f", i, once);
    if (once < best) best = once;
    m[i].repeat = once < SAMPLE ? (int)(SAMPLE / (once + 1e-9)) : 1;
    m[i].warm[0] = m[i].cold[0] = once;
    m[i].out = i && once > 3 * best + 1e-6;
    m[i].n = m[i].out;
    order[left++] = &m[i];
  }
  for (int r = 0; r < ROUNDS; r++)
    for (int i = 0; i < n; i++) {
      if (!m[i].run || m[i].out) continue;
      tell("at %d", i);
      sample(&m[i], junk, bytes);
      m[i].out = r == 1 && i && median(m[i].warm, 2) > 1.6 * best && median(m[i].warm, 2) > 1.3 * median(m[0].warm, 2);
    }
  qsort(order, (size_t)left, sizeof *order, by_score);
  for (int r = 0; r < FINAL_ROUNDS; r++)
    for (int i = 0; i < left; i++) {
      if ((i >= FINALISTS && order[i] != m) || order[i]->out) continue;
      tell("at %d", (int)(order[i] - m));
      sample(order[i], junk, bytes);
    }
  for (int i = 0; i < n; i++)
    if (m[i].run)
      tell("time %d %.4f %.4f %.4f", i, median(m[i].warm, m[i].n) * 1e6, median(m[i].cold, m[i].n) * 1e6,
           spread(m[i].warm, m[i].n));
  tell("end");
  _exit(0);
}

/* ---- the batch as its own parent sees it ---- */
static const char *why_ended(Ctx *c, int status) {
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 3   ? "no memory"
         : WEXITSTATUS(status) == 4 ? "it cannot be loaded"
                                    : arena_printf(&c->model, "it exits with %d", WEXITSTATUS(status));
}

/* One race: false when a candidate ended it, which is out then. */
static bool supervise(Batch *b) {
  Ctx *c = b->lab->ctx;
  Child racer;
  Sb line = { 0 };
  int at = 0;
  bool ended = false, done = false, began = false;
  const char *why = NULL;
  if (child_begin(c, &racer, arena_printf(&c->model, "%s.log", b->stem))) {
    child_limits(600, 0);
    load_libraries(b);
    race(b);
  }
  while (!done && !why) {
    double limit = b->best > 0 ? 3 * b->best + GRACE : b->lab->limit, once, warm, cold, wide;
    if (limit > b->lab->limit) limit = b->lab->limit;
    if (!began) limit += FILL_SECONDS; /* memory is filled first */
    began = true;
    if (!child_line(&racer, limit, &line, &ended)) why = ended ? "" : arena_printf(&c->model, "it ran past %.1f s", limit);
    else if (sscanf(line.p, "at %d", &at) == 1) continue;
    else if (sscanf(line.p, "ran %d %lf", &at, &once) == 2) b->best = b->best > 0 && b->best < once ? b->best : once;
    else if (sscanf(line.p, "time %d %lf %lf %lf", &at, &warm, &cold, &wide) == 4)
      tell("time %d %.4f %.4f %.4f", place_in_task(b, at), warm, cold, wide);
    else done = !strcmp(line.p, "end");
  }
  int status = child_end(&racer);
  sb_free(&line);
  if (done) return true;
  tell("fail %d %s", place_in_task(b, at), *why ? why : why_ended(c, status));
  b->bad[at] = true;
  return false;
}

static _Noreturn void batch_main(Batch *b) {
  char go;
  choose(b);
  tell("at -1");
  build_all(b);
  tell("built");
  while (read(0, &go, 1) < 0 && errno == EINTR) {}
  while (!supervise(b)) {}
  tell("end");
  exit(0);
}

/* ---- batches side by side, in the tuner ---- */
static void start_batch(Lab *lab, Batch *b) {
  Ctx *c = lab->ctx;
  b->lab = lab;
  b->stem = arena_printf(&c->model, "%s/b%d", lab->scratch, lab->batches++);
  if (child_begin(c, &b->child, arena_printf(&c->model, "%s.err", b->stem))) batch_main(b);
}

/* What a line says about a candidate; *at is the one in work. */
static void take_line(Lab *lab, Task *t, const char *line, int *at) {
  int i, used = 0;
  double warm, cold, wide;
  if (sscanf(line, "at %d", at) == 1) return;
  if (sscanf(line, "time %d %lf %lf %lf", &i, &warm, &cold, &wide) == 4 && i >= 0 && i < (int)t->cand.n) {
    Candidate *x = &t->cand.p[i];
    if (x->outcome == OUT_MEASURED && x->warm + x->cold <= warm + cold) return; /* the incumbent, in another batch */
    *x = (Candidate){ .opts = x->opts, .outcome = OUT_MEASURED, .warm = warm, .cold = cold, .spread = wide };
  } else if (sscanf(line, "drop %d", &i) == 1 && i > 0 && i < (int)t->cand.n) {
    t->cand.p[i].outcome = OUT_DROPPED;
  } else if (sscanf(line, "fail %d %n", &i, &used) == 1 && used && i >= 0 && i < (int)t->cand.n) {
    t->cand.p[i].outcome = OUT_FAILED;
    t->cand.p[i].why = arena_str(&lab->ctx->model, line + used, strlen(line + used));
  }
}

/* Lines until the word; false when the batch is over, interrupted or out of time. */
static bool wait_word(Lab *lab, Batch *b, Task *t, const char *word, double grace) {
  Sb line = { 0 };
  bool ended = false, found = false;
  int at = -1;
  while (!found && !ended && !lab->interrupted(lab->interrupted_arg) && tune_clock() < lab->deadline + grace) {
    if (!child_line(&b->child, 0.1, &line, &ended)) continue;
    found = !strcmp(line.p, word);
    if (!found) take_line(lab, t, line.p, &at);
  }
  sb_free(&line);
  if (ended && at >= 0 && at < (int)t->cand.n) { /* lowering it ended the batch */
    t->cand.p[at].outcome = OUT_FAILED;
    t->cand.p[at].why = "tgc cannot lower it";
  }
  return found;
}

static void end_batch(Batch *b) {
  child_end(&b->child);
  VEC_FREE(&b->which);
}

/* Candidates of a task dealt to so many batches, the incumbent to each. */
static void deal(Task *t, Batch *b, int n) {
  for (int k = 0; k < n; k++) {
    b[k] = (Batch){ .task = t, .best = t->best * 1e-6 };
    VEC_PUSH(&b[k].which, 0);
  }
  for (int i = 1; i < (int)t->cand.n; i++) VEC_PUSH(&b[i % n].which, i);
}

bool lab_run(Lab *lab, Task *t) {
  if (!lab->header && !lab->backend->load) read_headers(lab);
  int n = lab->jobs;
  if (n > (int)t->cand.n / 2) n = (int)t->cand.n / 2;
  if (n < 1) n = 1;
  Batch *b = ARENA_NEW(&lab->ctx->model, Batch, n);
  bool *built = ARENA_NEW(&lab->ctx->model, bool, n);
  deal(t, b, n);
  for (int k = 0; k < n; k++) start_batch(lab, &b[k]);
  for (int k = 0; k < n; k++) built[k] = wait_word(lab, &b[k], t, "built", 0);
  for (int k = 0; k < n; k++) {
    if (built[k] && write(b[k].child.to, "g", 1) == 1) wait_word(lab, &b[k], t, "end", 3);
    end_batch(&b[k]);
  }
  return !lab->interrupted(lab->interrupted_arg) && tune_clock() < lab->deadline;
}

/* ---- is it right? ---- */

/* Memory of every buffer two kernels name, the weights with the model's own data. */
static void **whole_memory(const Lab *b, const Plan *p, int seed, bool hard) {
  const IR *ir = b->ir;
  void **mem = ARENA_NEW(&b->ctx->model, void *, ir->bufs.n);
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
      int at = p->kernels.p[k].bufs.p[i];
      const Buf *x = &ir->bufs.p[at];
      if (mem[at]) continue;
      mem[at] = memory(x->elems * dt_bytes(x->dt));
      const void *data = x->kind == BUF_WEIGHT ? ir->tensors.p[x->slot].data : NULL;
      if (x->packed) packed_gather(ir, &p->packed.p[x->packed - 1], mem[at]);
      else if (data) memcpy(mem[at], data, (size_t)(x->elems * dt_bytes(x->dt)));
      else fill(mem[at], x->dt, x->elems, (uint64_t)(seed * 1000 + at), hard);
    }
  return mem;
}

static void run_on(Batch *b, int kernel, void *const *mem) {
  const Kernel *k = &b->plan.kernels.p[kernel];
  void **args = ARENA_NEW(&b->lab->ctx->model, void *, k->bufs.n + 1);
  for (size_t i = 0; i < k->bufs.n; i++) args[i] = mem[k->bufs.p[i]];
  b->run.p[kernel](args);
}

static double value_at(const Buf *b, const void *p, int64_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)p + i * dt_bytes(b->dt), (size_t)dt_bytes(b->dt));
  int64_t v = (int64_t)dt_wrap(b->dt, bits);
  return dt_float(b->dt) ? bits_to_double(b->dt, v) : (double)v;
}

/* Sums in another order differ by rounding; everything else must not differ. */
static bool differs(const Buf *b, const void *want, const void *got, const char *inputs) {
  double unit = b->dt == DT_F64 ? 1e-13 : b->dt == DT_F32 ? 2e-5 : dt_float(b->dt) ? 2e-2 : 0, scale = 0;
  for (int64_t i = 0; i < b->elems; i++) {
    double v = fabs(value_at(b, want, i));
    if (isfinite(v) && v > scale) scale = v;
  }
  for (int64_t i = 0; i < b->elems; i++) {
    double x = value_at(b, want, i), y = value_at(b, got, i);
    if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= unit * scale) continue;
    tell("differs on %s inputs: element %lld is %g and should be %g", inputs, (long long)i, y, x);
    return true;
  }
  return false;
}

static _Noreturn void compare(Batch *b) {
  static const char *const inputs[] = { "random", "other random", "hard" };
  load_libraries(b);
  for (int round = 0; round < 3; round++) {
    void **want = whole_memory(b->lab, &b->plan, round, round == 2), **got = whole_memory(b->lab, &b->plan, round, round == 2);
    run_on(b, 0, want);
    run_on(b, 1, got);
    for (size_t i = 0; i < b->plan.kernels.p[0].written.n; i++) {
      int at = b->plan.kernels.p[0].written.p[i];
      if (differs(&b->lab->ir->bufs.p[at], want[at], got[at], inputs[round])) _exit(0);
    }
  }
  tell("equal");
  _exit(0);
}

const char *lab_verify(Lab *lab, Ref nest, const char *opts) {
  if (!lab->header && !lab->backend->load) read_headers(lab);
  Ctx *c = lab->ctx;
  Batch b = { .lab = lab, .stem = arena_printf(&c->model, "%s/v%d", lab->scratch, lab->batches++) };
  Sb line = { 0 };
  bool ended = false;
  const char *why = NULL;
  if (child_begin(c, &b.child, arena_printf(&c->model, "%s.err", b.stem))) {
    plan_begin(lab, &b.given, &b.plan);
    plan_add(&b.plan, nest, "{ }");
    plan_add(&b.plan, nest, opts);
    for (int i = 0; i < 2; i++) {
      VEC_PUSH(&b.kept, i);
      VEC_PUSH(&b.which, i);
    }
    build_all(&b);
    compare(&b);
  }
  for (double end = tune_clock() + VERIFY_SECONDS;
       !line.n && !ended && tune_clock() < end && !lab->interrupted(lab->interrupted_arg);)
    child_line(&b.child, 0.1, &line, &ended);
  int status = child_end(&b.child);
  if (!line.n)
    why = lab->interrupted(lab->interrupted_arg) ? "interrupted"
          : ended                                ? why_ended(c, status)
                                                 : "it could not be compared in time";
  else if (strcmp(line.p, "equal")) why = arena_str(&c->model, line.p, line.n);
  sb_free(&line);
  return why;
}
