/* SPDX-License-Identifier: MIT */
/* node.c: tables of ops and types, the hash-consing constructor, value bounds, constants.
 *
 * Nodes live in chunks that never move. Source lists, argument lists and shapes are interned as
 * lists of 64-bit words, so a node compares by a handful of words. */
#include "ir.h"
#include "span.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const DTypeInfo dtype_info[DT_COUNT] = {
#define DTYPE(name, bits, cls, onnx, ctype, text) [DT_##name] = { text, ctype, bits, cls, onnx },
#include "dtypes.h"
#undef DTYPE
};

#undef VEC_
enum { S = ARITY_ANY, V = ARITY_SOME, VALUE = L_VALUE, EXPR = L_EXPR, GRAPH = L_GRAPH, KERNEL = L_KERNEL, PROG = L_PROG };
const OpInfo op_info[OP_COUNT] = {
  [OP_NONE] = { .name = "NONE" },
#define FN(f) #f
#define NO NULL
#define OP(name, level, in, type, operands, args, alg, takes, cost, c, libm, gloss)                                              \
  [OP_##name] = { #name, (Level)level, in, type, operands, args, gloss, alg, TAKES_##takes, COST_##cost, c, libm },
#include "ops.h"
#undef OP
#undef FN
#undef NO
};
#define FN(f) true
#define NO false
#define OP(name, level, in, type, operands, args, alg, takes, cost, c, libm, gloss)                                              \
  static_assert((int)level != L_EXPR || COST_##cost != COST_NONE, "an elementwise op without a price: " #name);                  \
  static_assert((COST_##cost != COST_FUNC && COST_##cost != COST_LIBM) || libm, "a function without a name in libm: " #name);
#include "ops.h"
#undef OP
#undef FN
#undef NO
static_assert(OP_CAST == OP_IOTA + 1 && OP_MULACC + 1 == OP_RESHAPE, "elementwise ops are one block of ops.h");

const char *const range_kind_name[RK_COUNT] = { "loop",   "reduce", "unroll", "partial", "vec",
                                                "thread", "dot",    "row",    "depth",   "serial",
                                                "grid",   "local",  "group",  "frag" };
const char *const buf_kind_name[BUF_KINDS] = {
  "input", "output", "weight", "arena", "state", "next", "guard", "local", "shared",
};

DType dtype_from_text(const char *s, size_t n) {
  for (int d = 1; d < DT_COUNT; d++)
    if (strlen(dtype_info[d].text) == n && !memcmp(dtype_info[d].text, s, n)) return (DType)d;
  return DT_NONE;
}

DType dtype_from_onnx(int onnx) {
  for (int d = 1; d < DT_COUNT; d++)
    if (dtype_info[d].onnx == onnx) return (DType)d;
  return DT_NONE;
}

Op op_from_text(const char *s, size_t n) { /* the table spells names in capitals */
  for (int op = 1; op < OP_COUNT; op++) {
    const char *name = op_info[op].name;
    size_t i = 0;
    while (i < n && name[i] && (name[i] | (name[i] >= 'A' && name[i] <= 'Z' ? 0x20 : 0)) == s[i]) i++;
    if (i == n && !name[i]) return (Op)op;
  }
  return OP_NONE;
}

bool op_by_lane(Op op) { return op_info[op].level == L_EXPR || op == OP_SCALB; }

void check_operand(const Node *x, int i, const char *name) {
  const char *p = op_info[x->op].operands;
  CHECK(i < x->nsrc);
  if (!name) CHECK(!*p && x->nsrc == 2);
  else if (x->nsrc > 1 || strcmp(name, "data")) {
    for (; i && *p; i--) {
      p += strcspn(p, " ");
      p += strspn(p, " ");
    }
    CHECK(strcspn(p, " ") == strlen(name) && !strncmp(p, name, strlen(name)));
  }
}

bool op_takes(Op op, DType d) {
  switch (op_info[op].takes) {
  case TAKES_NUM: return dt_float(d) || dt_int(d);
  case TAKES_INT: return dt_int(d);
  case TAKES_BITS: return dt_int(d) || d == DT_BOOL;
  case TAKES_FLT: return dt_float(d);
  default: return d != DT_NONE;
  }
}

/* ---- tables ---- */
typedef struct Slot { uint32_t hash, at; } Slot;     /* keeping the hash avoids looking at nodes that differ */
typedef struct Slots { Slot *p; uint32_t n, used; } Slots; /* open addressing; at 0: empty */
enum { RECENT_BITS = 10 };
/* Nodes below a root, sources first. It stays valid, since nodes never change. Only room is limited. */
typedef struct Order { Ref root; uint32_t n, room; Ref *p; } Order;
/* ORDERS: number kept; steps ask for the orders of a nest and its reductions repeatedly. LONGEST: nodes of an order; 4 MB in
 * all */
enum { ORDERS = 32, LONGEST = 1 << 15 };

struct IRTables {
  Slots node;                  /* at: Ref */
  Slots list;                  /* at: index of lists + 1 */
  VEC(const int64_t *) lists;  /* interned lists of words */
  VEC(uint32_t) list_len;
  uint32_t *stamp, nstamp;     /* by Ref: last walk that visited it */
  uint32_t walk;               /* number of the current walk */
  Ref recent[1 << RECENT_BITS]; /* cache of constants, most of which are requested repeatedly */
  Order order[ORDERS];         /* ring buffer */
  uint32_t norders;            /* number of orders ever kept */
};

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

static uint32_t hash_words(const int64_t *p, int n) {
  uint64_t h = (uint64_t)n + 1;
  for (int i = 0; i < n; i++) h = mix(h, (uint64_t)p[i]);
  return (uint32_t)h;
}

static uint32_t hash_node(const Node *x) {
  uint64_t h = mix(x->op, x->dt);
  h = mix(h, ((uint64_t)x->lanes << 32) | ((uint64_t)x->rank << 16) | x->nsrc);
  for (int i = 0; i < x->nsrc; i++) h = mix(h, x->src[i]);
  h = mix(h, (uint64_t)(uintptr_t)x->arg);
  return (uint32_t)mix(h, (uint64_t)(uintptr_t)x->dims);
}

/* Nodes are mostly made from recent nodes. So the first slots to probe are near the newest source: a table larger than the
 * caches is then walked along with the nodes. Where many nodes share a source, or there is none, the slot is anywhere. */
enum { NEAR_SLOTS = 512, NEAR_PROBES = 16 };
typedef struct Probe { uint32_t hash, near, n; } Probe; /* near: a slot in the table; 0: none */

static uint32_t newest_source(const Node *x) {
  uint32_t newest = 0;
  for (int i = 0; i < x->nsrc; i++) newest = x->src[i] > newest ? x->src[i] : newest;
  return newest;
}

static Slot *slots_probe(const Slots *s, Probe *p) {
  if (p->near && p->n < NEAR_PROBES) return &s->p[(p->near * 2 + p->hash % NEAR_SLOTS + p->n++) & (s->n - 1)];
  return &s->p[(p->hash + p->n++) & (s->n - 1)];
}

/* The next slot that is empty or has the hash */
static Slot *slots_next(const Slots *s, Probe *p) {
  for (;;) {
    Slot *e = slots_probe(s, p);
    if (!e->at || e->hash == p->hash) return e;
  }
}

static void slots_put(Slots *s, Probe p, uint32_t at) { /* the node is not in the table */
  Slot *e = slots_probe(s, &p);
  while (e->at) e = slots_probe(s, &p);
  *e = (Slot){ p.hash, at };
}

/* Makes room for `more`. Reinserts nodes in the order of their age; the order of the old table would access memory at random. */
static void slots_reserve(const IR *ir, Slots *s, uint32_t more) {
  Slots old = *s;
  if ((s->used + more - 1) * 2 < s->n) return;
  for (s->n = old.n ? old.n * 2 : 4096; (s->used + more - 1) * 2 >= s->n;) s->n *= 2;
  s->p = xcalloc(s->n, sizeof *s->p);
  if (s == &ir->tables->node)
    for (Ref r = 1; r < ir->n; r++)
      slots_put(s, (Probe){ .hash = hash_node(node(ir, r)), .near = newest_source(node(ir, r)) }, r);
  else
    for (uint32_t i = 0; i < old.n; i++)
      if (old.p[i].at) slots_put(s, (Probe){ .hash = old.p[i].hash }, old.p[i].at);
  free(old.p);
}

static void slots_grow(const IR *ir, Slots *s) { slots_reserve(ir, s, 1); }

void ir_reserve(IR *ir, uint32_t more) { slots_reserve(ir, &ir->tables->node, more); }

static const int64_t *intern_list(IR *ir, const int64_t *words, int n) {
  static const int64_t none[1]; /* dims of a scalar may be copied; C forbids memcpy from NULL, even of 0 bytes */
  if (!n) return none;
  struct IRTables *t = ir->tables;
  const uint32_t hash = hash_words(words, n);
  slots_grow(ir, &t->list);
  for (Probe p = { .hash = hash };;) {
    Slot *e = slots_next(&t->list, &p);
    if (!e->at) {
      VEC_PUSH(&t->lists, arena_dup(&ir->ctx->model, words, (size_t)n * sizeof *words));
      VEC_PUSH(&t->list_len, (uint32_t)n);
      *e = (Slot){ hash, (uint32_t)t->lists.n };
      t->list.used++;
    }
    if (t->list_len.p[e->at - 1] == (uint32_t)n && !memcmp(t->lists.p[e->at - 1], words, (size_t)n * sizeof *words))
      return t->lists.p[e->at - 1];
  }
}

IR *ir_new(Ctx *c) {
  IR *ir = ARENA_NEW(&c->model, IR, 1);
  ir->ctx = c;
  ir->n = 1;
  ir->tables = ARENA_NEW(&c->model, struct IRTables, 1);
  ir->chunk = xmalloc(sizeof *ir->chunk);
  ir->chunk[0] = ARENA_NEW(&c->model, Node, 4096);
  VEC_PUSH(&ir->origins, ((Origin){ .index = 0 }));
  return ir;
}

void ir_free(IR *ir) {
  struct IRTables *t = ir->tables;
  free(t->node.p);
  free(t->list.p);
  free(t->stamp);
  for (int i = 0; i < ORDERS; i++) free(t->order[i].p);
  VEC_FREE(&t->lists);
  VEC_FREE(&t->list_len);
  VEC_FREE(&ir->tensors);
  VEC_FREE(&ir->bufs);
  VEC_FREE(&ir->origins);
  VEC_FREE(&ir->extents);
  VEC_FREE(&ir->opened);
  VEC_FREE(&ir->sizes);
  free(ir->chunk);
}

uint32_t ir_origin(IR *ir, const char *text, uint32_t index) {
  VEC_PUSH(&ir->origins, ((Origin){ .text = text, .index = index }));
  return (uint32_t)ir->origins.n - 1;
}

Pos ir_pos(const IR *ir, Ref r) { return (Pos){ .node = ir->origins.p[node(ir, r)->origin].text }; }

/* ---- bounds of integer values: each holds for every value, or is unknown ---- */
bool dt_bounds(DType d, int64_t *lo, int64_t *hi) {
  const int bits = dtype_info[d].bits;
  const bool is_signed = dtype_info[d].cls == 'i';
  *lo = INT64_MIN;
  *hi = INT64_MAX;
  if (d != DT_BOOL && (!dt_int(d) || bits == 64)) return false;
  *lo = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
  *hi = d == DT_BOOL ? 1 : (INT64_C(1) << (bits - is_signed)) - 1;
  return true;
}

Span type_span(DType d) {
  Span s;
  dt_bounds(d, &s.lo, &s.hi);
  return s;
}

/* The bounds of a result of a branch: those of both sides */
static Span span_of_arms(const IR *ir, const Node *branch, int at) {
  const Node *a = node(ir, branch_arm(branch, 1 + at)), *b = node(ir, branch_arm(branch, 1 + at + branch_results(branch)));
  return (Span){ a->vmin < b->vmin ? a->vmin : b->vmin, a->vmax > b->vmax ? a->vmax : b->vmax };
}

static Span bounds(const IR *ir, const Node *x) {
  if (dt_float(x->dt)) return UNKNOWN;
  Span a = UNKNOWN, b = UNKNOWN, c = UNKNOWN, r = UNKNOWN, type = type_span(x->dt);
  const Node *s0 = x->nsrc > 0 ? node(ir, x->src[0]) : NULL, *s1 = x->nsrc > 1 ? node(ir, x->src[1]) : NULL,
             *s2 = x->nsrc > 2 ? node(ir, x->src[2]) : NULL;
  if (s0) a = (Span){ s0->vmin, s0->vmax };
  if (s1) b = (Span){ s1->vmin, s1->vmax };
  if (s2) c = (Span){ s2->vmin, s2->vmax };
  switch ((Op)x->op) {
  case OP_CONST: r = (Span){ x->arg[0], x->arg[0] }; break;
  case OP_RANGE: return (Span){ 0, x->arg[0] - 1 };
  case OP_SIZE: return (Span){ 0, x->arg[1] };
  case OP_IOTA: r = (Span){ 0, x->dims[0] > 0 ? x->dims[0] - 1 : 0 }; break;
  case OP_CAST: if (!dt_float(s0->dt) && known(a)) r = a; break;
  case OP_NEG: if (known(a)) r = (Span){ -a.hi, -a.lo }; break;
  case OP_ADD: if (known(a) && known(b) && (!i64_add(a.lo, b.lo, &r.lo) || !i64_add(a.hi, b.hi, &r.hi))) r = UNKNOWN; break;
  case OP_SUB:
    if (known(a) && known(b) && (__builtin_sub_overflow(a.lo, b.hi, &r.lo) || __builtin_sub_overflow(a.hi, b.lo, &r.hi)))
      r = UNKNOWN;
    break;
  case OP_MUL: if (known(a) && known(b)) r = span_mul(a, b); break;
  case OP_FLDIV:
    if (known(a) && b.lo == b.hi && b.lo > 0) r = (Span){ i64_floor_div(a.lo, b.lo), i64_floor_div(a.hi, b.lo) };
    break;
  case OP_FLMOD:
    if (b.lo == b.hi && b.lo > 0) {
      if (known(a) && i64_floor_div(a.lo, b.lo) == i64_floor_div(a.hi, b.lo))
        r = (Span){ a.lo - i64_floor_div(a.lo, b.lo) * b.lo, a.hi - i64_floor_div(a.lo, b.lo) * b.lo };
      else r = (Span){ 0, b.lo - 1 };
    }
    break;
  case OP_MAX: r = (Span){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi }; break;
  case OP_MIN: r = (Span){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi }; break;
  case OP_WHERE: r = (Span){ b.lo < c.lo ? b.lo : c.lo, b.hi > c.hi ? b.hi : c.hi }; break;
  case OP_CMPLT:
    r = (Span){ 0, 1 };
    if (!dt_float(s0->dt) && known(a) && known(b)) r = a.hi < b.lo ? (Span){ 1, 1 } : a.lo >= b.hi ? (Span){ 0, 0 } : r;
    break;
  case OP_CMPLE:
    r = (Span){ 0, 1 };
    if (!dt_float(s0->dt) && known(a) && known(b)) r = a.hi <= b.lo ? (Span){ 1, 1 } : a.lo > b.hi ? (Span){ 0, 0 } : r;
    break;
  case OP_RESHAPE: case OP_EXPAND: case OP_PERMUTE: case OP_SHRINK: case OP_WINDOW: case OP_GATHER: case OP_BCAST: case OP_LANE:
  case OP_STORED: case OP_SLICE: case OP_ARM:
    r = a;
    break;
  case OP_CHOSEN: r = span_of_arms(ir, s0, (int)x->arg[0]); break;
  case OP_WALK: r = (Span){ 0, node(ir, walk_split(x))->dims[0] - 1 }; break; /* g_walk_refuses proves it */
  case OP_SCATTER:
    if (x->arg[0] != OP_ADD && x->arg[0] != OP_MUL) r = (Span){ a.lo < c.lo ? a.lo : c.lo, a.hi > c.hi ? a.hi : c.hi };
    break;
  case OP_PAD: r = (Span){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi }; break;
  default: break;
  }
  /* a result outside the type wraps, so only the bounds of the type hold; values of u64 above INT64_MAX have no upper bound */
  if (x->dt == DT_U64) return r.lo < 0 ? UNKNOWN : r;
  if (r.lo < type.lo || r.hi > type.hi) return type;
  return r;
}

bool node_widens(const IR *ir, const Node *x) {
  if (x->op != OP_CAST || !dt_int((DType)x->dt)) return false;
  DType from = (DType)node(ir, operand(x))->dt, to = (DType)x->dt;
  bool same = dtype_info[from].cls == dtype_info[to].cls;
  return dt_int(from) && dtype_info[from].bits < dtype_info[to].bits && (same || dtype_info[from].cls == 'u');
}

bool node_is_exact(const IR *ir, const Node *x) {
  Span a = { node(ir, lhs(x))->vmin, node(ir, lhs(x))->vmax }, b = { node(ir, rhs(x))->vmin, node(ir, rhs(x))->vmax }, r;
  const Span type = type_span((DType)x->dt);
  bool fits = known(a) && known(b);
  if (x->op == OP_MUL) r = span_mul(a, b), fits &= known(r);
  else if (x->op == OP_ADD) fits = fits && i64_add(a.lo, b.lo, &r.lo) && i64_add(a.hi, b.hi, &r.hi);
  else fits = fits && !__builtin_sub_overflow(a.lo, b.hi, &r.lo) && !__builtin_sub_overflow(a.hi, b.lo, &r.hi);
  return fits && r.lo >= type.lo && r.hi <= type.hi;
}

/* ---- the constructor ---- */
/* Age of a range, by its number; ranges of analyses have numbers below 0, and age 0. */
static uint32_t range_age(int64_t number) { return number < 0 ? 0 : number < UINT32_MAX ? (uint32_t)number + 1 : UINT32_MAX; }

/* The body that an op of loops belongs to; counts loops and branches */
static void set_loop(IR *ir, Node *x) {
  if ((x->op == OP_ARM || x->op == OP_BRANCH) && x->arg[0] >= ir->branches) ir->branches = x->arg[0] + 1;
  if (x->op == OP_SLICE || x->op == OP_CARRIED || x->op == OP_YIELD) {
    x->loop = (uint8_t)(x->arg[0] + 1);
    if (x->arg[0] >= ir->loops) ir->loops = (int)x->arg[0] + 1;
  }
  if (x->op == OP_ITERATE) x->loop = 0;
}

Ref node_make(IR *ir, Op op, DType dt, int lanes, int nsrc, const Ref *src, int narg, const int64_t *arg, int rank,
              const int64_t *dims) {
  struct IRTables *t = ir->tables;
  if (rank > MAX_RANK && ir->building.node)
    fail_at(ir->ctx, EX_BADMODEL, ir->building, "takes a value of rank %d, over the limit of %d", rank, MAX_RANK);
  CHECK(nsrc <= UINT16_MAX && rank <= MAX_RANK);
  Node x = { .op = (uint8_t)op, .dt = (uint8_t)dt, .rank = (uint8_t)rank, .lanes = (uint16_t)lanes, .nsrc = (uint16_t)nsrc,
             .narg = (uint16_t)narg, .src = src, .arg = intern_list(ir, arg, narg), .dims = intern_list(ir, dims, rank) };
  const uint32_t hash = hash_node(&x);
  slots_grow(ir, &t->node);
  for (Probe p = { .hash = hash, .near = newest_source(&x) };;) {
    Slot *e = slots_next(&t->node, &p);
    if (!e->at) {
      if (ir->n - 1 >= (uint64_t)ir->ctx->limits.nodes * 64)
        fail(ir->ctx, EX_BADMODEL, "more than %lld nodes (--max-nodes)", (long long)ir->ctx->limits.nodes);
      if (!(ir->n & 4095)) {
        ir->chunk = xrealloc(ir->chunk, ((ir->n >> 12) + 1) * sizeof *ir->chunk);
        ir->chunk[ir->n >> 12] = ARENA_NEW(&ir->ctx->model, Node, 4096);
      }
      x.src = arena_dup(&ir->ctx->model, src, (size_t)nsrc * sizeof *src);
      x.origin = ir->origin;
      x.varies = op == OP_PARAM || op == OP_SIZE || op_is_of_loops(op);
      x.newest_range = op == OP_RANGE && narg > 1 ? range_age(arg[1]) : 0;
      for (int i = 0; i < nsrc; i++) {
        const Node *y = node(ir, src[i]);
        x.varies |= y->varies;
        x.loop = y->loop > x.loop ? y->loop : x.loop;
        x.newest_range = y->newest_range > x.newest_range ? y->newest_range : x.newest_range;
      }
      if (op_is_of_loops(op)) set_loop(ir, &x);
      Span s = bounds(ir, &x);
      x.vmin = s.lo;
      x.vmax = s.hi;
      ir->chunk[ir->n >> 12][ir->n & 4095] = x;
      t->node.used++;
      *e = (Slot){ hash, ir->n };
      return ir->n++;
    }
    const Node *y = node(ir, e->at);
    if (y->op == op && y->dt == dt && y->lanes == lanes && y->nsrc == nsrc && y->narg == narg && y->rank == rank &&
        y->arg == x.arg && y->dims == x.dims && !memcmp(y->src, src ? src : (const Ref *)"", (size_t)nsrc * sizeof *src))
      return e->at;
  }
}

Ref node_with_src(IR *ir, Ref r, const Ref *src) {
  const Node *x = node(ir, r);
  if (!memcmp(src, x->src, x->nsrc * sizeof *src)) return r;
  uint32_t keep = ir->origin;
  ir->origin = x->origin;
  Ref y = node_make(ir, (Op)x->op, (DType)x->dt, x->lanes, x->nsrc, src, x->narg, x->arg, x->rank, x->dims);
  ir->origin = keep;
  return y;
}

bool nodes_alike(const Node *x, const Node *y) {
  return x->dt == y->dt && x->rank == y->rank && (!x->rank || !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims));
}

int64_t dims_elems(const int64_t *dims, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++)
    if (!dims[i]) return 0;
  for (int i = 0; i < rank; i++)
    if (!i64_mul(n, dims[i], &n)) return INT64_MAX;
  return n;
}

bool node_is_const(const IR *ir, Ref r, int64_t *bits) {
  const Node *x = node(ir, r);
  if (x->varies) return false; /* most nodes vary; a chain of views may be long */
  while (x->op == OP_RESHAPE || x->op == OP_EXPAND || x->op == OP_PERMUTE || x->op == OP_SHRINK || x->op == OP_WINDOW ||
         x->op == OP_BCAST)
    x = node(ir, operand(x));
  if (x->op != OP_CONST) return false;
  if (bits) *bits = x->arg[0];
  return true;
}

/* ---- constants ---- */
uint64_t dt_wrap(DType d, uint64_t v) {
  int bits = dtype_info[d].bits;
  if (d == DT_BOOL) return v != 0;
  if (bits == 64) return v;
  v &= ((uint64_t)1 << bits) - 1;
  if (dtype_info[d].cls == 'i' && (v >> (bits - 1))) v |= ~(uint64_t)0 << bits;
  return v;
}

static double half_to_double(uint16_t h) {
  int e = (h >> 10) & 31, m = h & 1023;
  double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h >> 15 ? -v : v;
}

/* Rounds to a binary format with p significand bits and least exponent emin, halves to even. The scaling is exact, so there is
 * one rounding, subnormals included. */
static double round_to(double v, int p, int emin) {
  int e;
  if (v == 0 || !isfinite(v)) return v;
  frexp(v, &e);
  if (e < emin) e = emin;
  return ldexp(nearbyint(ldexp(v, p - e)), e - p);
}

static uint16_t double_to_half(double v) {
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  if (isnan(v)) return sign | 0x7e00;
  v = fabs(round_to(v, 11, -13));
  if (v >= 65536) return sign | 0x7c00;
  if (v == 0) return sign;
  int e;
  double m = frexp(v, &e);
  if (e < -13) return sign | (uint16_t)ldexp(v, 24);
  return (uint16_t)(sign | ((e + 14) << 10) | ((int)ldexp(m, 11) & 1023));
}

double bits_to_double(DType d, int64_t bits) {
  switch (d) {
  case DT_F64: { double v; memcpy(&v, &bits, 8); return v; }
  case DT_F32: { float v; uint32_t b = (uint32_t)bits; memcpy(&v, &b, 4); return v; }
  case DT_BF16: { float v; uint32_t b = (uint32_t)bits << 16; memcpy(&v, &b, 4); return v; }
  case DT_F16: return half_to_double((uint16_t)bits);
  case DT_U64: return (double)(uint64_t)bits;
  default: return (double)bits;
  }
}

int64_t double_to_bits(DType d, double v) {
  switch (d) {
  case DT_F64: { int64_t b; memcpy(&b, &v, 8); return b; }
  case DT_F32: { float f = (float)v; uint32_t b; memcpy(&b, &f, 4); return b; }
  case DT_BF16: {
    float f = (float)round_to(v, 8, -125);
    uint32_t b;
    memcpy(&b, &f, 4);
    return isnan(v) ? (signbit(v) ? 0xffc0 : 0x7fc0) : b >> 16;
  }
  case DT_F16: return double_to_half(v);
  case DT_BOOL: return v != 0; /* NaN is true */
  case DT_U64: return isnan(v) || v <= 0 ? 0 : v >= 18446744073709551616.0 ? -1 : (int64_t)(uint64_t)v;
  case DT_I64:
    return isnan(v) ? 0 : v >= 9223372036854775808.0 ? INT64_MAX : v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
  default: {
    Span s = type_span(d);
    return isnan(v) ? 0 : v >= (double)s.hi ? s.hi : v <= (double)s.lo ? s.lo : (int64_t)v;
  }
  }
}

int64_t reduce_identity(Op op, DType d) {
  switch (op) {
  case OP_ADD: return 0;
  case OP_MUL: return double_to_bits(d, 1);
  case OP_MAX: return d == DT_BOOL ? 0 : double_to_bits(d, -INFINITY);
  case OP_MIN: return double_to_bits(d, INFINITY);
  default: BUG("%s does not reduce", op_info[op].name);
  }
}

Ref c_bits(IR *ir, DType d, int64_t bits) {
  Ref *r = &ir->tables->recent[mix(d, (uint64_t)bits) >> (64 - RECENT_BITS)];
  if (!*r || node(ir, *r)->dt != d || node(ir, *r)->arg[0] != bits)
    *r = node_make(ir, OP_CONST, d, 1, 0, NULL, 1, &bits, 0, NULL);
  return *r;
}

Ref c_int(IR *ir, DType d, int64_t v) {
  return dt_float(d) ? c_float(ir, d, (double)v) : c_bits(ir, d, (int64_t)dt_wrap(d, (uint64_t)v));
}
Ref c_float(IR *ir, DType d, double v) { return c_bits(ir, d, double_to_bits(d, v)); }

Ref range_new(IR *ir, int64_t extent, RangeKind kind) {
  const int64_t arg[3] = { extent, ir->next_range++, kind };
  return node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, arg, 0, NULL);
}

Ref range_make(IR *ir, int64_t extent, RangeKind kind) {
  return extent == 1 ? c_bits(ir, DT_I64, 0) : range_new(ir, extent, kind);
}

/* ---- order ---- */

/* Appends a kept order to out; false: not kept. */
static bool order_kept(const struct IRTables *t, Ref root, Refs *out) {
  for (int i = 0; i < ORDERS; i++) {
    const Order *o = &t->order[i];
    if (o->root != root) continue;
    vec_grow((void **)&out->p, &out->cap, out->n + o->n, sizeof *out->p);
    memcpy(out->p + out->n, o->p, o->n * sizeof *o->p);
    out->n += o->n;
    return true;
  }
  return false;
}

static void keep_order(struct IRTables *t, Ref root, const Ref *p, size_t n) {
  Order *o = &t->order[t->norders++ % ORDERS];
  if (o->room < n) {
    o->room = (uint32_t)n;
    o->p = xrealloc(o->p, n * sizeof *o->p);
  }
  o->root = root;
  o->n = (uint32_t)n;
  memcpy(o->p, p, n * sizeof *p);
}

/* Visited nodes are marked by stamps, which never need clearing: kernels walk small parts of a large graph many times. */
void ir_toposort(const IR *ir, const Ref *roots, size_t n, Refs *out) {
  struct IRTables *t = ir->tables;
  const size_t from = out->n;
  if (n == 1 && roots[0] && order_kept(t, roots[0], out)) return;
  VEC(uint64_t) stack = { 0 }; /* Ref, and index of the next source to visit */
  if (t->nstamp < ir->n) {
    uint32_t room = ir->n * 2;
    t->stamp = xrealloc(t->stamp, room * sizeof *t->stamp);
    memset(t->stamp + t->nstamp, 0, (room - t->nstamp) * sizeof *t->stamp);
    t->nstamp = room;
  }
  uint32_t walk = ++t->walk;
  for (size_t i = 0; i < n; i++) {
    if (!roots[i] || t->stamp[roots[i]] == walk) continue;
    VEC_PUSH(&stack, (uint64_t)roots[i] << 32);
    t->stamp[roots[i]] = walk;
    while (stack.n) {
      uint64_t *top = &stack.p[stack.n - 1];
      Ref r = (Ref)(*top >> 32);
      const Node *x = node(ir, r);
      uint32_t k = (uint32_t)*top;
      if (k == x->nsrc) {
        VEC_PUSH(out, r);
        stack.n--;
        continue;
      }
      ++*top;
      if (t->stamp[x->src[k]] != walk) {
        t->stamp[x->src[k]] = walk;
        VEC_PUSH(&stack, (uint64_t)x->src[k] << 32);
      }
    }
  }
  VEC_FREE(&stack);
  if (n == 1 && out->n > from && out->n - from <= LONGEST) keep_order(t, roots[0], out->p + from, out->n - from);
}
