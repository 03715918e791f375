/* SPDX-License-Identifier: MIT */
/* parse_graph.c: lines of graphs. Checks everything that the constructors of graph_build.c would report as a bug. */
#include "parse.h"

/* ---- ops ---- */
static const int64_t *type_shape(Parser *p, const char *at) {
  if (p->type.rank < 0) scan_bad(p, p->type.at ? p->type.at : at, "the result's shape is not given; write it after ':'");
  return p->type.dims;
}

static void check_axis(Parser *p, const char *at, Ref x, int64_t axis) {
  if (axis < 0 || axis >= node(p->ir, x)->rank)
    scan_bad(p, at, "there is no axis %lld in %s", (long long)axis, scan_dims_of(p, x));
}

static void check_dims(Parser *p, const char *at, DType d, int rank, const int64_t *dims) {
  if (!scan_dims_fit(d, rank, dims)) scan_bad(p, at, "the shape %s has too many elements", scan_dims_text(p, rank, dims));
}

/* Elementwise ops broadcast their sources to the common shape; if all are literals, to the line's shape. */
static Ref graph_elementwise(Parser *p, const char *at, Op op) {
  const OpInfo *info = &op_info[op];
  bool convert = info->type[0] == '*';
  DType shared = parse_shared_type(p, op);
  int64_t dims[MAX_RANK];
  int rank = 0, named = 0;
  for (size_t i = 0; i < p->operands.n; i++) {
    Ref r = p->operands.p[i].ref;
    if (!r) continue;
    named++;
    if (node(p->ir, r)->rank > rank) rank = node(p->ir, r)->rank;
  }
  for (int a = 0; a < rank; a++) dims[a] = 1;
  for (size_t i = 0; i < p->operands.n; i++) {
    Ref r = p->operands.p[i].ref;
    const Node *x = r ? node(p->ir, r) : NULL;
    for (int b = 0, a = r ? rank - x->rank : 0; r && b < x->rank; a++, b++) {
      if (x->dims[b] == 1 || x->dims[b] == dims[a]) continue;
      if (dims[a] != 1)
        scan_bad(p, p->operands.p[i].at, "%s does not broadcast with %s", scan_dims_of(p, r), scan_dims_text(p, rank, dims));
      dims[a] = x->dims[b];
    }
  }
  if (!named && p->type.rank > 0) {
    rank = p->type.rank;
    memcpy(dims, p->type.dims, (size_t)rank * sizeof *dims);
  }
  DType from = shared, to = info->type[0] == 'b' ? DT_BOOL : convert ? p->type.dt : shared;
  if (convert && named) from = (DType)node(p->ir, p->operands.p[0].ref)->dt;
  if (convert && !to) scan_bad(p, at, "the result's type is not given; write it after ':'");
  check_dims(p, at, to, rank, dims);
  for (size_t i = 0; i < p->operands.n; i++) VEC_PUSH(&p->src, g_expand(p->ir, parse_operand(p, op, i, shared), rank, dims));
  if (!op_takes(op, from)) scan_bad(p, at, "'%.*s' does not take %s", shown(strlen(info->name)), at, dt_text(from));
  if (op == OP_BITCAST && dt_bytes(from) != dt_bytes(to)) scan_bad(p, at, "%s and %s differ in size", dt_text(from), dt_text(to));
  return node_make(p->ir, op, to, 1, (int)p->src.n, p->src.p, 0, NULL, rank, dims);
}

static Ref graph_reshape(Parser *p, const char *at) {
  Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  const int64_t *dims = type_shape(p, at);
  if (dims_elems(n->dims, n->rank) != dims_elems(dims, p->type.rank))
    scan_bad(p, p->type.at, "%s and %s differ in their number of elements", scan_dims_of(p, x),
             scan_dims_text(p, p->type.rank, dims));
  return g_reshape(p->ir, x, p->type.rank, dims);
}

static Ref graph_expand(Parser *p, const char *at) {
  Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  const int64_t *dims = type_shape(p, at);
  int rank = p->type.rank, lead = rank - n->rank;
  bool fits = lead >= 0;
  for (int i = 0; fits && i < n->rank; i++) fits = n->dims[i] == 1 || n->dims[i] == dims[lead + i];
  if (!fits) scan_bad(p, p->type.at, "%s does not expand to %s", scan_dims_of(p, x), scan_dims_text(p, rank, dims));
  return g_expand(p->ir, x, rank, dims);
}

