/* SPDX-License-Identifier: MIT */
/* loss_ops.c: losses over classes: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. Axis 1 of the scores is the classes;
 * the target gives a class for each position. */
#include "../core/build.h"

/* -score[target] * weight[target], 0 where the target is ignored; reduced by the attribute */
static Ref likelihood_loss(Build *b, Ref scores) {
  IR *ir = b->ir;
  const Node *x = node(ir, scores), *target = in_node(b, 1);
  DType d = (DType)x->dt;
  int64_t dims[MAX_RANK];
  bool fits = x->rank >= 2 && target->rank == x->rank - 1;
  for (int i = 0; fits && i < x->rank; i++) {
    dims[i] = i == 1 ? 1 : x->dims[i];
    fits = i == 1 || target->dims[i - (i > 1)] == dims[i];
  }
  if (!fits) bad(b, "the target does not have the shape of the scores without axis 1");
  Ref index = g_reshape(ir, g_cast(ir, b->in[1], DT_I64), x->rank, dims), zero = c_int(ir, d, 0), weight = c_int(ir, d, 1),
      ignored = 0;
  if (attr_set(b, "ignore_index")) {
    ignored = g_binary(ir, OP_CMPEQ, index, c_int(ir, DT_I64, attr_int(b, "ignore_index")));
    index = g_where(ir, ignored, c_int(ir, DT_I64, 0), index); /* an ignored target may be no class, and must not be reported
                                                                  as a wrong index */
  }
  index = wrap_index(b, index, x->dims[1]);
  if (has_in(b, 2)) {
    const Node *w = in_node(b, 2);
    if (w->rank != 1 || w->dims[0] != x->dims[1])
      bad(b, "the weights are not a vector of the %lld classes", (long long)x->dims[1]);
    int64_t along[MAX_RANK];
    for (int i = 0; i < x->rank; i++) along[i] = i == 1 ? w->dims[0] : 1;
    weight = g_gather(ir, g_reshape(ir, b->in[2], x->rank, along), index, 1);
  }
  if (ignored) weight = g_where(ir, ignored, zero, weight);
  Ref loss = g_unary(ir, OP_NEG, g_binary(ir, OP_MUL, g_gather(ir, scores, index, 1), weight));
  if (ignored) loss = g_where(ir, ignored, zero, loss);
  if (attr_is(b, "reduction", "none")) return without_axes(ir, loss, 2);
  uint32_t all = (1u << x->rank) - 1;
  Ref sum = g_reshape(ir, g_reduce(ir, OP_ADD, loss, all), 0, NULL);
  if (attr_is(b, "reduction", "sum")) return sum;
  Ref total = g_reduce(ir, OP_ADD, g_expand(ir, weight, x->rank, dims), all);
  return g_binary(ir, OP_DIV, sum, g_reshape(ir, total, 0, NULL));
}

void op_likelihood_loss(Build *b) { b->out[0] = likelihood_loss(b, b->in[0]); }

void op_cross_entropy_loss(Build *b) {
  if (in_node(b, 0)->rank < 2) bad(b, "the scores have rank %d, expected at least 2", in_node(b, 0)->rank);
  Ref logs = softmax(b, b->in[0], 1, true);
  b->out[0] = likelihood_loss(b, logs);
  if (b->nout > 1) b->out[1] = logs;
}
