/* SPDX-License-Identifier: MIT */
/* attention_ops.c: attention, in ONNX's form and in those of com.microsoft, and rotary embeddings. All forms are two products
 * and a softmax:
 *
 *   softmax(cap(q k' * scale) + bias + (-inf where a key is not allowed)) v
 *
 * Queries are [B, H, S, d], keys [B, G, T, d], values [B, G, T, dv]. H is a multiple of G; queries that share a head of keys
 * are rows of one product. A query without any allowed key gives 0. Sums are accumulated in f32. */
#include "../../../compiler/interp/interp.h"
#include "../core/build.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct Attend {
  Ref q, k, v;
  Ref allowed;          /* bool, broadcasts to [B, H, S, T]; 0: every key is allowed */
  Ref bias;             /* floats that broadcast to [B, H, S, T]; 0: none */
  Ref sink;             /* floats that broadcast to [1, H, 1, 1]: the score of a further key without a value; 0: none */
  double scale;         /* 0: 1 / sqrt(d) */
  double cap;           /* above 0: scores become cap * tanh(score / cap) */
  bool never_empty;     /* masked scores are -FLT_MAX, not -inf: a query without an allowed key attends to all alike */
  Ref scores[4];        /* results: scores, after the cap, after the bias, after the softmax */
  Ref y;                /* [B, H, S, dv] */
} Attend;

static Ref not_above(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_CMPLE, x, y); }
static Ref swap_last(Build *b, Ref x) { return g_permute(b->ir, x, (int64_t[]){ 0, 1, 3, 2 }); }
static const int64_t *dims_of(Build *b, Ref x) { return node(b->ir, x)->dims; }

/* Exponentials of each row over their sum, to which a sink adds. A row of -inf gives zeros: its maximum is made finite, and its
 * sum is raised to 1. The sum of any other row is at least 1. */
static Ref weights_of(Build *b, Ref x, Ref sink, bool may_be_empty) {
  IR *ir = b->ir;
  if (sink) {
    Ref max = g_binary(ir, OP_MAX, g_reduce(ir, OP_MAX, x, 1u << 3), sink);
    Ref e = g_unary(ir, OP_EXP, sub(b, x, max)), more = g_unary(ir, OP_EXP, sub(b, sink, max));
    Ref sum = add(b, g_reduce(ir, OP_ADD, e, 1u << 3), more);
    return mul(b, e, g_unary(ir, OP_RECIP, sum));
  }
  if (!may_be_empty) return softmax(b, x, 3, false);
  Ref max = g_binary(ir, OP_MAX, g_reduce(ir, OP_MAX, x, 1u << 3), num(b, x, -FLT_MAX));
  Ref e = g_unary(ir, OP_EXP, g_binary(ir, OP_SUB, x, max)), sum = g_reduce(ir, OP_ADD, e, 1u << 3);
  return mul(b, e, g_unary(ir, OP_RECIP, g_binary(ir, OP_MAX, sum, num(b, x, 1))));
}

static void check_fits(Build *b, Ref x, const int64_t *dims, const char *what) {
  const Node *n = node(b->ir, x);
  bool fits = n->rank <= 4;
  for (int i = 1; fits && i <= n->rank; i++) fits = n->dims[n->rank - i] == 1 || n->dims[n->rank - i] == dims[4 - i];
  if (!fits)
    bad(b, "the shape of the %s does not broadcast to [%lld,%lld,%lld,%lld]", what, (long long)dims[0], (long long)dims[1],
        (long long)dims[2], (long long)dims[3]);
}

/* The term added to the scores: the bias, and -inf where a key is not allowed; 0: none */
static Ref mask_of(Build *b, const Attend *a, Ref like) {
  Ref bias = a->bias ? g_cast(b->ir, a->bias, (DType)node(b->ir, like)->dt) : 0;
  if (!a->allowed || a->never_empty) return bias;
  Ref far = g_where(b->ir, a->allowed, num(b, like, 0), num(b, like, -INFINITY));
  return bias ? add(b, bias, far) : far;
}

/* Sets rows without any allowed key to zero, whatever their scores are. mask: -inf in such rows */
static Ref without_empty_rows(Build *b, Ref x, Ref mask) {
  enum { SMALL = 1 << 20 };
  const Node *n = node(b->ir, mask);
  Tensor t;
  Ref most = n->rank ? g_reduce(b->ir, OP_MAX, mask, 1u << (n->rank - 1)) : mask;
  Ref empty = g_binary(b->ir, OP_CMPEQ, most, num(b, most, -INFINITY));
  bool any = true;
  if (dims_elems(n->dims, n->rank) <= SMALL && interp_const(b->ir, empty, &t)) {
    any = false;
    for (int64_t i = 0; i < (t.data ? t.elems : 1); i++) any |= tensor_bits(&t, i) != 0;
  }
  return any ? g_where(b->ir, empty, num(b, x, 0), x) : x;
}

