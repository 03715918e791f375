/* SPDX-License-Identifier: MIT */
/* case.c: runs one model on several machines and through both backends, and compares every result with the graph
 * interpreter's.
 *
 * For each machine and backend the model is loaded and compiled anew, as `tgc compile` does. The bounds of the plan are proved.
 * Its programs are interpreted over memory of exactly the sizes that the plan states. The bundle is rendered. Code for this
 * machine runs between guard pages: once with a guard page behind each buffer, once with one before it. */
#include "case.h"
#include "../../compiler/graph/graph.h"
#include "../../compiler/lower/lower.h"
#include "../../runtime_stub/tgcrt.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const count_name[COUNTS] = { "plans", "proved", "clamped", "interpreted", "large",
                                         "texts", "llvm",   "objects", "c",           "refused" };

enum { MOST_BYTES = 1 << 28, CC_SECONDS = 60 };

/* Tells the parent which plan a child works on: its number in the case, and a description. */
static struct Stage {
  int plan;
  char what[64];
} * stage;

typedef struct Reference {
  Ctx ctx;
  Graph *g;
  size_t nin, nout;
  Tensor *in, *exact; /* exact: in double, rounded once */
  double **room;      /* by output: what a result may be off by beyond the usual tolerance; NULL: not asked yet */
  bool large;         /* too large to be interpreted: nothing is compared */
  const char *isa;    /* at work, for messages */
  const Backend *backend;
} Reference;

/* ---- words ---- */
void case_fail(Case *k, const char *fmt, ...) {
  char text[1000];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (k->ref && k->ref->isa) sb_printf(&k->failed, "%s %s: ", k->ref->isa, k->ref->backend->name);
  sb_printf(&k->failed, "%s; ", text);
}

double tensor_value(const Tensor *t, int64_t i) { return bits_to_double(t->dt, tensor_bits(t, i)); }

/* splitmix64 */
uint64_t next_random(uint64_t *state) {
  uint64_t r = *state += 0x9e3779b97f4a7c15u;
  r = (r ^ (r >> 30)) * 0xbf58476d1ce4e5b9u;
  r = (r ^ (r >> 27)) * 0x94d049bb133111ebu;
  return r ^ (r >> 31);
}

/* ---- the reference ---- */

/* Multiples of 1/8 between -2 and 2, whose products add up without rounding; wide integers 0 or 1, which are valid
 * indices of most tables; bytes of any value. */
static int64_t drawn(DType d, uint64_t *state, bool hard) {
  static const double trap[] = { INFINITY, -INFINITY, NAN, -0.0, 3e4, -3e4 };
  const uint64_t r = next_random(state);
  if (d == DT_BOOL || (!dt_float(d) && dt_bytes(d) > 1)) return (int64_t)(r & 1);
  if (!dt_float(d)) return (int64_t)dt_wrap(d, r >> 8);
  if (hard && (r & 31) == 0) return double_to_bits(d, trap[(r >> 8) % 6]);
  return double_to_bits(d, (double)((int64_t)(r >> 40) % 33 - 16) / 8);
}

/* Strings in rows as wide as the input's, if they are in narrower ones */
static Tensor widened(Ctx *c, Tensor t, const GIO *want) {
  const int64_t own = t.rank ? t.dims[t.rank - 1] : 0, wide = want->rank ? want->dims[want->rank - 1] : 0;
  if (want->narrow != ONNX_STRING || t.narrow != ONNX_STRING || !t.data || !own || own >= wide) return t;
  const int64_t rows = t.elems / own;
  char *to = arena_alloc(&c->model, size_mul((size_t)rows, (size_t)wide));
  for (int64_t r = 0; r < rows; r++) memcpy(to + r * wide, (const char *)t.data + r * own, (size_t)own);
  t.data = to;
  t.elems = rows * wide;
  return t;
}

static Tensor input_of(Case *k, const GIO *want, int i) {
  Ctx *c = &k->ref->ctx;
  Tensor t = { .dt = want->dt, .rank = want->rank, .elems = dims_elems(want->dims, want->rank), .name = want->name };
  memcpy(t.dims, want->dims, sizeof t.dims);
  if (i < k->ndata && k->data[i]) {
    const Tensor given = widened(c, onnx_data_load(c, k->data[i]), want);
    if (given.dt != t.dt || given.elems != t.elems)
      fail(c, EX_NOINPUT_, "'%s' is no value of input '%s'", k->data[i], want->name);
    t.data = given.data;
    t.splat = given.splat;
  }
  if (t.data) return t;
  const int bytes = dt_bytes(t.dt);
  char *p = arena_alloc(&c->model, size_mul((size_t)t.elems, (size_t)bytes));
  uint64_t state = k->seed * 1000003 + (uint64_t)i;
  const bool given = i < k->ndata && k->data[i];
  for (int64_t e = 0; e < t.elems; e++) {
    int64_t bits = given ? t.splat : drawn(t.dt, &state, i < k->hard);
    memcpy(p + e * bytes, &bits, (size_t)bytes);
  }
  t.data = p;
  return t;
}