static Ref graph_permute(Parser *p, const char *at, const int64_t *perm) {
  const Node *n = node(p->ir, p->src.p[0]);
  uint32_t seen = 0;
  for (int i = 0; i < n->rank; i++) {
    if (perm[i] < 0 || perm[i] >= n->rank || (seen >> perm[i] & 1))
      scan_bad(p, at, "perm=%s does not order the axes of %s", scan_dims_text(p, n->rank, perm), scan_dims_of(p, p->src.p[0]));
    seen |= 1u << perm[i];
  }
  return g_permute(p->ir, p->src.p[0], perm);
}

/* Without a shape, the result extends as far as the source. */
static Ref graph_shrink(Parser *p, const char *at, const int64_t *begin) {
  Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  const int64_t *step = begin + n->rank;
  int64_t dims[MAX_RANK];
  if (p->type.rank >= 0 && p->type.rank != n->rank) scan_bad(p, p->type.at, "shrink keeps the number of dimensions, %d", n->rank);
  for (int i = 0; i < n->rank; i++) {
    if (begin[i] < 0 || begin[i] > n->dims[i])
      scan_bad(p, at, "begin %lld is outside of axis %d of %s", (long long)begin[i], i, scan_dims_of(p, x));
    if (!step[i] || step[i] < -INT32_MAX || step[i] > INT32_MAX) scan_bad(p, at, "step %lld is out of range", (long long)step[i]);
    int64_t room = step[i] > 0             ? n->dims[i] - begin[i]
                   : begin[i] < n->dims[i] ? begin[i] + 1
                                           : 0,
            stride = step[i] > 0 ? step[i] : -step[i];
    int64_t most = room / stride + (room % stride != 0);
    dims[i] = p->type.rank < 0 ? most : p->type.dims[i];
    if (dims[i] > most)
      scan_bad(p, p->type.at, "axis %d takes %lld elements, but only %lld are available", i, (long long)dims[i], (long long)most);
  }
  return g_shrink(p->ir, x, begin, step, dims);
}

static Ref graph_window(Parser *p, const char *at, const int64_t *arg) {
  Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  const int64_t *dims = type_shape(p, at);
  check_axis(p, at, x, arg[0]);
  int axis = (int)arg[0];
  bool same = p->type.rank == n->rank + 1;
  for (int i = 0; same && i < n->rank; i++) same = i == axis || dims[i] == n->dims[i];
  if (!same)
    scan_bad(p, p->type.at, "the result may differ from %s only on axis %d, and must have one more axis; found %s",
             scan_dims_of(p, x), axis, scan_dims_text(p, p->type.rank, dims));
  int64_t out = dims[axis], k = dims[n->rank], last, reach;
  bool fits = k >= 1 && arg[1] >= 0 && arg[2] >= 0;
  if (fits && out)
    fits = i64_mul(out - 1, arg[1], &last) && i64_mul(k - 1, arg[2], &reach) && i64_add(last, reach, &last) &&
           last < n->dims[axis];
  if (!fits)
    scan_bad(p, at, "%lld windows of %lld elements do not fit into %lld", (long long)out, (long long)k, (long long)n->dims[axis]);
  return g_window(p->ir, x, axis, out, k, arg[1], arg[2]);
}

static Ref graph_pad(Parser *p, const char *at, const int64_t *lo) {
  Ref x = p->src.p[0], fill = p->src.p[1];
  const Node *n = node(p->ir, x);
  const int64_t *hi = lo + n->rank;
  int64_t dims[MAX_RANK];
  if (node(p->ir, fill)->rank) scan_bad(p, p->operands.p[1].at, "the fill value is %s, expected a scalar", scan_dims_of(p, fill));
  if (node(p->ir, fill)->dt != n->dt)
    scan_bad(p, p->operands.p[1].at, "the fill value is %s, expected %s", dt_text((DType)node(p->ir, fill)->dt),
        dt_text((DType)n->dt));
  for (int i = 0; i < n->rank; i++)
    if (lo[i] < 0 || hi[i] < 0 || !i64_add(n->dims[i], lo[i], &dims[i]) || !i64_add(dims[i], hi[i], &dims[i]))
      scan_bad(p, at, "axis %d cannot be padded by %lld and %lld", i, (long long)lo[i], (long long)hi[i]);
  check_dims(p, at, (DType)n->dt, n->rank, dims);
  return g_pad(p->ir, x, lo, hi, fill);
}

