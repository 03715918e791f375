/* SPDX-License-Identifier: MIT */
/* ir_verify.c: checks that nodes obey ops.h. A violation is a bug in tgc, since front ends check user input before they make
 * nodes. In lines of a dump (IR.dump) it is an error of the user. Common rules (arity, arguments, types) come from the op
 * table. Each level adds its own: shapes of graphs, scopes of ranges in kernels and nests, order and lanes in programs. Time is
 * linear in the size, but for the sets of free ranges of kernels.
 *
 * needs: nodes    gives: nothing; a node that breaks a rule is a bug    breaks: nothing */
#include "ir.h"
#include "refmap.h"
#include "verify.h"

static bool reducing(int64_t op) { return op == OP_ADD || op == OP_MUL || op == OP_MAX || op == OP_MIN; }

/* number of values in the args column: one each, one per dimension of the first source, or one per lane */
static int args_wanted(const Node *x, const Node *s0) {
  int n = 0;
  for (const char *p = op_info[x->op].args; *p; p++)
    if (*p == ':') n += p[1] == 'l' ? (s0 ? s0->rank : x->rank) : p[1] == 'v' ? x->lanes : 1;
  return n;
}

/* Checks the type column: result(source, ...), where all T are one type, b is bool, i is i64, * is any type. Further sources
 * are checked per op. */
static void verify_types(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  const char *p = op_info[x->op].type;
  DType t = *p == 'T' ? (DType)x->dt : DT_NONE;
  NEED(*p != 'b' || x->dt == DT_BOOL, "the result is not bool");
  p++;
  for (int i = 0; i < x->nsrc && *p && *p != ')'; i++) {
    DType d = (DType)node(ir, x->src[i])->dt;
    switch (*++p) {
    case 'b': NEED(d == DT_BOOL, "a source is not bool"); break;
    case 'i': NEED(d == DT_I64 || (d == DT_I32 && x->op == OP_PART), "a source is not i64"); break;
    case 'T':
      if (t == DT_NONE) t = d;
      NEED(d == t, "types of sources differ");
      break;
    default: break;
    }
    p++;
  }
  if (x->op == OP_HELD)
    NEED(x->nsrc && x->lanes == 1 && x->arg[0] >= 0, "no first value, lanes, or a negative number of steps");
  if (x->op == OP_REPEAT)
    NEED(x->nsrc > 1 && node(ir, repeat_held(x))->op == OP_HELD && x->lanes == 1, "the second source is not what it holds");
  if (x->op == OP_BITCAST) NEED(dtype_info[x->dt].bits == dtype_info[node(ir, operand(x))->dt].bits, "the widths differ");
  Op op = x->op == OP_REDUCE || x->op == OP_SCATTER || x->op == OP_RED || x->op == OP_HRED ? (Op)x->arg[0] : (Op)x->op;
  if (op_info[op].level == L_EXPR) NEED(op_takes(op, (DType)node(ir, x->src[op == OP_WHERE])->dt), "not defined on this type");
}

static void verify_node(const IR *ir, Ref r) {
  CHECK(r && r < ir->n);
  const Node *x = node(ir, r);
  CHECK(x->op > OP_NONE && x->op < OP_COUNT && x->dt < DT_COUNT);
  const OpInfo *op = &op_info[x->op];
  for (int i = 0; i < x->nsrc; i++) NEED(x->src[i] && x->src[i] < r, "a source is missing or younger than the node");
  NEED(op->arity < 0 ? op->arity == ARITY_ANY || x->nsrc > 0 : x->nsrc == op->arity, "wrong number of sources");
  const bool shorter = (x->op == OP_RANGE && x->narg == 3) || (x->op == OP_ITERATE && x->narg == 2); /* without the last one */
  NEED(shorter || x->narg == args_wanted(x, x->nsrc ? node(ir, x->src[0]) : NULL), "wrong number of arguments");
  NEED(x->lanes >= 1, "no lanes");
  NEED(op->level > L_GRAPH || x->dt != DT_NONE, "no type");
  verify_types(ir, r);
}