static void attend(Build *b, Attend *a) {
  IR *ir = b->ir;
  DType d = (DType)node(ir, a->q)->dt;
  const int64_t *q = dims_of(b, a->q), *k = dims_of(b, a->k), *v = dims_of(b, a->v);
  if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || k[2] != v[2] || k[3] != q[3] || !k[1] || q[1] % k[1])
    bad(b, "queries %s, keys %s and values %s do not fit together as [batch,heads,steps,width]", dims_text(b, q, 4),
        dims_text(b, k, 4), dims_text(b, v, 4));
  int64_t rows = q[1] / k[1] * q[2], shape[4] = { q[0], q[1], q[2], k[2] }, grouped[4] = { q[0], k[1], rows, k[2] };
  Ref scaled = mul(b, widen(b, a->q), num(b, widen(b, a->q), a->scale != 0 ? a->scale : 1 / sqrt((double)q[3])));
  Ref x = matmul(b, g_reshape(ir, scaled, 4, (int64_t[]){ q[0], k[1], rows, q[3] }), swap_last(b, widen(b, a->k)));
  a->scores[0] = x = g_reshape(ir, x, 4, shape);
  if (a->cap > 0) x = mul(b, g_unary(ir, OP_TANH, g_binary(ir, OP_DIV, x, num(b, x, a->cap))), num(b, x, a->cap));
  a->scores[1] = x;
  if (a->bias) check_fits(b, a->bias, shape, "bias");
  if (a->allowed) check_fits(b, a->allowed, shape, "mask");
  const Ref mask = mask_of(b, a, x);
  if (mask) x = add(b, x, mask); /* an addition, no selection: a NaN stays, and inf becomes NaN, as the standard defines */
  if (a->allowed && a->never_empty) x = g_where(ir, a->allowed, x, num(b, x, -FLT_MAX));
  a->scores[2] = x = g_expand(ir, x, 4, shape);
  x = weights_of(b, x, a->sink, mask && !a->never_empty);
  if (mask && !a->never_empty && !a->sink) x = without_empty_rows(b, x, mask);
  a->scores[3] = x;
  DType sum = node(ir, a->v)->dt == DT_F64 ? DT_F64 : (DType)node(ir, x)->dt; /* values may have more bits than keys */
  Ref y = matmul(b, g_cast(ir, g_reshape(ir, x, 4, grouped), sum), g_cast(ir, a->v, sum));
  a->y = g_cast(ir, g_reshape(ir, y, 4, (int64_t[]){ q[0], q[1], q[2], v[3] }), d);
}

/* Reshapes [B, S, heads * d] to [B, heads, S, d] */
static Ref split_heads(Build *b, Ref x, int64_t heads, const char *name) {
  const Node *n = node(b->ir, x);
  if (n->rank != 3) bad(b, "input '%s' has rank %d, expected 3", name, n->rank);
  if (heads < 1 || n->dims[2] % heads)
    bad(b, "%lld heads do not divide the %lld columns of '%s'", (long long)heads, (long long)n->dims[2], name);
  int64_t dims[4] = { n->dims[0], n->dims[1], heads, n->dims[2] / heads };
  return g_permute(b->ir, g_reshape(b->ir, x, 4, dims), (int64_t[]){ 0, 2, 1, 3 });
}

static Ref join_heads(Build *b, Ref x) {
  const int64_t *d = dims_of(b, x), dims[3] = { d[0], d[2], d[1] * d[3] };
  return g_reshape(b->ir, g_permute(b->ir, x, (int64_t[]){ 0, 2, 1, 3 }), 3, dims);
}

/* Concatenates past and x along the sequence */
static Ref append(Build *b, Ref past, Ref x) {
  const Node *p = node(b->ir, past), *n = node(b->ir, x);
  bool fits = p->rank == 4 && p->dt == n->dt;
  for (int i = 0; fits && i < 4; i++) fits = i == 2 || p->dims[i] == n->dims[i];
  if (!fits) bad(b, "past keys and values must have rank 4, and the type, batch, heads and width of the new ones");
  return g_cat(b->ir, 2, (Ref[]){ past, x }, 2);
}

static Ref need_rank(Build *b, int k, const char *name, int rank) {
  if (in_node(b, k)->rank != rank) bad(b, "input '%s' has rank %d, expected %d", name, in_node(b, k)->rank, rank);
  return b->in[k];
}

/* ---- keys that a query may attend to ---- */
static Ref key_places(Build *b, int64_t total) { return iota_axis(b->ir, DT_I64, total, 3, 4); }

/* Positions of the queries among the keys. before: number of keys before the first query, a scalar or one per batch */
static Ref query_places(Build *b, int64_t length, Ref before) { return add(b, iota_axis(b->ir, DT_I64, length, 2, 4), before); }

/* Reshapes a vector over the batch to [B, 1, 1, 1] */
static Ref per_batch(Build *b, Ref x, int64_t batch) {
  return g_reshape(b->ir, g_cast(b->ir, x, DT_I64), 4, (int64_t[]){ batch, 1, 1, 1 });
}

/* True for keys from `left` before to `right` after the query; -1: no limit */
static Ref within(Build *b, Ref query, Ref key, int64_t left, int64_t right) {
  Ref r = 0;
  if (left >= 0) r = not_above(b, g_binary(b->ir, OP_SUB, query, integer(b, left)), key);
  if (right >= 0) r = both(b, r, not_above(b, key, right ? add(b, query, integer(b, right)) : query));
  return r;
}