static Ref graph_cat(Parser *p, const char *at, int64_t axis) {
  const Node *first = node(p->ir, p->src.p[0]);
  int64_t dims[MAX_RANK];
  check_axis(p, at, p->src.p[0], axis);
  memcpy(dims, first->dims, first->rank * sizeof *dims);
  dims[axis] = 0;
  for (size_t i = 0; i < p->src.n; i++) {
    const Node *x = node(p->ir, p->src.p[i]);
    bool same = x->rank == first->rank && x->dt == first->dt;
    for (int a = 0; same && a < x->rank; a++) same = a == axis || x->dims[a] == first->dims[a];
    if (!same || !i64_add(dims[axis], x->dims[axis], &dims[axis]))
      scan_bad(p, p->operands.p[i].at, "%s%s does not fit %s%s: only axis %lld may differ", dt_text((DType)x->dt),
               scan_dims_of(p, p->src.p[i]), dt_text((DType)first->dt), scan_dims_of(p, p->src.p[0]), (long long)axis);
  }
  check_dims(p, at, (DType)first->dt, first->rank, dims);
  return g_cat(p->ir, (int)p->src.n, p->src.p, (int)axis);
}

static Ref graph_gather(Parser *p, const char *at, int64_t axis) {
  const Node *x = node(p->ir, p->src.p[0]), *index = node(p->ir, p->src.p[1]);
  int64_t dims[MAX_RANK];
  if (index->dt != DT_I64) scan_bad(p, p->operands.p[1].at, "the index is %s, expected i64", dt_text((DType)index->dt));
  check_axis(p, at, p->src.p[0], axis);
  bool same = x->rank == index->rank;
  for (int i = 0; same && i < x->rank; i++) {
    same = i == axis || index->dims[i] == x->dims[i] || index->dims[i] == 1 || x->dims[i] == 1;
    dims[i] = i == axis || index->dims[i] != 1 ? index->dims[i] : x->dims[i];
  }
  if (!same)
    scan_bad(p, p->operands.p[1].at, "an index of %s does not fit %s on axis %lld", scan_dims_of(p, p->src.p[1]),
             scan_dims_of(p, p->src.p[0]), (long long)axis);
  check_dims(p, at, (DType)x->dt, x->rank, dims);
  int64_t wrong, extent = x->dims[axis];
  if (g_index_fits(p->ir, p->src.p[1], extent, &wrong) < 0 || (!extent && dims_elems(index->dims, index->rank)))
    scan_bad(p, p->operands.p[1].at, "index %lld is outside of axis %lld with %lld elements", (long long)wrong, (long long)axis,
        (long long)extent);
  dims[axis] = extent; /* the source is broadcast over the other axes */
  check_dims(p, at, (DType)x->dt, x->rank, dims);
  return g_gather(p->ir, p->src.p[0], p->src.p[1], (int)axis);
}