static bool interpret(Case *k, const Tensor *in, bool exact, Tensor *out) {
  Reference *r = k->ref;
  const Tensor **params = ARENA_NEW(&r->ctx.model, const Tensor *, r->g->inputs.n + 1);
  Ref *refs = ARENA_NEW(&r->ctx.model, Ref, r->g->outputs.n + 1);
  for (size_t i = 0; i < r->g->inputs.n; i++) params[i] = &in[i];
  for (size_t i = 0; i < r->nout; i++) refs[i] = r->g->outputs.p[i].ref;
  const double most = k->most > 0 ? k->most : 5e7;
  return interp_graph(r->g->ir, refs, (int)r->nout, params, &r->ctx.model, exact, (int64_t)most, out);
}

static void save(Case *k, const char *kind, size_t n, const Tensor *t) {
  for (size_t i = 0; i < n; i++) {
    Sb s = { 0 };
    onnx_tensor_save(&t[i], t[i].name ? t[i].name : "", &s);
    file_put(&k->ref->ctx, arena_printf(&k->ref->ctx.model, "%s.%s_%zu.pb", k->save, kind, i), s.p, s.n);
    sb_free(&s);
  }
}

static LoadOptions load_options(const Case *k) {
  return (LoadOptions){ .dims = k->dims, .ndims = k->ndims, .capacity = k->capacity };
}

static int64_t bytes_of(const GIO *v, size_t n) {
  int64_t sum = 0;
  for (size_t i = 0; i < n && sum < MOST_BYTES; i++) {
    const int64_t e = dims_elems(v[i].dims, v[i].rank);
    sum = e > MOST_BYTES ? MOST_BYTES : sum + e * dt_bytes(v[i].dt);
  }
  return sum;
}

static void make_reference(Ctx *c, void *arg) {
  Case *k = arg;
  Reference *r = k->ref;
  const LoadOptions o = load_options(k);
  c->file = k->path;
  r->g = model_load(c, k->path, &o);
  r->nin = graph_nin(r->g);
  r->nout = graph_nout(r->g);
  r->in = ARENA_NEW(&c->model, Tensor, r->nin + 1);
  r->exact = ARENA_NEW(&c->model, Tensor, r->nout + 1);
  r->room = ARENA_NEW(&c->model, double *, r->nout + 1);
  r->large = bytes_of(r->g->inputs.p, r->nin) + bytes_of(r->g->outputs.p, r->nout) >= MOST_BYTES;
  if (r->large) return;
  for (size_t i = 0; i < r->nin; i++) r->in[i] = input_of(k, &r->g->inputs.p[i], (int)i);
  r->large = !interpret(k, r->in, true, r->exact);
  if (r->large) return;
  for (size_t i = 0; i < r->nout; i++) r->exact[i].name = r->g->outputs.p[i].name;
  if (k->save) { /* others round each value, too: a tie is then the same tie */
    Tensor *rounded = ARENA_NEW(&c->model, Tensor, r->nout + 1);
    if (!interpret(k, r->in, false, rounded)) BUG("the budget was enough before");
    for (size_t i = 0; i < r->nout; i++) rounded[i].name = r->exact[i].name;
    save(k, "input", r->nin, r->in);
    save(k, "output", r->nout, rounded);
    save(k, "exact", r->nout, r->exact);
  }
  if (k->judge) k->judge(k, r->in, r->exact);
}

/* ---- results ---- */

/* x off by some parts in ten million */
static Tensor shaken(Ctx *c, const Tensor *t, uint64_t *state) {
  Tensor s = *t;
  if (!dt_float(t->dt)) return s;
  const int bytes = dt_bytes(t->dt);
  char *p = arena_alloc(&c->model, (size_t)(t->elems * bytes));
  for (int64_t i = 0; i < t->elems; i++) {
    const double by = (double)((int64_t)(next_random(state) >> 20) % 3 - 1) * (t->dt == DT_BF16  ? 0x1p-7
                                                                               : t->dt == DT_F16 ? 0x1p-9
                                                                                                 : 0x1p-21);
    const int64_t bits = double_to_bits(t->dt, tensor_value(t, i) * (1 + by));
    memcpy(p + i * bytes, &bits, (size_t)bytes);
  }
  s.data = p;
  return s;
}