/* ---- Attention of ONNX ---- */
enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };

/* A mask may be shorter than the keys; the keys behind its end are not allowed. */
static Ref longer_mask(Build *b, Ref mask, int64_t total) {
  const Node *n = node(b->ir, mask);
  int64_t more = n->rank ? total - n->dims[n->rank - 1] : 0;
  if (more <= 0 || (n->dims[n->rank - 1] == 1 && b->n->opset < 24)) return mask;
  return pad_axes(b->ir, mask, n->rank - 1, 1, (int64_t[]){ 0 }, &more,
                  c_float(b->ir, (DType)n->dt, n->dt == DT_BOOL ? 0 : -INFINITY));
}

void op_attention(Build *b) {
  IR *ir = b->ir;
  Attend a = { .q = b->in[Q], .k = b->in[K], .v = b->in[V], .cap = attr_float(b, "softcap"), .scale = attr_float(b, "scale") };
  bool flat = in_node(b, Q)->rank == 3;
  if (flat) {
    a.q = split_heads(b, a.q, attr_int(b, "q_num_heads"), "Q");
    a.k = split_heads(b, a.k, attr_int(b, "kv_num_heads"), "K");
    a.v = split_heads(b, a.v, attr_int(b, "kv_num_heads"), "V");
  } else {
    need_rank(b, Q, "Q", 4);
    need_rank(b, K, "K", 4);
    need_rank(b, V, "V", 4);
  }
  if (has_in(b, PAST_K) != has_in(b, PAST_V)) bad(b, "only one of the inputs 'past_key' and 'past_value' is given");
  if (has_in(b, PAST_K) && has_in(b, LENGTHS)) bad(b, "both past keys and 'nonpad_kv_seqlen' are given");
  Ref before = integer(b, 0), lengths = 0;
  if (has_in(b, PAST_K)) {
    a.k = append(b, b->in[PAST_K], a.k);
    a.v = append(b, b->in[PAST_V], a.v);
    before = integer(b, in_node(b, PAST_K)->dims[2]);
  }
  int64_t batch = dims_of(b, a.q)[0], length = dims_of(b, a.q)[2], total = dims_of(b, a.k)[2];
  if (has_in(b, LENGTHS)) {
    const Node *n = in_node(b, LENGTHS);
    if (n->rank != 1 || n->dims[0] != batch)
      bad(b, "input 'nonpad_kv_seqlen' must be a vector of %lld elements, one for each sequence", (long long)batch);
    lengths = per_batch(b, b->in[LENGTHS], batch);
    before = g_binary(ir, OP_SUB, lengths, integer(b, length));
    a.allowed = g_binary(ir, OP_CMPLT, key_places(b, total), lengths);
  }
  int64_t left = attr_int(b, "left_window_size"), right = attr_int(b, "right_window_size");
  if (attr_int(b, "is_causal")) right = 0;
  if (left >= 0 || right >= 0)
    a.allowed = both(b, a.allowed, within(b, query_places(b, length, before), key_places(b, total), left, right));
  if (has_in(b, MASK)) {
    Ref mask = longer_mask(b, b->in[MASK], total);
    check_fits(b, mask, (int64_t[]){ batch, dims_of(b, a.q)[1], length, total }, "mask");
    if (node(ir, mask)->dt == DT_BOOL) {
      a.allowed = both(b, a.allowed, mask);
    } else if (dt_float((DType)node(ir, mask)->dt)) {
      a.bias = mask;
    } else {
      bad(b, "input 'attn_mask' is %s, expected bool or a float type", dtype_info[node(ir, mask)->dt].text);
    }
  }
  attend(b, &a);
  int64_t mode = attr_int(b, "qk_matmul_output_mode");
  if (mode < 0 || mode > 3) bad(b, "attribute 'qk_matmul_output_mode' is %lld, expected 0 to 3", (long long)mode);
  Ref out[] = { flat ? join_heads(b, a.y) : a.y, a.k, a.v, g_cast(ir, a.scores[mode], in_dt(b, Q)) };
  for (int k = 0; k < b->nout; k++) b->out[k] = out[k];
}

/* ---- rotary embeddings: rotate pairs of elements by an angle proportional to the position ---- */
/* Rotates the first `width` columns of x [B, H, S, d]; cos, sin: [B or 1, 1, S, width / 2] */
static Ref rotate(Build *b, Ref x, Ref cos, Ref sin, int64_t width, bool interleaved) {
  IR *ir = b->ir;
  const int64_t *n = dims_of(b, x);
  int64_t half = width / 2, pair[4] = { n[0], n[1], n[2], half }, apart[5] = { n[0], n[1], n[2], half, 1 };
  Ref p[2], turned[2];
  for (int i = 0; i < 2; i++) p[i] = shrink_axis(ir, x, 3, interleaved ? i : i * half, interleaved ? 2 : 1, half);
  turned[0] = g_binary(ir, OP_SUB, mul(b, cos, p[0]), mul(b, sin, p[1]));
  turned[1] = add(b, mul(b, sin, p[0]), mul(b, cos, p[1]));
  for (int i = 0; i < 2; i++)
    turned[i] = g_reshape(ir, g_expand(ir, turned[i], 4, pair), interleaved ? 5 : 4, interleaved ? apart : pair);
  Ref y = g_cat(ir, 2, turned, interleaved ? 4 : 3);
  y = g_reshape(ir, y, 4, (int64_t[]){ n[0], n[1], n[2], width });
  return width == n[3] ? y : g_cat(ir, 2, (Ref[]){ y, shrink_axis(ir, x, 3, width, 1, n[3] - width) }, 3);
}

