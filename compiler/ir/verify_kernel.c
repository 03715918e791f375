/* SPDX-License-Identifier: MIT */
/* verify_kernel.c: rules of kernels, and of nests between two steps. They say which node may be the source of which. Every range
 * must be used inside of its nest or reduction. Time is linear in the size, but for the sets of free ranges.
 *
 * needs: the nodes of a kernel or a nest    gives: nothing; a node that breaks a rule is a bug (verify.h)    breaks: nothing */
#include "ir.h"
#include "refmap.h"
#include "verify.h"

/* Index algebra works on i64; only programs have ranges and indices of 32 bits (lower/narrow.c). */
static void verify_wide(const IR *ir, Ref r, const Node *x) {
  NEED(x->op != OP_RANGE || x->dt == DT_I64, "not i64");
  NEED(!is_access(x) || node(ir, access_index(x))->dt == DT_I64, "the index is not i64");
}

/* ---- kernels ---- */
static void verify_kernel_node(const IR *ir, Ref r, bool root) {
  const Node *x = node(ir, r);
  Level level = op_info[x->op].level;
  verify_inner(ir, r);
  verify_wide(ir, r, x);
  NEED(level == L_VALUE || level == L_EXPR || level == L_KERNEL, "not an op of kernels");
  NEED(x->lanes == 1, "lanes in a kernel");
  NEED((x->op == OP_SINK) == root, "the root is not a sink, or a sink is not the root");
  for (int i = 0; i < x->nsrc; i++) {
    Op s = (Op)node(ir, x->src[i])->op;
    bool binder = x->op == OP_RED || x->op == OP_NEST;
    NEED(!(binder && i) || s == OP_RANGE, "a source is not a range");
    NEED((x->op == OP_SINK) == (s == OP_NEST), "a sink holds something other than nests, or another node holds a nest");
    NEED((x->op == OP_NEST && !i) == (s == OP_STORE), "a nest has no store, or another node has one");
    NEED(s != OP_BUFFER || ((x->op == OP_LOAD || x->op == OP_STORE) && !i), "a buffer is loaded from or stored to");
    for (int j = 1; binder && j < i; j++) NEED(x->src[j] != x->src[i], "a range is given twice");
  }
  NEED(x->op != OP_RED || (op_reduces(x->arg[0]) && x->nsrc > 1), "the op cannot reduce, or there is no range");
  NEED(x->op != OP_NEST || x->nsrc, "an empty nest");
  for (int k = 1; x->op == OP_RED && k < x->nsrc; k++)
    NEED(node(ir, x->src[k])->arg[2] != RK_SERIAL, "only loops of a nest are serial");
}

/* Rules for serial loops that passes rely on: stores of one loop may conflict, and no reduction is inside. */
static void verify_serial(const IR *ir, Ref r) {
  Refs all = { 0 };
  bool serial = false, reduces = false;
  ir_toposort(ir, &r, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    serial |= x->op == OP_RANGE && x->arg[2] == RK_SERIAL;
    reduces |= x->op == OP_RED;
  }
  VEC_FREE(&all);
  NEED(!serial || !reduces, "a reduction in a serial loop");
}

/* A copy of an operand to shared memory, which may be inside the loop of a reduction */
static bool fills_shared(const IR *ir, Ref copy) {
  const Node *x = node(ir, copy), *body = x->op == OP_NEST ? node(ir, nest_body(x)) : NULL;
  if (body && body->op == OP_SINK) body = node(ir, sink_part(body, 0));
  return body && body->op == OP_STORE && ir->bufs.p[node(ir, store_buffer(body))->arg[0]].kind == BUF_SHARED;
}

/* ---- free ranges ----
 * Every range must be bound where it is used. Sets of free ranges are rows of bits. Nests inside of a nest may use its ranges.
 * Copies to shared memory, and prefetches, may also use those of its reductions. */