/* Four times what rounding costs the interpreter, and, where the graph may have jumps, what changes with the inputs. */
static void find_room(Case *k) {
  Reference *r = k->ref;
  Arena *m = &r->ctx.model;
  Tensor *out = ARENA_NEW(m, Tensor, r->nout + 1), *in = ARENA_NEW(m, Tensor, r->nin + 1);
  uint64_t state = 1;
  for (size_t i = 0; i < r->nout; i++) r->room[i] = ARENA_NEW(m, double, r->exact[i].elems + 1);
  for (int round = 0; round < (k->steady ? 1 : 5); round++) {
    for (size_t i = 0; i < r->nin; i++) in[i] = round ? shaken(&r->ctx, &r->in[i], &state) : r->in[i];
    if (!interpret(k, in, round != 0, out)) continue;
    for (size_t i = 0; i < r->nout; i++) {
      double worst = 0;
      for (int64_t e = 0; e < out[i].elems; e++) {
        double d = fabs(tensor_value(&out[i], e) - tensor_value(&r->exact[i], e));
        if (isnan(d) && !isnan(tensor_value(&out[i], e)) == !isnan(tensor_value(&r->exact[i], e))) d = 0;
        else if (!isfinite(d)) d = round ? INFINITY : 0;
        worst = fmax(worst, d);
        if (round) r->room[i][e] = fmax(r->room[i][e], 4 * d);
      }
      for (int64_t e = 0; !round && e < out[i].elems; e++) r->room[i][e] = 4 * worst;
    }
  }
}

/* Eight standard deviations of the rounding errors of each element, by the model of errors of `verify`. Near a tie of a rounding
 * to whole numbers this is a step, which changed inputs seldom meet. */
static void add_variance(Case *k) {
  Reference *r = k->ref;
  const Tensor **params = ARENA_NEW(&r->ctx.model, const Tensor *, r->nin + 1);
  for (size_t i = 0; i < r->nin; i++) params[i] = &r->in[i];
  const double most = 4 * (k->most > 0 ? k->most : 5e7);
  for (size_t i = 0; i < r->nout; i++) { /* each for itself: some may have an operation without a rule */
    Ref v = r->g->outputs.p[i].ref;
    Tensor out;
    if (!graph_variance(r->g->ir, &v, 1, 0, &v)) continue;
    if (!interp_graph(r->g->ir, &v, 1, params, &r->ctx.model, true, (int64_t)most, &out)) continue;
    for (int64_t e = 0; e < out.elems; e++) r->room[i][e] = fmax(r->room[i][e], 8 * sqrt(tensor_value(&out, e)));
  }
}

static bool near(DType d, double got, double want, double largest, double room) {
  if (got == want || (isnan(got) && isnan(want))) return true;
  if (!dt_float(d)) return fabs(got - want) <= room;
  if (isinf(room)) return true;
  if (!isfinite(got) || !isfinite(want)) return false;
  const bool half = d == DT_F16 || d == DT_BF16;
  const double part = half ? 4e-2 : 1e-3, least = half ? 4e-2 : d == DT_F64 ? 1e-9 : 2e-5;
  return fabs(got - want) <= part * fabs(want) + least * largest + room + 1e-7;
}

/* Output i of some code, dense, at p. true: it is right. */
static bool right(Case *k, const char *what, size_t i, const void *p) {
  Reference *r = k->ref;
  const Tensor *want = &r->exact[i];
  Tensor got = *want;
  double largest = 0;
  int64_t bad = 0, first = -1;
  got.data = p;
  for (int64_t e = 0; e < want->elems; e++) {
    const double v = fabs(tensor_value(want, e));
    if (isfinite(v)) largest = fmax(largest, v);
  }
  for (int64_t e = 0; e < want->elems; e++) {
    if (tensor_bits(&got, e) == tensor_bits(want, e)) continue;
    const double x = tensor_value(&got, e), y = tensor_value(want, e);
    if (near(want->dt, x, y, largest, 0)) continue;
    if (!k->steady && !r->room[i]) find_room(k), add_variance(k);
    if (k->steady && !r->room[i] && dt_float(want->dt) && !k->judge) find_room(k); /* sums that cancel */
    if (r->room[i] && near(want->dt, x, y, largest, r->room[i][e])) continue;
    if (!bad++) first = e;
  }
  if (bad)
    case_fail(k, "%s: output %zu: %lld of %lld are wrong, [%lld] is %.9g and not %.9g", what, i, (long long)bad,
              (long long)want->elems, (long long)first, tensor_value(&got, first), tensor_value(want, first));
  return !bad;
}

/* ---- bounds ---- */

/* THE PROOF: every load and store of the plan lies inside its buffer, and every buffer inside its memory. */
static bool prove(Case *k, const Plan *p) {
  Sb why = { 0 };
  const bool proved = plan_in_bounds(p, &why);
  if (!proved) case_fail(k, "not proved: %s", why.p ? why.p : "");
  for (size_t i = 0; i < p->kernels.n; i++) k->count[COUNT_CLAMPED] += p->kernels.p[i].bounds.clamped;
  sb_free(&why);
  return proved;
}