/* ---- graphs ---- */
static bool same_shape(const Node *x, const Node *y) {
  return x->rank == y->rank && (!x->rank || !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims));
}

static void verify_movement(const IR *ir, Ref r, const Node *x, const Node *s) {
  const int64_t *a = x->arg;
  int n = s->rank;
  uint32_t seen = 0;
  switch ((Op)x->op) {
  case OP_RESHAPE: NEED(dims_elems(x->dims, x->rank) == dims_elems(s->dims, n), "the number of elements changes"); return;
  case OP_EXPAND:
    NEED(x->rank == n, "the rank changes");
    for (int i = 0; i < n; i++) NEED(x->dims[i] == s->dims[i] || s->dims[i] == 1, "an axis that is not 1 is repeated");
    return;
  case OP_PERMUTE:
    NEED(x->rank == n, "the rank changes");
    for (int i = 0; i < n; i++) {
      NEED(a[i] >= 0 && a[i] < n && !(seen >> a[i] & 1), "not a permutation");
      seen |= 1u << a[i];
      NEED(x->dims[i] == s->dims[a[i]], "wrong shape");
    }
    return;
  case OP_SHRINK:
    NEED(x->rank == n, "the rank changes");
    for (int i = 0; i < n; i++) {
      int64_t last;
      if (!x->dims[i]) continue;
      NEED(i64_mul(x->dims[i] - 1, a[n + i], &last) && i64_add(last, a[i], &last), "overflow");
      NEED(a[i] >= 0 && a[i] < s->dims[i] && last >= 0 && last < s->dims[i], "reaches outside of its source");
    }
    return;
  case OP_WINDOW: {
    int64_t last, k;
    NEED(x->rank == n + 1 && a[0] >= 0 && a[0] < n, "wrong rank or axis");
    NEED(a[1] >= 0 && a[2] >= 0, "negative stride or dilation");
    for (int i = 0; i < n; i++) NEED(i == a[0] || x->dims[i] == s->dims[i], "wrong shape");
    if (!x->dims[a[0]] || !x->dims[n]) return;
    NEED(i64_mul(x->dims[a[0]] - 1, a[1], &last) && i64_mul(x->dims[n] - 1, a[2], &k) && i64_add(last, k, &last), "overflow");
    NEED(last < s->dims[a[0]], "reaches outside of its source");
    return;
  }
  case OP_PAD:
    NEED(x->rank == n, "the rank changes");
    NEED(!node(ir, pad_fill(x))->rank, "the fill is not a scalar");
    for (int i = 0; i < n; i++)
      NEED(a[i] >= 0 && a[n + i] >= 0 && x->dims[i] - a[i] - a[n + i] == s->dims[i], "wrong shape");
    return;
  case OP_CAT: {
    int64_t total = 0;
    NEED(a[0] >= 0 && a[0] < x->rank, "no such axis");
    for (int k = 0; k < x->nsrc; k++) {
      const Node *y = node(ir, x->src[k]);
      NEED(y->dt == x->dt, "types of sources differ");
      NEED(y->rank == x->rank, "ranks of sources differ");
      for (int i = 0; i < x->rank; i++) NEED(i == a[0] || y->dims[i] == x->dims[i], "shapes of sources differ");
      total += y->dims[a[0]];
    }
    NEED(x->dims[a[0]] == total, "wrong shape");
    return;
  }
  default: verify_broken(ir, r, "not a movement");
  }
}