/* Rows of a table [positions, half] at the positions i64[B, S], as [.., 1, S, half]. places 0: the table has a row for each
 * position */
static Ref table_rows(Build *b, Ref table, Ref places, int64_t half, const char *name) {
  IR *ir = b->ir;
  const Node *t = node(ir, table);
  if (t->rank != (places ? 2 : 3) || t->dims[t->rank - 1] != half)
    bad(b, "input '%s' must have rank %d and %lld columns", name, places ? 2 : 3, (long long)half);
  if (!places) return widen(b, g_reshape(ir, table, 4, (int64_t[]){ t->dims[0], 1, t->dims[1], half }));
  int64_t batch = dims_of(b, places)[0], length = dims_of(b, places)[1];
  Ref index = g_reshape(ir, wrap_index(b, places, t->dims[0]), 2, (int64_t[]){ batch * length, 1 });
  return widen(b, g_reshape(ir, g_gather(ir, table, index, 0), 4, (int64_t[]){ batch, 1, length, half }));
}

static Ref rotary(Build *b, Ref x, Ref cos, Ref sin, Ref places, int64_t width, bool interleaved) {
  DType d = (DType)node(b->ir, x)->dt;
  if (width < 2 || width % 2 || width > dims_of(b, x)[3])
    bad(b, "%lld of %lld columns are to be rotated in pairs; expected an even number of them, at least 2", (long long)width,
        (long long)dims_of(b, x)[3]);
  Ref c = table_rows(b, cos, places, width / 2, "cos_cache"), s = table_rows(b, sin, places, width / 2, "sin_cache");
  const int64_t *n = dims_of(b, c), *xd = dims_of(b, x);
  if ((n[0] != 1 && n[0] != xd[0]) || n[2] != xd[2])
    bad(b, "the rotation tables have rows for %lld sequences of %lld steps, but the input has %lld sequences of %lld "
        "steps", (long long)n[0],
        (long long)n[2], (long long)xd[0], (long long)xd[2]);
  return g_cast(b->ir, rotate(b, widen(b, x), c, s, width, interleaved), d);
}

/* Inputs: x, then tables and positions in the order of the domain. The row's argument: 1 for com.microsoft */
void op_rotary_embedding(Build *b) {
  bool ms = b->row->arg == 1, flat = in_node(b, 0)->rank == 3;
  int cos = ms ? 2 : 1, at = ms ? 1 : 3;
  Ref x = b->in[0], places = has_in(b, at) ? b->in[at] : 0;
  int64_t width = attr_int(b, "rotary_embedding_dim"), heads = attr_int(b, "num_heads");
  if (ms && (attr_float(b, "scale") != 1 || attr_int(b, "is_packed_batching")))
    bad(b, "attributes 'scale' and 'is_packed_batching' are not supported");
  const Node *table = in_node(b, cos);
  if (ms && !heads && flat && table->rank == 2 && table->dims[1]) heads = in_node(b, 0)->dims[2] / (2 * table->dims[1]);
  if (flat) x = split_heads(b, x, heads, "input");
  else need_rank(b, 0, "input", 4);
  int64_t batch = dims_of(b, x)[0], length = dims_of(b, x)[2];
  /* one number: the position of the first column */
  if (places && ms && node(b->ir, places)->rank <= 1 && dims_elems(dims_of(b, places), node(b->ir, places)->rank) == 1)
    places = add(b, g_reshape(b->ir, g_cast(b->ir, places, DT_I64), 2, (int64_t[]){ 1, 1 }),
                 iota_axis(b->ir, DT_I64, length, 1, 2));
  if (places && node(b->ir, places)->rank != 2) bad(b, "input 'position_ids' has rank %d, expected 2", node(b->ir, places)->rank);
  if (places && dims_of(b, places)[0] != 1 && dims_of(b, places)[0] != batch)
    bad(b, "input 'position_ids' has %lld rows, expected one, or one for each of the %lld sequences",
        (long long)dims_of(b, places)[0], (long long)batch);
  x = rotary(b, x, b->in[cos], b->in[cos + 1], places, width ? width : dims_of(b, x)[3], attr_int(b, "interleaved"));
  b->out[0] = flat ? join_heads(b, x) : x;
}

/* ---- com.microsoft: Attention, MultiHeadAttention ---- */
/* True for keys that are not padding, from a mask in one of these forms: lengths [B]; lengths and starts [2 B]; 0 for padding,
 * [B, T] or [B, S, T]. */
