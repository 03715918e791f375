/* SPDX-License-Identifier: MIT */
/* narrow.c: the step `narrow` makes a program compute its indices in 32 bits, on machines with 32-bit registers.
 *
 * Most devices have such registers, and so do CPUs with pointers of 32 bits. There 64 bits take two registers and several
 * instructions, and a division takes a call. Programs for other machines stay as they are. Index arithmetic consists of the
 * sources of indices and gates, and of ops on ranges and constants alone. Such an op becomes i32 if the bounds of its operands
 * and its result are within i32. Then it cannot overflow, and its value is the same. A range becomes i32 as well, so the loop
 * counts in 32 bits and no op needs a cast to use it. Threads begin a shared loop at begin * extent / chunks, so that product
 * must be within i32, too. A cast is listed where the two widths meet. This is below an index that depends on data, and above a
 * value that goes to memory or becomes a float.
 *
 * Elements of i64 tensors are loaded, computed and stored as before. So are constant indices, which cost nothing.
 *
 * needs: programs   gives: the same with i32 where it suffices   keeps: the value of every element   breaks: nothing */
#include "listing.h"
#include "lower.h"

typedef struct Narrowing {
  IR *ir;
  int chunks;              /* the kernel's; at least 1 */
  RefMap wanted;           /* integers that belong to index arithmetic */
  RefMap now;              /* replaced nodes */
  Listing list;
} Narrowing;

/* ---- index arithmetic ---- */
static bool fits(const Node *x) { return x->vmin >= INT32_MIN && x->vmax <= INT32_MAX; }
static bool index_type(const Node *x) { return x->dt == DT_I64 || x->dt == DT_BOOL; }

/* Ops whose bounds and those of their operands say whether i32 suffices */
static bool is_arithmetic(const Node *x) {
  switch ((Op)x->op) {
  case OP_ADD: case OP_SUB: case OP_MUL: case OP_NEG: case OP_ABS: case OP_FLDIV: case OP_FLMOD: case OP_DIV: case OP_MOD:
  case OP_MIN: case OP_MAX: case OP_WHERE: case OP_AND: case OP_OR: case OP_XOR: case OP_NOT: case OP_SHL: case OP_SHR:
  case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE: case OP_CAST: case OP_BCAST: case OP_LANE: case OP_VEC:
    return true;
  default: return false;
  }
}

static void want(Narrowing *n, Ref r) {
  if (r) refmap_set(&n->wanted, r, 1);
}

/* Marks ops on ranges and constants alone. Sources come first. */
static void want_ranges(Narrowing *n, const Refs *prog) {
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(n->ir, prog->p[i]);
    bool pure = x->op == OP_RANGE || x->op == OP_SIZE || (is_arithmetic(x) && index_type(x));
    for (int k = 0; k < x->nsrc && pure; k++)
      pure = node(n->ir, x->src[k])->op == OP_CONST || refmap_get(&n->wanted, x->src[k]);
    if (pure) want(n, prog->p[i]);
  }
}

/* Marks sources of indices and gates. Users come last. */
static void want_indices(Narrowing *n, const Refs *prog) {
  for (size_t i = prog->n; i-- > 0;) {
    const Node *x = node(n->ir, prog->p[i]);
    if (is_access(x)) want(n, access_index(x));
    if (x->op == OP_PART) want(n, part_index(x));
    if (x->op == OP_PREFETCH) want(n, prefetch_index(x));
    if (x->op == OP_LOAD || x->op == OP_STORE) want(n, access_gate(x));
    if (x->op == OP_LOOP) want(n, loop_gate(x));
    if (!refmap_get(&n->wanted, prog->p[i]) || !is_arithmetic(x)) continue;
    for (int k = 0; k < x->nsrc; k++)
      if (index_type(node(n->ir, x->src[k]))) want(n, x->src[k]);
  }
}

static bool sources_fit(const IR *ir, const Node *x) {
  for (int k = 0; k < x->nsrc; k++)
    if (node(ir, x->src[k])->dt == DT_I64 && !fits(node(ir, x->src[k]))) return false;
  return true;
}

