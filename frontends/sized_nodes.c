/* SPDX-License-Identifier: MIT */
/* sized_nodes.c: replaces nodes of the graph for the greatest sizes by nodes that serve all sizes.
 *
 * Where a reduction or a padding takes other entries at other sizes, a size mask hides entries that a run does not have. A
 * concatenation behind such entries becomes a selection, and a constant that follows from numbers of entries becomes a SIZE.
 * Entries at the end of the dimension, and reversals, become gathers. A loop keeps its values once a run has no more iterations.
 *
 * needs: Sizing.open of find_extents    gives: Sizing.placed    breaks: Graph.outputs, which become new nodes */
#include "sized_parts.h"
#include <string.h>

static Ref mask_axes(const Sizing *z, Ref r, Ref value, uint32_t axes, int64_t fill) {
  for (int a = 0; a < node(z->ir, r)->rank; a++) {
    const int extent = axes >> a & 1 ? extent_along(z, r, a) : -1;
    if (extent >= 0) value = graph_masked(z->ir, value, a, extent, fill);
  }
  return value;
}

/* Axes with padding behind the entries */
static uint32_t padded_axes(const Node *pad) {
  uint32_t axes = 0;
  for (int a = 0; a < pad->rank; a++) axes |= (uint32_t)(pad_hi(pad, a) > 0) << a;
  return axes;
}

/* The source of a padding: a run's entries, and then the padding. All users of the source can take them from there. */
static Ref padded_source(const Sizing *z, Ref pad, Ref value) {
  const Node *x = node(z->ir, pad);
  int64_t fill;
  return node_is_const(z->ir, pad_fill(x), &fill) ? mask_axes(z, pad_data(x), value, padded_axes(x), fill) : value;
}

/* How many elements of a padding are in front, if half of its width and a constant are (Placed.front); PAD_MOST + 1: another
 * number */
static int front_of_pad(const Sizing *z, Ref r, int axis) {
  const Samples front = samples_of_pad(z, r, axis, true), back = samples_of_pad(z, r, axis, false);
  if (!samples_vary(z, &front)) return PAD_FIXED;
  int k = -PAD_MOST;
  for (bool all = false; k <= PAD_MOST; k++) {
    all = front.most == (front.most + back.most + k) / 2;
    for (int p = 0; p < z->n && all; p++) all = !(front.known >> p & 1) || front.at[p] == (front.at[p] + back.at[p] + k) / 2;
    if (all) break;
  }
  return k;
}

/* A padding along an axis that has half of its width and a constant in front. all, of: the extents with and without it */
static Ref centred(IR *ir, Ref value, int axis, int64_t most, int all, int of, int front, int64_t fill) {
  const int rank = node(ir, value)->rank;
  const Ref none = c_int(ir, DT_I64, 0), size = graph_size_plus(ir, of, 0);
  const Ref width = g_binary(ir, OP_ADD, graph_size_plus(ir, all, front), g_binary(ir, OP_MUL, size, c_int(ir, DT_I64, -1)));
  const Ref back = g_binary(ir, OP_MUL, g_binary(ir, OP_FLDIV, width, c_int(ir, DT_I64, 2)), c_int(ir, DT_I64, -1));
  const Ref place = graph_positions(ir, back, 1, most, axis, rank); /* in the source; negative in front of it */
  const Ref there = g_binary(ir, OP_AND, g_binary(ir, OP_CMPLE, none, place), g_binary(ir, OP_CMPLT, place, size));
  const Ref inside = g_binary(ir, OP_MIN, g_binary(ir, OP_MAX, place, none), graph_size_plus(ir, of, -1));
  return g_where(ir, there, g_gather(ir, value, inside, axis), c_bits(ir, (DType)node(ir, value)->dt, fill));
}