static Ref graph_scatter(Parser *p, const char *at, Op op, int64_t axis) {
  const Node *x = node(p->ir, p->src.p[0]), *index = node(p->ir, p->src.p[1]), *u = node(p->ir, p->src.p[2]);
  int64_t dims[MAX_RANK];
  if (index->dt != DT_I64) scan_bad(p, p->operands.p[1].at, "the index is %s, expected i64", dt_text((DType)index->dt));
  if (u->dt != x->dt)
    scan_bad(p, p->operands.p[2].at, "the updates are %s, expected %s", dt_text((DType)u->dt), dt_text((DType)x->dt));
  if (op && !op_takes(op, (DType)x->dt)) scan_bad(p, at, "this op does not take elements of %s", dt_text((DType)x->dt));
  check_axis(p, at, p->src.p[0], axis);
  const bool ranked = index->rank == x->rank && u->rank == x->rank;
  for (int i = 0; ranked && i < x->rank; i++)
    dims[i] = i != axis ? x->dims[i] : index->dims[i] == 1 ? u->dims[i] : index->dims[i];
  for (int k = 1; k < 3; k++) {
    const Node *y = node(p->ir, p->src.p[k]);
    bool fits = y->rank == x->rank;
    for (int i = 0; ranked && i < x->rank; i++) fits &= y->dims[i] == 1 || y->dims[i] == dims[i];
    if (!fits)
      scan_bad(p, p->operands.p[k].at, "%s of %s does not fit %s on axis %lld", k == 1 ? "an index" : "an update",
               scan_dims_of(p, p->src.p[k]), scan_dims_of(p, p->src.p[0]), (long long)axis);
  }
  check_dims(p, at, (DType)x->dt, x->rank, dims);
  return g_scatter(p->ir, op, p->src.p[0], p->src.p[1], p->src.p[2], (int)axis);
}

static Ref graph_yield(Parser *p, const char *at, const int64_t *arg) {
  const Node *x = node(p->ir, p->src.p[0]);
  if (arg[1] >= 0) return g_yield(p->ir, (int)arg[0], (int)arg[1], p->src.p[0]);
  const int64_t *dims = type_shape(p, at);
  bool fits = p->type.rank == x->rank + 1 && arg[2] >= 0 && arg[2] <= x->rank;
  for (int a = 0, k = 0; fits && a <= x->rank; a++) fits = a == arg[2] ? dims[a] > 0 : dims[a] == x->dims[k++];
  if (!fits) scan_bad(p, at, "the result must have the slice's axes, and axis %lld", (long long)arg[2]);
  return g_yield_slice(p->ir, (int)arg[0], p->src.p[0], (int)arg[2], arg[3] != 0, dims[arg[2]]);
}

static Ref graph_iterate(Parser *p, const char *at, const int64_t *arg) {
  const int n = (int)p->src.n, ends = arg[2] > INT16_MAX ? -1 : (int)arg[2];
  /* in a dump, passes may have changed the form of yields that keep their values */
  const char *wrong = ends && !p->ir->dump ? g_hold_yields(p->ir, ends, n, p->src.p) : NULL;
  const Ref made = wrong ? 0 : g_iterate(p->ir, (int)arg[0], arg[1], ends, n, p->src.p);
  if (!wrong) wrong = g_iterate_refuses(p->ir, made);
  if (wrong) scan_bad(p, at, "%s", wrong);
  return made;
}

static Ref graph_loop_op(Parser *p, const char *at, Op op, const int64_t *arg) {
  const Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  if (op != OP_RESULT && (arg[0] < 0 || arg[0] >= GRAPH_LOOPS))
    scan_bad(p, at, "the number of a loop is from 0 to %d", GRAPH_LOOPS - 1);
  if (op == OP_YIELD && (arg[1] < -1 || arg[1] > INT16_MAX)) scan_bad(p, at, "place %lld is out of range", (long long)arg[1]);
  switch (op) {
  case OP_SLICE:
    check_axis(p, at, x, arg[1]);
    if (n->op != OP_STORED) scan_bad(p, at, "only a stored value has slices");
    return g_slice(p->ir, (int)arg[0], x, (int)arg[1], arg[2] != 0);
  case OP_CARRIED:
    if (arg[1] < 0 || arg[1] > INT16_MAX) scan_bad(p, at, "place %lld is out of range", (long long)arg[1]);
    return g_carried(p->ir, (int)arg[0], (int)arg[1], x);
  case OP_YIELD: return graph_yield(p, at, arg);
  case OP_ITERATE: return graph_iterate(p, at, arg);
  default:
    if (n->op != OP_ITERATE || arg[0] < 0 || arg[0] >= n->nsrc) scan_bad(p, at, "there is no such yield");
    return g_result(p->ir, x, (int)arg[0]);
  }
}

