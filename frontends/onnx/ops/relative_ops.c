/* SPDX-License-Identifier: MIT */
/* relative_ops.c: attention biases by the distance of key and query (com.microsoft). */
#include "../core/build.h"
#include <math.h>

/* Short distances have a bucket each. The upper half of the buckets covers longer distances on a logarithmic scale, up to
 * `most`. With both_ways, keys behind the query use the upper half of all buckets. Computed in f32, since bucket bounds are
 * rounded that way. */
static int64_t bucket_of(int64_t distance, int64_t buckets, int64_t most, bool both_ways) {
  int64_t first = 0, near;
  if (both_ways) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    else distance = -distance;
  } else distance = distance > 0 ? 0 : -distance;
  near = buckets / 2;
  if (distance < near) return first + distance;
  float part = logf((float)distance / (float)near) / logf((float)most / (float)near);
  return first + clamp(near + (int64_t)(part * (float)(buckets - near)), 0, buckets - 1);
}

static int64_t one_size(Build *b, int k, const char *name) {
  int n;
  const int64_t *v = const_ints(b, k, name, &n);
  if (n != 1 || *v < 1) bad(b, "input '%s' must be one integer of at least 1", name);
  return *v;
}

/* inputs: biases [buckets, heads], number of queries, number of keys */
void op_ms_relative_bias(Build *b) {
  IR *ir = b->ir;
  const Node *table = in_node(b, 0);
  if (table->rank != 2 || table->dims[0] < 4) bad(b, "input 'bias_table' must be [buckets,heads] with at least 4 buckets");
  const int64_t buckets = table->dims[0], heads = table->dims[1], most = attr_int(b, "max_distance");
  const int64_t queries = one_size(b, 1, "query_length"), keys = one_size(b, 2, "key_length"), n = elems_mul(b, queries, keys);
  int64_t *at = ARENA_NEW(&b->c->model, int64_t, n);
  for (int64_t q = 0; q < queries; q++)
    for (int64_t k = 0; k < keys; k++) at[q * keys + k] = bucket_of(k - q, buckets, most, attr_int(b, "is_bidirectional"));
  Ref rows = g_reshape(ir, b->in[0], 2, (int64_t[]){ heads, buckets });
  Ref y = g_gather(ir, rows, g_reshape(ir, ints_ref(b, (int)n, at), 2, (int64_t[]){ 1, n }), 1);
  b->out[0] = g_reshape(ir, y, 4, (int64_t[]){ 1, heads, queries, keys });
}

enum { QUERY, QUERY_BIAS, DISTANCE_BIAS, WEIGHT, WEIGHT_BIAS, SCALE, OFFSETS };

/* Biases by distance, times a gate of each query: u (r scale - 1) + 2. u and r are sigmoids of sums over halves of a product
 * with the query */
void op_ms_gated_relative_bias(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, QUERY), *w = in_node(b, WEIGHT);
  const int64_t heads = attr_int(b, "num_heads");
  if (has_in(b, OFFSETS)) bad(b, "input 'token_offset' is not supported: batches must keep their padding");
  if (x->rank != 3 || x->dims[2] % heads)
    bad(b, "input 'query_layer' must be [batch,steps,columns], and %lld heads must divide the columns", (long long)heads);
  const int64_t dims[4] = { x->dims[0], x->dims[1], heads, x->dims[2] / heads };
  if (w->rank != 2 || w->dims[0] != dims[3] || w->dims[1] % 2)
    bad(b, "input 'weight' must have %lld rows and an even number of columns", (long long)dims[3]);
  const int64_t gate[5] = { dims[0], heads, dims[1], 2, w->dims[1] / 2 }, each[4] = { dims[0], heads, dims[1], 1 },
                scores[4] = { dims[0], heads, dims[1], dims[1] };
  Ref q = g_reshape(ir, add(b, b->in[QUERY], to_shape(b, b->in[QUERY_BIAS], 3, x->dims)), 4, dims);
  Ref y = matmul(b, widen(b, g_permute(ir, q, (int64_t[]){ 0, 2, 1, 3 })), widen(b, b->in[WEIGHT]));
  y = add(b, y, to_shape(b, widen(b, b->in[WEIGHT_BIAS]), 4, node(ir, y)->dims));
  Ref sum = g_reduce(ir, OP_ADD, g_reshape(ir, y, 5, gate), 1u << 4), both_gates = apply_op(b, "Sigmoid", 1, &sum, 0, NULL);
  Ref u = g_reshape(ir, shrink_axis(ir, both_gates, 3, 0, 1, 1), 4, each),
      r = g_reshape(ir, shrink_axis(ir, both_gates, 3, 1, 1, 1), 4, each);
  Ref factor = plus(b, mul(b, u, plus(b, mul(b, r, to_shape(b, widen(b, b->in[SCALE]), 4, each)), -1)), 2);
  b->out[0] = g_cast(ir, mul(b, to_shape(b, factor, 4, scores), to_shape(b, widen(b, b->in[DISTANCE_BIAS]), 4, scores)),
                     in_dt(b, QUERY));
}
