/* SPDX-License-Identifier: MIT */
/* fuse_adds.c: the step `adds`: parts of sums are added where the sums are read.
 *
 * Sums in parts leave a nest that adds the parts and stores the sums (split_sums.c), in a launch of its own. A nest of a later
 * kernel that reads each sum at most once can add the parts itself. A mean over all pixels is an example. This saves a launch,
 * and the sums need no memory. The sums are consecutive, so an index of their buffer gives the values of the ranges for which a
 * sum was stored.
 *
 * The nest that reads the sums has more to do. The heuristic chooses its schedule again; a schedule from elsewhere stays.
 *
 * needs: nests of parts   gives: fewer nests   keeps: the value of every element
 * breaks: buffers of sums, which are unused afterwards */
#include "opts.h"

/* The nest that adds parts */
typedef struct Adds {
  Kernel *k;
  size_t at;               /* its state */
  Nest n;
  const Node *store;
  int64_t buffer, parts;
} Adds;
/* The only load of that buffer */
typedef struct Reader { Kernel *k; size_t at; Ref load; } Reader;

static int64_t accessed(const IR *ir, const Node *access) { return buffer_id(node(ir, access_buffer(access))); }

/* Values of that buffer stay what they are from kernel to kernel */
static bool is_steady(BufKind kind) { return kind == BUF_INPUT || kind == BUF_WEIGHT || kind == BUF_ARENA; }

static bool open_adds(IR *ir, Kernel *k, size_t at, Adds *a) {
  *a = (Adds){ .k = k, .at = at, .n = nest_open(ir, k->states.p[at].nest) };
  a->store = node(ir, a->n.store);
  if (!k->states.p[at].depth || a->store->op != OP_STORE || store_gate(a->store)) return false;
  a->buffer = accessed(ir, a->store);
  bool good = ir->bufs.p[a->buffer].kind == BUF_ARENA;
  Refs all = { 0 };
  ir_toposort(ir, &a->n.store, 1, &all);
  for (size_t i = 0; i < all.n && good; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_RED) a->parts = range_extent(node(ir, red_range(x, 0)));
    if (x->op == OP_LOAD) good = is_steady(ir->bufs.p[accessed(ir, x)].kind) && accessed(ir, x) != a->buffer;
  }
  VEC_FREE(&all);
  return good && a->parts;
}

/* The values of the nest's ranges under which it stores to a place; false: places do not tell them */
static bool ranges_at(IR *ir, const Adds *a, Ref place, Ref *out) {
  Ref rest = store_index(a->store);
  int64_t step[MAX_RANGES], dense = 1, base;
  for (int k = 0; k < a->n.n; k++)
    if (!ix_split(ir, rest, a->n.ranges[k], &step[k], &rest)) return false;
  if (!node_is_const(ir, rest, &base) || base) return false;
  for (int found = 0; found < a->n.n; found++) { /* from the range that goes on by one element */
    int k = 0;
    while (k < a->n.n && step[k] != dense) k++;
    if (k == a->n.n) return false;
    const int64_t extent = range_extent(node(ir, a->n.ranges[k]));
    step[k] = 0;
    out[k] = ix_mod(ir, ix_div(ir, place, dense), extent);
    if (!i64_mul(dense, extent, &dense)) return false;
  }
  return dense == ir->bufs.p[a->buffer].elems;
}

/* false: the buffer has several readers, or none, or another writer */
static bool find_reader(const Plan *p, const Adds *a, Reader *r) {
  const IR *ir = p->ir;
  bool good = true;
  *r = (Reader){ .k = NULL };
  for (size_t k = 0; k < p->kernels.n && good; k++)
    for (size_t i = 0; i < p->kernels.p[k].states.n && good; i++) {
      Kernel *other = &p->kernels.p[k];
      Refs all = { 0 };
      ir_toposort(ir, &other->states.p[i].nest, 1, &all);
      for (size_t n = 0; n < all.n && good; n++) {
        const Node *x = node(ir, all.p[n]);
        if (!is_access(x) || accessed(ir, x) != a->buffer || x == a->store) continue;
        good = x->op == OP_LOAD && !load_gate(x) && !r->load && other > a->k && !other->states.p[i].depth;
        *r = (Reader){ other, i, all.p[n] };
      }
      VEC_FREE(&all);
    }
  return good && r->load;
}