void ir_verify_graph_node(const Graph *g, Ref r) {
  const IR *ir = g->ir;
  const Node *x = node(ir, r), *s = node(ir, x->nsrc ? x->src[0] : 0);
  const int64_t *a = x->arg;
  verify_node(ir, r);
  NEED(op_info[x->op].level <= L_GRAPH, "not an op of graphs");
  NEED(x->lanes == 1, "lanes in a graph");
  for (int i = 0; i < x->rank; i++) NEED(x->dims[i] >= 0, "a negative extent");
  if (op_info[x->op].level == L_EXPR) {
    for (int i = 0; i < x->nsrc; i++) NEED(same_shape(x, node(ir, x->src[i])), "shapes of sources differ");
    return;
  }
  switch ((Op)x->op) {
  case OP_CONST: NEED(!x->rank, "a constant with a shape"); break;
  case OP_SIZE: NEED(!x->rank && x->dt == DT_I64, "a size with a shape, or of another type"); break;
  case OP_PARAM: NEED(a[0] >= 0 && a[0] < (int64_t)g->inputs.n && g->inputs.p[a[0]].ref == r, "not the input of its slot"); break;
  case OP_WEIGHT: {
    NEED(a[0] >= 0 && a[0] < (int64_t)ir->tensors.n, "no such tensor");
    const Tensor *t = &ir->tensors.p[a[0]];
    NEED(t->dt == (DType)x->dt && t->rank == x->rank, "another type or rank than its tensor");
    for (int i = 0; i < x->rank; i++) NEED(t->dims[i] == x->dims[i], "another shape than its tensor");
    break;
  }
  case OP_IOTA: NEED(x->rank == 1 && x->dt == DT_I64, "not an i64 vector"); break;
  case OP_GATHER: {
    const Node *index = node(ir, gather_index(x));
    NEED(index->dt == DT_I64, "the index is not i64");
    NEED(same_shape(x, index) && s->rank == x->rank, "wrong shape");
    NEED(a[0] >= 0 && a[0] < x->rank, "no such axis");
    for (int i = 0; i < x->rank; i++) NEED(i == a[0] || s->dims[i] == x->dims[i], "shapes of sources differ");
    break;
  }
  case OP_SCATTER: {
    const Node *index = node(ir, scatter_index(x));
    NEED(!a[0] || reducing(a[0]), "cannot join by this op");
    NEED(same_shape(x, s) && same_shape(index, node(ir, scatter_updates(x))) && index->rank == x->rank, "wrong shape");
    NEED(a[1] >= 0 && a[1] < x->rank, "no such axis");
    for (int i = 0; i < x->rank; i++) NEED(i == a[1] || index->dims[i] == x->dims[i], "shapes of sources differ");
    break;
  }
  case OP_WALK: {
    const char *wrong = g_walk_refuses(ir, x->src, a[0]);
    if (wrong) verify_broken(ir, r, wrong);
    const int64_t trees = node(ir, walk_start(x))->dims[0];
    NEED(x->dt == DT_I64 && x->rank == 2 && x->dims[0] == s->dims[0] && x->dims[1] == trees, "wrong shape");
    break;
  }
  case OP_STORED: NEED(same_shape(x, s) && !s->loop, "wrong shape, or inside of a loop"); break;
  case OP_CARRIED: NEED(same_shape(x, s) && a[0] >= 0 && a[0] < GRAPH_LOOPS && a[1] >= 0, "no such loop or place"); break;
  case OP_SLICE:
    NEED(s->op == OP_STORED && x->rank + 1 == s->rank && a[1] >= 0 && a[1] < s->rank,
         "no such axis, or the source is not stored");
    for (int i = 0, k = 0; i < s->rank; i++) NEED(i == a[1] || x->dims[k++] == s->dims[i], "wrong shape");
    break;
  case OP_YIELD:
    NEED(a[1] < 0 || same_shape(x, s), "wrong shape");
    NEED(a[1] >= 0 || (x->rank == s->rank + 1 && a[2] >= 0 && a[2] < x->rank), "no such axis");
    for (int i = 0, k = 0; i < x->rank && a[1] < 0; i++) NEED(i == a[2] || s->dims[k++] == x->dims[i], "wrong shape");
    break;
  case OP_ITERATE: {
    const char *wrong = g_iterate_refuses(ir, r);
    if (wrong) verify_broken(ir, r, wrong);
    break;
  }
  case OP_RESULT: {
    const Node *y = s->op == OP_ITERATE && a[0] >= 0 && a[0] < s->nsrc ? node(ir, s->src[a[0]]) : NULL;
    NEED(y && y->dt == x->dt && same_shape(x, y), "no such yield, or another shape");
    break;
  }
  case OP_ARM: NEED(same_shape(x, s) && a[0] >= 0 && a[1] >= 0, "wrong shape, or no such branch or place"); break;
  case OP_BRANCH: {
    const char *wrong = g_branch_refuses(ir, r);
    if (wrong) verify_broken(ir, r, wrong);
    break;
  }
  case OP_CHOSEN: {
    const Node *y = s->op == OP_BRANCH && a[0] >= 0 && a[0] < branch_results(s) ? node(ir, branch_arm(s, (int)a[0] + 1)) : NULL;
    NEED(y && y->dt == x->dt && same_shape(x, y), "no such result, or another shape");
    break;
  }
  case OP_REDUCE:
    NEED(reducing(a[0]), "cannot reduce by this op");
    NEED(x->rank == s->rank && a[1] >= 0 && !(a[1] >> x->rank), "no such axis");
    for (int i = 0; i < x->rank; i++) NEED(x->dims[i] == (a[1] >> i & 1 ? 1 : s->dims[i]), "wrong shape");
    break;
  default: verify_movement(ir, r, x, s); break;
  }
}