/* ---- the programs, interpreted ---- */
typedef struct Memory {
  const Plan *p;
  void **at; /* by buffer */
  int64_t *shift;
  char *arena, *weights;
  char **out; /* by output */
} Memory;

static void place_buffers(Case *k, Memory *m, size_t kernel, int64_t share) {
  const Plan *p = m->p;
  Ctx *c = p->ir->ctx;
  const Kernel *kn = &p->kernels.p[kernel];
  for (size_t i = 0; i < kn->bufs.n + kn->locals.n; i++) {
    const int id = i < kn->bufs.n ? kn->bufs.p[i] : kn->locals.p[i - kn->bufs.n];
    const Buf *b = &p->ir->bufs.p[id];
    const int64_t bytes = b->piece ? b->piece : b->elems * dt_bytes(b->dt), from = b->offset + share * b->piece;
    const int to = i < kn->bufs.n && kn->named ? kn->named[i] : id; /* as the program calls it */
    int64_t room = 0;
    switch (b->kind) {
    case BUF_INPUT:
      m->at[to] = (void *)(uintptr_t)k->ref->in[b->slot].data, room = k->ref->in[b->slot].elems * dt_bytes(b->dt) - bytes;
      break;
    case BUF_OUTPUT: m->at[to] = m->out[b->slot], room = k->ref->exact[b->slot].elems * dt_bytes(b->dt) - bytes; break;
    case BUF_WEIGHT: m->at[to] = m->weights + from, room = b->offset < 0 ? -1 : p->weights.bytes - from - bytes; break;
    case BUF_ARENA:
    case BUF_GUARD: m->at[to] = m->arena + from, room = b->offset < 0 ? -1 : p->memory.arena_bytes - from - bytes; break;
    case BUF_LOCAL:
      m->at[to] = arena_alloc(&c->model, (size_t)bytes);
      memset(m->at[to], 0xa5, (size_t)bytes);
      break;
    case BUF_STATE:
    case BUF_NEXT:
    case BUF_SHARED:
    case BUF_KINDS: room = -1; break; /* no model here has any */
    }
    m->shift[to] = kn->shift && i < kn->bufs.n ? kn->shift[i] : 0;
    if (room < 0) BUG("kernel %zu: buffer %d ends %lld bytes behind its memory", kernel, id, (long long)-room);
  }
}

/* The call list as the bundle's own code walks it; the shares of a kernel from the last to the first. */
static void interpret_plan(Case *k, Memory *m) {
  const Plan *p = m->p;
  Jumps jumps = plan_jumps(p, true);
  Position at = { 0 };
  for (size_t first = next_call(&jumps, 0, m->arena, NULL, &at); first < p->kernels.n;
       first = next_call(&jumps, first + (size_t)p->kernels.p[first].group_size, m->arena, NULL, &at)) {
    const Kernel *kn = &p->kernels.p[first];
    const int each = kn->chunks_per_task ? kn->chunks_per_task : 1;
    const int shares = kn->chunks_per_task ? kn->chunks / kn->chunks_per_task : kn->chunks;
    for (int s = shares; s-- > 0;)
      for (int chunk = s * each; chunk < (s + 1) * each; chunk++)
        for (size_t i = first; i < first + (size_t)kn->group_size; i++) {
          const Kernel *x = &p->kernels.p[i];
          place_buffers(k, m, i, s);
          interp_chunks(p->ir, x->prog.p, x->prog.n, m->at, m->shift, chunk, chunk + 1, x->chunks);
        }
  }
  VEC_FREE(&jumps);
}

static bool large(const Case *k, const Plan *p) {
  double work = 0;
  for (size_t i = 0; i < p->kernels.n; i++)
    work += (double)p->kernels.p[i].flops + (double)p->kernels.p[i].bytes_read + (double)p->kernels.p[i].bytes_written;
  return k->ref->large || work > (k->most > 0 ? k->most : 5e7) || p->memory.arena_bytes > MOST_BYTES;
}

static char *block(Ctx *c, int64_t bytes) { /* aligned as the arena of a bundle is */
  char *p = arena_alloc(&c->model, (size_t)bytes + 2 * TGCRT_ALIGN);
  p += -(uintptr_t)p % TGCRT_ALIGN;
  memset(p, 0xa5, (size_t)bytes);
  return p;
}