static Ref not_padding(Build *b, int k, int64_t batch, int64_t length, int64_t total) {
  IR *ir = b->ir;
  const Node *m = in_node(b, k);
  Ref mask = g_cast(ir, b->in[k], DT_I64), key = key_places(b, total);
  if (m->rank == 1 && m->dims[0] == batch) return g_binary(ir, OP_CMPLT, key, per_batch(b, mask, batch));
  if (m->rank == 1 && m->dims[0] == 2 * batch) {
    Ref end = per_batch(b, shrink_axis(ir, mask, 0, 0, 1, batch), batch),
        begin = per_batch(b, shrink_axis(ir, mask, 0, batch, 1, batch), batch);
    return both(b, g_binary(ir, OP_CMPLT, key, end), not_above(b, begin, key));
  }
  bool fits = m->rank && m->dims[m->rank - 1] == total && m->dims[0] == batch &&
              (m->rank == 2 || (m->rank == 3 && m->dims[1] == length));
  if (!fits) bad(b, "the shape of the mask is not one of [batch], [2*batch], [batch,keys] and [batch,queries,keys]");
  int64_t dims[4] = { batch, 1, m->rank == 3 ? length : 1, total };
  return g_binary(ir, OP_CMPNE, g_reshape(ir, mask, 4, dims), integer(b, 0));
}

/* Parts of both operators: padding (input k), causality, a bias (input `bias`). Padding adds a large number, so a query with
 * only padding attends as if there were none. */
static void attend_masked(Build *b, Attend *a, int k, int bias, int64_t past) {
  IR *ir = b->ir;
  int64_t batch = dims_of(b, a->q)[0], length = dims_of(b, a->q)[2], total = dims_of(b, a->k)[2];
  if (has_in(b, bias)) {
    check_fits(b, b->in[bias], (int64_t[]){ batch, dims_of(b, a->q)[1], length, total }, "bias");
    a->bias = widen(b, b->in[bias]);
  }
  if (has_in(b, k)) {
    Ref like = widen(b, a->q), none = num(b, like, 0);
    Ref far = g_where(ir, not_padding(b, k, batch, length, total), none, num(b, like, attr_float(b, "mask_filter_value")));
    a->bias = a->bias ? add(b, a->bias, far) : far;
  }
  if (attr_int(b, "unidirectional"))
    a->allowed = within(b, query_places(b, length, integer(b, past)), key_places(b, total), -1, 0);
  a->scale = attr_float(b, "scale");
  a->never_empty = true;
  attend(b, a);
}

/* x: [B, S, ..] with queries, keys and values side by side, size[] columns of each. Inputs: mask, past [2, B, H, P, d], and
 * bias of the scores (-1: the operator has none) */
static void attend_projected(Build *b, Ref x, const int64_t *size, int mask, int past, int bias) {
  IR *ir = b->ir;
  Ref part[3];
  int64_t held = 0, from = 0;
  if (attr_int(b, "do_rotary") || attr_int(b, "past_present_share_buffer"))
    bad(b, "attributes 'do_rotary' and 'past_present_share_buffer' are not supported");
  for (int i = 0; i < 3; from += size[i++])
    part[i] = split_heads(b, shrink_axis(ir, x, 2, from, 1, size[i]), attr_int(b, "num_heads"), "input");
  Attend a = { .q = part[0], .k = part[1], .v = part[2] };
  if (has_in(b, past)) {
    const Node *p = in_node(b, past);
    if (p->rank != 5 || p->dims[0] != 2)
      bad(b, "input 'past' must have rank 5 and hold keys and values: [2,batch,heads,steps,width]");
    held = p->dims[3];
    a.k = append(b, without_axes(ir, shrink_axis(ir, b->in[past], 0, 0, 1, 1), 1), a.k);
    a.v = append(b, without_axes(ir, shrink_axis(ir, b->in[past], 0, 1, 1, 1), 1), a.v);
  }
  attend_masked(b, &a, mask, bias, held);
  b->out[0] = join_heads(b, a.y);
  if (b->nout > 1) {
    const int64_t *k = dims_of(b, a.k), dims[5] = { 1, k[0], k[1], k[2], k[3] };
    if (dims_of(b, a.v)[3] != k[3]) bad(b, "keys and values of different widths cannot share the output 'present'");
    b->out[1] = g_cat(ir, 2, (Ref[]){ g_reshape(ir, a.k, 5, dims), g_reshape(ir, a.v, 5, dims) }, 0);
  }
}

/* Splits `all` columns into those of queries, keys and values */
static void projected_sizes(Build *b, int64_t all, const int64_t *given, int n, int64_t *size) {
  int64_t sum = 0;
  for (int i = 0; i < 3; i++) sum += size[i] = !given ? all / 3 : n == 3 ? clamp(given[i], 0, all) : 0;
  if (!all || sum != all) bad(b, "the %lld columns of the weights do not split into queries, keys and values", (long long)all);
}