static void verify_io(const IR *ir, const GIO *io) {
  Ref r = io->ref;
  CHECK(r && r < ir->n);
  const Node *x = node(ir, r);
  NEED((DType)x->dt == io->dt && x->rank == io->rank, "another type or rank than its input or output");
  for (int i = 0; i < x->rank; i++) NEED(x->dims[i] == io->dims[i], "another shape than its input or output");
}

void ir_verify_graph(const Graph *g) {
  Refs all = { 0 }, roots = { 0 };
  for (size_t i = 0; i < g->inputs.n; i++) {
    Ref r = g->inputs.p[i].ref;
    const IR *ir = g->ir;
    verify_io(ir, &g->inputs.p[i]);
    NEED(node(ir, r)->op == OP_PARAM && node(ir, r)->arg[0] == (int64_t)i, "not the parameter of its slot");
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    verify_io(g->ir, &g->outputs.p[i]);
    VEC_PUSH(&roots, g->outputs.p[i].ref);
  }
  ir_toposort(g->ir, roots.p, roots.n, &all);
  for (size_t i = 0; i < all.n; i++) ir_verify_graph_node(g, all.p[i]);
  VEC_FREE(&all);
  VEC_FREE(&roots);
}

/* ---- rules of kernels and programs ---- */
static void verify_access(const IR *ir, Ref r, const Node *x) {
  bool load = x->op == OP_LOAD;
  NEED(x->nsrc == (load ? 2 : 3) || x->nsrc == 4, "wrong number of sources");
  const Node *buf = node(ir, access_buffer(x)), *index = node(ir, access_index(x)), *value = load ? x : node(ir, store_value(x));
  NEED(buf->op == OP_BUFFER, "the first source is not a buffer");
  NEED(value->dt == buf->dt, "the element is of another type than the buffer");
  NEED(index->dt == DT_I64 || index->dt == DT_I32, "the index is not i64 or i32");
  NEED(index->lanes == 1 || index->lanes == value->lanes, "the number of indices is neither one nor that of the lanes");
  if (!access_gate(x)) return;
  const Node *cond = node(ir, access_gate(x));
  NEED(cond->dt == DT_BOOL, "the gate is not bool");
  NEED(cond->lanes == 1 || cond->lanes == value->lanes, "the number of gates is neither one nor that of the lanes");
  if (!load) return;
  const Node *other = node(ir, load_else(x));
  NEED(other->dt == x->dt && other->lanes == x->lanes, "the alternative is of another type");
}

/* Size number - 1 is at most `most` in every run. Texts of kernels have no table, so only the number is known there. */
static void verify_size(const IR *ir, Ref r, int64_t number, int64_t most) {
  if (!number || !ir->symbols.n) return;
  NEED(number <= (int64_t)ir->sizes.n, "no such size");
  NEED(greatest_size(ir, (int)number - 1) <= most, "a size may be greater than its bound");
}