static void check_programs(Case *k, Plan *p) {
  Ctx *c = p->ir->ctx;
  Reference *r = k->ref;
  Memory m = { .p = p,
               .at = ARENA_NEW(&c->model, void *, p->ir->bufs.n + 1),
               .shift = ARENA_NEW(&c->model, int64_t, p->ir->bufs.n + 1),
               .arena = block(c, p->memory.arena_bytes),
               .weights = (char *)p->weights.p,
               .out = ARENA_NEW(&c->model, char *, r->nout + 1) };
  for (size_t i = 0; i < r->nout; i++) m.out[i] = block(c, r->exact[i].elems * dt_bytes(r->exact[i].dt));
  int64_t *elems = ARENA_NEW(&c->model, int64_t, p->ir->bufs.n + 1);
  for (size_t i = 0; i < p->ir->bufs.n; i++) { /* a share of a group has its own piece only */
    Buf *b = &p->ir->bufs.p[i];
    elems[i] = b->elems;
    if (b->piece) b->elems = b->piece / dt_bytes(b->dt);
  }
  interpret_plan(k, &m);
  for (size_t i = 0; i < p->ir->bufs.n; i++) p->ir->bufs.p[i].elems = elems[i];
  bool good = true;
  for (size_t i = 0; i < r->nout; i++) good &= right(k, "program", i, m.out[i]);
  k->count[COUNT_INTERPRETED] += good;
}

/* ---- code that runs ---- */
typedef struct Fenced {
  char *map, *p;
  size_t mapped, bytes;
} Fenced;

/* Memory between two guard pages, beside the second or the first one; the rest of its own pages is 0x5a. */
static Fenced fence(size_t bytes, bool at_end) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
  Fenced f = { .mapped = inner + 2 * page, .bytes = bytes };
  f.map = mmap(NULL, f.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (f.map == MAP_FAILED) BUG("no memory for %zu bytes", bytes);
  if (inner && mprotect(f.map + page, inner, PROT_READ | PROT_WRITE)) BUG("cannot give access to memory");
  if (inner) memset(f.map + page, 0x5a, inner);
  f.p = f.map + page + (at_end ? inner - bytes : 0);
  return f;
}

static void freeze(const Fenced *f) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (f->mapped > 2 * page) mprotect(f->map + page, f->mapped - 2 * page, PROT_READ);
}

static bool clean(const Fenced *f) { /* nothing was written beside the memory */
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (const char *q = f->map + page; q < f->map + f->mapped - page; q++)
    if ((q < f->p || q >= f->p + f->bytes) && *q != 0x5a) return false;
  return true;
}

typedef struct Entry {
  int (*init)(void *ctx, void *arena, size_t arena_bytes, const void *weights, size_t weight_bytes);
  int (*run)(void *ctx, const void *const *in, void *const *out);
  int (*set_executor)(void *ctx, const tgcrt_executor *executor);
} Entry;

static void backwards(void *self, tgcrt_task *task, void *job, int64_t chunks) {
  (void)self;
  while (chunks-- > 0) task(job, chunks, chunks + 1);
}

static bool run_fenced(Case *k, const Plan *p, const Entry *e, bool at_end, const char *what) {
  Reference *r = k->ref;
  Arena *m = &p->ir->ctx->model;
  union {
    max_align_t align;
    char bytes[128];
  } ctx = { 0 };
  const size_t n = r->nin + r->nout + 2;
  Fenced *f = ARENA_NEW(m, Fenced, n);
  const void **in = ARENA_NEW(m, const void *, r->nin + 1);
  void **out = ARENA_NEW(m, void *, r->nout + 1);
  const size_t arena_bytes = p->memory.arena_bytes ? (size_t)p->memory.arena_bytes : BUNDLE_ALIGN,
               weight_bytes = (size_t)p->weights.bytes;
  f[n - 2] = fence((arena_bytes + BUNDLE_ALIGN - 1) / BUNDLE_ALIGN * BUNDLE_ALIGN, at_end);
  f[n - 1] = fence((weight_bytes + BUNDLE_ALIGN - 1) / BUNDLE_ALIGN * BUNDLE_ALIGN, at_end);
  memset(f[n - 2].p, 0xa5, arena_bytes);
  memcpy(f[n - 1].p, p->weights.p, weight_bytes);
  freeze(&f[n - 1]);
  for (size_t i = 0; i < r->nin + r->nout; i++) {
    const Tensor *t = i < r->nin ? &r->in[i] : &r->exact[i - r->nin];
    f[i] = fence((size_t)(t->elems * dt_bytes(t->dt)), at_end);
    if (i >= r->nin) {
      out[i - r->nin] = f[i].p;
      continue;
    }
    if (f[i].bytes) memcpy(f[i].p, t->data, f[i].bytes);
    freeze(&f[i]);
    in[i] = f[i].p;
  }
  int status = e->init(&ctx, f[n - 2].p, arena_bytes, f[n - 1].p, weight_bytes);
  static const tgcrt_executor executor = { .run = backwards };
  if (!status && !at_end) status = e->set_executor(&ctx, &executor);
  if (!status) status = e->run(&ctx, in, out);
  bool good = status == TGCRT_OK || status == TGCRT_INDEX;
  if (!good) case_fail(k, "%s: status %d", what, status);
  for (size_t i = 0; i < r->nout && good; i++) good = right(k, what, i, out[i]);
  for (size_t i = 0; i < n; i++)
    if (!clean(&f[i])) case_fail(k, "%s: writes beside memory %zu", what, i), good = false;
  for (size_t i = 0; i < n; i++) munmap(f[i].map, f[i].mapped);
  return good;
}

