/* SPDX-License-Identifier: MIT */
/* fold.c: turns values that depend only on constants into tensors.
 *
 * The largest such parts are found from their users downwards. These stay as they are:
 *   - views of weights: an EXPAND, RESHAPE or PERMUTE costs nothing in a kernel, and packing sees through it
 *   - integers of few bits that are only used in more bits: a load converts them
 *   - halves for a device with a matrix unit that multiplies halves: a load converts them, or the unit takes them as they are
 *   - positions, which are integer arithmetic on IOTA: the index algebra makes better addresses of them than a table would
 *   - quantised weights that a run reads only a few times (quantize_weights.c): only bytes, zero points and scales become
 *     tensors
 *   - parts above the limits of the context
 *
 * needs: any graph    gives: an equal graph, whose constants are tensors up to the limits    breaks: nothing */
#include "../interp/interp.h"
#include "../target/matrix_units.h"
#include "graph.h"
#include "rules.h"

typedef struct Fold {
  IR *ir;
  RefMap position; /* by node: 1 computed from tensors or floats; 2 from IOTA and integers only */
  RefMap kept;    /* constants of few bits that stay as they are; maps to itself */
  RefMap done;    /* node to its replacement */
  RefMap folded;  /* hash of a result to 1 + its tensor */
  const Device *dev;       /* the target's; may be NULL */
  bool changed;
} Fold;

static bool is_view(const Fold *f, const Node *x) {
  const DType from = x->op == OP_CAST && x->dt == DT_F32 ? (DType)node(f->ir, operand(x))->dt : DT_NONE;
  return x->op == OP_EXPAND || x->op == OP_RESHAPE || x->op == OP_PERMUTE ||
         (node_widens(f->ir, x) && dtype_info[x->dt].bits <= 32) ||
         ((from == DT_F16 || from == DT_BF16) && device_multiplies(f->dev, from));
}

static void find_kept(Fold *f, const Refs *order) {
  Ref chain[MAX_GROUP];
  for (size_t i = 0; i < order->n; i++)
    for (int k = 0; k < 2; k++)
      for (int n = quantised_factor(f->ir, order->p[i], k, chain); n > 0; n--) refmap_set(&f->kept, chain[n - 1], chain[n - 1]);
}

static bool folds(const Fold *f, Ref r) { return is_constant(f->ir, r) && !refmap_get(&f->kept, r); }

/* order: sources first */
static void find_positions(Fold *f, const Refs *order) {
  for (size_t i = 0; i < order->n; i++) {
    const Node *x = node(f->ir, order->p[i]);
    bool yes = x->op == OP_IOTA || x->op == OP_CONST;
    switch ((Op)x->op) {
    case OP_ADD: case OP_SUB: case OP_MUL: case OP_NEG: case OP_FLDIV: case OP_FLMOD: case OP_MIN: case OP_MAX:
    case OP_EXPAND: case OP_RESHAPE: case OP_PERMUTE: case OP_SHRINK:
      yes = x->dt == DT_I64;
      for (int k = 0; k < x->nsrc; k++) yes &= refmap_get(&f->position, x->src[k]) == 2;
      break;
    default: break;
    }
    refmap_set(&f->position, order->p[i], yes ? 2 : 1);
  }
}

static bool equal(const Tensor *a, const Tensor *b) {
  return a->dt == b->dt && a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) &&
         !memcmp(a->data, b->data, (size_t)(a->elems * dt_bytes(a->dt)));
}

/* The number of tensor t, or of an equal earlier result. If hashes collide, only the first result is found. */
static int result(Fold *f, const Tensor *t) {
  if (!t->data) return ir_tensor(f->ir, t);
  uint64_t sum = 0, word;
  const char *p = t->data;
  int64_t n = t->elems * dt_bytes(t->dt);
  for (int64_t i = 0; i < n; i += 8) {
    word = 0;
    memcpy(&word, p + i, (size_t)(n - i < 8 ? n - i : 8));
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    sum ^= sum >> 32;
  }
  uint32_t hash = (uint32_t)sum + !(uint32_t)sum; /* a key must not be 0 */
  uint32_t known = refmap_get(&f->folded, hash);
  if (known && equal(&f->ir->tensors.p[known - 1], t)) return (int)known - 1;
  int id = ir_tensor(f->ir, t);
  if (!known) refmap_set(&f->folded, hash, (Ref)id + 1);
  return id;
}

/* Replaces the part whose head is r, below its views */
static void fold_part(Fold *f, Ref r) {
  IR *ir = f->ir;
  Tensor t;
  while (is_view(f, node(ir, r))) r = operand(node(ir, r));
  const Node *x = node(ir, r);
  if (x->op == OP_CONST || x->op == OP_WEIGHT || refmap_get(&f->position, r) == 2 || refmap_get(&f->done, r)) return;
  if (!interp_const(ir, r, &t)) return;
  if (tensor_uniform(&t, &t.splat)) t.data = NULL;
  uint32_t origin = ir->origin;
  ir->origin = x->origin;
  refmap_set(&f->done, r, g_weight(ir, result(f, &t)));
  ir->origin = origin;
  f->changed = true;
}

bool graph_fold(Graph *g, const Device *dev) {
  Fold f = { .ir = g->ir, .dev = dev };
  Refs roots = { 0 }, order = { 0 }, src = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  find_positions(&f, &order);
  find_kept(&f, &order);
  for (size_t i = 0; i < roots.n; i++)
    if (is_constant(g->ir, roots.p[i])) fold_part(&f, roots.p[i]);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(g->ir, order.p[i]);
    for (int k = 0; k < x->nsrc && !folds(&f, order.p[i]); k++)
      if (folds(&f, x->src[k])) fold_part(&f, x->src[k]);
  }
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(g->ir, order.p[i]);
    if (refmap_get(&f.done, order.p[i])) continue;
    src.n = 0;
    for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&src, refmap_get(&f.done, x->src[k]));
    refmap_set(&f.done, order.p[i], x->nsrc ? node_with_src(g->ir, order.p[i], src.p) : order.p[i]);
  }
  for (size_t i = 0; i < roots.n; i++) g->outputs.p[i].ref = refmap_get(&f.done, roots.p[i]);
  refmap_free(&f.position);
  refmap_free(&f.kept);
  refmap_free(&f.done);
  refmap_free(&f.folded);
  VEC_FREE(&roots);
  VEC_FREE(&order);
  VEC_FREE(&src);
  return f.changed;
}