/* A padding whose width depends on a size, such as SAME_UPPER with a stride. 0: it has no form for all sizes */
static Ref varying_pad(Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  Placed p = { .was = x, .src = src };
  int64_t lo[MAX_RANK], hi[MAX_RANK], fill;
  Ref value = src[0];
  if (!node_is_const(ir, pad_fill(x), &fill)) return 0;
  for (int a = 0; a < x->rank; a++) {
    const int front = front_of_pad(z, r, a), all = extent_along(z, r, a), of = extent_along(z, pad_data(x), a);
    if (pad_varies(z, r, a) && (front > PAD_MOST || of < 0 || (all < 0 && front != PAD_FIXED))) return 0;
    p.front[a] = (signed char)front;
    lo[a] = pad_lo(x, a), hi[a] = pad_hi(x, a);
    if (of >= 0 && (hi[a] || pad_varies(z, r, a)) && front == PAD_FIXED) value = graph_masked(ir, value, a, of, fill);
    if (front == PAD_FIXED) continue;
    value = centred(ir, value, a, x->dims[a], all, of, front, fill);
    lo[a] = hi[a] = 0;
  }
  p.now = value = g_pad(ir, value, lo, hi, src[1]);
  VEC_PUSH(&z->placed, p);
  for (int a = 0; a < x->rank; a++) /* later passes learn the extents from masks */
    if (pad_varies(z, r, a) && extent_along(z, r, a) >= 0) value = graph_masked(ir, value, a, extent_along(z, r, a), fill);
  return value;
}

static Ref sized_pad(Sizing *z, Ref r, Ref *src) {
  bool varies = false;
  for (int a = 0; a < node(z->ir, r)->rank; a++) varies |= pad_varies(z, r, a);
  const Ref placed = varies ? varying_pad(z, r, src) : 0;
  if (placed) return placed;
  const Ref first = z->pad[pad_data(node(z->ir, r))];
  int64_t fill, other;
  const bool same = first && node_is_const(z->ir, pad_fill(node(z->ir, r)), &fill) &&
                    node_is_const(z->ir, pad_fill(node(z->ir, first)), &other) && fill == other &&
                    padded_axes(node(z->ir, r)) == padded_axes(node(z->ir, first));
  if (!same) src[0] = padded_source(z, r, src[0]);
  return node_with_src(z->ir, r, src);
}

static Ref sized_reduction(const Sizing *z, Ref r, Ref *src) {
  const Node *x = node(z->ir, r);
  const int64_t identity = reduce_identity(reduce_op(x), (DType)x->dt);
  return g_reduce(z->ir, reduce_op(x), mask_axes(z, operand(x), src[0], reduce_axes(x), identity), reduce_axes(x));
}

/* Updates that a run does not have get an index that is ignored. */
static Ref sized_scatter(const Sizing *z, Ref r, Ref *src) {
  const Node *x = node(z->ir, r);
  src[1] = mask_axes(z, scatter_index(x), src[1], 1u << scatter_axis(x), -1);
  return node_with_src(z->ir, r, src);
}

/* Source k of a user at the probes, or output k. part: one of the nodes of Operand.parts; -1: the source itself */
typedef struct Used {
  const Operand *const *at;
  size_t k;
  int part;
} Used;

static const Operand *operand_of(const Used *u, int p) {
  const Operand *o = u->at[p] ? &u->at[p][u->k] : NULL;
  return o && u->part >= 0 ? o->parts ? &o->parts[u->part].of : NULL : o;
}

/* The bits of element i of a source at the greatest sizes, and at the probes. Returns the probes that have it. */
static uint32_t element_bits(const Sizing *z, Ref base, const Used *u, int64_t i, int64_t *bits) {
  const Node *x = node(z->ir, base);
  uint32_t known = 0;
  bits[0] = x->op == OP_WEIGHT ? tensor_bits(&z->ir->tensors.p[weight_id(x)], i) : const_value(x);
  for (int p = 0; p < z->n; p++) {
    const Operand *o = operand_of(u, p);
    if (o && o->n) bits[p + 1] = o->bits[i], known |= 1u << p;
  }
  return known;
}

/* The constant x with `size` in place of the elements that are true in `here` */
static Ref with_size(IR *ir, const Node *x, Ref value, const bool *here, Ref size) {
  const int64_t n = dims_elems(x->dims, x->rank);
  Tensor t = { .dt = DT_BOOL, .rank = x->rank, .elems = n };
  unsigned char *p = arena_alloc(&ir->ctx->model, (size_t)n);
  memcpy(t.dims, x->dims, x->rank * sizeof *t.dims);
  for (int64_t i = 0; i < n; i++) p[i] = here[i];
  t.data = p;
  return g_where(ir, g_weight(ir, ir_tensor(ir, &t)), size, value);
}

