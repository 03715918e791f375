/* SPDX-License-Identifier: MIT */
/* training_ops.c: one step of an optimizer, for each of several tensors: Adagrad, Adam, Momentum. Inputs are the learning rate
 * R, the number of steps T, and then all tensors, all their gradients, and all values that the optimizer keeps. Outputs are the
 * new tensors and the new values that it keeps. */
#include "../core/build.h"

typedef struct Step {
  Ref rate, count, x, gradient; /* gradient: with that of the penalty on large x */
  Ref kept[2], y;               /* kept: before the step, then after it. y: x after it */
} Step;

static Ref over(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_DIV, x, y); }
static Ref squared(Build *b, Ref x) { return mul(b, x, x); }

/* before where no step has been made */
static Ref first_or(Build *b, const Step *s, Ref first, Ref later) {
  return g_where(b->ir, g_binary(b->ir, OP_CMPLT, integer(b, 0), s->count), later, first);
}

static void adagrad(Build *b, Step *s) {
  Ref rate = over(b, s->rate,
                  plus(b, times(b, g_cast(b->ir, s->count, (DType)node(b->ir, s->rate)->dt), attr_float(b, "decay_factor")), 1));
  s->kept[0] = add(b, s->kept[0], squared(b, s->gradient));
  Ref size = plus(b, g_unary(b->ir, OP_SQRT, s->kept[0]), attr_float(b, "epsilon"));
  s->y = sub(b, s->x, over(b, mul(b, rate, s->gradient), size));
}

/* 1 - v to the power of the number of steps */
static Ref rest_of_power(Build *b, const Step *s, double v) {
  Ref power = apply_op(b, "Pow", 2, (Ref[]){ num(b, s->rate, v), g_cast(b->ir, s->count, (DType)node(b->ir, s->rate)->dt) }, 0,
                       NULL);
  return plus(b, times(b, power, -1), 1);
}

static void adam(Build *b, Step *s) {
  const double alpha = attr_float(b, "alpha"), beta = attr_float(b, "beta");
  s->kept[0] = add(b, times(b, s->kept[0], alpha), times(b, s->gradient, 1 - alpha));
  s->kept[1] = add(b, times(b, s->kept[1], beta), times(b, squared(b, s->gradient), 1 - beta));
  Ref size = plus(b, g_unary(b->ir, OP_SQRT, s->kept[1]), attr_float(b, "epsilon"));
  Ref later = over(b, mul(b, s->rate, g_unary(b->ir, OP_SQRT, rest_of_power(b, s, beta))), rest_of_power(b, s, alpha));
  s->y = sub(b, s->x, over(b, mul(b, first_or(b, s, s->rate, later), s->kept[0]), size));
  s->y = times(b, s->y, 1 - attr_float(b, "norm_coefficient_post"));
}

static void momentum(Build *b, Step *s) {
  Ref now = mul(b, s->gradient, first_or(b, s, num(b, s->gradient, 1), num(b, s->gradient, attr_float(b, "beta"))));
  const double alpha = attr_float(b, "alpha");
  s->kept[0] = add(b, times(b, s->kept[0], alpha), now);
  Ref move = attr_is(b, "mode", "nesterov") ? add(b, s->gradient, times(b, s->kept[0], alpha)) : s->kept[0];
  s->y = sub(b, s->x, mul(b, s->rate, move));
}

void op_optimizer(Build *b) {
  static const struct {
    void (*step)(Build *b, Step *s);
    int kept;
  } kinds[] = { { adagrad, 1 }, { momentum, 1 }, { adam, 2 } };
  const int kept = kinds[b->row->arg].kept, n = (b->nin - 2) / (2 + kept);
  if ((b->nin - 2) % (2 + kept) || b->nout != n * (1 + kept))
    bad(b, "%d inputs and %d outputs do not fit: behind the first 2 inputs, each tensor has %d inputs and %d outputs", b->nin,
        b->nout, 2 + kept, 1 + kept);
  for (int i = 0; i < n; i++) {
    Step s = { .rate = scalar_in(b, 0), .count = scalar_in(b, 1), .x = b->in[2 + i] };
    spend(b, 1);
    for (int k = 1; k < 2 + kept; k++) {
      if (!nodes_alike(node(b->ir, s.x), in_node(b, 2 + k * n + i)))
        bad(b, "input %d differs in type or shape from input %d", 2 + k * n + i, 2 + i);
    }
    s.rate = g_cast(b->ir, s.rate, (DType)node(b->ir, s.x)->dt);
    s.gradient = add(b, times(b, s.x, attr_float(b, "norm_coefficient")), b->in[2 + n + i]);
    for (int k = 0; k < kept; k++) s.kept[k] = b->in[2 + (2 + k) * n + i];
    kinds[b->row->arg].step(b, &s);
    b->out[i] = s.y;
    for (int k = 0; k < kept; k++) b->out[(1 + k) * n + i] = s.kept[k];
  }
}