void op_ms_attention(Build *b) {
  IR *ir = b->ir;
  int n;
  const int64_t *sizes = attr_ints(b, "qkv_hidden_sizes", &n);
  need_rank(b, 0, "input", 3);
  need_rank(b, 1, "weights", 2);
  int64_t size[3], all = in_node(b, 1)->dims[1];
  projected_sizes(b, all, sizes, n, size);
  if (has_in(b, 2) && (in_node(b, 2)->rank != 1 || in_node(b, 2)->dims[0] != all))
    bad(b, "input 'bias' must be a vector of %lld elements", (long long)all);
  if (has_in(b, 6)) bad(b, "input 'past_sequence_length' is not supported: it belongs to a buffer that past and present share");
  Ref x = matmul(b, widen(b, b->in[0]), widen(b, b->in[1]));
  if (has_in(b, 2)) x = add(b, x, widen(b, b->in[2]));
  attend_projected(b, g_cast(ir, x, in_dt(b, 0)), size, 3, 4, 5);
}

/* The same for quantised inputs and weights: scales are inputs 3 and 4, zero points 6 and 7 */
void op_ms_quantized_attention(Build *b) {
  int64_t size[3];
  need_rank(b, 0, "input", 3);
  need_rank(b, 1, "weight", 2);
  projected_sizes(b, in_node(b, 1)->dims[1], NULL, 0, size);
  Ref x = g_cast(b->ir, integer_product(b, 0, 6, b->in[3], 1, 7, b->in[4], 2), in_dt(b, 3));
  attend_projected(b, x, size, 5, 8, -1);
}

/* Input k as [B, H, S, d]. It is [B, S, hidden], to which its part of the bias is added, or already has that shape */
static Ref heads_of(Build *b, int k, int64_t from, int bias, const char *name) {
  const Node *x = in_node(b, k);
  if (x->rank == 4) return b->in[k];
  need_rank(b, k, name, 3);
  Ref r = b->in[k];
  if (has_in(b, bias)) {
    if (in_node(b, bias)->rank != 1 || in_node(b, bias)->dims[0] < from + x->dims[2])
      bad(b, "input 'bias' must be a vector of at least %lld elements", (long long)(from + x->dims[2]));
    r = add(b, r, shrink_axis(b->ir, b->in[bias], 0, from, 1, x->dims[2]));
  }
  return split_heads(b, r, attr_int(b, "num_heads"), name);
}

/* One of n tensors that are packed at axis 3 of input k: [B, S, H, n, d] to [B, H, S, d] */
static Ref packed(Build *b, int k, int64_t i, int64_t n) {
  const Node *x = in_node(b, k);
  if (x->rank != 5 || x->dims[3] != n) bad(b, "input %d must have rank 5 and extent %lld on axis 3", k, (long long)n);
  return g_permute(b->ir, without_axes(b->ir, shrink_axis(b->ir, b->in[k], 3, i, 1, 1), 1u << 3), (int64_t[]){ 0, 2, 1, 3 });
}

void op_ms_multi_head_attention(Build *b) {
  enum { BIAS = 3, PADDING, SCORES, PK, PV, PAST_LENGTH };
  Attend a = { .q = 0 };
  int64_t past = 0;
  if (has_in(b, PAST_LENGTH))
    bad(b, "input 'past_sequence_length' is not supported: it belongs to a buffer that past and present share");
  if (!has_in(b, K)) {
    if (has_in(b, BIAS)) bad(b, "a bias of packed queries, keys and values is not supported");
    a = (Attend){ .q = packed(b, Q, 0, 3), .k = packed(b, Q, 1, 3), .v = packed(b, Q, 2, 3) };
  } else {
    int64_t hidden = need_rank(b, Q, "query", 3) ? in_node(b, Q)->dims[2] : 0;
    a.q = heads_of(b, Q, 0, BIAS, "query");
    if (!has_in(b, V)) {
      if (has_in(b, BIAS)) bad(b, "a bias of packed keys and values is not supported");
      a.k = packed(b, K, 0, 2);
      a.v = packed(b, K, 1, 2);
    } else {
      a.k = heads_of(b, K, hidden, BIAS, "key");
      a.v = heads_of(b, V, 2 * hidden, BIAS, "value");
    }
  }
  if (has_in(b, PK) != has_in(b, PV)) bad(b, "only one of the inputs 'past_key' and 'past_value' is given");
  if (has_in(b, PK)) {
    past = need_rank(b, PK, "past_key", 4) ? in_node(b, PK)->dims[2] : 0;
    a.k = append(b, b->in[PK], a.k);
    a.v = append(b, b->in[PV], a.v);
  }
  attend_masked(b, &a, PADDING, SCORES, past);
  Ref out[] = { join_heads(b, a.y), a.k, a.v };
  for (int k = 0; k < b->nout && k < 3; k++) b->out[k] = out[k];
}

/* ---- com.microsoft: GroupQueryAttention. The buffer of the past may be longer than its contents; seqlens_k gives the length.
 * New keys are written behind the contents. ---- */
enum { SEQLENS = 5, TOTAL, COS, SIN, PLACES, SCORE_BIAS, SINK, GQA_MORE };