/* A source of a user, or an output, without its views: a constant of which elements follow from sizes */
static Ref sized_constant(const Sizing *z, Ref base, const Used *u) {
  IR *ir = z->ir;
  const Node *x = node(ir, base);
  const int64_t n = dims_elems(x->dims, x->rank);
  int64_t bits[1 + PROBES_MOST];
  Ref size[ELEMENTS_MOST], value = base;
  if ((x->op != OP_CONST && x->op != OP_WEIGHT) || n > ELEMENTS_MOST) return base;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t known = element_bits(z, base, u, i, bits);
    size[i] = sized_element(z, (DType)x->dt, bits, known);
  }
  if (x->op == OP_CONST) return size[0] ? size[0] : base;
  for (int64_t i = 0; i < n; i++) {
    bool here[ELEMENTS_MOST];
    const Ref one = size[i];
    for (int64_t j = i; j < n && one; j++) {
      here[j] = size[j] == one;
      if (here[j]) size[j] = 0;
    }
    memset(here, 0, (size_t)i * sizeof *here);
    if (one) value = with_size(ir, x, value, here, one);
  }
  return value;
}

static Ref sized_node(Sizing *z, Ref r, Ref *src);

/* A constant of Sizing.mixed, computed for one user. Its nodes have the peers that they have for this user. *i: the number of r
 * in Operand.parts; behind r it is the next one */
static Ref sized_part(Sizing *z, Ref r, Used *u, int *i) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  Peers shared;
  u->part = (*i)++;
  if (!x->nsrc) return sized_constant(z, r, u);
  const int part = u->part;
  for (int k = 0; k < x->nsrc; k++) src[k] = sized_part(z, x->src[k], u, i);
  memcpy(shared, z->peer[r], sizeof shared);
  for (int p = 0; p < z->n; p++) {
    const Operand *o = u->at[p] ? &u->at[p][u->k] : NULL;
    z->peer[r][p] = o && o->parts ? o->parts[part].peer : NULL;
  }
  const Ref now = sized_node(z, r, src);
  memcpy(z->peer[r], shared, sizeof shared);
  return now;
}

/* A source of a user, or an output: a constant below views, or another node. z->now has the latter. */
static Ref sized_source(Sizing *z, Ref r, const Operand *const *at, size_t k) {
  Used u = { at, k, -1 };
  bool parts = false;
  int i = 0;
  for (int p = 0; p < z->n; p++) parts |= at[p] && at[p][k].parts;
  if (parts) return sized_part(z, r, &u, &i);
  const Ref base = view_base(z->ir, r), sized = sized_constant(z, base, &u);
  return sized == base ? z->now[r] : view_over(z->ir, r, base, sized);
}

/* A part of an axis that begins at a place which depends on the size, such as the last entry: a gather by positions */
static Ref sized_shrink(Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  Placed p = { .was = x, .src = src };
  int64_t begin[MAX_RANK], step[MAX_RANK], dims[MAX_RANK];
  Ref value = src[0];
  bool any = false;
  for (int a = 0; a < x->rank; a++) {
    Samples s = { .most = shrink_begin(x, a) };
    begin[a] = shrink_begin(x, a), step[a] = shrink_step(x, a), dims[a] = x->dims[a];
    for (int i = 0; i < z->n; i++) /* a part of no entries begins nowhere */
      if (z->peer[r][i] && z->peer[r][i]->dims[a]) s.at[i] = shrink_begin(z->peer[r][i], a), s.known |= 1u << i;
    p.begin[a] = place_of_samples(z, &s);
    if (p.begin[a] < 0) continue;
    begin[a] = 0, step[a] = 1;
    const Ref first = graph_size_plus(ir, p.begin[a], 0);
    Ref place = graph_positions(ir, first, shrink_step(x, a), dims[a], a, x->rank);
    const int of = extent_along(z, operand(x), a);
    if (of >= 0 && !graph_gathers_inside(ir, place, of, extent_along(z, r, a)))
      place = g_binary(ir, OP_MIN, place, graph_size_plus(ir, of, -1)); /* the part ends inside, by sizes of several symbols */
    value = g_gather(ir, value, place, a);
    any = true;
  }
  if (!any) return node_with_src(ir, r, src);
  p.now = g_shrink(ir, value, begin, step, dims);
  VEC_PUSH(&z->placed, p);
  return p.now;
}