static bool run_code(Case *k, const Plan *p, const Entry *e, const char *what) {
  return run_fenced(k, p, e, true, what) && run_fenced(k, p, e, false, what);
}

static bool host_runs(const Target *t) {
  return (t->arch == host_arch() || t->arch == ARCH_ANY) && !(t->features & ~host_features());
}

/* ---- by LLVM ---- */
static void check_llvm(Case *k, const Plan *p, const BundleFile *text) {
  Ctx *c = p->ir->ctx;
  if (!*p->in->target->triple) return; /* LLVM makes code for machines in particular */
  if (!host_runs(p->in->target)) {
    const Code code = { .text = text->p, .n = text->n };
    llvm_generate(c, p->in->target, &code, false);
    k->count[COUNT_OBJECTS]++;
    return;
  }
  Entry e;
  LoadedCode *j = llvm_jit_load(c, p->in->target, text->p, text->n, false);
  *(void **)&e.init = llvm_jit_symbol(j, "net_init");
  *(void **)&e.run = llvm_jit_symbol(j, "net_run");
  *(void **)&e.set_executor = llvm_jit_symbol(j, "net_set_executor");
  k->count[COUNT_LLVM] += run_code(k, p, &e, "run");
  llvm_jit_free(j);
}

/* ---- by the C compiler ---- */
/* NULL: it is made; else why not */
static const char *compile_c(Ctx *c, const Plan *p, const char *scratch, const char *kind, const char *source, const char *out) {
  Words argv = { 0 };
  const char *why = NULL;
  compiler_words(c, &argv);
  split_words(c, "-O1 -fPIC -w", &argv);
  split_words(c, p->in->target->cflags, &argv);
  split_words(c, getenv("TGC_CFLAGS"), &argv);
  split_words(c, kind, &argv);
  VEC_PUSH(&argv, source);
  VEC_PUSH(&argv, "-o");
  VEC_PUSH(&argv, out);
  if (strstr(kind, "-shared")) VEC_PUSH(&argv, "-lm");
  VEC_PUSH(&argv, NULL);
  const Tool t = { .what = "C compiler", .variable = "CC", .argv = &argv, .log = arena_printf(&c->model, "%s/cc.log", scratch),
                   .scratch = scratch, .makes = out, .seconds = CC_SECONDS };
  const ToolEnd end = tool_run(&t);
  tool_judge(c, &t, &end, &why);
  VEC_FREE(&argv);
  return why;
}

/* The headers of vector instructions, read once for each machine: they take longer than a small kernel. */
static const char *headers_for(Ctx *c, const Plan *p, const char *scratch) {
  static const char text[] = "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n#ifdef "
                             "__AVX__\n#include <immintrin.h>\n#endif\n";
  const char *file = arena_printf(&c->model, "%s/%s.h", scratch, p->in->target->isa),
             *made = arena_printf(&c->model, "%s.gch", file);
  if (access(made, F_OK)) {
    file_put(c, file, text, sizeof text - 1);
    compile_c(c, p, scratch, "-x c-header", file, made); /* without it the plain header will do */
  }
  return file;
}

static void check_c(Case *k, const Plan *p, const Bundle *b) {
  Ctx *c = p->ir->ctx;
  Arena *m = &c->model;
  if (!k->scratch || !host_runs(p->in->target)) return;
  const char *dir = arena_printf(m, "%s/c", k->scratch), *so = arena_printf(m, "%s/net.so", dir);
  const char *headers = headers_for(c, p, k->scratch);
  if (mkdir(dir, 0700) && errno != EEXIST) BUG("cannot create '%s'", dir);
  for (size_t i = 0; i < b->files.n; i++) {
    const BundleFile *f = &b->files.p[i];
    FILE *to = fopen(arena_printf(m, "%s/%s", dir, f->name), "we");
    if (!to || fwrite(f->p, 1, f->n, to) != f->n || fclose(to)) BUG("cannot write '%s/%s'", dir, f->name);
  }
  const char *kind = arena_printf(m, "-shared -include %s -I%s", headers, dir);
  const char *why = compile_c(c, p, k->scratch, kind, arena_printf(m, "%s/net.c", dir), so);
  if (why) {
    case_fail(k, "%s", why);
    return;
  }
  void *lib = dlopen(so, RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    case_fail(k, "cannot load the code: %s", dlerror());
    return;
  }
  Entry e;
  *(void **)&e.init = dlsym(lib, "net_init");
  *(void **)&e.run = dlsym(lib, "net_run");
  *(void **)&e.set_executor = dlsym(lib, "net_set_executor");
  k->count[COUNT_C] += run_code(k, p, &e, "run");
  dlclose(lib);
  unlink(so);
}

