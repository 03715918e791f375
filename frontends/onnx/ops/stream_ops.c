/* SPDX-License-Identifier: MIT */
/* stream_ops.c: operators with a state that passes from run to run: LinearAttention, CausalConvWithState. States are ordinary
 * inputs and outputs; --state keeps them in the bundle. */
#include "../core/build.h"
#include <math.h>

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

/* Input k, [batch, steps, heads * width], as f32 [batch, steps, heads, width] */
static Ref heads_of(Build *b, int k, const char *name, int64_t heads) {
  const Node *x = in_node(b, k), *q = in_node(b, QUERY);
  if (x->rank != 3 || x->dims[0] != q->dims[0] || x->dims[1] != q->dims[1] || x->dims[2] % heads)
    bad(b, "input '%s' must be [%lld,%lld,columns], and %lld heads must divide the columns", name, (long long)q->dims[0],
        (long long)q->dims[1], (long long)heads);
  return g_reshape(b->ir, g_cast(b->ir, b->in[k], acc_type(in_dt(b, k))), 4,
                   (int64_t[]){ x->dims[0], x->dims[1], heads, x->dims[2] / heads });
}

/* Step t of x, reshaped */
static Ref at_step(Build *b, Ref x, int64_t t, int rank, const int64_t *dims) {
  return g_reshape(b->ir, shrink_axis(b->ir, x, 1, t, 1, 1), rank, dims);
}

/* The state is a matrix, keys times values, for each head of keys. A step multiplies it by the decay, adds the outer product of
 * key and value, and the query reads it. Delta rules scale the added value by beta, after subtracting the value that the state
 * holds for the key. */
void op_linear_attention(Build *b) {
  IR *ir = b->ir;
  int64_t hq = attr_int(b, "q_num_heads"), hk = attr_int(b, "kv_num_heads");
  const bool delta = attr_is(b, "update_rule", "delta") || attr_is(b, "update_rule", "gated_delta");
  const bool gated = attr_is(b, "update_rule", "gated") || attr_is(b, "update_rule", "gated_delta");
  if (in_node(b, QUERY)->rank != 3 || !in_node(b, QUERY)->dims[1])
    bad(b, "input 'query' must be [batch,steps,columns] with at least one step");
  if (hq % hk) bad(b, "%lld heads of keys do not divide %lld heads of queries", (long long)hk, (long long)hq);
  if ((gated && !has_in(b, DECAY)) || (delta && !has_in(b, BETA)))
    bad(b, "input '%s' is omitted, but attribute 'update_rule' needs it", gated && !has_in(b, DECAY) ? "decay" : "beta");
  Ref q = heads_of(b, QUERY, "query", hq), k = heads_of(b, KEY, "key", hk), v = heads_of(b, VALUE, "value", hk), decay = 0,
      beta = 0;
  const Node *qn = node(ir, q);
  int64_t batch = qn->dims[0], steps = qn->dims[1], width = qn->dims[3], values = node(ir, v)->dims[3],
          state[] = { batch, hk, width, values };
  if (node(ir, k)->dims[3] != width)
    bad(b, "a head of keys has %lld elements, but a head of queries has %lld", (long long)node(ir, k)->dims[3], (long long)width);
  if (gated) decay = g_unary(ir, OP_EXP, heads_of(b, DECAY, "decay", hk));
  if (delta) beta = heads_of(b, BETA, "beta", in_node(b, BETA)->rank == 3 && in_node(b, BETA)->dims[2] == 1 ? 1 : hk);
  int64_t fades = decay ? node(ir, decay)->dims[3] : 1;
  if (fades != 1 && fades != width)
    bad(b, "input 'decay' has %lld elements per head, expected 1 or %lld", (long long)fades, (long long)width);
  if (beta && node(ir, beta)->dims[3] != 1)
    bad(b, "input 'beta' has %lld elements per head, expected 1", (long long)node(ir, beta)->dims[3]);
  Ref s = has_in(b, PAST) ? to_shape(b, widen(b, b->in[PAST]), 4, state)
                          : g_expand(ir, c_float(ir, acc_type(in_dt(b, QUERY)), 0), 4, state);
  spend(b, steps);
  Ref *y = ARENA_NEW(&b->c->model, Ref, steps);
  double scale = attr_float(b, "scale");
  q = mul(b, q, num(b, q, scale != 0 ? scale : 1 / sqrt((double)width)));
  for (int64_t t = 0; t < steps; t++) {
    spend(b, 0);
    Ref key = at_step(b, k, t, 4, (int64_t[]){ batch, hk, width, 1 }),
        value = at_step(b, v, t, 4, (int64_t[]){ batch, hk, 1, values });
    if (decay) s = mul(b, s, at_step(b, decay, t, 4, (int64_t[]){ batch, hk, fades, 1 }));
    if (delta) {
      Ref said = g_reduce(ir, OP_ADD, mul(b, s, key), 1u << 2);
      value = mul(b, g_binary(ir, OP_SUB, value, said),
                  at_step(b, beta, t, 4, (int64_t[]){ batch, node(ir, beta)->dims[2], 1, 1 }));
    }
    s = add(b, s, mul(b, key, value));
    Ref row = matmul(b, at_step(b, q, t, 4, (int64_t[]){ batch, hk, hq / hk, width }), s);
    y[t] = g_reshape(ir, row, 3, (int64_t[]){ batch, 1, hq * values });
  }
  b->out[0] = g_cast(ir, cat_all(b, steps, y, 1), in_dt(b, QUERY));
  b->out[1] = g_cast(ir, s, in_dt(b, has_in(b, PAST) ? PAST : QUERY));
}

/* A convolution per channel over previous elements: the state, or zeros. Inputs: x, weights, bias, state */
void op_causal_conv(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *w = in_node(b, 1);
  if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 || !w->dims[2])
    bad(b, "the weights must be [channels,1,taps] for an input [batch,channels,steps]");
  int64_t before = w->dims[2] - 1, past[] = { x->dims[0], x->dims[1], before };
  Ref state = has_in(b, 3) ? to_shape(b, b->in[3], 3, past) : g_expand(ir, c_int(ir, in_dt(b, 0), 0), 3, past);
  Ref all = before ? g_cat(ir, 2, (Ref[]){ state, b->in[0] }, 2) : b->in[0];
  const AttrVal group = int_attr("group", x->dims[1]);
  Ref y = apply_op(b, "Conv", has_in(b, 2) ? 3 : 2, (Ref[]){ all, b->in[1], b->in[2] }, 1, &group);
  if (!attr_is(b, "activation", "none")) { /* the operator is defined as a function, all of whose values have its type */
    Ref wide = widen(b, y);
    y = mul(b, y, g_cast(ir, apply_op(b, "Sigmoid", 1, &wide, 0, NULL), in_dt(b, 0)));
  }
  b->out[0] = y;
  b->out[1] = shrink_axis(ir, all, 2, node(ir, all)->dims[2] - before, 1, before);
}

/* com.microsoft has the same operators, with states of several steps and channels on another axis; only the defaults are
 * supported. */
static void need_default(Build *b, const char *name, int64_t value) {
  if (attr_int(b, name) != value)
    bad(b, "attribute '%s' is %lld, only %lld is supported", name, (long long)attr_int(b, name), (long long)value);
}

void op_ms_linear_attention(Build *b) {
  need_default(b, "state_window", 0);
  op_linear_attention(b);
}

void op_ms_causal_conv(Build *b) {
  need_default(b, "state_window", 0);
  need_default(b, "channels_last", 0);
  need_default(b, "dilation", 1);
  need_default(b, "ndim", 1);
  op_causal_conv(b);
}