/* A concatenation behind entries whose number depends on the size */
static Ref sized_cat(Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  const int axis = (int)cat_axis(x);
  int extent = -1;    /* the extent of the parts so far; -1: it is constant */
  int64_t before = 0; /* entries in front, if it is */
  bool any = false;
  Ref value = 0;
  for (int k = 0; k < x->nsrc; k++) {
    const int64_t n = node(ir, x->src[k])->dims[axis];
    const int of = extent_along(z, x->src[k], axis);
    if (of >= 0 && !node(ir, x->src[k])->varies) src[k] = graph_masked(ir, src[k], axis, of, 0); /* it has more entries */
    any |= extent >= 0;
    if (!value) value = src[k];
    else if (extent < 0) value = g_cat(ir, 2, (Ref[]){ value, src[k] }, axis);
    else value = graph_joined(ir, value, src[k], axis, extent, of);
    if (extent >= 0 && of >= 0) {
      extent = sum_of_extents(z, extent, of);
      if (extent < 0) return node_with_src(ir, r, src);
    } else if (of >= 0 || extent >= 0) {
      extent = extent_make(ir, (Extent){ .of = of >= 0 ? of : extent, .times = 1, .plus = of >= 0 ? before : n, .over = 1,
                                         .most = node(ir, value)->dims[axis] });
    }
    if (any) open_axis(ir, value, axis, extent); /* the paddings inside have more entries */
    before += n;
  }
  if (!any) return node_with_src(ir, r, src);
  VEC_PUSH(&z->placed, ((Placed){ .now = value, .was = x, .src = src }));
  const int all = z->dense ? extent_along(z, r, axis) : -1; /* later passes learn the extent from the mask */
  return all < 0 ? value : graph_masked(ir, value, axis, all, 0);
}

/* Rows of IR.opened are about nodes of the front end. Later passes make other nodes, and may not find the extents behind such
 * rows. Sets Sizing.lost. */
static void find_lost(Sizing *z, const Refs *order) {
  const IR *ir = z->ir;
  z->lost = ARENA_NEW(&ir->ctx->model, bool, ir->n);
  memset(z->lost, 0, ir->n * sizeof *z->lost);
  for (size_t k = 0; k < ir->opened.n; k++) z->lost[ir->opened.p[k].value] = true;
  for (size_t i = 0; i < order->n; i++) {
    const Node *x = node(ir, order->p[i]);
    for (int k = 0; k < x->nsrc; k++) z->lost[order->p[i]] |= z->lost[x->src[k]];
  }
}

/* An index from data is known to be inside the greatest extent only, unless it is clamped. In a run it is inside, too: there the
 * clamp vanishes, or the proof fails. For constant indices the proof compares values. */
static Ref sized_gather(const Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  const int extent = extent_along(z, gather_data(x), (int)gather_axis(x));
  const Node *index = node(ir, view_base(ir, gather_index(x)));
  const int count = extent < 0 ? -1 : extent_along(z, r, (int)gather_axis(x));
  const bool outside = extent >= 0 && !index->varies && !graph_gathers_inside(ir, src[1], extent, count);
  if (outside || (extent >= 0 && index->varies && index->op != OP_MIN))
    src[1] = g_binary(ir, OP_MIN, src[1], graph_size_plus(ir, extent, -1));
  if (extent >= 0 && index->varies && z->lost[gather_data(x)])
    src[0] = graph_masked(ir, src[0], (int)gather_axis(x), extent, 0);
  /* a remainder by a size has no bounds that hold for all sizes, and an index with bounds has simpler places in memory */
  if (extent >= 0 && !index->varies && node(ir, src[1])->vmin < 0) src[1] = g_binary(ir, OP_MAX, src[1], c_int(ir, DT_I64, 0));
  const Ref value = node_with_src(ir, r, src);
  const int of = index->varies ? extent_along(z, r, (int)gather_axis(x)) : -1;
  return of < 0 ? value : graph_masked(ir, value, (int)gather_axis(x), of, 0); /* later passes learn the extent from the mask */
}

