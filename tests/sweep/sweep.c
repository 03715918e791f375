/* SPDX-License-Identifier: MIT */
/* sweep.c: windows of every geometry on several machines: Conv, ConvTranspose, pooling and Col2Im in one to three
 * dimensions. Case I of seed S is always the same model; it is written as ONNX and goes the way of all models
 * (tests/case). The expected result is computed here, tap by tap from the standard's definition, so the front end is
 * tested, too.
 *
 *   sweep [--seed=S] [--first=I] [--n=N] [--shard=I/N] [--isa=A,B] [--every=K] [--hard]    N geometries; code runs for each K-th
 *   --hard: NaN and infinities in the first input, compiled with fp32-strict
 *   sweep --write=I [--seed=S]                                                     the model of case I to standard output
 *
 * Prints "I STATUS KIND: GEOMETRY|COUNTS|WHY"; COUNTS are those of case.h, in order. */
#include "../case/case.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { AXES = 3, MOST_TERMS = 12000, MOST_ELEMS = 6000, TRIES = 100000 };

typedef enum { CONV, TRANSPOSED, MAX_POOL, AVERAGE_POOL, LP_POOL, GLOBAL_MAX, GLOBAL_AVERAGE, GLOBAL_LP, COL2IM } Kind;
static const char *const op_of[] = { "Conv",          "ConvTranspose",     "MaxPool",      "AveragePool", "LpPool",
                                     "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "Col2Im" };
typedef enum { PAD_GIVEN, PAD_UPPER, PAD_LOWER, PAD_VALID } AutoPad;
static const char *const auto_pad_of[] = { NULL, "SAME_UPPER", "SAME_LOWER", "VALID" };
typedef enum { AFTER_NOTHING, AFTER_RELU, AFTER_ADD } After;

typedef struct Geometry {
  Kind kind;
  DType dt;
  int n; /* spatial axes */
  int64_t batch, channels, maps, group, in[AXES], k[AXES], stride[AXES], dilation[AXES], lo[AXES], hi[AXES], more[AXES],
      out[AXES];
  AutoPad auto_pad;
  bool shape_given; /* ConvTranspose: output_shape in place of pads */
  bool bias, const_weight, const_bias, ceil_mode, include_pad, negated;
  After after;
  int64_t p;
  uint64_t seed;
} Geometry;

/* ---- geometries ---- */
static int64_t below(uint64_t *s, int64_t n) { return (int64_t)(next_random(s) % (uint64_t)n); }
static bool chance(uint64_t *s, int percent) { return below(s, 100) < percent; }

static int64_t reach(const Geometry *g, int a) { return (g->k[a] - 1) * g->dilation[a] + 1; }
static bool is_pool(Kind k) { return k == MAX_POOL || k == AVERAGE_POOL || k == LP_POOL; }
static bool is_global(Kind k) { return k == GLOBAL_MAX || k == GLOBAL_AVERAGE || k == GLOBAL_LP; }
static bool has_weight(Kind k) { return k == CONV || k == TRANSPOSED; }

static int64_t product(const int64_t *v, int n) {
  int64_t p = 1;
  for (int i = 0; i < n; i++) p *= v[i];
  return p;
}

/* Pads and the result's extents by the standard. false: the standard has no such window. */
static bool place(Geometry *g) {
  for (int a = 0; a < g->n; a++) {
    const bool same = g->auto_pad == PAD_UPPER || g->auto_pad == PAD_LOWER;
    const int64_t full = (g->in[a] - 1) * g->stride[a] + reach(g, a) + g->more[a];
    if (g->auto_pad == PAD_VALID) g->lo[a] = g->hi[a] = 0;
    if (g->kind == TRANSPOSED) {
      if (same) g->out[a] = g->in[a] * g->stride[a];
      if (same || g->shape_given) {
        const int64_t total = full - g->out[a];
        if (total < 0) return false;
        g->lo[a] = g->auto_pad == PAD_UPPER ? total / 2 : total - total / 2;
        g->hi[a] = total - g->lo[a];
      } else g->out[a] = full - g->lo[a] - g->hi[a];
    } else {
      if (same) {
        const int64_t out = (g->in[a] + g->stride[a] - 1) / g->stride[a],
                      total = (out - 1) * g->stride[a] + reach(g, a) - g->in[a];
        g->lo[a] = total < 0 ? 0 : g->auto_pad == PAD_UPPER ? total / 2 : total - total / 2;
        g->hi[a] = total < 0 ? 0 : total - g->lo[a];
      }
      const int64_t room = g->in[a] + g->lo[a] + g->hi[a] - reach(g, a);
      if (room < 0) return false;
      g->out[a] = room / g->stride[a] + 1;
      if (g->ceil_mode && room % g->stride[a] && g->out[a] * g->stride[a] < g->in[a] + g->lo[a]) g->out[a]++;
    }
    if (g->out[a] < 1) return false;
    if (is_pool(g->kind) && (g->lo[a] >= g->k[a] || g->hi[a] >= g->k[a])) return false;
    for (int64_t o = 0; is_pool(g->kind) && o < g->out[a]; o++) { /* each window has an element */
      bool any = false;
      for (int64_t t = 0; t < g->k[a]; t++) {
        const int64_t at = o * g->stride[a] + t * g->dilation[a] - g->lo[a];
        any |= at >= 0 && at < g->in[a];
      }
      if (!any) return false;
    }
  }
  return true;
}

static void draw(Geometry *g, uint64_t *s) {
  static const Kind kinds[] = { CONV,         CONV,         CONV,       CONV,       CONV,         CONV,
                                CONV,         CONV,         CONV,       CONV,       TRANSPOSED,   TRANSPOSED,
                                TRANSPOSED,   TRANSPOSED,   TRANSPOSED, TRANSPOSED, TRANSPOSED,   TRANSPOSED,
                                MAX_POOL,     MAX_POOL,     MAX_POOL,   MAX_POOL,   AVERAGE_POOL, AVERAGE_POOL,
                                AVERAGE_POOL, AVERAGE_POOL, LP_POOL,    LP_POOL,    GLOBAL_MAX,   GLOBAL_AVERAGE,
                                GLOBAL_LP,    COL2IM,       COL2IM,     COL2IM,     COL2IM,       COL2IM };
  static const int64_t extents[] = { 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 19, 31, 32, 33, 37, 64, 65 };
  static const int64_t channels[] = { 1, 1, 1, 2, 3, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 33 };
  static const int64_t kernels[] = { 1, 1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7, 9 };
  static const int64_t steps[] = { 1, 1, 1, 1, 2, 2, 2, 3, 4, 5 };
  static const int longest[] = { 24, 19, 12 };
#define ONE_OF(list) list[below(s, (int64_t)(sizeof list / sizeof *list))]
  *g =
      (Geometry){ .kind = ONE_OF(kinds), .n = (int)below(s, AXES) + 1, .seed = next_random(s), .p = 1 + below(s, 3), .group = 1 };
  g->dt = chance(s, 85) ? DT_F32 : chance(s, 50) ? DT_F64 : DT_F16;
  g->batch = chance(s, 70) ? 1 : 1 + below(s, 3);
  g->channels = ONE_OF(channels);
  g->maps = has_weight(g->kind) ? ONE_OF(channels) : g->channels;
  if (has_weight(g->kind) && chance(s, 35)) {
    g->group = ONE_OF(channels);
    if (chance(s, 40)) g->group = g->channels = g->maps = ONE_OF(channels); /* depthwise */
    g->channels = (g->channels + g->group - 1) / g->group * g->group;
    g->maps = (g->maps + g->group - 1) / g->group * g->group;
  }
  if (is_pool(g->kind) || g->kind == CONV || g->kind == TRANSPOSED)
    g->auto_pad = chance(s, 75) ? PAD_GIVEN : (AutoPad)(1 + below(s, 3));
  g->ceil_mode = is_pool(g->kind) && g->auto_pad == PAD_GIVEN && chance(s, 40);
  g->include_pad = g->kind == AVERAGE_POOL && chance(s, 50);
  g->shape_given = g->kind == TRANSPOSED && g->auto_pad == PAD_GIVEN && chance(s, 15);
  const bool alike = chance(s, 40);
  for (int a = 0; a < g->n; a++) {
    g->in[a] = extents[below(s, longest[g->n - 1])];
    g->k[a] = a && alike ? g->k[0] : ONE_OF(kernels);
    g->stride[a] = a && alike ? g->stride[0] : ONE_OF(steps);
    g->dilation[a] = a && alike ? g->dilation[0] : chance(s, 70) ? 1 : 2 + below(s, 3);
    g->lo[a] = chance(s, 40) ? 0 : below(s, 5);
    g->hi[a] = chance(s, 40) ? g->lo[a] : below(s, 5);
    if (g->kind == TRANSPOSED && chance(s, 40)) g->more[a] = below(s, g->stride[a]);
    g->out[a] = 1 + below(s, (g->in[a] - 1) * g->stride[a] + reach(g, a) + g->more[a]); /* if it is given */
    if (is_global(g->kind)) g->k[a] = g->in[a], g->stride[a] = g->dilation[a] = 1, g->lo[a] = g->hi[a] = 0;
  }
  g->bias = has_weight(g->kind) && chance(s, 50);
  g->const_weight = chance(s, 65);
  g->const_bias = chance(s, 80);
  g->negated = chance(s, 15);
  g->after = chance(s, 70) ? AFTER_NOTHING : chance(s, 50) ? AFTER_RELU : AFTER_ADD;
}

/* Elements of the result and of each operand, and the terms of all sums, are few. */
static bool small(const Geometry *g) {
  const int64_t taps = product(g->k, g->n), in = g->batch * g->channels * product(g->in, g->n),
                out = g->batch * g->maps * product(g->out, g->n);
  if (in > MOST_ELEMS || out > MOST_ELEMS) return false;
  switch (g->kind) {
  case CONV: return out * taps * g->channels / g->group <= MOST_TERMS && g->maps * g->channels / g->group * taps <= MOST_ELEMS;
  case TRANSPOSED: return in * taps * g->maps / g->group <= MOST_TERMS && g->maps * g->channels / g->group * taps <= MOST_ELEMS;
  case COL2IM: return taps <= 40 && out * taps <= MOST_TERMS; /* in: the picture; the windows hold out of each tap */
  default: return out * taps <= MOST_TERMS;
  }
}

static Geometry geometry(uint64_t seed, int64_t i) {
  uint64_t s = seed * 1000000007 + (uint64_t)i;
  Geometry g;
  for (int tries = 0; tries < TRIES; tries++) {
    draw(&g, &s);
    if (place(&g) && small(&g)) return g;
  }
  abort();
}

static void put_ints(Sb *s, const char *name, const int64_t *v, int n) {
  sb_printf(s, " %s=", name);
  for (int i = 0; i < n; i++) sb_printf(s, "%s%" PRId64, i ? "," : "", v[i]);
}

static void describe(const Geometry *g, Sb *s) {
  sb_printf(s, "%s: %s batch=%" PRId64 " channels=%" PRId64, op_of[g->kind], dtype_info[g->dt].text, g->batch, g->channels);
  if (has_weight(g->kind))
    sb_printf(s, " maps=%" PRId64 " group=%" PRId64 " weights=%s", g->maps, g->group, g->const_weight ? "constant" : "input");
  if (g->bias) sb_printf(s, " bias=%s", g->const_bias ? "constant" : "input");
  put_ints(s, "in", g->in, g->n);
  if (!is_global(g->kind)) {
    put_ints(s, "kernel", g->k, g->n);
    put_ints(s, "strides", g->stride, g->n);
    put_ints(s, "dilations", g->dilation, g->n);
    put_ints(s, "before", g->lo, g->n);
    put_ints(s, "behind", g->hi, g->n);
  }
  if (g->kind == TRANSPOSED) put_ints(s, "output_padding", g->more, g->n);
  put_ints(s, "out", g->out, g->n);
  if (g->auto_pad) sb_printf(s, " %s", auto_pad_of[g->auto_pad]);
  if (g->shape_given) sb_puts(s, " output_shape");
  if (g->ceil_mode) sb_puts(s, " ceil_mode");
  if (g->include_pad) sb_puts(s, " count_include_pad");
  if (g->kind == LP_POOL || g->kind == GLOBAL_LP) sb_printf(s, " p=%" PRId64, g->p);
  if (g->negated) sb_puts(s, " negated");
  if (g->after) sb_puts(s, g->after == AFTER_RELU ? " relu" : " add");
}

/* ---- as ONNX: a message is a row of keys (number << 3 | kind) and values ---- */
static void put_varint(Sb *s, uint64_t v) {
  for (; v > 127; v >>= 7) sb_put(s, (char[]){ (char)(v | 128) }, 1);
  sb_put(s, (char[]){ (char)v }, 1);
}

static void put_int(Sb *s, int field, int64_t v) {
  put_varint(s, (uint64_t)field << 3);
  put_varint(s, (uint64_t)v);
}

static void put_bytes(Sb *s, int field, const void *p, size_t n) {
  put_varint(s, (uint64_t)field << 3 | 2);
  put_varint(s, n);
  sb_put(s, p, n);
}

static void put_text(Sb *s, int field, const char *text) { put_bytes(s, field, text, strlen(text)); }

static void put_message(Sb *s, int field, Sb *m) { /* and frees it */
  put_bytes(s, field, m->p ? m->p : "", m->n);
  sb_free(m);
}

enum { A_INT = 2, A_STRING = 3, A_INTS = 7 };

static void put_attribute(Sb *node_, const char *name, int type, const char *text, const int64_t *v, int n) {
  Sb a = { 0 };
  put_text(&a, 1, name);
  if (type == A_STRING) put_text(&a, 4, text);
  for (int i = 0; i < n; i++) put_int(&a, type == A_INT ? 3 : 8, v[i]);
  put_int(&a, 20, type);
  put_message(node_, 5, &a);
}

static void put_value(Sb *graph, int field, const char *name, DType d, int rank, const int64_t *dims) {
  Sb shape = { 0 }, tensor = { 0 }, type = { 0 }, value = { 0 };
  for (int i = 0; i < rank; i++) {
    Sb dim = { 0 };
    put_int(&dim, 1, dims[i]);
    put_message(&shape, 1, &dim);
  }
  put_int(&tensor, 1, dtype_info[d].onnx);
  put_message(&tensor, 2, &shape);
  put_message(&type, 1, &tensor);
  put_text(&value, 1, name);
  put_message(&value, 2, &type);
  put_message(graph, field, &value);
}

static void put_node(Sb *graph, const char *op, int n, const char *const *in, const char *out, Sb *attributes) {
  Sb x = { 0 };
  for (int i = 0; i < n; i++) put_text(&x, 1, in[i]);
  put_text(&x, 2, out);
  put_text(&x, 4, op);
  if (attributes && attributes->n) sb_put(&x, attributes->p, attributes->n);
  if (attributes) sb_free(attributes);
  put_message(graph, 1, &x);
}

typedef struct Shape {
  int rank;
  int64_t dims[2 + AXES];
} Shape;

static Shape shape_of(const Geometry *g, char what) {
  Shape s = { .rank = 2 + g->n, .dims = { g->batch, g->channels } };
  if (what == 'b') return (Shape){ 1, { g->maps } };
  if (what == 'x' && g->kind == COL2IM)
    return (Shape){ 3, { g->batch, g->channels * product(g->k, g->n), product(g->out, g->n) } };
  if (what == 'w' && g->kind == CONV) s.dims[0] = g->maps, s.dims[1] = g->channels / g->group;
  if (what == 'w' && g->kind == TRANSPOSED) s.dims[0] = g->channels, s.dims[1] = g->maps / g->group;
  if (what == 'y') s.dims[1] = g->maps;
  for (int a = 0; a < g->n; a++)
    s.dims[2 + a] = what == 'w' ? g->k[a] : what == 'x' ? g->in[a] : g->kind == COL2IM ? g->in[a] : g->out[a];
  return s;
}

/* Multiples of 1/8 between -2 and 2. */
static double constant(const Geometry *g, char what, int64_t i) {
  uint64_t s = g->seed + (uint64_t)what * 7919 + (uint64_t)i * 31;
  return (double)(below(&s, 33) - 16) / 8;
}

static void put_constant(Sb *graph, const Geometry *g, const char *name) {
  const Shape s = shape_of(g, *name);
  const int bytes = dt_bytes(g->dt);
  Tensor t = { .dt = g->dt, .rank = s.rank, .elems = product(s.dims, s.rank) };
  memcpy(t.dims, s.dims, sizeof s.dims);
  char *data = xmalloc((size_t)(t.elems * bytes));
  for (int64_t i = 0; i < t.elems; i++) {
    const int64_t bits = double_to_bits(g->dt, constant(g, *name, i));
    memcpy(data + i * bytes, &bits, (size_t)bytes);
  }
  t.data = data;
  Sb m = { 0 };
  onnx_tensor_save(&t, name, &m);
  put_message(graph, 5, &m);
  free(data);
}

static void put_table(Sb *graph, const char *name, const int64_t *v, int n) {
  Sb m = { 0 };
  onnx_tensor_save(&(Tensor){ .dt = DT_I64, .rank = 1, .dims = { n }, .elems = n, .data = v }, name, &m);
  put_message(graph, 5, &m);
}

static void put_input(Sb *graph, const Geometry *g, const char *name) {
  const Shape s = shape_of(g, *name);
  put_value(graph, 11, name, g->dt, s.rank, s.dims);
}

static void put_window(Sb *a, const Geometry *g) {
  int64_t pads[2 * AXES];
  for (int i = 0; i < g->n; i++) pads[i] = g->lo[i], pads[g->n + i] = g->hi[i];
  if (g->kind == LP_POOL || g->kind == GLOBAL_LP) put_attribute(a, "p", A_INT, NULL, &g->p, 1);
  if (is_global(g->kind)) return;
  if (g->kind != COL2IM) put_attribute(a, "kernel_shape", A_INTS, NULL, g->k, g->n);
  put_attribute(a, "strides", A_INTS, NULL, g->stride, g->n);
  put_attribute(a, "dilations", A_INTS, NULL, g->dilation, g->n);
  if (g->auto_pad) put_attribute(a, "auto_pad", A_STRING, auto_pad_of[g->auto_pad], NULL, 0);
  else if (!g->shape_given) put_attribute(a, "pads", A_INTS, NULL, pads, 2 * g->n);
  if (has_weight(g->kind)) put_attribute(a, "group", A_INT, NULL, &g->group, 1);
  if (g->kind == TRANSPOSED && product(g->more, g->n) + g->more[0])
    put_attribute(a, "output_padding", A_INTS, NULL, g->more, g->n);
  else if (g->kind == TRANSPOSED)
    for (int i = 0; i < g->n; i++)
      if (g->more[i]) {
        put_attribute(a, "output_padding", A_INTS, NULL, g->more, g->n);
        break;
      }
  if (g->shape_given) put_attribute(a, "output_shape", A_INTS, NULL, g->out, g->n);
  if (g->ceil_mode) put_attribute(a, "ceil_mode", A_INT, NULL, (int64_t[]){ 1 }, 1);
  if (g->include_pad) put_attribute(a, "count_include_pad", A_INT, NULL, (int64_t[]){ 1 }, 1);
}

static void model_of(const Geometry *g, Sb *out) {
  Sb graph = { 0 }, a = { 0 }, import = { 0 };
  const char *in[3] = { g->negated ? "negated" : "x" };
  int n = 1;
  if (g->negated) put_node(&graph, "Neg", 1, (const char *[]){ "x" }, "negated", NULL);
  if (has_weight(g->kind)) in[n++] = "w";
  if (g->bias) in[n++] = "b";
  if (g->kind == COL2IM) in[n++] = "image", in[n++] = "taps";
  put_window(&a, g);
  put_node(&graph, op_of[g->kind], n, in, g->after ? "inner" : "y", &a);
  if (g->after == AFTER_RELU) put_node(&graph, "Relu", 1, (const char *[]){ "inner" }, "y", NULL);
  if (g->after == AFTER_ADD) put_node(&graph, "Add", 2, (const char *[]){ "inner", "y2" }, "y", NULL);
  put_text(&graph, 2, "window");
  if (has_weight(g->kind) && g->const_weight) put_constant(&graph, g, "w");
  if (g->bias && g->const_bias) put_constant(&graph, g, "b");
  if (g->kind == COL2IM) put_table(&graph, "image", g->in, g->n), put_table(&graph, "taps", g->k, g->n);
  put_input(&graph, g, "x");
  if (has_weight(g->kind) && !g->const_weight) put_input(&graph, g, "w");
  if (g->bias && !g->const_bias) put_input(&graph, g, "b");
  if (g->after == AFTER_ADD) put_input(&graph, g, "y2");
  const Shape y = shape_of(g, 'y');
  put_value(&graph, 12, "y", g->dt, y.rank, y.dims);
  put_int(out, 1, 10);
  put_message(out, 7, &graph);
  put_text(&import, 1, "");
  put_int(&import, 2, 21);
  put_message(out, 8, &import);
}

/* ---- what it must give ---- */
typedef struct Operands {
  const Geometry *g;
  const Tensor *x, *w, *b, *more;
} Operands;

static double element_of(const Operands *o, const Tensor *t, char what, int64_t i) {
  const double v = t ? tensor_value(t, i) : constant(o->g, what, i);
  return what == 'x' && o->g->negated ? -v : v;
}

/* Counts an index of n digits up; false: it is 0 again. */
static bool count_up(int64_t *at, const int64_t *extent, int n) {
  for (int a = n; a-- > 0;) {
    if (++at[a] < extent[a]) return true;
    at[a] = 0;
  }
  return false;
}

static int64_t flat(const int64_t *at, const int64_t *extent, int n) {
  int64_t i = 0;
  for (int a = 0; a < n; a++) i = i * extent[a] + at[a];
  return i;
}

/* Each tap of each window at `o` of the result and `from` of the source: adds to y, an element for each of the result. */
static void add_window(const Operands *o, const int64_t *at, double *y, int64_t *seen) {
  const Geometry *g = o->g;
  const int64_t source = product(g->in, g->n), windows = product(g->out, g->n), taps = product(g->k, g->n);
  const int64_t pixel = flat(at, g->kind == TRANSPOSED ? g->in : g->out, g->n);
  int64_t t[AXES] = { 0 };
  do {
    int64_t from[AXES];
    bool inside = true, counted = true;
    const int64_t *extent = g->kind == TRANSPOSED ? g->out : g->in;
    for (int a = 0; a < g->n; a++) {
      from[a] = at[a] * g->stride[a] + t[a] * g->dilation[a] - g->lo[a];
      inside &= from[a] >= 0 && from[a] < extent[a];
      counted &= from[a] >= -g->lo[a] && from[a] < extent[a] + g->hi[a];
    }
    if (g->kind == AVERAGE_POOL && g->include_pad ? counted : inside) seen[pixel]++;
    if (!inside) continue;
    const int64_t tap = flat(t, g->k, g->n), other = flat(from, extent, g->n);
    for (int64_t b = 0; b < g->batch; b++) {
      if (has_weight(g->kind)) {
        const int64_t cg = g->channels / g->group, mg = g->maps / g->group;
        for (int64_t m = 0; m < g->maps; m++)
          for (int64_t c = 0; c < cg; c++) {
            const int64_t ch = m / mg * cg + c;
            if (g->kind == CONV)
              y[(b * g->maps + m) * windows + pixel] += element_of(o, o->x, 'x', (b * g->channels + ch) * source + other) *
                                                        element_of(o, o->w, 'w', (m * cg + c) * taps + tap);
            else
              y[(b * g->maps + m) * windows + other] += element_of(o, o->x, 'x', (b * g->channels + ch) * source + pixel) *
                                                        element_of(o, o->w, 'w', (ch * mg + m % mg) * taps + tap);
          }
        continue;
      }
      for (int64_t c = 0; c < g->channels; c++) {
        if (g->kind == COL2IM) { /* the windows' elements go back to where they were cut out */
          y[(b * g->channels + c) * source + other] += element_of(o, o->x, 'x',
                                                                  ((b * g->channels + c) * taps + tap) * windows + pixel);
          continue;
        }
        double *to = &y[(b * g->channels + c) * windows + pixel];
        const double v = element_of(o, o->x, 'x', (b * g->channels + c) * source + other);
        if (g->kind == MAX_POOL || g->kind == GLOBAL_MAX) *to = seen[pixel] == 1 || v > *to || isnan(v) ? v : *to;
        else *to += g->kind == LP_POOL || g->kind == GLOBAL_LP ? pow(fabs(v), (double)g->p) : v;
      }
    }
  } while (count_up(t, g->k, g->n));
}

static double finished(const Operands *o, double v, int64_t i, int64_t result, int64_t seen) {
  const Geometry *g = o->g;
  if (g->kind == AVERAGE_POOL || g->kind == GLOBAL_AVERAGE) v /= (double)seen;
  if (g->kind == LP_POOL || g->kind == GLOBAL_LP) v = pow(v, 1 / (double)g->p);
  if (g->bias) v += element_of(o, o->b, 'b', i / result % g->maps);
  if (g->after == AFTER_RELU && v < 0) v = 0;
  if (g->after == AFTER_ADD) v += tensor_value(o->more, i);
  return v;
}

/* Holds the interpreter's result against the definition. */
static void judge(Case *k, const Tensor *in, const Tensor *exact) {
  const Geometry *g = k->arg;
  Operands o = { .g = g, .x = in++ };
  if (has_weight(g->kind) && !g->const_weight) o.w = in++;
  if (g->bias && !g->const_bias) o.b = in++;
  if (g->after == AFTER_ADD) o.more = in++;
  const Shape s = shape_of(g, 'y');
  const int64_t elems = product(s.dims, s.rank), result = product(s.dims + 2, g->n);
  if (exact->rank != s.rank || memcmp(exact->dims, s.dims, sizeof *s.dims * (size_t)s.rank)) {
    case_fail(k, "the result has another shape than the standard gives it");
    return;
  }
  double *y = xcalloc((size_t)elems, sizeof *y);
  int64_t *seen = xcalloc((size_t)(product(g->in, g->n) + product(g->out, g->n)), sizeof *seen), at[AXES] = { 0 };
  do add_window(&o, at, y, seen);
  while (count_up(at, g->kind == TRANSPOSED ? g->in : g->out, g->n));
  const double part = g->dt == DT_F16 ? 2e-3 : 1e-6;
  for (int64_t i = 0; i < elems; i++) {
    const double want = finished(&o, y[i], i, result, seen[is_pool(g->kind) || is_global(g->kind) ? i % result : 0]),
                 got = tensor_value(exact, i);
    if (got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= part * (1 + fabs(want))) continue;
    if (g->dt == DT_F16 && fabs(want) >= 65504) continue;
    case_fail(k, "the graph: [%" PRId64 "] is %.9g, the definition gives %.9g", i, got, want);
    break;
  }
  free(y);
  free(seen);
}

/* ---- the program ---- */
typedef struct Sweep {
  uint64_t seed;
  int64_t every;
  bool hard;
  const char *isa[16], *scratch;
} Sweep;

static const char *label(Cases *s, int64_t i) {
  static char text[400];
  const Geometry g = geometry(((Sweep *)s->arg)->seed, i);
  Sb t = { 0 };
  describe(&g, &t);
  snprintf(text, sizeof text, "%s", t.p);
  sb_free(&t);
  return text;
}

static void run(Cases *s, int64_t i, int skip, Sb *line) {
  const Sweep *w = s->arg;
  Geometry g = geometry(w->seed, i);
  Sb model = { 0 };
  char path[64];
  const int fd = memfd_create("case", MFD_CLOEXEC);
  const bool runs = w->every && i % w->every == 0;
  model_of(&g, &model);
  if (fd < 0 || write(fd, model.p, model.n) != (ssize_t)model.n) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  Case k = { .path = path,
             .isa = w->isa,
             .seed = g.seed,
             .steady = true,
             .strict = w->hard,
             .hard = w->hard ? 1 : 0,
             .c = runs ? 16 : 0,
             .llvm = runs,
             .scratch = w->scratch,
             .judge = judge,
             .arg = &g,
             .skip = skip };
  case_run(&k);
  if (k.refused.n) case_fail(&k, "refused: %s", k.refused.p); /* every geometry is the standard's */
  if (k.count[COUNT_CLAMPED]) case_fail(&k, "%lld accesses are clamped", (long long)k.count[COUNT_CLAMPED]);
  case_report(&k, label(s, i), line);
  case_free(&k);
  sb_free(&model);
  close(fd);
}

int main(int argc, char **argv) {
  Sweep w = { .every = 25, .isa = { "portable", "x86-64-v3", "x86-64-v4", "neon" } };
  char scratch[] = "/tmp/tgc-sweep-XXXXXX", command[64];
  Cases s = { .run = run, .label = label, .step = 1, .seconds = 20, .arg = &w };
  int64_t first = 0, n = 1250, shard = 0, shards = 1, only = -1;
  for (int i = 1; i < argc; i++) {
    const char *value = strchr(argv[i], '=');
    if (!strcmp(argv[i], "--hard")) w.hard = true;
    else if (!value++) return 64;
    else if (starts_with(argv[i], "--seed=")) w.seed = strtoull(value, NULL, 10);
    else if (starts_with(argv[i], "--first=")) first = strtoll(value, NULL, 10);
    else if (starts_with(argv[i], "--n=")) n = strtoll(value, NULL, 10);
    else if (starts_with(argv[i], "--every=")) w.every = strtoll(value, NULL, 10);
    else if (starts_with(argv[i], "--write=")) only = strtoll(value, NULL, 10);
    else if (starts_with(argv[i], "--shard=") && sscanf(value, "%" SCNd64 "/%" SCNd64, &shard, &shards) == 2 && shards > 0)
      continue;
    else if (starts_with(argv[i], "--isa=")) {
      int m = 0;
      for (char *at = strtok(strdup(value), ","); at && m < 15; at = strtok(NULL, ",")) w.isa[m++] = at;
      w.isa[m] = NULL;
    } else return 64;
  }
  if (only >= 0) {
    const Geometry g = geometry(w.seed, only);
    Sb model = { 0 };
    model_of(&g, &model);
    fwrite(model.p, 1, model.n, stdout);
    sb_free(&model);
    return 0;
  }
  if (!mkdtemp(scratch)) return 73;
  w.scratch = scratch;
  s.first = first + shard;
  s.end = first + n;
  s.step = shards;
  const bool good = cases_run(&s);
  snprintf(command, sizeof command, "rm -rf %s", scratch);
  return system(command) ? 73 : !good;
}
