/* SPDX-License-Identifier: MIT */
/* half_factors.c: factors of sums of products that are widened halves, for matrix units that multiply halves.
 *
 * promote_half.c leaves a factor that the model has in half precision as a half with a cast behind. A kernel converts it as it
 * loads it, or gives it to the unit as it is. Values that are stored between the cast and the product, such as padding, would be
 * floats. So movement goes below the cast.
 *
 * needs: promoted halves    gives: sums of products of casts of halves, as far as these are what is stored
 * keeps: the value of every element    breaks: nothing */
#include "../cost/tunable.h"
#include "../ir/refmap.h"
#include "../target/matrix_units.h"
#include "contraction.h"
#include "graph.h"
#include "rules.h"

typedef struct Halves {
  const Device *dev;
  RefMap found[2];         /* by type: the half of a node; the node itself where it is none. Parts of a graph are shared */
} Halves;

/* x, made by movement from a widened half of type d, as that half; 0: it is something else. depth: of movement on movement */
static Ref half_of(IR *ir, Halves *h, Ref x, DType d, int depth) {
  RefMap *found = &h->found[d == DT_BF16];
  const Ref known = refmap_get(found, x);
  if (known) return known == x ? 0 : known;
  const Node *n = node(ir, x);
  int64_t bits;
  Ref half = 0;
  if (node_is_const(ir, x, &bits)) { /* padding, of what the type has */
    const double v = bits_to_double((DType)n->dt, bits);
    half = c_float(ir, d, v);
    if (bits_to_double(d, const_value(node(ir, half))) != v) half = 0;
  } else if (n->op == OP_CAST && node(ir, operand(n))->dt == d) {
    half = operand(n);
  } else if (op_info[n->op].algebra & MOVE && depth < tunable(ir->ctx, half_moves)) {
    Refs src = { 0 };
    for (int k = 0; k < node(ir, x)->nsrc; k++) {
      const Ref part = half_of(ir, h, node(ir, x)->src[k], d, depth + 1);
      if (part) VEC_PUSH(&src, part);
    }
    n = node(ir, x);
    if ((int)src.n == n->nsrc) half = node_make(ir, (Op)n->op, d, 1, n->nsrc, src.p, n->narg, n->arg, n->rank, n->dims);
    VEC_FREE(&src);
  }
  refmap_set(found, x, half ? half : x);
  return half;
}

static Ref rule_factors(IR *ir, Ref r, void *arg) {
  Halves *h = arg;
  const Device *dev = h->dev;
  Contraction c;
  if (node(ir, r)->dt != DT_F32 || !contraction_find(ir, r, &c)) return 0;
  const Ref product = view_base(ir, operand(node(ir, r)));
  const Node *p = node(ir, product);
  Ref src[2] = { lhs(p), rhs(p) };
  bool any = false;
  for (int f = 0; f < 2; f++)
    for (DType d = DT_F16; d; d = d == DT_F16 ? DT_BF16 : 0) {
      const Ref half = device_multiplies(dev, d) && node(ir, c.base[f])->op != OP_CAST ? half_of(ir, h, c.base[f], d, 0) : 0;
      if (!half) continue;
      src[f] = view_over(ir, p->src[f], c.base[f], g_cast(ir, half, DT_F32));
      any = true;
      break;
    }
  return any ? view_over(ir, r, product, node_with_src(ir, product, src)) : 0;
}

bool graph_half_factors(Graph *g, const Device *dev) {
  static const Rule rules[] = { { OP_REDUCE, "halves", rule_factors }, { OP_NONE, NULL, NULL } };
  Halves h = { .dev = dev };
  if (!device_multiplies(dev, DT_F16) && !device_multiplies(dev, DT_BF16)) return false;
  const bool any = ir_rewrite_graph(g, rules, &h);
  for (int k = 0; k < 2; k++) refmap_free(&h.found[k]);
  return any;
}