/* The next value of a place, kept from iteration n on if a run has n of them */
static Ref sized_yield(Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  const int loop = (int)yield_loop(x), extent = loop_extent(ir, loop);
  if (extent < 0 || yield_place(x) < 0) return node_with_src(ir, r, src);
  const Ref old = refmap_get(&z->carried, place_key(loop, yield_place(x)));
  const Ref none = g_expand(ir, c_int(ir, (DType)x->dt, 0), x->rank, x->dims);
  const Ref before = old ? z->now[old] : g_carried(ir, loop, (int)yield_place(x), none);
  if (!before) ir->loop_extent[loop] = 0; /* the proof will refuse it */
  if (!before) return node_with_src(ir, r, src);
  return g_yield(ir, loop, (int)yield_place(x), g_where(ir, g_live(ir, loop, greatest_extent(ir, extent)), src[0], before));
}

static Ref sized_node(Sizing *z, Ref r, Ref *src) {
  const Node *x = node(z->ir, r);
  switch ((Op)x->op) {
  case OP_REDUCE: return sized_reduction(z, r, src);
  case OP_SCATTER: return sized_scatter(z, r, src);
  case OP_GATHER: return sized_gather(z, r, src);
  case OP_PAD: return sized_pad(z, r, src);
  case OP_SHRINK: return sized_shrink(z, r, src);
  case OP_CAT: return sized_cat(z, r, src);
  case OP_YIELD: return sized_yield(z, r, src);
  case OP_RESHAPE: return sized_reshape(z, r, src);
  default: return x->nsrc ? node_with_src(z->ir, r, src) : r;
  }
}

/* An output that is a copy of its value: a kernel that ends at the run's size */
static void copy_output(IR *ir, GIO *v) {
  for (int a = 0; a < v->rank; a++)
    if (v->open[a] && !extent_is_product(&ir->extents.p[v->open[a] - 1]))
      v->ref = graph_masked(ir, v->ref, a, v->open[a] - 1, 0);
}

bool copy_outputs(const Sizing *z, const Needed *needs) {
  bool any = false;
  for (size_t i = 0; i < z->g->outputs.n; i++) {
    GIO *v = &z->g->outputs.p[i];
    const Ref r = v->ref;
    const Needed own = graph_need_of_value(z->ir, v);
    /* the kernel of a scatter writes all entries, and other nodes may read more than a run has */
    if (node(z->ir, view_base(z->ir, r))->op == OP_SCATTER || !needed_same(&needs[r], &own)) copy_output(z->ir, v);
    any |= v->ref != r;
  }
  return any;
}

void put_sizes(Sizing *z) {
  Graph *g = z->g;
  IR *ir = z->ir;
  const size_t opened = ir->opened.n; /* further rows are about new nodes */
  Refs roots = { 0 }, order = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  memset(z->now, 0, ir->n * sizeof *z->now);
  find_lost(z, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(ir, order.p[i]);
    if (x->op == OP_PAD && padded_axes(x) && !z->pad[pad_data(x)]) z->pad[pad_data(x)] = order.p[i];
  }
  for (size_t i = 0; i < order.n; i++) {
    const Ref r = order.p[i];
    const Node *x = node(ir, r);
    Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc), now;
    ir->origin = x->origin;
    for (int k = 0; k < x->nsrc; k++)
      src[k] = op_is_movement((Op)x->op) ? z->now[x->src[k]] : sized_source(z, x->src[k], z->operand[r], (size_t)k);
    now = sized_node(z, r, src);
    z->now[r] = z->pad[r] ? padded_source(z, z->pad[r], now) : now;
  }
  for (size_t i = 0; i < opened; i++) {
    const OpenAxis o = ir->opened.p[i];
    VEC_PUSH(&ir->opened, ((OpenAxis){ z->now[o.value], o.axis, o.extent }));
  }
  ir->origin = 0;
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = sized_source(z, g->outputs.p[i].ref, z->result, i);
  VEC_FREE(&order);
  VEC_FREE(&roots);
}