typedef struct FreeRanges {
  RefMap row, column;      /* a node: its index in the list + 1; a range: its bit + 1 */
  size_t words;            /* words of 64 bits in a row */
  uint64_t *set;           /* a row for each node of the list: the ranges that are free in it */
  uint64_t *copies;        /* a row: the ranges that are free in copies to shared memory */
  uint64_t *reduced;       /* a row: the ranges of reductions and of the root */
} FreeRanges;

static FreeRanges free_ranges(const IR *ir, const Refs *all) {
  FreeRanges f = { 0 };
  RefMap ids = { 0 };      /* range id + 1 to the range */
  for (size_t i = 0; i < all->n; i++) {
    Ref r = all->p[i];
    refmap_set(&f.row, r, (Ref)i + 1);
    if (node(ir, r)->op != OP_RANGE) continue;
    Ref id = (Ref)node(ir, r)->arg[1] + 1;
    NEED(!refmap_get(&ids, id), "two ranges of one number");
    refmap_set(&ids, id, r);
    refmap_set(&f.column, r, f.column.n + 1);
  }
  refmap_free(&ids);
  f.words = f.column.n / 64 + 1;
  f.set = xmalloc(size_mul(size_mul(all->n, f.words), sizeof *f.set));
  f.copies = xcalloc(f.words, sizeof *f.copies);
  f.reduced = xcalloc(f.words, sizeof *f.reduced);
  return f;
}

static void free_ranges_drop(FreeRanges *f) {
  free(f->set);
  free(f->copies);
  free(f->reduced);
  refmap_free(&f->row);
  refmap_free(&f->column);
}

/* Fills row `mine` for node r, from the rows of its sources */
static void find_free(const IR *ir, Ref r, Ref root, FreeRanges *f, uint64_t *mine) {
  const Node *x = node(ir, r);
  const bool binder = x->op == OP_RED || x->op == OP_NEST;
  memset(mine, 0, f->words * sizeof *mine);
  if (x->op == OP_PREFETCH) return; /* checked by verify_prefetches */
  if (x->op == OP_RANGE) mine[(refmap_get(&f->column, r) - 1) / 64] |= UINT64_C(1) << (refmap_get(&f->column, r) - 1) % 64;
  for (int k = 0; k < (binder ? 1 : x->nsrc); k++) {
    const uint64_t *theirs = f->set + (refmap_get(&f->row, x->src[k]) - 1) * f->words;
    const bool copy = x->op == OP_SINK && r != root && fills_shared(ir, x->src[k]);
    for (size_t w = 0; w < f->words; w++) *(copy ? &f->copies[w] : &mine[w]) |= theirs[w];
  }
  for (int k = 1; binder && k < x->nsrc; k++) {
    const Ref bit = refmap_get(&f->column, x->src[k]) - 1;
    mine[bit / 64] &= ~(UINT64_C(1) << bit % 64);
    if (x->op == OP_RED || r == root) f->reduced[bit / 64] |= UINT64_C(1) << bit % 64;
  }
  for (size_t w = 0; w < f->words && r == root && binder; w++) mine[w] |= f->copies[w] & ~f->reduced[w];
}

static void verify_scopes(const IR *ir, Ref root, const Refs *all) {
  FreeRanges f = free_ranges(ir, all);
  for (size_t i = 0; i < all->n; i++) {
    const Ref r = all->p[i];
    uint64_t *mine = f.set + i * f.words;
    find_free(ir, r, root, &f, mine);
    const bool closed = r == root || (node(ir, r)->op == OP_NEST && node(ir, root)->op == OP_SINK);
    for (size_t w = 0; w < f.words && closed; w++) NEED(!mine[w], "a range is used outside of its nest");
  }
  free_ranges_drop(&f);
}

