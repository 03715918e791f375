/* SPDX-License-Identifier: MIT */
/* graph_build.c: graph-level constructors. They infer shapes, broadcast, and drop ops without effect, such as a reshape to the
 * same shape, so that front ends stay short. Each checks its arguments. While a front end builds a node of a model, arguments
 * that do not fit are an error of the model at this node. The reason: operators have more combinations of shapes and types than
 * their builders can check. Anywhere else they are a bug in tgc. */
#include "ir.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Noreturn static void misfit(const IR *ir, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
_Noreturn static void misfit(const IR *ir, int line, const char *fmt, ...) {
  char text[200];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (!ir->building.node) bug(__FILE__, line, "%s", text);
  fail_at(ir->ctx, EX_BADMODEL, ir->building, "its inputs do not fit together: %s", text);
}
#define FITS(x, ...) ((x) ? (void)0 : misfit(ir, __LINE__, __VA_ARGS__))

static const char *type_text(const IR *ir, Ref r) { return dtype_info[node(ir, r)->dt].text; }

static void need_op(const IR *ir, Op op, Ref x) {
  FITS(op_takes(op, (DType)node(ir, x)->dt), "there is no %s of %s", op_info[op].name, type_text(ir, x));
}

static void need_type(const IR *ir, Ref x, DType d) {
  FITS(node(ir, x)->dt == d, "an operand is %s, expected %s", type_text(ir, x), dtype_info[d].text);
}

static Ref graph_node(IR *ir, Op op, DType d, int nsrc, const Ref *src, int narg, const int64_t *arg, int rank,
                      const int64_t *dims) {
  return node_make(ir, op, d, 1, nsrc, src, narg, arg, rank, dims);
}

static bool same_dims(const Node *x, int rank, const int64_t *dims) {
  return x->rank == rank && (!rank || !memcmp(x->dims, dims, (size_t)rank * sizeof *dims));
}

Ref g_param(IR *ir, DType d, int rank, const int64_t *dims, int slot) {
  int64_t arg = slot;
  return graph_node(ir, OP_PARAM, d, 0, NULL, 1, &arg, rank, dims);
}

int ir_tensor(IR *ir, const Tensor *t) {
  VEC_PUSH(&ir->tensors, *t);
  return (int)ir->tensors.n - 1;
}

int64_t tensor_bits(const Tensor *t, int64_t i) {
  uint64_t v = 0;
  if (!t->data) return t->splat;
  /* the host is little-endian, as the file is */
  memcpy(&v, (const char *)t->data + i * dt_bytes(t->dt), (size_t)dt_bytes(t->dt));
  return (int64_t)dt_wrap(t->dt, v);
}

bool tensor_uniform(const Tensor *t, int64_t *bits) {
  const char *p = t->data;
  const size_t size = (size_t)dt_bytes(t->dt);
  if (!t->elems || (p && memcmp(p, p + size, (size_t)(t->elems - 1) * size))) return false;
  *bits = tensor_bits(t, 0);
  return true;
}

Ref g_weight(IR *ir, int tensor) {
  const Tensor *t = &ir->tensors.p[tensor];
  if (!t->data || t->elems == 1)
    return g_expand(ir, g_reshape(ir, c_bits(ir, t->dt, tensor_bits(t, 0)), 0, NULL), t->rank, t->dims);
  int64_t arg = tensor;
  return graph_node(ir, OP_WEIGHT, t->dt, 0, NULL, 1, &arg, t->rank, t->dims);
}

Ref g_iota(IR *ir, DType d, int64_t n) {
  Ref r = graph_node(ir, OP_IOTA, DT_I64, 0, NULL, 0, NULL, 1, &n);
  return g_cast(ir, r, d);
}

Ref g_unary(IR *ir, Op op, Ref x) {
  const Node *n = node(ir, x);
  need_op(ir, op, x);
  return graph_node(ir, op, (DType)n->dt, 1, &x, 0, NULL, n->rank, n->dims);
}

Ref g_cast(IR *ir, Ref x, DType d) {
  const Node *n = node(ir, x);
  return n->dt == d ? x : graph_node(ir, OP_CAST, d, 1, &x, 0, NULL, n->rank, n->dims);
}

/* The common shape of broadcast values */
static int broadcast_dims(IR *ir, int n, const Ref *xs, int64_t *dims) {
  int rank = 0;
  for (int i = 0; i < n; i++)
    if (node(ir, xs[i])->rank > rank) rank = node(ir, xs[i])->rank;
  for (int a = 0; a < rank; a++) {
    dims[a] = 1;
    for (int i = 0; i < n; i++) {
      const Node *x = node(ir, xs[i]);
      int b = a - (rank - x->rank);
      if (b < 0 || x->dims[b] == 1 || x->dims[b] == dims[a]) continue;
      FITS(dims[a] == 1, "extents %lld and %lld do not broadcast", (long long)dims[a], (long long)x->dims[b]);
      dims[a] = x->dims[b];
    }
  }
  return rank;
}