static Ref graph_branch_op(Parser *p, const char *at, Op op, const int64_t *arg) {
  const Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  if (op == OP_CHOSEN) {
    if (n->op != OP_BRANCH || arg[0] < 0 || arg[0] >= branch_results(n)) scan_bad(p, at, "there is no such result of a branch");
    return g_chosen(p->ir, x, (int)arg[0]);
  }
  if (arg[0] < 0 || arg[0] > INT32_MAX) scan_bad(p, at, "branch %lld is out of range", (long long)arg[0]);
  if (op == OP_ARM && (arg[1] < 0 || arg[1] > UINT16_MAX)) scan_bad(p, at, "place %lld is out of range", (long long)arg[1]);
  if (op == OP_ARM) return g_arm(p->ir, arg[0], arg[1], x);
  const Ref made = branch_of_arms(p->ir, arg[0], (int)p->src.n, p->src.p);
  const char *wrong = g_branch_refuses(p->ir, made);
  if (wrong) scan_bad(p, at, "%s", wrong);
  return made;
}

Ref parse_graph_op(Parser *p, const char *at, Op op) {
  int64_t arg[2 * MAX_RANK] = { 0 };
  if (op == OP_PARAM || op == OP_WEIGHT) scan_bad(p, at, "inputs and weights are written 'input' and 'weight' with their type");
  parse_arity(p, at, op);
  if (op_info[op].level == L_EXPR) {
    parse_args(p, at, op, arg);
    return graph_elementwise(p, at, op);
  }
  if (op == OP_IOTA) {
    const int64_t *dims = type_shape(p, at);
    if (p->type.rank != 1 || (p->type.dt && p->type.dt != DT_I64))
      scan_bad(p, p->type.at, "iota has the type i64 and one dimension");
    parse_args(p, at, op, arg);
    return g_iota(p->ir, DT_I64, dims[0]);
  }
  DType first = p->operands.p[0].ref ? (DType)node(p->ir, p->operands.p[0].ref)->dt : DT_NONE;
  for (size_t i = 0; i < p->operands.n; i++) VEC_PUSH(&p->src, parse_operand(p, op, i, first));
  parse_args(p, at, op, arg);
  switch (op) {
  case OP_RESHAPE: return graph_reshape(p, at);
  case OP_EXPAND: return graph_expand(p, at);
  case OP_PERMUTE: return graph_permute(p, at, arg);
  case OP_SHRINK: return graph_shrink(p, at, arg);
  case OP_WINDOW: return graph_window(p, at, arg);
  case OP_PAD: return graph_pad(p, at, arg);
  case OP_CAT: return graph_cat(p, at, arg[0]);
  case OP_GATHER: return graph_gather(p, at, arg[0]);
  case OP_SCATTER: return graph_scatter(p, at, (Op)arg[0], arg[1]);
  case OP_WALK: {
    const char *wrong = g_walk_refuses(p->ir, p->src.p, arg[0]);
    if (wrong) scan_bad(p, at, "%s", wrong);
    check_dims(p, at, DT_I64, 2, (int64_t[]){ node(p->ir, p->src.p[0])->dims[0], node(p->ir, p->src.p[4])->dims[0] });
    return g_walk(p->ir, p->src.p, arg[0]);
  }
  case OP_STORED: return g_stored(p->ir, p->src.p[0]);
  case OP_SLICE: case OP_CARRIED: case OP_YIELD: case OP_ITERATE: case OP_RESULT: return graph_loop_op(p, at, op, arg);
  case OP_ARM: case OP_BRANCH: case OP_CHOSEN: return graph_branch_op(p, at, op, arg);
  case OP_REDUCE:
    if (!op_takes((Op)arg[0], first)) scan_bad(p, at, "this op does not take elements of %s", dt_text(first));
    return g_reduce(p->ir, (Op)arg[0], p->src.p[0], (uint32_t)arg[1]);
  default: scan_bad(p, at, "'%.*s' does not belong in a graph", shown(strlen(op_info[op].name)), at);
  }
}