void ir_verify_kernel(const IR *ir, Ref sink) {
  Refs all = { 0 };
  ir_toposort(ir, &sink, 1, &all);
  for (size_t i = 0; i < all.n; i++) verify_kernel_node(ir, all.p[i], all.p[i] == sink);
  for (int k = 0; k < node(ir, sink)->nsrc; k++) verify_serial(ir, node(ir, sink)->src[k]);
  verify_scopes(ir, sink, &all);
  VEC_FREE(&all);
}

/* ---- nests between two steps ----
 * As in a kernel, but nests may have lanes and ops of programs without effect. In place of the store there may be a sink of
 * stores, prefetches and nests that copy operands. */
enum { MOST_LANES = 64 }; /* bytes of the widest vector of all machines */

static void verify_nest_node(const IR *ir, Ref r, Ref root) {
  const Node *x = node(ir, r);
  const bool binder = x->op == OP_RED || x->op == OP_NEST;
  verify_inner(ir, r);
  verify_wide(ir, r, x);
  if (!binder && x->op != OP_SINK) verify_lanes(ir, r, x);
  NEED(x->op != OP_RED || node(ir, red_value(x))->lanes == x->lanes, "lanes of sources differ");
  NEED(x->op != OP_RANGE || range_kind(x) != RK_VEC || range_extent(x) <= MOST_LANES, "more lanes than a vector has");
  for (int i = 0; i < x->nsrc; i++) {
    const Op s = (Op)node(ir, x->src[i])->op;
    NEED(!(binder && i) || s == OP_RANGE, "a source is not a range");
    NEED(x->op != OP_SINK || s == OP_STORE || s == OP_PREFETCH || s == OP_NEST, "a sink has stores, prefetches and nests");
    NEED((x->op == OP_NEST && !i) || s != OP_SINK, "a sink is in a nest, and nowhere else");
    NEED(x->op == OP_SINK || (x->op == OP_NEST && !i) || (s != OP_STORE && s != OP_PREFETCH && s != OP_NEST),
         "a source has no value");
    NEED(x->op != OP_NEST || i || s == OP_STORE || s == OP_SINK, "a nest has a store or a sink");
    for (int j = 1; binder && j < i; j++) NEED(x->src[j] != x->src[i], "a range is given twice");
  }
  NEED(x->op != OP_RED || (op_reduces(x->arg[0]) && x->nsrc > 1), "the op cannot reduce, or there is no range");
  NEED(r != root || x->op == OP_NEST, "not a nest");
  switch ((Op)x->op) {
  case OP_ACC: case OP_SET: case OP_GET: case OP_LOOP: case OP_END: case OP_TILES: verify_broken(ir, r, "not an op of nests");
  default: NEED(op_info[x->op].level != L_GRAPH, "not an op of nests");
  }
}

/* Each range in an address to prefetch must have a loop in the nest. */
static void verify_prefetches(const IR *ir, const Refs *all) {
  RefMap bound = { 0 };
  Refs below = { 0 };
  bool any = false;
  for (size_t i = 0; i < all->n && !any; i++) any = node(ir, all->p[i])->op == OP_PREFETCH;
  for (size_t i = 0; i < all->n && any; i++) {
    const Node *x = node(ir, all->p[i]);
    for (int k = 1; k < x->nsrc && (x->op == OP_RED || x->op == OP_NEST); k++) refmap_set(&bound, x->src[k], 1);
    if (x->op == OP_PREFETCH) ir_toposort(ir, &all->p[i], 1, &below);
  }
  for (size_t i = 0; i < below.n; i++) {
    const Ref r = below.p[i];
    NEED(node(ir, r)->op != OP_RANGE || refmap_get(&bound, r), "a prefetch by a range that no loop of its nest has");
  }
  VEC_FREE(&below);
  refmap_free(&bound);
}

void ir_verify_nest(const IR *ir, Ref nest) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) verify_nest_node(ir, all.p[i], nest);
  verify_prefetches(ir, &all);
  verify_scopes(ir, nest, &all);
  VEC_FREE(&all);
}