/* A buffer of `extent` positions: before[b] rows of the past, then the new rows, then zeros */
static Ref written(Build *b, int past, Ref x, Ref before, int64_t extent) {
  IR *ir = b->ir;
  const int64_t *n = dims_of(b, x);
  Ref place = iota_axis(ir, DT_I64, extent, 2, 4), none = c_int(ir, (DType)node(ir, x)->dt, 0), old = none;
  if (has_in(b, past)) {
    const Node *p = in_node(b, past);
    if (p->rank != 4 || p->dims[0] != n[0] || p->dims[1] != n[1] || p->dims[3] != n[3] ||
        in_dt(b, past) != (DType)node(ir, x)->dt)
      bad(b, "input %d must have rank 4, and the type, batch, heads and width of the new keys and values", past);
    if (p->dims[2] > extent) bad(b, "the past keys and values differ in length");
    old = pad_axes(ir, b->in[past], 2, 1, (int64_t[]){ 0 }, (int64_t[]){ extent - p->dims[2] }, none);
    old = g_where(ir, g_binary(ir, OP_CMPLT, place, before), old, none);
  }
  return write_rows(b, old, x, g_binary(ir, OP_SUB, place, before), 2);
}

/* The sizes of a GroupQueryAttention. length: number of new queries; total: of keys, with the past ones; extent: of keys for
 * which there is room */
typedef struct GroupQuery { int64_t heads, groups, batch, length, total, extent; } GroupQuery;

static GroupQuery group_query_read(Build *b) {
  int n;
  const Node *x = node(b->ir, need_rank(b, Q, "query", 3));
  if (!has_in(b, SEQLENS) || !has_in(b, TOTAL)) bad(b, "inputs 'seqlens_k' and 'total_sequence_length' are required");
  const int64_t batch = x->dims[0], length = x->dims[1], total = *const_ints(b, TOTAL, "total_sequence_length", &n);
  if (n != 1) bad(b, "input 'total_sequence_length' has %d entries, expected 1", n);
  const int64_t held = has_in(b, PAST_K - 1) ? in_node(b, PAST_K - 1)->dims[2] : 0, extent = total > held ? total : held;
  for (int k = GQA_MORE; k < b->nin; k++)
    if (has_in(b, k)) bad(b, "input %d, which holds scales or norms, is not supported", k);
  if (attr_int(b, "kv_cache_bit_width") || !attr_int(b, "causal") || attr_int(b, "sliding_window_cache"))
    bad(b, "attributes 'kv_cache_bit_width' and 'sliding_window_cache' must not be set, and 'causal' must not be 0");
  if (in_node(b, SEQLENS)->rank > 2 || dims_elems(in_node(b, SEQLENS)->dims, in_node(b, SEQLENS)->rank) != batch)
    bad(b, "input 'seqlens_k' must have %lld entries, one for each sequence", (long long)batch);
  if (total < length || extent > MAX_ELEMS)
    bad(b, "input 'total_sequence_length' is %lld, expected at least %lld, the number of new keys, and at most 2^40",
        (long long)total, (long long)length);
  return (GroupQuery){ attr_int(b, "num_heads"), attr_int(b, "kv_num_heads"), batch, length, total, extent };
}

/* Splits queries, keys and values into heads. They are three inputs, or columns of one. */
static void group_query_split(Build *b, const GroupQuery *g, Attend *a) {
  IR *ir = b->ir;
  const int64_t heads = g->heads, groups = g->groups, columns = in_node(b, Q)->dims[2];
  if (has_in(b, K) && has_in(b, V)) {
    a->q = split_heads(b, b->in[Q], heads, "query");
    a->k = split_heads(b, b->in[K], groups, "key");
    a->v = split_heads(b, b->in[V], groups, "value");
  } else {
    if (columns % (heads + 2 * groups))
      bad(b, "the %lld columns of input 'query' do not split into %lld heads of queries and %lld each of keys and values",
          (long long)columns, (long long)heads, (long long)groups);
    int64_t d = columns / (heads + 2 * groups);
    a->q = split_heads(b, shrink_axis(ir, b->in[Q], 2, 0, 1, heads * d), heads, "query");
    a->k = split_heads(b, shrink_axis(ir, b->in[Q], 2, heads * d, 1, groups * d), groups, "query");
    a->v = split_heads(b, shrink_axis(ir, b->in[Q], 2, (heads + groups) * d, 1, groups * d), groups, "query");
  }
  for (int k = 0; k < 2; k++) {
    const int64_t *new = dims_of(b, k ? a->v : a->k);
    if (new[0] != g->batch || !new[2])
      bad(b, "keys and values must have %lld sequences and at least one step, found %lld and %lld", (long long)g->batch,
          (long long)new[0], (long long)new[2]);
  }
}

/* Rotates queries and keys by their positions. before: number of past keys */
static void group_query_rotate(Build *b, const GroupQuery *g, Ref before, Attend *a) {
  IR *ir = b->ir;
  if (!has_in(b, COS) || !has_in(b, SIN)) bad(b, "attribute 'do_rotary' needs the inputs 'cos_cache' and 'sin_cache'");
  Ref places = query_places(b, g->length, before);
  places = g_reshape(ir, places, 2, (int64_t[]){ dims_of(b, places)[0], g->length });
  if (has_in(b, PLACES)) places = g_cast(ir, need_rank(b, PLACES, "position_ids", 2), DT_I64);
  int64_t width = in_node(b, COS)->rank == 2 ? 2 * in_node(b, COS)->dims[1] : 0;
  a->q = rotary(b, a->q, b->in[COS], b->in[SIN], places, width, attr_int(b, "rotary_interleaved"));
  a->k = rotary(b, a->k, b->in[COS], b->in[SIN], places, width, attr_int(b, "rotary_interleaved"));
}