static void verify_inner(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  verify_node(ir, r);
  NEED(!x->rank, "a shape below the graph level");
  switch ((Op)x->op) {
  case OP_BUFFER:
    NEED(x->arg[0] >= 0 && x->arg[0] < (int64_t)ir->bufs.n, "no such buffer");
    NEED(ir->bufs.p[x->arg[0]].dt == (DType)x->dt, "another type than its buffer");
    break;
  case OP_RANGE:
    NEED(x->dt == DT_I64 || (x->dt == DT_I32 && x->arg[0] <= INT32_MAX), "not i64, or too long for i32");
    NEED(x->arg[0] >= 0 && x->arg[2] >= 0 && x->arg[2] < RK_COUNT, "no such extent or kind");
    NEED(!range_limit(x) || x->arg[2] == RK_LOOP || x->arg[2] == RK_REDUCE || x->arg[2] == RK_THREAD, "only a loop has a limit");
    verify_size(ir, r, range_limit(x), x->arg[0]);
    break;
  case OP_SIZE:
    NEED(x->arg[0] >= 0 && x->arg[1] >= 0 && (x->dt == DT_I64 || (x->dt == DT_I32 && x->arg[1] <= INT32_MAX)), "no such size");
    verify_size(ir, r, x->arg[0] + 1, x->arg[1]);
    break;
  case OP_LOAD: case OP_STORE: verify_access(ir, r, x); break;
  case OP_TILE: case OP_PREFETCH:
    NEED(node(ir, access_buffer(x))->op == OP_BUFFER, "the first source is no buffer");
    NEED(x->op == OP_PREFETCH || node(ir, access_buffer(x))->dt == x->dt, "another type than the buffer");
    NEED(node(ir, access_index(x))->lanes == 1, "the index is not one number");
    NEED(node(ir, access_index(x))->dt == DT_I64 || node(ir, access_index(x))->dt == DT_I32, "the index is not i64 or i32");
    break;
  default: break;
  }
}

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
  NEED(x->op != OP_RED || (reducing(x->arg[0]) && x->nsrc > 1), "the op cannot reduce, or there is no range");
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

/* Every range must be bound where it is used. Sets of free ranges are rows of bits. Nests inside of a nest may use its ranges.
 * Copies to shared memory, and prefetches, may also use those of its reductions. */