/* Whether the op becomes i32, or for a comparison, its operands. */
static bool narrows(const Narrowing *n, Ref r) {
  const Node *x = node(n->ir, r);
  bool any = x->dt == DT_I64;
  if (!refmap_get(&n->wanted, r) || !index_type(x) || !fits(x)) return false;
  if (x->op == OP_RANGE) return range_extent(x) <= INT32_MAX / (range_kind(x) == RK_THREAD ? n->chunks : 1);
  if (x->op == OP_SIZE) return true;
  for (int k = 0; k < x->nsrc && !any; k++) any = node(n->ir, x->src[k])->dt == DT_I64;
  return any && is_arithmetic(x) && sources_fit(n->ir, x) && (x->op != OP_CAST || x->dt == DT_I64);
}

/* ---- the program ---- */
static Ref now(const Narrowing *n, Ref r) {
  const Ref to = refmap_get(&n->now, r);
  return to ? to : r;
}

static Ref make(IR *ir, const Node *like, Op op, DType d, int nsrc, const Ref *src) {
  return node_make(ir, op, d, like->lanes, nsrc, src, like->op == op ? like->narg : 0, like->arg, 0, NULL);
}

/* r in the new program, as i32 or i64 (d); a cast is added if it has the other type */
static Ref as(Narrowing *n, Ref r, DType d) {
  const Node *x = node(n->ir, r);
  const Ref is = now(n, r);
  if (node(n->ir, is)->dt == d) return is;
  if (x->op == OP_CONST) return c_int(n->ir, d, const_value(x));
  const Ref to = make(n->ir, x, OP_CAST, d, 1, &is);
  listing_once(&n->list, to);
  return to;
}

/* Source k of x in the new program */
static Ref source_of(Narrowing *n, const Node *x, int k, bool narrow) {
  const Ref s = x->src[k];
  const bool index = (is_access(x) || x->op == OP_PART || x->op == OP_PREFETCH) && k == 1;
  const bool block = x->op == OP_LOOP || x->op == OP_END;
  if (node(n->ir, s)->dt != DT_I64 || (index && node(n->ir, s)->op != OP_CONST) || block) return now(n, s);
  if (x->op == OP_CAST && (narrow || node(n->ir, now(n, s))->dt == DT_I32)) return now(n, s);
  return as(n, s, narrow ? DT_I32 : DT_I64);
}

static void narrow_line(Narrowing *n, Ref r) {
  IR *ir = n->ir;
  const Node *x = node(ir, r);
  Refs src = { 0 };
  ir->origin = x->origin;
  if (x->op == OP_CONST) return; /* listed where they are used */
  if (x->op == OP_BUFFER) {
    listing_once(&n->list, r);
    return;
  }
  const bool narrow = narrows(n, r);
  for (int k = 0; k < x->nsrc; k++) {
    const Ref s = source_of(n, x, k, narrow);
    if (node(ir, s)->op == OP_CONST) listing_once(&n->list, s);
    VEC_PUSH(&src, s);
  }
  const DType d = narrow && x->dt == DT_I64 ? DT_I32 : (DType)x->dt;
  const bool same = x->op == OP_CAST && node(ir, src.p[0])->dt == d; /* a cast whose operand has the type by now */
  const Ref to = same ? src.p[0] : make(ir, x, (Op)x->op, d, (int)src.n, src.p);
  if (!same && x->op == OP_RANGE) listing_once(&n->list, to);
  else if (!same) listing_put(&n->list, to);
  if (to != r) refmap_set(&n->now, r, to);
  CHECK(!narrow || (node(ir, to)->vmin == x->vmin && node(ir, to)->vmax == x->vmax));
  VEC_FREE(&src);
}

void step_narrow(Plan *p, Kernel *k) {
  Refs out = { 0 };
  if (!target_counts_in_32(p->in->target)) return;
  Narrowing n = { .ir = p->ir, .chunks = k->chunks > 1 ? k->chunks : 1, .list = { .ir = p->ir, .out = &out } };
  want_ranges(&n, &k->prog);
  want_indices(&n, &k->prog);
  for (size_t i = 0; i < k->prog.n; i++) narrow_line(&n, k->prog.p[i]);
  VEC_FREE(&k->prog);
  k->prog = out;
  listing_free(&n.list);
  refmap_free(&n.wanted);
  refmap_free(&n.now);
}
