/* build.c: graph-level constructors. They infer shapes, broadcast, and skip what does nothing
 * (a reshape to the same shape), so that front ends stay short. Arguments were validated by the
 * caller against the user's model; a violation here is a bug in tgc. */
#include "ir.h"
#include <string.h>

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
  memcpy(&v, (const char *)t->data + i * dt_bytes(t->dt), (size_t)dt_bytes(t->dt)); /* little-endian host, as the file */
  return (int64_t)dt_wrap(t->dt, v);
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
  CHECK(op_takes(op, (DType)n->dt));
  return graph_node(ir, op, (DType)n->dt, 1, &x, 0, NULL, n->rank, n->dims);
}

Ref g_cast(IR *ir, Ref x, DType d) {
  const Node *n = node(ir, x);
  return n->dt == d ? x : graph_node(ir, OP_CAST, d, 1, &x, 0, NULL, n->rank, n->dims);
}

/* The common shape of broadcasting; BUG when there is none. */
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
      CHECK(dims[a] == 1);
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
  CHECK(node(ir, a)->dt == node(ir, b)->dt && op_takes(op, (DType)node(ir, a)->dt));
  bool compare = op_info[op].type[0] == 'b';
  return elementwise(ir, op, compare ? DT_BOOL : (DType)node(ir, a)->dt, 2, (Ref[]){ a, b });
}

Ref g_where(IR *ir, Ref c, Ref a, Ref b) {
  CHECK(node(ir, c)->dt == DT_BOOL && node(ir, a)->dt == node(ir, b)->dt);
  return elementwise(ir, OP_WHERE, (DType)node(ir, a)->dt, 3, (Ref[]){ c, a, b });
}

/* ---- movement ---- */
Ref g_reshape(IR *ir, Ref x, int rank, const int64_t *dims) {
  const Node *n = node(ir, x);
  if (same_dims(n, rank, dims)) return x;
  CHECK(dims_elems(n->dims, n->rank) == dims_elems(dims, rank));
  if (n->op == OP_RESHAPE) return g_reshape(ir, n->src[0], rank, dims);
  return graph_node(ir, OP_RESHAPE, (DType)n->dt, 1, &x, 0, NULL, rank, dims);
}

Ref g_expand(IR *ir, Ref x, int rank, const int64_t *dims) {
  const Node *n = node(ir, x);
  if (same_dims(n, rank, dims)) return x;
  CHECK(n->rank <= rank);
  if (n->rank < rank) { /* leading axes first */
    int64_t lead[MAX_RANK];
    for (int i = 0; i < rank; i++) lead[i] = i < rank - n->rank ? 1 : n->dims[i - (rank - n->rank)];
    x = g_reshape(ir, x, rank, lead);
    n = node(ir, x);
    if (same_dims(n, rank, dims)) return x;
  }
  for (int i = 0; i < rank; i++) CHECK(n->dims[i] == dims[i] || n->dims[i] == 1);
  if (n->op == OP_EXPAND) x = n->src[0];
  return graph_node(ir, OP_EXPAND, (DType)n->dt, 1, &x, 0, NULL, rank, dims);
}

Ref g_permute(IR *ir, Ref x, const int64_t *perm) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK], both[MAX_RANK];
  uint32_t seen = 0;
  bool identity = true;
  for (int i = 0; i < n->rank; i++) {
    CHECK(perm[i] >= 0 && perm[i] < n->rank);
    seen |= 1u << perm[i];
    dims[i] = n->dims[perm[i]];
    identity &= perm[i] == i;
  }
  CHECK(seen == (1u << n->rank) - 1);
  if (identity) return x;
  if (n->op == OP_PERMUTE) {
    for (int i = 0; i < n->rank; i++) both[i] = n->arg[perm[i]];
    return g_permute(ir, n->src[0], both);
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
    CHECK(!dims[i] || (begin[i] >= 0 && begin[i] < n->dims[i] && last >= 0 && last < n->dims[i]));
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
  CHECK(n->rank < MAX_RANK && axis < n->rank && out >= 0 && k >= 1);
  CHECK(!out || (out - 1) * stride + (k - 1) * dilation < n->dims[axis]);
  memcpy(dims, n->dims, n->rank * sizeof *dims);
  dims[axis] = out;
  dims[n->rank] = k;
  return graph_node(ir, OP_WINDOW, (DType)n->dt, 1, &x, 3, arg, n->rank + 1, dims);
}

Ref g_pad(IR *ir, Ref x, const int64_t *lo, const int64_t *hi, Ref fill) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK], arg[2 * MAX_RANK];
  bool identity = true;
  CHECK(node(ir, fill)->dt == n->dt && node(ir, fill)->rank == 0);
  for (int i = 0; i < n->rank; i++) {
    CHECK(lo[i] >= 0 && hi[i] >= 0);
    arg[i] = lo[i];
    arg[n->rank + i] = hi[i];
    CHECK(i64_add(n->dims[i], lo[i], &dims[i]) && i64_add(dims[i], hi[i], &dims[i]));
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
    CHECK(x->rank == first->rank && x->dt == first->dt);
    for (int a = 0; a < x->rank; a++) CHECK(a == axis || x->dims[a] == first->dims[a]);
    CHECK(i64_add(dims[axis], x->dims[axis], &dims[axis]));
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
    x = node(ir, x->src[0]);
  if (x->op != OP_WEIGHT) return 0;
  const Tensor *t = &ir->tensors.p[x->arg[0]];
  for (int64_t i = 0; i < t->elems; i++) {
    *wrong = tensor_bits(t, i);
    if (*wrong < 0 || *wrong >= extent) return -1;
  }
  return 1;
}

/* Nothing is ever read outside of a tensor: an index that is not known to fit is clamped. */
Ref g_gather(IR *ir, Ref x, Ref index, int axis) {
  const Node *n = node(ir, x), *m = node(ir, index);
  CHECK(n->rank == m->rank && m->dt == DT_I64);
  int64_t dims[MAX_RANK], xdims[MAX_RANK], arg = axis, extent = n->dims[axis], wrong;
  if (g_index_fits(ir, index, extent, &wrong) <= 0) {
    CHECK(extent);
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
  CHECK(n->rank == m->rank && n->rank == u->rank && m->dt == DT_I64 && u->dt == n->dt);
  CHECK(!op || op_takes(op, (DType)n->dt));
  for (int i = 0; i < n->rank; i++) dims[i] = i == axis ? (m->dims[i] == 1 ? u->dims[i] : m->dims[i]) : n->dims[i];
  if (!dims_elems(dims, n->rank)) return x;
  index = g_expand(ir, index, n->rank, dims);
  updates = g_expand(ir, updates, n->rank, dims);
  return graph_node(ir, OP_SCATTER, (DType)n->dt, 3, (Ref[]){ x, index, updates }, 2, arg, n->rank, n->dims);
}

Ref g_reduce(IR *ir, Op op, Ref x, uint32_t axes) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK], arg[2] = { op, axes };
  bool any = false;
  CHECK(op_takes(op, (DType)n->dt));
  for (int i = 0; i < n->rank; i++) {
    bool r = axes >> i & 1;
    any |= r && n->dims[i] != 1;
    dims[i] = r ? 1 : n->dims[i];
  }
  if (!any) return x;
  return graph_node(ir, OP_REDUCE, (DType)n->dt, 1, &x, 2, arg, n->rank, dims);
}