Ref parse_exact_op(Parser *p, const char *at, Op op) {
  int64_t arg[2 * MAX_RANK] = { 0 };
  const int64_t *dims = type_shape(p, at);
  const bool spread = op_info[op].level == L_EXPR;
  if (op_info[op].level > L_GRAPH || op == OP_SIZE || op == OP_PARAM || op == OP_WEIGHT)
    scan_bad(p, at, "'%.*s' does not belong here", shown(strlen(op_info[op].name)), at);
  if (!p->type.dt || p->type.lanes) scan_bad(p, at, "expected the type of the result, as f32[8]");
  if (op == OP_IOTA && p->type.rank != 1) scan_bad(p, at, "iota has one dimension");
  parse_arity(p, at, op);
  const Operand *first = p->operands.n ? &p->operands.p[0] : NULL;
  const DType shared = spread ? parse_shared_type(p, op) : first && first->ref ? (DType)node(p->ir, first->ref)->dt : DT_NONE;
  for (size_t i = 0; i < p->operands.n; i++) {
    const Ref r = parse_operand(p, op, i, shared);
    VEC_PUSH(&p->src, spread && !p->operands.p[i].ref ? g_expand(p->ir, r, p->type.rank, dims) : r);
  }
  const int narg = parse_args(p, at, op, arg);
  const Ref r = node_make(p->ir, op, p->type.dt, 1, (int)p->src.n, p->src.p, narg, arg, p->type.rank, dims);
  ir_verify_graph_node(p->g, r);
  return r;
}

/* ---- inputs, outputs and weights ---- */

/* Names of inputs must be unique, and so must names of outputs. */
static const char *model_name(Parser *p, const char *s, size_t n, uint8_t bit) {
  const char *at = (scan_peek(p), p->at), *name = scan_string(p);
  if (!name) {
    name = arena_str(&p->c->model, s, n);
    at = s;
  }
  uint32_t id = intern(p->c, name, strlen(name));
  while (p->taken.n <= id) VEC_PUSH(&p->taken, 0);
  if (p->taken.p[id] & bit)
    scan_bad(p, at, "another %s is called '%.*s'", bit == 1 ? "input" : "output", shown(strlen(name)), name);
  p->taken.p[id] |= bit;
  return name;
}

/* [holds=TYPE]: the small type of which each byte holds an element */
static int parse_holds(Parser *p, DType d) {
  const char *at = (scan_peek(p), p->at), *s;
  size_t n = scan_word(p, &s);
  if (!n) return 0;
  if (!is_word(s, n, "holds") || !scan_accept(p, '=')) scan_bad(p, at, "expected holds=TYPE or the end of the line");
  n = scan_word(p, &s);
  const SmallType *t = small_type_named(s, n);
  if (!t) scan_bad(p, at, "unknown type '%.*s'", shown(n), s);
  const DType needs = small_bytes(t);
  if (needs != d) scan_bad(p, at, "type %s needs %s, not %s", t->name, dtype_info[needs].text, dtype_info[d].text);
  return t->onnx;
}

void parse_input(Parser *p, const char *name, size_t n) {
  Type t;
  if (!scan_type(p, &t, true) || !t.dt || t.lanes) scan_bad(p, t.at, "expected the input's type, as f32[1,3]");
  if (t.rank < 0) t.rank = 0;
  GIO io = { .dt = t.dt, .rank = t.rank, .name = model_name(p, name, n, 1) };
  memcpy(io.dims, t.dims, sizeof io.dims);
  io.narrow = parse_holds(p, io.dt);
  if (!p->plan) p->ir->origin = ir_origin(p->ir, arena_printf(&p->c->model, "input '%s'", io.name), 0);
  io.ref = g_param(p->ir, t.dt, t.rank, t.dims, (int)p->g->inputs.n);
  VEC_PUSH(&p->g->inputs, io);
  parse_define(p, name, n, io.ref);
}

void parse_output(Parser *p) {
  const char *s, *line = p->at;
  size_t n = scan_word(p, &s);
  if (!n) scan_bad(p, p->at, "expected the name of a value, found %s", scan_found(p));
  GIO io = { .ref = parse_lookup(p, s, n) };
  const Node *x = node(p->ir, io.ref);
  io.name = model_name(p, s, n, 2);
  io.dt = (DType)x->dt;
  io.rank = x->rank;
  if (x->rank) memcpy(io.dims, x->dims, x->rank * sizeof *io.dims);
  io.narrow = parse_holds(p, io.dt);
  if (p->g->guarded) scan_bad(p, line, "the guard must be the last output");
  VEC_PUSH(&p->g->outputs, io);
}