/* ---- one machine and backend ---- */
static void check_run(Case *k, const Plan *p) {
  Ctx *c = p->ir->ctx;
  Reference *r = k->ref;
  void **out = ARENA_NEW(&c->model, void *, r->nout + 1);
  const size_t failed = k->failed.n;
  for (size_t i = 0; i < r->nout; i++) out[i] = block(c, r->exact[i].elems * dt_bytes(r->exact[i].dt));
  k->run(k, p, r->in, out);
  bool good = k->failed.n == failed;
  for (size_t i = 0; i < r->nout && good; i++) good &= right(k, "run", i, out[i]);
  k->ran += good;
}

static void check_plan(Ctx *c, void *arg) {
  Case *k = arg;
  const char *why;
  const LoadOptions o = load_options(k);
  const Target *device = device_target(k->ref->isa), *t = device ? device : target_find(&c->model, k->ref->isa, &why);
  if (!t) BUG("unknown machine '%s': %s", k->ref->isa, why);
  c->file = k->path;
  c->tunables = k->tunables;
  Graph *g = model_load(c, k->path, &o);
  Plan *p = compile_graph(
      g, &(CompileOptions){ .target = t, .backend = k->ref->backend, .precision = k->strict ? PREC_STRICT : PREC_FP32 });
  k->count[COUNT_PLANS]++;
  k->count[COUNT_PROVED] += prove(k, p);
  const bool runs = !large(k, p);
  if (!runs) k->count[COUNT_LARGE]++;
  else if (!target_has_threads(t)) check_programs(k, p); /* device-programs has those of threads */
  Bundle b = { 0 };
  c->file = NULL;
  if (k->backend) {
    if (runs) check_run(k, p);
    ir_free(p->ir);
    return;
  }
  bundle_render(p, &(BundleOptions){ .backend = p->in->backend, .name = "net", .emit = EMIT_TEXT, .keep_denormals = k->strict },
                &b);
  k->count[COUNT_TEXTS]++;
  if (runs && p->in->backend == &llvm_backend && k->llvm && llvm_available()) check_llvm(k, p, &b.files.p[1]);
  if (runs && p->in->backend == &c_backend && k->c > 0) k->c--, check_c(k, p, &b);
  bundle_free(&b);
  ir_free(p->ir);
}

static void one_line(Sb *s) {
  for (size_t i = 0; i < s->n; i++)
    if (s->p[i] == '\n' || s->p[i] == '|') s->p[i] = ' ';
}

/* Runs fn with what it says of the model kept. */
static int attempt(Case *k, Ctx *c, void (*fn)(Ctx *, void *)) {
  char *text = NULL;
  size_t n = 0;
  c->err = open_memstream(&text, &n);
  const int code = ctx_try(c, fn, k);
  fclose(c->err);
  c->err = stderr;
  if (code == EX_BADMODEL || code == EX_MISSING) sb_printf(&k->refused, "%d: %s", code, text);
  else if (code) case_fail(k, "exit code %d: %s", code, text);
  free(text);
  return code;
}

void case_run(Case *k) {
  Reference r = { 0 };
  k->ref = &r;
  ctx_init(&r.ctx);
  r.ctx.quiet = true;
  const Backend *const given[] = { k->backend, NULL };
  const int code = attempt(k, &r.ctx, make_reference);
  int plan = 0;
  for (int i = 0; !code && k->isa[i]; i++)
    for (const Backend *const *b = k->backend ? given : backends; *b; b++) {
      Ctx c;
      if ((*b)->device && !k->backend) continue; /* the machines are CPUs */
      if (plan++ < k->skip) continue;
      r.isa = k->isa[i];
      r.backend = *b;
      if (stage) {
        stage->plan = plan;
        snprintf(stage->what, sizeof stage->what, "%s %s: ", r.isa, r.backend->name);
      }
      ctx_init(&c);
      c.quiet = true;
      attempt(k, &c, check_plan);
      ctx_free(&c);
    }
  if (code == EX_BADMODEL) k->count[COUNT_REFUSED]++;
  if (r.g) ir_free(r.g->ir);
  ctx_free(&r.ctx);
  k->ref = NULL;
  one_line(&k->failed);
  one_line(&k->refused);
}