static Ref elementwise(IR *ir, Op op, DType d, int n, const Ref *xs) {
  int64_t dims[MAX_RANK];
  Ref src[3];
  int rank = broadcast_dims(ir, n, xs, dims);
  for (int i = 0; i < n; i++) src[i] = g_expand(ir, xs[i], rank, dims);
  return graph_node(ir, op, d, n, src, 0, NULL, rank, dims);
}

Ref g_binary(IR *ir, Op op, Ref a, Ref b) {
  need_type(ir, b, (DType)node(ir, a)->dt);
  need_op(ir, op, a);
  bool compare = op_info[op].type[0] == 'b';
  return elementwise(ir, op, compare ? DT_BOOL : (DType)node(ir, a)->dt, 2, (Ref[]){ a, b });
}

Ref g_where(IR *ir, Ref c, Ref a, Ref b) {
  need_type(ir, c, DT_BOOL);
  need_type(ir, b, (DType)node(ir, a)->dt);
  return elementwise(ir, OP_WHERE, (DType)node(ir, a)->dt, 3, (Ref[]){ c, a, b });
}

/* ---- movement ---- */
Ref g_reshape(IR *ir, Ref x, int rank, const int64_t *dims) {
  const Node *n = node(ir, x);
  if (same_dims(n, rank, dims)) return x;
  FITS(dims_elems(n->dims, n->rank) == dims_elems(dims, rank), "%lld elements do not fill a shape of %lld",
       (long long)dims_elems(n->dims, n->rank), (long long)dims_elems(dims, rank));
  if (n->op == OP_RESHAPE) return g_reshape(ir, operand(n), rank, dims);
  return graph_node(ir, OP_RESHAPE, (DType)n->dt, 1, &x, 0, NULL, rank, dims);
}

Ref g_expand(IR *ir, Ref x, int rank, const int64_t *dims) {
  const Node *n = node(ir, x);
  if (same_dims(n, rank, dims)) return x;
  FITS(n->rank <= rank, "rank %d does not broadcast to rank %d", n->rank, rank);
  if (n->rank < rank) { /* adds leading axes first */
    int64_t lead[MAX_RANK];
    for (int i = 0; i < rank; i++) lead[i] = i < rank - n->rank ? 1 : n->dims[i - (rank - n->rank)];
    x = g_reshape(ir, x, rank, lead);
    n = node(ir, x);
    if (same_dims(n, rank, dims)) return x;
  }
  for (int i = 0; i < rank; i++)
    FITS(n->dims[i] == dims[i] || n->dims[i] == 1, "extent %lld does not broadcast to %lld", (long long)n->dims[i],
         (long long)dims[i]);
  if (n->op == OP_EXPAND) x = operand(n);
  return graph_node(ir, OP_EXPAND, (DType)n->dt, 1, &x, 0, NULL, rank, dims);
}

Ref g_permute(IR *ir, Ref x, const int64_t *perm) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK], both[MAX_RANK];
  uint32_t seen = 0;
  bool identity = true;
  for (int i = 0; i < n->rank; i++) {
    FITS(perm[i] >= 0 && perm[i] < n->rank, "a tensor of rank %d has no axis %lld", n->rank, (long long)perm[i]);
    seen |= 1u << perm[i];
    dims[i] = n->dims[perm[i]];
    identity &= perm[i] == i;
  }
  FITS(seen == (1u << n->rank) - 1, "an axis is named twice");
  if (identity) return x;
  if (n->op == OP_PERMUTE) {
    for (int i = 0; i < n->rank; i++) both[i] = permute_perm(n, perm[i]);
    return g_permute(ir, operand(n), both);
  }
  return graph_node(ir, OP_PERMUTE, (DType)n->dt, 1, &x, n->rank, perm, n->rank, dims);
}

Ref g_shrink(IR *ir, Ref x, const int64_t *begin, const int64_t *step, const int64_t *dims) {
  const Node *n = node(ir, x);
  int64_t arg[2 * MAX_RANK];
  bool identity = true;
  for (int i = 0; i < n->rank; i++) {
    arg[i] = begin[i];
    arg[n->rank + i] = step && dims[i] > 1 ? step[i] : 1;
    identity &= begin[i] == 0 && arg[n->rank + i] == 1 && dims[i] == n->dims[i];
    int64_t last = begin[i] + (dims[i] - 1) * arg[n->rank + i];
    FITS(!dims[i] || (begin[i] >= 0 && begin[i] < n->dims[i] && last >= 0 && last < n->dims[i]),
         "elements %lld to %lld are outside an axis of extent %lld", (long long)begin[i], (long long)last, (long long)n->dims[i]);
  }
  if (identity) return x;
  return graph_node(ir, OP_SHRINK, (DType)n->dt, 1, &x, 2 * n->rank, arg, n->rank, dims);
}