/* How often a run of the nest loads */
static bool loads_of(IR *ir, Ref nest, Ref load, int64_t *times) {
  const Nest n = nest_open(ir, nest);
  Refs all = { 0 };
  bool good = true;
  *times = 1;
  for (int k = 0; k < n.n; k++) good &= i64_mul(*times, range_extent(node(ir, n.ranges[k])), times);
  ir_toposort(ir, &n.store, 1, &all);
  for (size_t i = 0; i < all.n && good; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED || !ix_uses(ir, red_value(x), load)) continue;
    for (int k = 1; k < x->nsrc && good; k++) good = i64_mul(*times, range_extent(node(ir, x->src[k])), times);
  }
  VEC_FREE(&all);
  return good;
}

/* Threads that the schedule gives the nest */
static double threads_of(IR *ir, Ref nest, const Opts *o) {
  const Nest n = nest_open(ir, nest);
  double threads = 1;
  for (int k = 0; k < n.n && !o->n; k++) threads *= (double)range_extent(node(ir, n.ranges[k]));
  for (int i = 0; i < o->n; i++) {
    const double extent = (double)range_extent(node(ir, o->opt[i].range)), copies = (double)o->opt[i].unroll * o->opt[i].lanes;
    threads *= o->opt[i].grid ? extent / copies : o->opt[i].threads ? o->opt[i].threads : 1;
  }
  return threads;
}

/* The schedule of the nest that adds the parts, of which only ranges of the one before it may have opts; false: there is none */
static bool choose(Plan *p, const NestState *s, Ref fused, const NestSchedule *was, Opts *o) {
  IR *ir = p->ir;
  *o = *s->opts;
  if (!strcmp(was->from, "heuristic")) *o = device_opts(ir, fused, p->in->target);
  if (o->split || o->nparts) return false;
  for (int i = 0; i < o->n; i++)
    if (!ix_uses(ir, s->nest, o->opt[i].range)) return false;
  return !opts_check(ir, fused, p->in->target, o);
}

static bool fuse(Plan *p, const Adds *a, const Reader *r) {
  IR *ir = p->ir;
  NestState *s = &r->k->states.p[r->at];
  NestSchedule *was = r->k->nests.p;
  Nest n = nest_open(ir, s->nest);
  Ref at[MAX_RANGES];
  int64_t times;
  Opts o;
  for (size_t i = 0; i < r->at; i++) was += !r->k->states.p[i].depth;
  if (!loads_of(ir, s->nest, r->load, &times) || times > ir->bufs.p[a->buffer].elems) return false;
  if (node(ir, store_value(a->store))->dt != node(ir, r->load)->dt) return false;
  if (!ranges_at(ir, a, load_index(node(ir, r->load)), at)) return false;
  const Ref sum = ix_subst(ir, store_value(a->store), a->n.n, a->n.ranges, at);
  n.store = ix_subst(ir, n.store, 1, &r->load, &sum);
  const Ref fused = nest_close(ir, &n);
  if (!choose(p, s, fused, was, &o)) return false;
  if ((double)times * (double)a->parts > tunable(ir->ctx, fused_adds) * threads_of(ir, fused, &o)) return false;
  Sb text = { 0 };
  opts_print(ir, was->nest, &o, &text);
  was->opts = sb_keep(&text, &ir->ctx->model);
  s->nest = fused;
  s->opts = arena_dup(&ir->ctx->model, &o, sizeof o);
  return true;
}

void step_adds(Plan *p, Kernel *unused) {
  (void)unused;
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *x = &p->kernels.p[k];
    for (size_t i = x->states.n; i-- > 0;) {
      Adds a;
      Reader r;
      p->ir->origin = node(p->ir, x->states.p[i].nest)->origin;
      if (!open_adds(p->ir, x, i, &a) || !find_reader(p, &a, &r) || !fuse(p, &a, &r)) continue;
      memmove(&x->states.p[i], &x->states.p[i + 1], (--x->states.n - i) * sizeof *x->states.p);
    }
  }
}