static void verify_scopes(const IR *ir, Ref root, const Refs *all) {
  RefMap row = { 0 };   /* node to its index in all + 1 */
  RefMap column = { 0 }; /* range to its bit + 1 */
  RefMap ids = { 0 };   /* range id + 1 to the range */
  for (size_t i = 0; i < all->n; i++) {
    Ref r = all->p[i];
    refmap_set(&row, r, (Ref)i + 1);
    if (node(ir, r)->op != OP_RANGE) continue;
    Ref id = (Ref)node(ir, r)->arg[1] + 1;
    NEED(!refmap_get(&ids, id), "two ranges of one number");
    refmap_set(&ids, id, r);
    refmap_set(&column, r, column.n + 1);
  }
  size_t words = column.n / 64 + 1;
  uint64_t *set = xmalloc(size_mul(size_mul(all->n, words), sizeof *set));
  uint64_t *copies = xcalloc(words, sizeof *copies), *reduced = xcalloc(words, sizeof *reduced);
  for (size_t i = 0; i < all->n; i++) {
    Ref r = all->p[i];
    const Node *x = node(ir, r);
    uint64_t *mine = set + i * words;
    bool binder = x->op == OP_RED || x->op == OP_NEST;
    memset(mine, 0, words * sizeof *mine);
    if (x->op == OP_RANGE) mine[(refmap_get(&column, r) - 1) / 64] |= UINT64_C(1) << (refmap_get(&column, r) - 1) % 64;
    for (int k = 0; k < (binder ? 1 : x->nsrc); k++) {
      const uint64_t *theirs = set + (refmap_get(&row, x->src[k]) - 1) * words;
      const bool copy = x->op == OP_SINK && r != root && fills_shared(ir, x->src[k]);
      for (size_t w = 0; w < words; w++) *(copy ? &copies[w] : &mine[w]) |= theirs[w];
    }
    for (int k = 1; binder && k < x->nsrc; k++) {
      Ref bit = refmap_get(&column, x->src[k]) - 1;
      mine[bit / 64] &= ~(UINT64_C(1) << bit % 64);
      if (x->op == OP_RED || r == root) reduced[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    for (size_t w = 0; w < words && r == root && binder; w++) mine[w] |= copies[w] & ~reduced[w];
    if (x->op == OP_PREFETCH) memset(mine, 0, words * sizeof *mine); /* checked by verify_prefetches */
    const bool closed = r == root || (x->op == OP_NEST && node(ir, root)->op == OP_SINK);
    for (size_t w = 0; w < words && closed; w++) NEED(!mine[w], "a range is used outside of its nest");
  }
  free(set);
  free(copies);
  free(reduced);
  refmap_free(&row);
  refmap_free(&column);
  refmap_free(&ids);
}

void ir_verify_kernel(const IR *ir, Ref sink) {
  Refs all = { 0 };
  ir_toposort(ir, &sink, 1, &all);
  for (size_t i = 0; i < all.n; i++) verify_kernel_node(ir, all.p[i], all.p[i] == sink);
  for (int k = 0; k < node(ir, sink)->nsrc; k++) verify_serial(ir, node(ir, sink)->src[k]);
  verify_scopes(ir, sink, &all);
  VEC_FREE(&all);
}

/* ---- programs ---- */
static void verify_lanes(const IR *ir, Ref r, const Node *x) {
  const Node *s = node(ir, x->nsrc ? x->src[0] : 0);
  switch ((Op)x->op) {
  case OP_BCAST: NEED(s->lanes == 1, "the source is not a scalar"); return;
  case OP_VEC:
    NEED(x->nsrc == x->lanes, "the number of sources is not that of the lanes");
    for (int i = 0; i < x->nsrc; i++) {
      NEED(node(ir, x->src[i])->lanes == 1, "a source is not a scalar");
      NEED(node(ir, x->src[i])->dt == x->dt, "types of sources differ");
    }
    return;
  case OP_LANE: NEED(x->lanes == 1 && x->arg[0] >= 0 && x->arg[0] < s->lanes, "the source has no such lane"); return;
  case OP_SHUFFLE:
    NEED(node(ir, rhs(x))->lanes == s->lanes, "lanes of sources differ");
    for (int i = 0; i < x->lanes; i++) NEED(x->arg[i] >= 0 && x->arg[i] < 2 * s->lanes, "the source has no such lane");
    return;
  case OP_LOOKUP: {
    const Node *index = node(ir, lookup_index(x));
    NEED(index->dt == DT_U32 && index->lanes == x->lanes, "not one index of type u32 for each lane");
    NEED(s->lanes > 1 && !(s->lanes & (s->lanes - 1)), "the lanes of the table are not a power of two");
    return;
  }
  case OP_DOT: {
    const Node *a = node(ir, dot_x(x)), *b = node(ir, dot_y(x));
    int group = b->lanes / x->lanes;
    NEED(s->lanes == x->lanes, "lanes of sources differ");
    NEED(group > 1 && group * x->lanes == b->lanes && (a->lanes == b->lanes || a->lanes == group), "not one group for each lane");
    NEED(dt_float((DType)x->dt) == dt_float((DType)a->dt) && dt_float((DType)x->dt) == dt_float((DType)b->dt),
         "sums of another kind than the products");
    return;
  }
  case OP_TILE: NEED(x->arg[0] > 0 && x->lanes % x->arg[0] == 0, "rows of different lengths"); return;
  case OP_MMA: {
    const Node *a = node(ir, mma_x(x)), *b = node(ir, mma_y(x));
    const int64_t rows = x->arg[0], depth = x->arg[1];
    NEED(rows > 0 && depth > 0 && s->lanes == x->lanes && x->lanes % rows == 0, "no matrices");
    NEED(a->lanes % (rows * depth) == 0 && a->lanes / rows * (x->lanes / rows) == b->lanes,
         "matrices that do not fit each other");
    NEED(dt_float((DType)x->dt) == dt_float((DType)a->dt) && dt_float((DType)x->dt) == dt_float((DType)b->dt),
         "sums of another kind than the products");
    return;
  }
  case OP_WMMA: {
    const int64_t m = x->arg[0], n = x->arg[1], k = x->arg[2];
    NEED(m > 0 && n > 0 && k > 0 && s->lanes == x->lanes && m * n % x->lanes == 0, "no matrices");
    const int64_t threads = m * n / x->lanes;
    NEED(node(ir, wmma_x(x))->lanes * threads == m * k && node(ir, wmma_y(x))->lanes * threads == k * n,
         "fragments of matrices that do not fit each other");
    return;
  }
  case OP_SPILL: NEED(s->lanes == x->lanes, "lanes of sources differ"); return;
  case OP_PART:
    NEED(s->op == OP_SPILL && x->lanes <= s->lanes && node(ir, part_index(x))->lanes == 1, "no part of a tile in memory");
    return;
  case OP_HRED: NEED(x->lanes == 1 && reducing(x->arg[0]), "a vector, or reduces by no op"); return;
  case OP_SHFLXOR:
    NEED(x->lanes == 1 && s->lanes == 1 && x->arg[0] > 0 && !(x->arg[0] & (x->arg[0] - 1)), "a vector, or a mask of not one bit");
    return;
  case OP_CONST: case OP_BUFFER: case OP_RANGE: case OP_SIZE: NEED(x->lanes == 1, "not a scalar"); return;
  default:
    if (op_by_lane((Op)x->op))
      for (int i = 0; i < x->nsrc; i++) NEED(node(ir, x->src[i])->lanes == x->lanes, "lanes of sources differ");
    return;
  }
}

static void verify_variable(const IR *ir, Ref r, const Node *x) {
  const Node *acc = x->op == OP_ACC ? x : node(ir, variable_of(x)), *value = x;
  if (x->op == OP_ACC) {
    NEED(x->nsrc == 1, "it needs one initial value");
    value = node(ir, acc_init(x));
  } else if (x->op == OP_SET) {
    value = node(ir, set_value(x));
  }
  NEED(acc->op == OP_ACC, "the first source is not a variable");
  NEED(value->dt == acc->dt && value->lanes == acc->lanes, "another type than the variable");
  for (int i = 1; x->op == OP_GET && i < x->nsrc; i++) {
    const Node *set = node(ir, x->src[i]);
    NEED(set->op == OP_SET && set_acc(set) == get_acc(x), "not a set of the variable");
  }
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
  NEED(x->op != OP_RED || (reducing(x->arg[0]) && x->nsrc > 1), "the op cannot reduce, or there is no range");
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

typedef struct Scope { Ref range; bool open; } Scope;

void ir_verify_program(const IR *ir, const Ref *list, size_t n) {
  RefMap where = { 0 }; /* node to the number of its scope + 1 */
  VEC(Scope) scopes = { 0 };
  VEC(Ref) nest = { 0 }; /* numbers of the open scopes */
  RefMap listed = { 0 }; /* node to the number of barriers before it */
  Ref barriers = 0;
  Ref alone = 0;         /* a store outside of all thread ranges */
  bool threads = false, device = false;
  VEC_PUSH(&scopes, ((Scope){ 0, true }));
  VEC_PUSH(&nest, 0);
  for (size_t i = 0; i < n; i++) {
    Ref r = list[i];
    const Node *x = node(ir, r);
    Ref in_threads = 0; /* scope + 1 of the open thread range */
    for (size_t d = 1; d < nest.n; d++)
      if (node(ir, scopes.p[nest.p[d]].range)->arg[2] == RK_THREAD) in_threads = nest.p[d] + 1;
    verify_inner(ir, r);
    NEED(op_info[x->op].level != L_GRAPH && x->op != OP_RED && x->op != OP_NEST && x->op != OP_SINK && x->op != OP_HELD &&
           x->op != OP_REPEAT,
         "not an op of programs");
    const bool own = x->op == OP_STORE && buf_is_own(ir->bufs.p[node(ir, store_buffer(x))->arg[0]].kind);
    if (x->op == OP_STORE && !in_threads && !own) alone = r;
    verify_lanes(ir, r, x);
    for (int k = 0; k < x->nsrc; k++) {
      const Node *s = node(ir, x->src[k]);
      if (s->op == OP_CONST || s->op == OP_BUFFER) continue; /* valid anywhere */
      if (s->op == OP_RANGE) {
        bool inside = x->op == OP_LOOP || x->op == OP_END;
        for (size_t d = 1; d < nest.n; d++) inside |= scopes.p[nest.p[d]].range == x->src[k];
        NEED(inside, "a range is used outside of its loop");
        continue;
      }
      Ref scope = refmap_get(&where, x->src[k]);
      NEED(scope, "a source comes later or never");
      NEED(scopes.p[scope - 1].open || (x->op == OP_GET && k), "a source is inside a loop that has ended");
      NEED(s->op != OP_STORE && s->op != OP_PREFETCH && s->op != OP_LOOP && s->op != OP_END && s->op != OP_BARRIER,
           "a source has no value");
      NEED(s->op != OP_ACC || ((x->op == OP_SET || x->op == OP_GET) && !k), "a variable is read by get");
      NEED(x->op != OP_SET || k || scope >= in_threads, "a reduction that threads would share");
    }
    if (x->op == OP_ACC || x->op == OP_SET || x->op == OP_GET) verify_variable(ir, r, x);
    if (x->op == OP_LOOP) {
      const Node *range = node(ir, loop_range(x));
      NEED(range->op == OP_RANGE, "loops over no range");
      verify_inner(ir, loop_range(x));
      const Node *gate = loop_gate(x) ? node(ir, loop_gate(x)) : NULL;
      NEED(x->nsrc <= 2 && (!gate || (gate->dt == DT_BOOL && gate->lanes == 1)), "the gate is not one bool");
      NEED(range->arg[2] != RK_VEC && range->arg[2] != RK_UNROLL && range->arg[2] != RK_DOT && range->arg[2] != RK_DEPTH &&
               range->arg[2] != RK_FRAG,
           "a range that was to be replicated");
      NEED(range->arg[2] != RK_THREAD || !in_threads, "a range of threads inside another one");
      threads |= range->arg[2] == RK_THREAD;
      device |= range_is_place((RangeKind)range->arg[2]);
      for (size_t d = 1; d < nest.n; d++) NEED(scopes.p[nest.p[d]].range != loop_range(x), "a loop inside itself");
      VEC_PUSH(&nest, (Ref)scopes.n);
      VEC_PUSH(&scopes, ((Scope){ loop_range(x), true }));
      continue;
    }
    if (x->op == OP_END) {
      NEED(nest.n > 1 && scopes.p[nest.p[nest.n - 1]].range == end_range(x), "ends another loop than the innermost");
      scopes.p[nest.p[--nest.n]].open = false;
      continue;
    }
    Ref before = refmap_get(&where, r);
    NEED(!before || !scopes.p[before - 1].open || refmap_get(&listed, r) != barriers, "twice in one scope");
    refmap_set(&where, r, nest.p[nest.n - 1] + 1);
    barriers += x->op == OP_BARRIER;
    if (x->op == OP_BARRIER && nest.n == 1) { /* a new launch begins; no value passes into it */
      scopes.p[nest.p[0]].open = false;
      nest.p[0] = (Ref)scopes.n;
      VEC_PUSH(&scopes, ((Scope){ 0, true }));
    }
    if (barriers) refmap_set(&listed, r, barriers);
  }
  if (nest.n > 1) verify_broken(ir, scopes.p[nest.p[nest.n - 1]].range, "its loop has no end");
  if (threads && alone) verify_broken(ir, alone, "a store that every thread would do");
  if (threads && device) verify_broken(ir, list[0], "ranges of threads in a program of blocks");
  verify_device(ir, list, n, device);
  refmap_free(&where);
  refmap_free(&listed);
  VEC_FREE(&scopes);
  VEC_FREE(&nest);
}