Ref g_flip(IR *ir, Ref x, uint32_t axes) {
  const Node *n = node(ir, x);
  int64_t begin[MAX_RANK], step[MAX_RANK];
  for (int i = 0; i < n->rank; i++) {
    bool flip = (axes >> i & 1) && n->dims[i] > 0;
    begin[i] = flip ? n->dims[i] - 1 : 0;
    step[i] = flip ? -1 : 1;
  }
  return g_shrink(ir, x, begin, step, n->dims);
}

Ref g_window(IR *ir, Ref x, int axis, int64_t out, int64_t k, int64_t stride, int64_t dilation) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK], arg[3] = { axis, stride, dilation };
  FITS(n->rank < MAX_RANK && axis < n->rank && out >= 0 && k >= 1, "%lld windows of %lld elements in rank %d", (long long)out,
       (long long)k, n->rank);
  FITS(!out || (out - 1) * stride + (k - 1) * dilation < n->dims[axis], "windows reach beyond an axis of extent %lld",
       (long long)n->dims[axis]);
  memcpy(dims, n->dims, n->rank * sizeof *dims);
  dims[axis] = out;
  dims[n->rank] = k;
  return graph_node(ir, OP_WINDOW, (DType)n->dt, 1, &x, 3, arg, n->rank + 1, dims);
}

Ref g_pad(IR *ir, Ref x, const int64_t *lo, const int64_t *hi, Ref fill) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK], arg[2 * MAX_RANK];
  bool identity = true;
  need_type(ir, fill, (DType)n->dt);
  FITS(node(ir, fill)->rank == 0, "the value of the padding has rank %d", node(ir, fill)->rank);
  for (int i = 0; i < n->rank; i++) {
    FITS(lo[i] >= 0 && hi[i] >= 0, "the padding %lld, %lld is negative", (long long)lo[i], (long long)hi[i]);
    arg[i] = lo[i];
    arg[n->rank + i] = hi[i];
    FITS(i64_add(n->dims[i], lo[i], &dims[i]) && i64_add(dims[i], hi[i], &dims[i]), "an extent is too large");
    identity &= !lo[i] && !hi[i];
  }
  if (identity) return x;
  return graph_node(ir, OP_PAD, (DType)n->dt, 2, (Ref[]){ x, fill }, 2 * n->rank, arg, n->rank, dims);
}

Ref g_cat(IR *ir, int n, const Ref *xs, int axis) {
  Ref *use = ARENA_NEW(&ir->ctx->model, Ref, n);
  const Node *first = node(ir, xs[0]);
  int64_t dims[MAX_RANK], arg = axis;
  int used = 0;
  memcpy(dims, first->dims, first->rank * sizeof *dims);
  dims[axis] = 0;
  for (int i = 0; i < n; i++) {
    const Node *x = node(ir, xs[i]);
    need_type(ir, xs[i], (DType)first->dt);
    FITS(x->rank == first->rank, "tensors of rank %d and %d one after the other", first->rank, x->rank);
    for (int a = 0; a < x->rank; a++)
      FITS(a == axis || x->dims[a] == first->dims[a], "extents %lld and %lld of tensors one after the other",
           (long long)first->dims[a], (long long)x->dims[a]);
    FITS(i64_add(dims[axis], x->dims[axis], &dims[axis]), "an extent is too large");
    if (x->dims[axis]) use[used++] = xs[i];
  }
  if (used == 1) return use[0];
  if (!used) return xs[0];
  return graph_node(ir, OP_CAT, (DType)first->dt, used, use, 1, &arg, first->rank, dims);
}

/* ---- the rest ---- */
int g_index_fits(const IR *ir, Ref index, int64_t extent, int64_t *wrong) {
  const Node *x = node(ir, index);
  if ((x->vmin >= 0 && x->vmax < extent) || !dims_elems(x->dims, x->rank)) return 1;
  *wrong = x->vmin;
  if (x->vmax < 0 || x->vmin >= extent) return -1;
  while (x->op == OP_RESHAPE || x->op == OP_EXPAND || x->op == OP_PERMUTE || x->op == OP_SHRINK || x->op == OP_WINDOW)
    x = node(ir, operand(x));
  if (x->op != OP_WEIGHT) return 0;
  const Tensor *t = &ir->tensors.p[weight_id(x)];
  for (int64_t i = 0; i < t->elems; i++) {
    *wrong = tensor_bits(t, i);
    if (*wrong < 0 || *wrong >= extent) return -1;
  }
  return 1;
}