/* The output that the caller does not get: what happened in the run */
void parse_guard(Parser *p) {
  const char *line = p->at;
  parse_output(p);
  const GIO *io = &p->g->outputs.p[p->g->outputs.n - 1];
  if ((io->dt != DT_BOOL && io->dt != DT_U8) || io->rank) scan_bad(p, line, "a guard must be one bool, or one u8");
  p->g->guarded = true;
}

/* {1, 2.5, ...}: as many values as the type has elements. */
static const void *weight_values(Parser *p, const Tensor *t) {
  const char *open = p->at++;
  int bytes = dt_bytes(t->dt);
  /* a value takes at least two characters, so memory stays proportional to the text */
  if (t->elems > (p->end - p->at) / 2 + 1)
    scan_bad(p, open, "expected %lld values, more than the text holds", (long long)t->elems);
  char *data = arena_alloc(&p->c->model, (size_t)t->elems * (size_t)bytes + 1);
  int64_t i = 0;
  for (; scan_peek_far(p) != '}'; i++) {
    const char *s;
    if (i) scan_expect(p, ',', "or '}' after a value");
    scan_peek_far(p);
    size_t n = scan_literal(p, &s);
    if (!n) scan_bad(p, p->at < p->end ? p->at : open, "expected a value%s", p->at < p->end ? "" : "; the list has no end");
    if (i == t->elems) scan_bad(p, s, "more than the %lld values of the type", (long long)t->elems);
    int64_t bits = scan_bits(p, s, n, t->dt);
    memcpy(data + i * bytes, &bits, (size_t)bytes); /* the host is little-endian, as the table needs */
  }
  if (i < t->elems) scan_bad(p, p->at, "%lld values, expected %lld", (long long)i, (long long)t->elems);
  p->at++;
  return data;
}

/* @"file" offset=0 sha256=... */
static const void *weight_file(Parser *p, const Tensor *t) {
  const char *at = p->at++, *file = scan_string(p), *key, *digest = NULL;
  int64_t offset = -1;
  if (!file) scan_bad(p, p->at, "expected the file's name as a string");
  for (size_t n; (n = scan_word(p, &key));) {
    scan_expect(p, '=', "after the name of an argument");
    if (is_word(key, n, "offset") && offset < 0) {
      offset = scan_integer(p, "the offset");
      if (offset < 0) scan_bad(p, key, "offset %lld is negative", (long long)offset);
    } else if (is_word(key, n, "sha256") && !digest) {
      const char *s = (scan_peek(p), p->at);
      while (p->at < p->end && scan_hex_digit(*p->at) >= 0) p->at++;
      if (p->at - s != 64) scan_bad(p, s, "expected 64 hexadecimal digits");
      digest = arena_str(&p->c->model, s, 64);
    } else scan_bad(p, key, "'%.*s' is unknown or given twice; the keys are offset and sha256", shown(n), key);
  }
  if (!p->hooks || !p->hooks->blob) scan_bad(p, at, "a text without a file cannot refer to weight files");
  return p->hooks->blob(p->c, p->hooks->arg, scan_pos(p, at), file, offset < 0 ? 0 : offset, t->elems * dt_bytes(t->dt), digest)
      .p;
}

void parse_weight(Parser *p, const char *name, size_t n) {
  Type type_;
  if (!scan_type(p, &type_, false) || !type_.dt || type_.lanes) scan_bad(p, type_.at, "expected the weight's type, as f32[8,3]");
  Tensor t = { .dt = type_.dt, .rank = type_.rank < 0 ? 0 : type_.rank };
  memcpy(t.dims, type_.dims, sizeof t.dims);
  t.elems = dims_elems(t.dims, t.rank);
  t.name = scan_string(p);
  char ch = scan_peek(p);
  if (ch == '{') t.data = weight_values(p, &t);
  else if (ch == '@') t.data = weight_file(p, &t);
  else scan_bad(p, p->at, "expected '{' or '@' and the values, found %s", scan_found(p));
  const int id = ir_tensor(p->ir, &t);
  const Ref exact = p->plan ? node_make(p->ir, OP_WEIGHT, t.dt, 1, 0, NULL, 1, &(int64_t){ id }, t.rank, t.dims) : 0;
  parse_define(p, name, n, exact ? exact : g_weight(p->ir, id));
}