void op_ms_group_query_attention(Build *b) {
  IR *ir = b->ir;
  const GroupQuery g = group_query_read(b);
  const int64_t heads = g.heads, length = g.length, total = g.total;
  Attend a = { .scale = attr_float(b, "scale"), .cap = attr_float(b, "softcap") };
  group_query_split(b, &g, &a);
  bool first = total == length; /* a prompt: there is no past yet, and padding follows it */
  Ref lengths = per_batch(b, b->in[SEQLENS], g.batch), before = first ? integer(b, 0) : add(b, lengths, integer(b, 1 - length));
  if (attr_int(b, "do_rotary")) group_query_rotate(b, &g, before, &a);
  a.k = written(b, PAST_K - 1, a.k, before, g.extent);
  a.v = written(b, PAST_V - 1, a.v, before, g.extent);
  int64_t window = attr_int(b, "local_window_size");
  Attend now = a;
  now.k = shrink_axis(ir, a.k, 2, 0, 1, total);
  now.v = shrink_axis(ir, a.v, 2, 0, 1, total);
  now.allowed = within(b, query_places(b, length, before), key_places(b, total), window > 0 ? window - 1 : -1, 0);
  if (has_in(b, SCORE_BIAS)) now.bias = b->in[SCORE_BIAS];
  if (has_in(b, SINK)) {
    if (in_node(b, SINK)->rank != 1 || in_node(b, SINK)->dims[0] != heads)
      bad(b, "input 'head_sink' must be a vector of %lld elements, one for each head", (long long)heads);
    now.sink = g_reshape(ir, widen(b, b->in[SINK]), 4, (int64_t[]){ 1, heads, 1, 1 });
  } else if (attr_int(b, "smooth_softmax") > 0) {
    now.sink = num(b, widen(b, a.q), 0);
  }
  attend(b, &now);
  Ref out[] = { join_heads(b, now.y), a.k, a.v };
  for (int k = 0; k < b->nout && k < 3; k++) b->out[k] = out[k];
}

/* ---- FlexAttention: bodies in the model modify scores and weights ---- */
static Ref modified(Build *b, const char *name, Ref x) {
  const AttrVal *a = attr_find(b, name);
  Ref y;
  if (!a->set) return x;
  if (a->graph->nin != 1 || a->graph->nout != 1)
    bad(b, "attribute '%s' has %u inputs and %u outputs, expected one of each", name, a->graph->nin, a->graph->nout);
  build_body(b, a->graph, &x, &y);
  const Node *from = node(b->ir, x), *to = is_list(y) ? NULL : node(b->ir, y);
  if (!to || to->dt != from->dt || to->rank != 4 || memcmp(to->dims, from->dims, 4 * sizeof *to->dims))
    bad(b, "the body in attribute '%s' does not keep the type and shape of its input", name);
  return y;
}

void op_flex_attention(Build *b) {
  IR *ir = b->ir;
  const Node *q = in_node(b, 0), *k = in_node(b, 1), *v = in_node(b, 2);
  bool fits = q->rank == 4 && k->rank == 4 && v->rank == 4;
  fits = fits && k->dims[0] == q->dims[0] && v->dims[0] == q->dims[0] && k->dims[3] == q->dims[3] && v->dims[1] == k->dims[1] &&
         v->dims[2] == k->dims[2];
  if (!fits || !k->dims[1] || q->dims[1] % k->dims[1])
    bad(b, "queries %s, keys %s and values %s do not fit together as [batch,heads,steps,width]", dims_text(b, q->dims, q->rank),
        dims_text(b, k->dims, k->rank), dims_text(b, v->dims, v->rank));
  int64_t groups = q->dims[1] / k->dims[1], wanted = attr_int(b, "softmax_precision");
  DType d = wanted ? dtype_from_onnx((int)clamp(wanted, 0, 99)) : in_dt(b, 0) == DT_F64 ? DT_F64 : DT_F32;
  if (!dt_float(d)) bad(b, "attribute 'softmax_precision' is %lld, which is not a floating-point type", (long long)wanted);
  double scale = attr_set(b, "scale") ? attr_float(b, "scale") : 1 / sqrt((double)q->dims[3]);
  Ref keys = repeat_axis(ir, g_cast(ir, b->in[1], d), 1, groups, true),
      values = repeat_axis(ir, g_cast(ir, b->in[2], d), 1, groups, true);
  Ref scores = matmul(b, g_cast(ir, b->in[0], d), swap_last(b, keys));
  scores = modified(b, "score_mod", mul(b, scores, num(b, scores, scale)));
  b->out[0] = g_cast(ir, matmul(b, modified(b, "prob_mod", softmax(b, scores, 3, false)), values), in_dt(b, 0));
}