/* Nothing is ever read outside of a tensor: an index that is not known to fit is clamped. */
Ref g_gather(IR *ir, Ref x, Ref index, int axis) {
  const Node *n = node(ir, x), *m = node(ir, index);
  need_type(ir, index, DT_I64);
  FITS(n->rank == m->rank, "an index of rank %d into rank %d", m->rank, n->rank);
  int64_t dims[MAX_RANK], xdims[MAX_RANK], arg = axis, extent = n->dims[axis], wrong;
  if (g_index_fits(ir, index, extent, &wrong) <= 0) {
    FITS(extent, "the indexed axis is empty");
    index = g_binary(ir, OP_MIN, g_binary(ir, OP_MAX, index, c_int(ir, DT_I64, 0)), c_int(ir, DT_I64, extent - 1));
    m = node(ir, index);
  }
  for (int i = 0; i < n->rank; i++) {
    dims[i] = i == axis || m->dims[i] != 1 ? m->dims[i] : n->dims[i];
    xdims[i] = i == axis ? n->dims[i] : dims[i];
  }
  x = g_expand(ir, x, n->rank, xdims);
  index = g_expand(ir, index, m->rank, dims);
  return graph_node(ir, OP_GATHER, (DType)n->dt, 2, (Ref[]){ x, index }, 1, &arg, n->rank, dims);
}

Ref g_scatter(IR *ir, Op op, Ref x, Ref index, Ref updates, int axis) {
  const Node *n = node(ir, x), *m = node(ir, index), *u = node(ir, updates);
  int64_t dims[MAX_RANK], arg[2] = { op, axis };
  need_type(ir, index, DT_I64);
  need_type(ir, updates, (DType)n->dt);
  FITS(n->rank == m->rank && n->rank == u->rank, "an index of rank %d and updates of rank %d into rank %d", m->rank, u->rank,
       n->rank);
  if (op) need_op(ir, op, x);
  for (int i = 0; i < n->rank; i++) dims[i] = i == axis ? (m->dims[i] == 1 ? u->dims[i] : m->dims[i]) : n->dims[i];
  if (!dims_elems(dims, n->rank)) return x;
  index = g_expand(ir, index, n->rank, dims);
  updates = g_expand(ir, updates, n->rank, dims);
  return graph_node(ir, OP_SCATTER, (DType)n->dt, 3, (Ref[]){ x, index, updates }, 2, arg, n->rank, n->dims);
}

/* Why a walk could leave its tables; NULL: it cannot. So accesses of walks need no clamps. */
const char *g_walk_refuses(const IR *ir, const Ref src[5], int64_t steps) {
  const Node *data = node(ir, src[0]), *t[5];
  for (int k = 0; k < 5; k++) t[k] = node(ir, src[k]);
  if (data->rank != 2 || !dt_float((DType)data->dt)) return "the first operand is no matrix of floats";
  if (t[2]->dt != data->dt) return "split and the first operand have different types";
  for (int k = 1; k < 5; k++)
    if (t[k]->rank != 1 || (k != 2 && !dt_int((DType)t[k]->dt)))
      return "an operand is no vector of integers, or split has no floats";
  const int64_t n = t[2]->dims[0];
  if (t[1]->dims[0] != n || t[3]->dims[0] != n) return "feature, split and next have different numbers of elements";
  if (steps < 0 || steps > INT32_MAX) return "the number of steps is out of range";
  int64_t wrong;
  if (!n || g_index_fits(ir, src[1], data->dims[1], &wrong) <= 0) return "feature has an index that is outside of the columns";
  if (g_index_fits(ir, src[3], n - 1, &wrong) <= 0) return "a step goes to an element outside of split";
  return g_index_fits(ir, src[4], n, &wrong) <= 0 ? "a walk begins outside of split" : NULL;
}

Ref g_walk(IR *ir, const Ref src[5], int64_t steps) {
  const int64_t dims[2] = { node(ir, src[0])->dims[0], node(ir, src[4])->dims[0] };
  const char *wrong = g_walk_refuses(ir, src, steps);
  if (wrong) BUG("walk: %s", wrong);
  return graph_node(ir, OP_WALK, DT_I64, 5, src, 1, &steps, 2, dims);
}

Ref g_reduce(IR *ir, Op op, Ref x, uint32_t axes) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK], arg[2] = { op, axes };
  bool any = false;
  need_op(ir, op, x);
  for (int i = 0; i < n->rank; i++) {
    bool r = axes >> i & 1;
    any |= r && n->dims[i] != 1;
    dims[i] = r ? 1 : n->dims[i];
  }
  if (!any) return x;
  return graph_node(ir, OP_REDUCE, (DType)n->dt, 1, &x, 2, arg, n->rank, dims);
}