void case_free(Case *k) {
  sb_free(&k->failed);
  sb_free(&k->refused);
}

void case_report(const Case *k, const char *label, Sb *line) {
  sb_printf(line, "%s %s|", k->failed.n ? "fail" : k->refused.n ? "refused" : "ok", label);
  for (int i = 0; i < COUNTS; i++) sb_printf(line, " %lld", (long long)k->count[i]);
  sb_printf(line, "|%s", k->failed.n ? k->failed.p : k->refused.n ? k->refused.p : "");
}

/* ---- children ---- */
enum { CASES_OF_A_CHILD = 200 };

static void limit_time(int seconds) {
  const struct itimerval t = { .it_value = { .tv_sec = seconds } };
  setitimer(ITIMER_PROF, &t, NULL);
}

static _Noreturn void child(Cases *s, int64_t first, int skip, int to, int err) {
  if (dup2(err, 2) < 0) _exit(3);
  if (s->memory) setrlimit(RLIMIT_AS, &(struct rlimit){ (rlim_t)s->memory, (rlim_t)s->memory });
  setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
  FILE *out = fdopen(to, "w");
  for (int64_t i = first, n = 0; out && i < s->end && n < CASES_OF_A_CHILD; i += s->step, n++) {
    Sb line = { 0 };
    if (ftruncate(2, 0) || lseek(2, 0, SEEK_SET)) _exit(3);
    fprintf(out, "begin %lld\n", (long long)i);
    fflush(out);
    limit_time(s->seconds);
    *stage = (struct Stage){ 0 };
    s->run(s, i, i == first ? skip : 0, &line);
    fprintf(out, "%lld %s\n", (long long)i, line.p);
    fflush(out);
    sb_free(&line);
  }
  _exit(0);
}

/* The output of a child: its beginning and its end */
static void last_words(int err, Sb *s) {
  enum { PART = 300 };
  char text[PART];
  const off_t size = lseek(err, 0, SEEK_END);
  for (int end = 0; end < 1 + (size > PART); end++) {
    const ssize_t n = pread(err, text, sizeof text, end && size > 2 * PART ? size - PART : end ? PART : 0);
    if (end && size > 2 * PART) sb_puts(s, " ... ");
    if (n > 0) sb_put(s, text, (size_t)n);
  }
  one_line(s);
}

/* A child that ended during a case is a failure of the plan it was at; the next child goes on behind that. */
static bool report_death(Cases *s, int64_t at, int status, int err) {
  Sb words = { 0 };
  last_words(err, &words);
  const bool memory = WIFEXITED(status) && WEXITSTATUS(status) == EX_BADMODEL; /* the model is larger than the limit */
  printf("%lld %s %s| |%s", (long long)at, memory ? "refused" : "fail", s->label(s, at), stage->what);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) printf("ran past %d s of a CPU: ", s->seconds);
  else if (WIFSIGNALED(status)) printf("ended by %s: ", strsignal(WTERMSIG(status)));
  else printf("exit code %d: ", WEXITSTATUS(status));
  printf("%s\n", words.n ? words.p : "");
  sb_free(&words);
  return memory;
}

/* One child's cases; *next: the one to go on with. */
static bool run_child(Cases *s, int64_t *next, int *skip, int err) {
  int ends[2], status;
  bool good = true;
  if (pipe2(ends, O_CLOEXEC)) return false;
  fflush(stdout);
  const pid_t pid = fork();
  if (pid < 0) return false;
  if (!pid) child(s, *next, *skip, ends[1], err);
  close(ends[1]);
  FILE *in = fdopen(ends[0], "r");
  char *line = NULL;
  size_t cap = 0;
  int64_t at = -1;
  while (getline(&line, &cap, in) > 0) {
    if (sscanf(line, "begin %" SCNd64, &at) == 1) continue;
    fputs(line, stdout);
    const char *word = strchr(line, ' ');
    if (word && starts_with(word, " fail")) good = false;
    *next = at + s->step;
    *skip = 0;
    at = -1;
  }
  free(line);
  fclose(in);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (at < 0) return good && !status;
  good &= report_death(s, at, status, err);
  *next = stage->plan ? at : at + s->step;
  *skip = stage->plan;
  return good;
}

bool cases_run(Cases *s) {
  bool good = true;
  int skip = 0;
  const int err = memfd_create("stderr", MFD_CLOEXEC);
  llvm_available(); /* opened once, for all children */
  stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (err < 0 || stage == MAP_FAILED) return false;
  for (int64_t next = s->first; next < s->end;) {
    const int64_t was = next, was_skip = skip;
    good &= run_child(s, &next, &skip, err);
    if (next == was && skip == was_skip) return false; /* a child ended before it began */
  }
  close(err);
  return good;
}
